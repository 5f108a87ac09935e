"""What goes on now, shown while a check runs: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Protocol

from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from rankproof.output import Form, Output

PERIOD_S = 10.0
"""Seconds between two plain lines about the same stage."""


class Progress(Protocol):
    """Told by a verb what it does; the checking itself knows nothing of it."""

    def __call__(self, stage: str, detail: str = "") -> None:
        """`stage` is what runs, such as "refute count-before-pop"; `detail` how far it has come."""


@contextmanager
def shown(output: Output) -> Iterator[Progress]:
    """Progress as it suits the place where the report goes.

    A live line where someone watches: on the report's own terminal, so that its lines scroll by above, or else on
    standard error if that is a terminal. Elsewhere plain lines on standard error, which keep a log going.
    """
    errors = Console(stderr=True, color_system="auto" if output.console.color_system else None)
    screen = output.console if output.form is Form.TEXT and output.console.is_terminal else errors
    if not screen.is_terminal or screen.is_dumb_terminal:
        yield plain(sys.stderr)
        return
    columns = (SpinnerColumn("line"), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    bar = Bar(*columns, console=screen, transient=True)
    task = bar.add_task("", total=None)

    def tell(stage: str, detail: str = "") -> None:
        bar.start()  # with the first word: its thread would keep a verb that starts with processes from forking them
        bar.update(task, description=_line(stage, detail))

    try:
        yield tell
    finally:
        bar.stop()


def plain(stream: IO[str], period_s: float = PERIOD_S, clock: Callable[[], float] = time.monotonic) -> Progress:
    """Progress in plain lines: one for each stage, and one about it whenever `period_s` has gone by."""
    began = clock()
    last_stage, due = "", 0.0

    def say(stage: str, detail: str = "") -> None:
        nonlocal last_stage, due
        now = clock()
        if stage != last_stage or now >= due:
            with suppress(OSError):  # a report does not end because nobody takes the word of its progress
                print(f"{_line(stage, detail)} ({now - began:.0f} s)", file=stream, flush=True)
            last_stage, due = stage, now + period_s

    return say


def _line(stage: str, detail: str) -> str:
    return f"{stage}: {detail}" if detail else stage
