"""One check and what came of it, as every way of showing it to a CI system needs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rankproof.diagram import Diagram
from rankproof.model.verdict import Verdict, combine
from rankproof.places import Place


@dataclass(frozen=True, slots=True)
class Result:
    """One check.

    group     what it is a part of, such as "prove"
    name      what was checked, in words that stay the same from run to run
    says      what came of it, in one line
    seconds   how long it took, or 0 where that was not measured
    breaks    the property that it violates, or empty
    details   what was seen, line by line
    again     the command line that shows it again, or empty
    file      the schedule that shows it, or None
    place     where the code under test is, or None
    picture   the schedule as a space-time picture, or None
    program   Python that shows it again, or empty
    """

    group: str
    name: str
    verdict: Verdict
    says: str
    seconds: float = 0.0
    breaks: str = ""
    details: tuple[str, ...] = ()
    again: str = ""
    file: Path | None = None
    place: Place | None = None
    picture: Diagram | None = None
    program: str = ""

    @property
    def title(self) -> str:
        """The verdict and what it is about, in some words."""
        broken = f" {self.breaks}" if self.breaks else ""
        return f"{self.verdict}{broken}: {self.name}"


def verdict_of(results: Sequence[Result]) -> Verdict:
    """Of all of them together."""
    return combine(result.verdict for result in results)
