"""`rankproof refute`: what is done wrong, what falls, and a shortest schedule to look at and to keep."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rankproof import parallel, refuting
from rankproof.diagram import diagram
from rankproof.diagram_text import text_lines
from rankproof.model.faults import FAULTS, Fault
from rankproof.model.schedule import load, run
from rankproof.model.verdict import Verdict
from rankproof.proofs.refute import Refutation, refute

ALL = len(FAULTS)


@pytest.fixture(scope="module")
def use_before_wait() -> Refutation:
    return refute(FAULTS["use-before-wait"])


@pytest.fixture
def refuted(use_before_wait: Refutation, monkeypatch: pytest.MonkeyPatch) -> Callable[[Verdict], None]:
    """Lets every fault come to a verdict, as this one came to its own."""

    def as_if(verdict: Verdict) -> None:
        def known(fault: Fault) -> Refutation:
            return replace(use_before_wait, fault=fault, verdict=verdict)

        monkeypatch.setattr(refuting, "refute", known)
        monkeypatch.setattr(parallel, "each", map)  # another process knows nothing of this one's patches

    return as_if


def test_a_fault_is_shown_with_what_it_breaks_and_how(
    rankproof: Callable[..., Any], use_before_wait: Refutation
) -> None:
    schedule = use_before_wait.schedule
    assert schedule
    answer = rankproof("refute", "use-before-wait")
    assert answer.out == "\n".join(
        [
            "use-before-wait  reads=before-wait",
            "  the result is read before the wait, when the tensor still holds this rank's",
            "  own offer",
            "  breaks finished-before-pop: 7 actions, the fewest to the explorer (147 states)",
            "    and to the solver",
            *textwrap.wrap(
                f"for every N it breaks {', '.join(use_before_wait.obligations)}",
                80,
                initial_indent="  ",
                subsequent_indent="    ",
                break_on_hyphens=False,
            ),
            "  seen in fairscale #499, pytorch #147309",
            "",
            *(f"  {line.text}" for line in text_lines(diagram(schedule, run(schedule)), 78)),
            "",
            "holds: the fault is caught, by a shortest schedule that was replayed on the model",
            "",
        ]
    )
    assert answer.code == 0


@pytest.mark.parametrize(
    ("verdict", "code", "last"),
    [
        (Verdict.VIOLATED, 0, f"holds: {ALL} of {ALL} faults"),
        (Verdict.HOLDS, 1, f"violated: 0 of {ALL} faults"),
        (Verdict.UNDETERMINED, 3, f"undetermined: 0 of {ALL} faults"),
    ],
)
def test_a_fault_that_breaks_nothing_is_what_is_wrong_here(
    rankproof: Callable[..., Any], refuted: Callable[[Verdict], None], verdict: Verdict, code: int, last: str
) -> None:
    refuted(verdict)
    answer = rankproof("refute")
    assert answer.code == code
    assert answer.out.splitlines()[-1].startswith(last)


def test_one_fault_that_breaks_nothing_is_told_as_one(
    rankproof: Callable[..., Any], refuted: Callable[[Verdict], None]
) -> None:
    refuted(Verdict.HOLDS)
    answer = rankproof("refute", "use-before-wait")
    assert (answer.code, answer.out.splitlines()[-1]) == (1, "violated: the fault is not caught")


def test_without_a_name_every_fault_of_the_catalogue_is_refuted_once(
    rankproof: Callable[..., Any], refuted: Callable[[Verdict], None]
) -> None:
    refuted(Verdict.VIOLATED)
    document = json.loads(rankproof("refute", "--format", "json").out)
    assert [fault["name"] for fault in document["faults"]] == list(FAULTS)


def test_a_fault_named_twice_is_refuted_once(rankproof: Callable[..., Any], refuted: Callable[[Verdict], None]) -> None:
    refuted(Verdict.VIOLATED)
    document = json.loads(rankproof("refute", "pop-own-count", "pop-own-count", "--format", "json").out)
    assert [fault["name"] for fault in document["faults"]] == ["pop-own-count"]


def test_the_json_document_says_who_found_it_and_how_long_it_is(
    rankproof: Callable[..., Any], refuted: Callable[[Verdict], None]
) -> None:
    refuted(Verdict.VIOLATED)
    (fault,) = json.loads(rankproof("refute", "use-before-wait", "--format", "json").out)["faults"]
    assert (fault["caught"], fault["verdict"], fault["property"]) == ("holds", "violated", "finished-before-pop")
    assert (fault["length"], fault["explorer"]["depth"], fault["solver"]["length"]) == (7, 7, 7)
    assert len(fault["schedule"]["actions"]) == 7
    assert fault["file"] is None


def test_a_schedule_that_is_written_breaks_the_property_when_it_is_read_again(
    rankproof: Callable[..., Any], refuted: Callable[[Verdict], None], tmp_path: Path
) -> None:
    refuted(Verdict.VIOLATED)
    folder = tmp_path / "new" / "folder"
    answer = rankproof("refute", "use-before-wait", "--out", folder)
    schedule = load(folder / "use-before-wait.json")
    assert f"  written to {folder}/use-before-wait.json" in answer.out.splitlines()
    assert (schedule.breaks, schedule.origin) == ("finished-before-pop", "explorer")
    assert run(schedule).violations[0].property == "finished-before-pop"


def test_a_folder_that_cannot_be_written_is_said_before_any_work(
    rankproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("it began to work")

    monkeypatch.setattr(refuting, "refute", never)
    (tmp_path / "file").touch()
    assert rankproof("refute", "--out", tmp_path / "file").code == 2


def test_finders_that_disagree_are_both_given(use_before_wait: Refutation) -> None:
    solved = use_before_wait.solved
    assert solved
    assert (
        refuting.lengths(replace(use_before_wait, solved=None)) == "7 actions, the fewest to the explorer (147 states)"
    )
    longer = replace(use_before_wait, solved=replace(solved, length=9))
    assert refuting.lengths(longer) == "7 actions to the explorer, 9 to the solver"
