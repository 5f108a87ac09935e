"""One core for threads that take turns."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def on_one_core() -> Iterator[None]:
    """Keeps this thread, and those that it starts meanwhile, on one core of those it may use; on Linux alone.

    Of threads that take turns one runs at a time, but what is woken on another core runs there at once, to find the
    interpreter still held by who woke it. Ranks in memory take a third less time for a step without that. Processes
    are spread over the cores by their number, since many may do this at the same time.
    """
    if sys.platform != "linux":
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(allowed)[os.getpid() % len(allowed)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
