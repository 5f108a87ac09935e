"""A reply that differs, and what it says of the ranks beside the one that gave it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import pytest

from rankproof.conformance.commands import Step
from rankproof.conformance.judging import EARLY, Judge
from rankproof.conformance.outcome import Hung, Ok, Outcome, Raised
from rankproof.conformance.ranks import Unruly
from rankproof.conformance.replies import Mismatch
from rankproof.conformance.underway import Begun
from rankproof.model.schedule import Schedule
from rankproof.model.system import Model


@dataclass
class Beside:
    """Ranks that have each come to something by now."""

    outcomes: dict[int, Outcome]
    asked: list[tuple[int, float | None]] = field(default_factory=list)

    def receive(self, rank: int, within: float | None = None) -> Outcome:
        self.asked.append((rank, within))
        return self.outcomes[rank]


def test_a_rank_that_failed_is_told_with_what_has_become_of_those_within_a_command() -> None:
    ranks = Beside({1: Raised("RuntimeError", "device lost"), 2: Hung(EARLY), 3: Ok()})
    judge = Judge(None, cast(Unruly, ranks), lambda: Schedule(Model(), ()))
    within = {rank: Begun(Step(rank), "step", 0, ()) for rank in (3, 2, 1)} | {4: Begun(Step(4), "", 0, ())}
    with pytest.raises(Mismatch) as told:
        judge.require_ok(0, "step", Hung(1.0), within)
    first, *more = str(told.value).splitlines()
    assert first.startswith("rank 0, step: the subject ")
    assert more == ["  rank 1, step: raised RuntimeError: device lost"]
    assert ranks.asked == [(1, EARLY), (2, EARLY), (3, EARLY)]
