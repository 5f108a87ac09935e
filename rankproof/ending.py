"""Where the command line ends: the one place where an error becomes a line and an exit code."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rankproof.model.errors import BadInput
from rankproof.model.verdict import Verdict

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

DEBUG = "RANKPROOF_DEBUG"
"""The environment variable that puts a traceback above the line of an internal error."""

BAD_USAGE = 2
READER_GONE = 141
"""Exit codes besides those of the verdicts; the last one is what a shell gives for SIGPIPE."""

LONGEST = 1000
"""Letters of an error's line at most: a name out of a file or an argument may have any number."""

AGAIN_S = 0.01
"""Seconds after which an interrupt that was lost is sent again."""


def run_to_its_end(arguments: Sequence[str]) -> int:
    """Runs the command line and gives its exit code, as `rankproof.cli.main` says. Raises KeyboardInterrupt alone."""
    try:
        with _no_interrupt_lost():
            from rankproof import parsing

            return parsing.run(arguments)
    except BadInput as error:
        _complain(str(error))
        return BAD_USAGE
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        from rankproof.conformance.replies import HarnessLost
        from rankproof.output import OutputClosed
        from rankproof.parallel import WorkLost

        if isinstance(error, WorkLost | HarnessLost):
            _complain(f"undetermined: {error}")
            return Verdict.UNDETERMINED.exit_code
        if isinstance(error, OutputClosed):
            _drop_what_is_buffered()
            return READER_GONE
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            _drop_what_is_buffered()
            _complain(f"the report cannot be written: {error.strerror}")
            return BAD_USAGE
        if os.environ.get(DEBUG):
            traceback.print_exc()
        kind = type(error).__name__
        _complain(f"internal error: {kind}: {error} (set {DEBUG}=1 to see where; please report it)")
        return Verdict.UNDETERMINED.exit_code


def _drop_what_is_buffered() -> None:
    """Lets the rest of a report that cannot be written go nowhere, or the interpreter would try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _no_interrupt_lost() -> Iterator[None]:
    """Sends an interrupt again that came while an object was being deleted, where Python drops every exception.

    A solver's terms are deleted by the hundred thousand, so that is not rare.
    """
    before = sys.unraisablehook
    over = threading.Event()

    def send_again() -> None:
        if not over.wait(AGAIN_S):
            os.kill(os.getpid(), signal.SIGINT)

    def hook(dropped: UnraisableHookArgs) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            threading.Thread(target=send_again, daemon=True).start()
        else:
            before(dropped)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        over.set()
        sys.unraisablehook = before


def _complain(words: str) -> None:
    """Writes one line to standard error, if there is one; what came from a subject or a file cannot break it."""
    more = f" ... ({len(words) - LONGEST:,} more letters)" if len(words) > LONGEST else ""
    line = "".join(letter if letter.isprintable() else " " for letter in words[:LONGEST]) + more
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"rankproof: {line}\n")
            sys.stderr.flush()
