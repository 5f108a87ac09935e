"""`rankproof refute --real`: the table of faults on real processes; what fills it is tested beside it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from rankproof import refuting_real
from rankproof.conformance.commands import Step
from rankproof.conformance.driver import Reply
from rankproof.conformance.faulty import FAULTY
from rankproof.conformance.hunting import Find, Hunt
from rankproof.conformance.machine import Failure
from rankproof.conformance.outcome import Raised
from rankproof.model.schedule import Schedule, load

FINDS = (Find(5, 1.25), Find(3, 0.5), Find(9, 4.0))


@pytest.fixture
def one_found_and_one_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches that find count-before-pop, and mixed-modes in none of three; without a process."""

    def hunt(fault: str, **_: object) -> Hunt:
        if fault == "mixed-modes":
            return Hunt(fault, (None, None, Find(9, 29.0)), None, "the ranks raced")
        reply = Reply(0, "step", Raised("Misuse", "cannot pop 1 of 0 acks"))
        return Hunt(fault, FINDS, Failure("", (Step(0),), Schedule(FAULTY[fault].model, ()), reply))

    monkeypatch.setattr(refuting_real, "Launcher", nullcontext)
    monkeypatch.setattr(refuting_real, "hunt", hunt)
    monkeypatch.setattr(refuting_real, "again", lambda *_, **__: "named: round 1")
    monkeypatch.setattr(refuting_real, "said", lambda *_: "nothing")
    monkeypatch.setattr(refuting_real, "said_in_detail", lambda cases: ["Detected mismatch"] * len(cases))


@pytest.mark.usefixtures("one_found_and_one_not")
def test_a_fault_is_a_line_with_its_medians_and_what_it_did(rankproof: Callable[..., Any]) -> None:
    answer = rankproof("refute", "--real", "count-before-pop", "--seeds", "3")
    lines = answer.out.splitlines()
    row = next(place for place, line in enumerate(lines) if line.startswith("  count-before-pop "))
    assert lines[row].split() == ["count-before-pop", "5", "1.2", "1"]
    assert lines[row + 1 : row + 3] == [
        "    error: Misuse: cannot pop 1 of 0 acks",
        "    with guard words: named: round 1",
    ]
    assert "  count-before-pop: nothing; with DETAIL Detected mismatch" in lines
    found = "holds: 1 of 1 fault found by each of 3 seeds, the slowest in 1.2 s"
    assert lines[-1] == f"{found}; torch says nothing of 1, and with DETAIL of 0"
    assert (answer.code, max(map(len, lines[:-1])) <= 80) == (0, True)


@pytest.mark.usefixtures("one_found_and_one_not")
def test_a_report_whose_last_question_gets_no_answer_is_whole(
    rankproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refuting_real, "said_in_detail", lambda cases: ["no answer: none within 150 s"] * len(cases))
    answer = rankproof("refute", "--real", "count-before-pop")
    assert "  count-before-pop: nothing; with DETAIL no answer: none within 150 s\n" in answer.out
    assert answer.out.endswith("and with DETAIL of 0; with DETAIL there is no answer for 1\n")
    assert answer.code == 0


@pytest.mark.usefixtures("one_found_and_one_not")
def test_a_fault_that_not_every_search_finds_is_undetermined(rankproof: Callable[..., Any]) -> None:
    answer = rankproof("refute", "--real", "mixed-modes")
    assert "not found" in answer.out
    assert "2 of 3 searches found nothing" in answer.out
    assert answer.code == 3


@pytest.mark.usefixtures("one_found_and_one_not")
def test_the_json_document_has_every_search_and_the_schedule(rankproof: Callable[..., Any], tmp_path: Path) -> None:
    answer = rankproof(
        "refute", "--real", "count-before-pop", "mixed-modes", "--format", "json", "--out", str(tmp_path)
    )
    document = json.loads(answer.out)
    found, missed = document["faults"]
    assert (document["verdict"], found["verdict"], missed["verdict"]) == ("undetermined", "holds", "undetermined")
    assert found["found"][0] == {"examples": 5, "seconds": 1.25}
    assert (found["examples"], found["commands"], found["at"], found["ranks"]) == (5, 1, "implementation", 2)
    assert (found["torch"], found["detail"], found["guarded"]) == ("nothing", "Detected mismatch", "named: round 1")
    assert (missed["examples"], missed["seconds"], missed["commands"], missed["detail"]) == (None, None, None, "")
    assert load(tmp_path / "count-before-pop.json").model == FAULTY["count-before-pop"].model


def test_two_tables_at_once_are_refused(rankproof: Callable[..., Any]) -> None:
    answer = rankproof("refute", "--matrix", "--real")
    assert (answer.code, answer.err) == (2, "rankproof: --matrix and --real are two tables; give one of them\n")
