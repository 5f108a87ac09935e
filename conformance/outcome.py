"""What can become of one command to one rank: it returned, raised, hung, or took its process with it."""

from __future__ import annotations

import os
import re
import signal
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Ok:
    """The subject's method returned `value`."""

    value: object = None

    def __str__(self) -> str:
        return "ok" if self.value is None else f"ok: {self.value}"


@dataclass(frozen=True)
class Raised:
    """The subject's method raised: `kind` is the exception's class name, `message` its text.

    `last_words` holds the traceback, or the last lines that the rank wrote; it tells two outcomes no more apart than in
    `Died`.
    """

    kind: str
    message: str
    last_words: str = field(default="", compare=False, repr=False)

    def __str__(self) -> str:
        return f"raised {self.kind}: {self.message}" if self.message else f"raised {self.kind}"


@dataclass(frozen=True)
class Hung:
    """No reply came within `seconds`, the limit that was given (not a measurement: equal runs give equal outcomes).

    `last_words` holds the last lines that the rank wrote, or where it stands.
    """

    seconds: float
    last_words: str = field(default="", compare=False, repr=False)

    def __str__(self) -> str:
        return f"hung: no reply within {self.seconds:g} s"


@dataclass(frozen=True)
class Died:
    """The rank's process ended; `code` is its exit code, or minus the signal that ended it.

    `code` is None where nobody saw the end, because the supervisor was killed too. `last_words` holds the last lines
    that the process wrote to stdout and stderr; two deaths with the same code are equal whatever was written.
    """

    code: int | None
    last_words: str = field(default="", compare=False, repr=False)

    def __str__(self) -> str:
        if self.code is None:
            return "died: its end was not seen, since the supervisor of the rank processes was killed too"
        if self.code >= 0:
            return f"died: exit code {self.code}"
        try:
            return f"died: {signal.Signals(-self.code).name}"
        except ValueError:
            return f"died: signal {-self.code}"


Outcome = Ok | Raised | Hung | Died


def where(outcome: Outcome) -> str:
    """What is known of where a rank failed: the line of its code that raised, or else the last that it wrote."""
    if isinstance(outcome, Ok):
        return ""
    words = as_opened(outcome.last_words)
    raised = [line.strip() for line in words.splitlines() if line.startswith('  File "')]
    return raised[-1] if isinstance(outcome, Raised) and raised else last_line(words)


def said_with_place(outcome: Outcome) -> str:
    """What became of a command, with what is known of where, in one line; a hang has a mend instead."""
    if isinstance(outcome, Hung):
        return f"{outcome}; if it is only slow, a longer timeout gives it more"
    place = where(outcome)
    return f"{outcome} ({place})" if place else str(outcome)


def as_opened(words: str) -> str:
    """What a rank wrote, with each file of a traceback named as a person opens it.

    That is the file to which a link leads, as an editable install makes them; below the working directory from there.
    """
    return re.sub(r'File "([^"\n]+)"', lambda found: f'File "{_opened(found[1])}"', words)


def _opened(path: str) -> str:
    try:
        file = os.path.realpath(path) if os.path.islink(path) else path
        here = os.getcwd()
        return os.path.relpath(file, here) if os.path.commonpath([here, file]) == here else file
    except (OSError, ValueError):  # the directory is gone; the path is no absolute one, such as <string>
        return path


def last_line(words: str) -> str:
    """The last line of what a rank wrote that says something; the list of modules that a crash ends with does not."""
    lines = [line.strip() for line in words.splitlines() if not line.startswith("Extension modules:")]
    return next((line for line in reversed(lines) if line), "")
