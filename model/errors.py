"""The one kind of error that is shown to a person: bad input, in one line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_ALIKE = 0.7
"""How alike two names are, of 1, where one may be meant by the other: two letters of four that changed places are 0.75,
and names that only share a word are less."""


class BadInput(Exception):
    """Input that cannot be used; its text is one line that names the place and the mend.

    The command line shows the text alone and exits with code 2.
    """

    def at(self, place: str) -> BadInput:
        """The same error, with the place in front."""
        return BadInput(f"{place}: {self}")


def unknown_name(kind: str, name: str, known: Iterable[str]) -> BadInput:
    """The error for a `name` that no `kind` (such as "fault") has, with the one that a typo explains, or with all."""
    choices = sorted(known)
    near = nearest(name, choices)
    hint = f"did you mean {near!r}?" if near else f"known: {', '.join(choices)}"
    return BadInput(f"unknown {kind} {name!r}; {hint}")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a slip of the fingers makes `name` of, or None where none explains it."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=_ALIKE)), None)
