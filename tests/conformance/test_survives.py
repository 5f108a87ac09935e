"""What goes wrong on purpose: only what a subject declares that it survives, and then it is held to that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rankproof.conformance.capabilities import Capabilities, Mishap
from rankproof.conformance.machine import Findings
from rankproof.conformance.memory import MemoryRanks
from rankproof.conformance.search import search
from rankproof.model.protocol import Word
from tests.conformance.pool_marks import HERE

WORDS: tuple[Word, ...] = ("round", "mode", "layout", "epoch", "enqueued", "popped")
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


def test_a_subject_that_goes_on_after_a_lost_enqueue_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    can = Capabilities(guards=WORDS, supports=frozenset(), survives=frozenset({"lose"}))
    found = searched(UNGUARDED, can, 60)
    assert found.failure is not None
    assert "the subject goes on" in found.failure.says
    assert "where the model's rank has ended: enqueued" in found.failure.says


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
