"""The three verdicts, and the one way to combine them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Verdict(StrEnum):
    """What a check says.

    `HOLDS` and `VIOLATED` are answers. `UNDETERMINED` is the absence of one: a solver's unknown, a time-out, a lost
    process, two solvers that disagree, or nothing checked at all.
    """

    HOLDS = "holds"
    VIOLATED = "violated"
    UNDETERMINED = "undetermined"

    @property
    def exit_code(self) -> int:
        """0 holds, 1 violated, 3 undetermined; 2 is kept for bad usage and bad input."""
        return {Verdict.HOLDS: 0, Verdict.VIOLATED: 1, Verdict.UNDETERMINED: 3}[self]


def combine(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on all of them together: violated if any is, else undetermined if any is or there is none."""
    seen = set(verdicts)
    if Verdict.VIOLATED in seen:
        return Verdict.VIOLATED
    return Verdict.HOLDS if seen == {Verdict.HOLDS} else Verdict.UNDETERMINED
