"""The one kind of error that is shown to a person: bad input, in one line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class BadInput(Exception):
    """Input that cannot be used; its text is one line that names the place and the mend.

    The command line shows the text alone and exits with code 2.
    """

    def at(self, place: str) -> BadInput:
        """The same error, with the place in front."""
        return BadInput(f"{place}: {self}")


def unknown_name(kind: str, name: str, known: Iterable[str]) -> BadInput:
    """The error for a `name` that no `kind` (such as "fault") has, with the nearest known one."""
    choices = sorted(known)
    near = difflib.get_close_matches(name, choices, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(choices)}"
    return BadInput(f"unknown {kind} {name!r}; {hint}")
