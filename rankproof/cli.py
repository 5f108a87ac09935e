"""Where the command line begins: it imports nothing that takes time before it can say that it was interrupted."""

from __future__ import annotations

import gc
import os
import sys

INTERRUPTED = 130
"""The exit code that a shell gives for SIGINT."""


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and gives its exit code; `arguments` are those of the process unless given.

    0 holds, 1 violated, 2 bad usage or bad input, 3 undetermined, 130 interrupted, 141 nobody reads the output.
    An internal error is 3 as well: it says nothing about what was checked.
    """
    try:
        from rankproof.ending import run_to_its_end

        return run_to_its_end(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        import contextlib

        with contextlib.suppress(AttributeError, OSError):  # there is no standard error, or nobody reads it
            sys.stderr.write("rankproof: interrupted\n")
        return INTERRUPTED


def command() -> int:
    """The whole life of the process: as `main`, and then an end that is not felt.

    An interpreter that ends looks for garbage once more. With torch loaded that took seconds on a busy machine, after
    "interrupted" had been said; what is frozen is not looked at.
    """
    code = main()
    gc.freeze()
    for stream in filter(None, (sys.stdout, sys.stderr)):  # one that was closed from the start is None
        try:
            stream.flush()
        except OSError:  # or the interpreter would try again, and end with a code of its own
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return code
