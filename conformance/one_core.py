"""The cores that this process may use: how many they are, and one alone for threads that take turns."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress


def cores() -> int:
    """How many cores this process may use, which can be fewer than there are."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


@contextmanager
def on_one_core() -> Iterator[None]:
    """Keeps this thread, and those that it starts meanwhile, on one core of those it may use; on Linux alone.

    Of threads that take turns one runs at a time, but what is woken runs at once, on another core or in the place of
    who woke it, only to find the interpreter still held. Neither can be where all are on one core as a batch, and a
    turn there and back takes 10 us in the place of 30, as one that is woken waits until who woke it sleeps. Processes
    are spread over the cores by their number, since many may do this at the same time. Where the system does not let a
    thread ask for this, it goes on as it is.
    """
    with ExitStack() as undo:
        if sys.platform == "linux":
            with suppress(OSError):
                allowed = os.sched_getaffinity(0)
                os.sched_setaffinity(0, {sorted(allowed)[os.getpid() % len(allowed)]})
                undo.callback(os.sched_setaffinity, 0, allowed)
            with suppress(OSError):
                if os.sched_getscheduler(0) == os.SCHED_OTHER:
                    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
                    undo.callback(os.sched_setscheduler, 0, os.SCHED_OTHER, os.sched_param(0))
        yield
