"""What random schedules have shown of one subject: a verdict, what differed if anything did, and what was exercised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rankproof.conformance.blame import Difference
from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.commands import TIMING, Command
from rankproof.conformance.coverage import Coverage, coverage
from rankproof.conformance.search import Ran
from rankproof.model.schedule import Schedule
from rankproof.model.verdict import Verdict

Place: TypeAlias = Literal["memory", "processes"]


@dataclass(frozen=True, slots=True)
class Fuzzing:
    """What random schedules have shown of one subject.

    capabilities  what it was held to
    memory, processes  how much ran there; None where nothing did
    failure       what differed, or why there is no verdict; empty where nothing differed
    found_in      where the failure was found and made smaller, or empty
    reproduced    whether the smallest schedule, found in memory, failed on real processes too; None where it was not
                  tried, or could not be
    on_processes  what it did there, or why it could not be tried
    breaks        the property that the failure breaks, or empty where none of the model's has a name for it
    differences   the fields of the reply that differ
    remark        what a difference of that kind usually comes from, or empty
    last_words    the traceback, or the last lines that the rank wrote, or empty
    note          why memory gave no answer, or empty
    ended_early   why no smaller schedule was looked for any more, though there may be one; or empty
    driven        what of an engine is real, and what stood in for; empty for a subject that does not say
    program       a program that shows the smallest failure again, or empty
    smallest      the commands that were given in it
    schedule      what the model went through in it
    """

    subject: str
    ranks: int
    verdict: Verdict
    capabilities: Capabilities
    seconds: float
    memory: Ran | None = None
    processes: Ran | None = None
    failure: str = ""
    found_in: Place | Literal[""] = ""
    reproduced: bool | None = None
    on_processes: str = ""
    breaks: str = ""
    differences: tuple[Difference, ...] = ()
    remark: str = ""
    last_words: str = ""
    note: str = ""
    ended_early: str = ""
    driven: str = ""
    program: str = ""
    smallest: tuple[Command, ...] = ()
    schedule: Schedule | None = None

    @property
    def examples(self) -> int:
        """Schedules run, wherever."""
        return sum(ran.examples for ran in self._ran)

    @property
    def commands(self) -> int:
        """Commands whose reply was compared with the model, wherever."""
        return sum(ran.commands for ran in self._ran)

    @property
    def steps(self) -> int:
        """Scheduler steps among them."""
        return sum(ran.steps for ran in self._ran)

    @property
    def popped(self) -> int:
        """Acks that these popped."""
        return sum(ran.popped for ran in self._ran)

    @property
    def taken(self) -> dict[str, int]:
        """How often each of the model's actions was taken."""
        names = sorted({name for ran in self._ran for name in ran.taken})
        return {name: sum(ran.taken.get(name, 0) for ran in self._ran) for name in names}

    @property
    def coverage(self) -> Coverage:
        """What of all that may come to this subject came, and what never did."""
        frozen = ("freeze",) if "freeze" in self.capabilities.survives else ()
        models = self.capabilities.models(self.ranks)
        return coverage(self.taken, models, self.capabilities, beside=(*TIMING, *frozen))

    @property
    def _ran(self) -> Sequence[Ran]:
        return [ran for ran in (self.memory, self.processes) if ran]
