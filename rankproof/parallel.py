"""The same work on many items, on all cores: results in the order of the items, and no process left behind."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST = 4
"""Processes at most; each holds a solver in memory."""

DEADLINE_S = 600.0
"""Seconds to wait for one result; the searches themselves give up long before."""


def each(function: Callable[[Item], Result], items: Sequence[Item]) -> Generator[Result, None, None]:
    """`function` of each item, in order. One item is worked on here, more of them in fresh processes.

    The function has to be importable, and so does everything that goes in and out. Whether it ends, is interrupted,
    or is left half way, the processes end with it, and in whatever way this process ends they end too.
    Raises what the function raises, TimeoutError, and BrokenProcessPool where a process was lost.
    """
    if len(items) < 2:
        yield from map(function, items)
        return
    held, watched = _held_pipe()
    workers = min(len(items), os.cpu_count() or 1, MOST)
    pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_end_with, initargs=(watched,))
    try:
        # A process inherits what is blocked. Ctrl-C reaches all of a terminal's processes, and this one answers it.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            futures = [pool.submit(function, item) for item in items]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for future in futures:
            yield future.result(DEADLINE_S)
    finally:
        held.close()
        pool.shutdown(cancel_futures=True)
        watched.close()


def _held_pipe() -> tuple[Connection, Connection]:
    """An end that only this process holds, and one that sees when it is closed, even by a kill."""
    watched, held = get_context("spawn").Pipe(duplex=False)
    return held, watched


def _end_with(watched: Connection) -> None:
    """Ends this process when the one that started it closes its end of the pipe, in the middle of whatever it does."""

    def watch() -> None:
        watched.poll(None)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
