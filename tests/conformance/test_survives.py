"""What goes wrong on purpose: only what a subject declares that it survives, and then it is held to that."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from rankproof.conformance import machine
from rankproof.conformance.blame import broken_property
from rankproof.conformance.capabilities import Capabilities, Mishap, Operation
from rankproof.conformance.driver import Command, Driver, Mismatch, Step
from rankproof.conformance.machine import Findings
from rankproof.conformance.memory import MemoryRanks
from rankproof.conformance.outcome import Ok, Outcome, Raised
from rankproof.conformance.search import search
from rankproof.model.actions import Enqueue, Lose
from rankproof.model.protocol import Word
from tests.conformance.pool_marks import HERE

WORDS: tuple[Word, ...] = ("round", "mode", "layout", "epoch", "enqueued", "popped")
EVERYTHING: frozenset[Operation] = frozenset({"flush", "reset", "evict", "reconfigure"})
GUARDED = Capabilities(guards=WORDS)
PIPELINED = "rankproof.conformance.reference:pipelined"
UNGUARDED = "wrong_subjects:names_no_difference"


def searched(subject: str, can: Capabilities, examples: int) -> Findings:
    findings = Findings(most_examples=examples)
    with MemoryRanks(2, factory=subject, lanes=can.names, timeout=1.0, reply_within=3.0) as ranks:
        model, *more = can.models(2)
        options: dict[str, Any] = {"examples": examples, "seed": 3, "shrink_seconds": 5.0, "checked": (), "more": more}
        assert search(model, ranks, findings, can, **options) == ""
    return findings


@pytest.mark.parametrize(
    ("survives", "taken"),
    [
        (("lose", "swap", "stall"), {"lose", "swap", "stall"}),
        (("throw",), {"throw"}),
        (("crash",), {"crash"}),
        (("freeze",), {"crash"}),
    ],
)
def test_the_reference_survives_what_goes_wrong_on_one_rank(survives: tuple[Mishap, ...], taken: set[str]) -> None:
    found = searched(PIPELINED, replace(GUARDED, survives=frozenset(survives)), 12)
    assert found.failure is None, found.failure
    assert found.examples == 12, "as many schedules as were asked for"
    assert taken <= set(found.taken)


def test_nothing_goes_wrong_where_nothing_is_declared() -> None:
    assert len(Capabilities().models(2)) == 1
    assert not {"lose", "swap", "stall", "throw", "crash"} & set(searched(PIPELINED, GUARDED, 4).taken)


@pytest.mark.parametrize(
    ("mishap", "bound"),
    [
        ("lose", "losses"),
        ("swap", "swaps"),
        ("stall", "stalls"),
        ("throw", "throws"),
        ("crash", "crashes"),
        ("freeze", "crashes"),
    ],
)
def test_what_goes_wrong_does_so_once_and_where_nobody_waits_for_it(mishap: Mishap, bound: str) -> None:
    can = replace(GUARDED, supports=EVERYTHING, storage=1, survives=frozenset({mishap}))
    usual, wrong = (model.scenario for model in can.models(2))
    assert not any(usual.mishaps.values())
    assert {name: number for name, number in wrong.mishaps.items() if number} == {bound: 1}
    assert min(usual.evicts, usual.attaches, usual.closes) > 0
    assert (wrong.evicts, wrong.attaches, wrong.closes) == (0, 0, 0)


class Telling(Driver):
    """Counts the commands that it is given, by their names."""

    given: ClassVar[Counter[str]]

    def give(self, command: Command) -> None:
        self.given[type(command).__name__] += 1
        super().give(command)


@pytest.mark.parametrize("survives", [(), ("crash",), ("freeze",)])
def test_ranks_are_stopped_and_steps_end_in_any_run_but_for_good_only_where_that_is_survived(
    monkeypatch: pytest.MonkeyPatch, survives: tuple[Mishap, ...]
) -> None:
    monkeypatch.setattr(Telling, "given", Counter(), raising=False)
    monkeypatch.setattr(machine, "Driver", Telling)
    searched(PIPELINED, replace(GUARDED, survives=frozenset(survives)), 10)
    assert min(Telling.given[name] for name in ("Stop", "Continue", "Idle")) > 0
    assert {"Crash", "Freeze"} & set(Telling.given) == {name.capitalize() for name in survives}


def test_a_rank_that_raised_once_and_then_goes_on_is_found() -> None:
    class Raises:
        """Ranks whose steps raise, and which then do as if nothing had been."""

        def send(self, rank: int, method: str, *_: object) -> None:
            assert rank in (0, 1)
            self.last = method

        def receive(self, rank: int) -> Outcome:
            assert rank in (0, 1)
            return Raised("RankDivergence", "") if self.last == "step" else Ok()

    can = replace(GUARDED, lag=0, survives=frozenset({"lose"}))
    driver = Driver(can.models(2)[1], Raises(), can)
    for command in (Enqueue(0, 0, 0), Lose(1, 0, 0), Step(0)):
        driver.give(command)
    with pytest.raises(Mismatch, match=r"rank \d, flush: the subject goes on \(ok\) where the model's rank has ended"):
        driver.give(Step(1))


def test_a_subject_that_goes_on_after_a_lost_enqueue_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    can = Capabilities(guards=WORDS, supports=frozenset(), survives=frozenset({"lose"}))
    found = searched(UNGUARDED, can, 60)
    assert found.failure is not None
    assert "the subject goes on" in found.failure.says
    assert "where the model's rank has ended: enqueued" in found.failure.says
    assert broken_property(found.failure.schedule, found.failure.reply) == "named-divergence"


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("say which digest is compared", {"survives": frozenset({"lose"})}),
        ("'kill' is none of lose, swap, stall, throw, crash, freeze", {"survives": frozenset({"kill"})}),
        ("'size' is none of request, round, epoch", {"guards": ("size",)}),
        ("is of storage lanes that come and go", {"attaches": "agreed"}),
    ],
)
def test_what_nobody_can_have_is_an_error_that_says_what_to_write(words: str, fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=words):
        Capabilities(**fields)
