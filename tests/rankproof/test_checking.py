"""`rankproof fuzz --check`: what the records of ranks have shown, in lines and as a document."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rankproof import checking
from rankproof.conformance.recorded_check import Judgement
from rankproof.conformance.recorded_schedule import Plan
from rankproof.model.schedule import Schedule
from rankproof.model.verdict import Verdict

HELD = Judgement(
    Plan("nowhere:f", 2),
    Verdict.HOLDS,
    ends=("whole: 9 calls", "whole: 8 calls"),
    examples=2,
    commands=9,
    steps=1200,
    popped=3,
    seconds=1.0,
    taken={"issue": 1200, "close": 4},
)


@pytest.fixture
def checked(rankproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs the command line on records that have shown what is given."""

    def run(judged: Judgement, *arguments: object) -> Any:
        monkeypatch.setattr(checking, "check", lambda _: judged)
        return rankproof("fuzz", "--check", "records", *arguments)

    return run


def test_a_report_says_how_each_record_ends_what_came_and_what_never_did(checked: Callable[..., Any]) -> None:
    answer = checked(HELD)
    said = " ".join(answer.out.split())
    assert said.startswith("records of nowhere:f on 2 ranks, seed 0, in records rank 0 whole: 9 calls rank 1 whole: 8")
    assert "actions taken: close 4, issue 1,200 never taken: enqueue, finish, reset, evict, flush, wait" in said
    assert "not asked, since it does not declare them or no subject can: lose, swap, stall, " in said
    assert said.endswith("holds: 2 examples, 1,200 steps, 3 pops of 2 ranks in 1 s; every reply was the model's")
    assert answer.code == 0


def test_one_of_a_kind_is_said_as_one(checked: Callable[..., Any]) -> None:
    few = replace(HELD, examples=1, steps=1, popped=1)
    assert "holds: 1 example, 1 step, 1 pop of 2 ranks" in checked(few).out


def test_a_difference_is_shown_with_its_schedule_and_the_line_that_judges_again(
    checked: Callable[..., Any], own_count: Schedule
) -> None:
    differs = replace(
        HELD, verdict=Verdict.VIOLATED, failure="rank 0, step: differs\n  popped: model | subject", schedule=own_count
    )
    answer = checked(differs)
    assert "  rank 0, step: differs\n    popped: model | subject\n" in answer.out
    assert "✗ differs: rank 0, step: differs; popped: model | subject" in " ".join(answer.out.split())
    assert "again: rankproof fuzz --check records" in answer.out
    assert answer.code == 1
    named = " ".join(checked(replace(differs, breaks="same-pops")).out.split())
    assert "breaks same-pops: the n-th ack popped from a lane is the same ack on every rank rank 0, step: diff" in named
    assert "✗ same-pops: rank 0, step: differs" in named
    assert json.loads(checked(replace(differs, breaks="same-pops"), "--format", "json").out)["breaks"] == "same-pops"


def test_the_document_counts_what_came_and_names_what_never_did(checked: Callable[..., Any]) -> None:
    document = json.loads(checked(HELD, "--format", "json").out)
    assert (document["verdict"], document["steps"], document["taken"]["close"]) == ("holds", 1200, 4)
    assert document["taken"]["issue"] == 1200
    assert "wait" in document["never_taken"]
    assert "crash" in document["not_asked"]
    assert document["ends"] == ["whole: 9 calls", "whole: 8 calls"]
