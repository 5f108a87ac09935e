"""The same work on many items, on all cores: results in the order of the items, and no process left behind."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import pickle
import signal
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess, SpawnProcess
from multiprocessing.process import BaseProcess
from typing import Generic, Literal, TypeVar

from rankproof.conformance.one_core import cores

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST = 4
"""Processes at most; each holds a solver in memory."""

DEADLINE_S = 600.0
"""Seconds to wait for any result; the searches themselves give up long before."""

_END_S = 10.0

_THREADS = "/proc/self/task"
"""Where Linux shows every thread of this process."""

_GARBAGE = 1_000_000
"""New objects after which a worker looks for garbage in circles. By default it looks every 700, which is a fifth of the
time where terms and states are built by the ten thousand and then dropped as a whole."""


_KEPT = {-1: 256 << 20, -3: 32 << 20}
"""Of glibc's `mallopt`: bytes that may be free at the end of the heap (M_TRIM_THRESHOLD), and from which a piece is not
a part of the heap (M_MMAP_THRESHOLD, at its largest)."""


class WorkLost(Exception):
    """A process that worked on an item ended, or gave no answer in time, so that nothing is known of the item."""


def each(
    function: Callable[[Item], Result], items: Sequence[Item], *, size: Callable[[Item], float] = lambda item: 0
) -> Generator[Result, None, None]:
    """`function` of each item, in order. One item is worked on here, more of them in processes of their own.

    The function has to be importable, and so does everything that goes in and out. Whether it ends, is interrupted,
    or is left half way, the processes end with it, and in whatever way this process ends they end too.
    The items of the largest `size` are begun first, whatever it measures, so that no long one is begun when all else
    is done. Raises what the function raises, and WorkLost.
    """
    if len(items) < 2:
        yield from map(function, items)
        return
    # Pipes alone, and no queue or executor: those have named semaphores, of which a process that is ended by a signal
    # leaves some behind, to be complained about.
    held, watched = _held_pipe()
    workers: list[_Worker] = []
    try:
        for _ in range(min(len(items), cores(), MOST)):
            workers.append(_start(function, watched, [held, *(worker.connection for worker in workers)]))
        yield from _in_order(items, workers, size)
    finally:
        held.close()
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.process.join(_END_S)
            worker.connection.close()
        watched.close()


@dataclass
class _Worker:
    """A process, our end of its pipe, and the place of the item that it works on, if any."""

    process: BaseProcess
    connection: Connection
    place: int | None = None


@dataclass(frozen=True)
class _Failed:
    """What an item came to instead of a result."""

    error: Exception


@dataclass(frozen=True)
class _Done(Generic[Result]):
    result: Result


def _in_order(
    items: Sequence[Item], workers: Sequence[_Worker], size: Callable[[Item], float]
) -> Generator[Result, None, None]:
    left = iter(sorted(enumerate(items), key=lambda placed: -size(placed[1])))
    done: dict[int, _Done[Result] | _Failed] = {}
    for place in range(len(items)):
        while place not in done:
            for worker in workers:
                if worker.place is None and (following := next(left, None)):
                    worker.place, item = following
                    try:
                        worker.connection.send(item)
                    except (BrokenPipeError, ConnectionResetError) as error:
                        raise _lost(worker) from error
            _take(workers, done)
        outcome = done.pop(place)
        if isinstance(outcome, _Failed):
            raise outcome.error
        yield outcome.result


def _take(workers: Sequence[_Worker], done: dict[int, _Done[Result] | _Failed]) -> None:
    """Takes what has come, once something has."""
    busy = {worker.connection: worker for worker in workers if worker.place is not None}
    came = wait(list(busy), DEADLINE_S)
    if not came:
        raise WorkLost(f"no result came within {DEADLINE_S:.0f} s")
    for connection in came:
        assert isinstance(connection, Connection)
        worker = busy[connection]
        assert worker.place is not None
        try:
            done[worker.place] = connection.recv()
        except (EOFError, ConnectionResetError) as error:
            raise _lost(worker) from error
        worker.place = None


def _lost(worker: _Worker) -> WorkLost:
    """What to raise where a process is not there any more to take an item or to give its result."""
    worker.process.join(_END_S)
    return WorkLost(f"a process that worked on a part of it ended ({_end(worker.process.exitcode)})")


def _end(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _held_pipe() -> tuple[Connection, Connection]:
    """An end that only this process holds, and one that sees when it is closed, even by a kill."""
    watched, held = Pipe(duplex=False)
    return held, watched


def _start(function: Callable[[Item], Result], watched: Connection, ours: Sequence[Connection]) -> _Worker:
    """A process that works for us; of the ends of pipes that are `ours` alone, a copy of this process has to let go."""
    here, there = Pipe()
    is_copy = start_method() == "fork"
    kind: type[BaseProcess] = ForkProcess if is_copy else SpawnProcess
    not_its_own = [*ours, here] if is_copy else []
    process = kind(target=_work, args=(function, there, watched, not_its_own), daemon=True)
    # A process inherits what is blocked. Ctrl-C reaches all of a terminal's processes, and this one answers it.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    there.close()
    return _Worker(process, here)


def start_method() -> Literal["fork", "spawn"]:
    """How to start a process: as a copy of this one where that is safe, for it has imported all that is needed.

    A copy has one thread, whatever the others held, such as a lock of a library. So it is safe where this process has
    no other thread, of Python's or of anyone's; only the system can say that, and where it does not, as on macOS, whose
    own libraries cannot be copied, a fresh process is started, and imports all of it again.
    """
    try:
        threads = len(os.listdir(_THREADS))
    except OSError:
        return "spawn"
    return "fork" if threads == 1 else "spawn"


def _work(
    function: Callable[[Item], Result], connection: Connection, watched: Connection, not_its_own: Sequence[Connection]
) -> None:
    """What runs in a process: one item after another, until nobody is there to send more."""
    for each_end in not_its_own:  # or the pipes would never be closed, for this process would hold them as well
        each_end.close()
    threading.Thread(target=_end_with, args=(watched,), daemon=True).start()
    gc.freeze()  # what is here now stays to the end
    gc.set_threshold(_GARBAGE)
    _keep_memory()
    while True:
        try:
            item = connection.recv()
        except (EOFError, ConnectionResetError):
            return
        outcome: _Done[Result] | _Failed
        try:
            outcome = _Done(function(item))
        except Exception as error:
            outcome = _Failed(_sendable(error))
        try:
            connection.send(outcome)
        except (BrokenPipeError, ConnectionResetError):
            return


def _keep_memory() -> None:
    """Has the C library keep what is freed for what comes next, where it is glibc.

    By default it gives large pieces back to the system, and a solver asks for 16 MB of them whenever it is made: to get
    the pages anew is a few hundredths of the time of all proofs.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):  # TypeError: Windows has no library of that name
        set_option = ctypes.CDLL(None).mallopt
        for option, most in _KEPT.items():
            set_option(option, most)


def _sendable(error: Exception) -> Exception:
    """The error itself, or its words where it cannot be sent; some can be written and not read again."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _end_with(watched: Connection) -> None:
    """Ends this process when the one that started it closes its end of the pipe, in the middle of whatever it does."""
    watched.poll(None)
    os._exit(1)
