"""`rankproof refute --matrix`: every fault against every property, and the finders that agree on the length."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from rankproof import matrix, parallel
from rankproof.matrix import Cell, Row, cells_of, row_of
from rankproof.model.explorer import explore
from rankproof.model.faults import FAULTS
from rankproof.model.properties import PROPERTIES, property_named
from rankproof.model.protocol import PIPELINED
from rankproof.model.scenario import Scenario
from rankproof.model.system import Model
from rankproof.model.verdict import Verdict
from rankproof.proofs import refute
from rankproof.proofs.bounded import Found
from rankproof.proofs.refute import NOT_ASKED


@pytest.fixture(scope="module")
def use_before_wait() -> Row:
    return row_of("use-before-wait")


def signs(row: Row) -> dict[str, str]:
    """What the table shows where something falls."""
    return {cell.name: cell.sign for cell in row.cells if cell.verdict is Verdict.VIOLATED}


def test_a_row_has_a_cell_for_each_property_in_their_order(use_before_wait: Row) -> None:
    assert [cell.name for cell in use_before_wait.cells] == list(PROPERTIES)


def test_a_cell_has_the_shortest_length_and_who_found_it(use_before_wait: Row) -> None:
    assert signs(use_before_wait) == {"finished-before-pop": "7B", "exact-delay": "7B", "one-owner": "5B"}


def test_one_search_for_many_properties_finds_what_a_search_for_each_finds(use_before_wait: Row) -> None:
    model = use_before_wait.fault.model
    for cell in use_before_wait.cells:
        if cell.verdict is not None:
            alone = explore(model, [property_named(cell.name)])
            assert (cell.verdict, cell.length) == (alone.verdict, alone.depth if alone.broken else None), cell.name


@pytest.mark.parametrize("name", ["idle-without-flush", "transfer-without-ack", "skipped-round"])
def test_looking_at_settled_states_alone_finds_what_does_not_drain_and_its_shortest_schedule(name: str) -> None:
    (cell,) = (cell for cell in cells_of(FAULTS[name].model) if cell.name == "drains-to-empty")
    alone = explore(FAULTS[name].model, [property_named("drains-to-empty")])
    assert (cell.verdict, cell.length) == (Verdict.VIOLATED, alone.depth)


def test_the_right_protocol_breaks_nothing() -> None:
    assert {cell.sign for cell in cells_of(Model(PIPELINED, Scenario(acks=1)))} == {".", "-"}


def test_a_property_that_speaks_of_something_else_is_a_dash_with_a_note(use_before_wait: Row) -> None:
    last = use_before_wait.cells[-1]
    assert (last.name, last.verdict, last.sign) == ("contained-failure", None, "-")
    assert last.note == "the scenario has nothing that it speaks of"


def test_a_search_that_gives_up_is_a_question_mark_with_a_note() -> None:
    cells = {cell.name: cell for cell in cells_of(FAULTS["use-before-wait"].model, limit=400)}
    assert cells["finished-before-pop"].sign == "7B"
    assert (cells["same-pops"].sign, cells["same-pops"].verdict) == ("?", Verdict.UNDETERMINED)
    assert cells["same-pops"].note.startswith("the explorer gave up after ")


@pytest.mark.parametrize(
    ("claim", "note"),
    [
        (Found(Verdict.VIOLATED, 6), "the shortest has 7 actions to the explorer, 6 to the solver"),
        (Found(Verdict.HOLDS, 7), "the explorer says violated, the solver holds"),
        (
            Found(Verdict.VIOLATED, 7, (("issue", 0),) * 7),
            "the solver's schedule cannot be replayed: rank 0 waits for a round that rank 1 must issue first",
        ),
    ],
)
def test_finders_that_differ_leave_the_row_undetermined(
    monkeypatch: pytest.MonkeyPatch, claim: Found, note: str
) -> None:
    monkeypatch.setattr(refute, "search", lambda model, name, bound: claim)
    row = row_of("use-before-wait")
    assert (row.cells[0].sign, row.cells[0].note) == ("?", note)
    assert row.verdict is Verdict.UNDETERMINED


@pytest.mark.parametrize(
    ("verdict", "row_verdict"),
    [
        (Verdict.VIOLATED, Verdict.HOLDS),
        (Verdict.HOLDS, Verdict.VIOLATED),
        (Verdict.UNDETERMINED, Verdict.UNDETERMINED),
        (None, Verdict.VIOLATED),
    ],
)
def test_every_property_that_the_catalogue_names_has_to_fall(
    use_before_wait: Row, verdict: Verdict | None, row_verdict: Verdict
) -> None:
    cells = tuple(
        replace(cell, verdict=verdict) if cell.name == "one-owner" else cell for cell in use_before_wait.cells
    )
    assert replace(use_before_wait, cells=cells).verdict is row_verdict


def test_a_property_that_the_catalogue_does_not_name_may_be_open(use_before_wait: Row) -> None:
    is_open = Cell("same-pops", Verdict.UNDETERMINED, note="the explorer gave up after 1 states")
    cells = tuple(is_open if cell.name == "same-pops" else cell for cell in use_before_wait.cells)
    assert replace(use_before_wait, cells=cells).verdict is Verdict.HOLDS


def test_the_table_has_a_line_for_each_fault_and_says_what_its_signs_mean(rankproof: Callable[..., Any]) -> None:
    answer = rankproof("refute", "--matrix", "use-before-wait", "idle-without-flush")
    lines = answer.out.splitlines()
    assert max(map(len, lines[:-1])) <= 80
    row = next(line.split() for line in lines if line.startswith("use-before-wait "))
    assert row == ["use-before-wait", "7B", ".", "7B", ".", ".", ".", ".", "5B", ".", ".", "-", "-"]
    assert lines.index(" ".join(["  1 finished-before-pop  2 same-pops  3 exact-delay  4 bounded-lag"])) == 1
    names = [line.split()[0] for line in lines if line.split() and line.split()[0] in FAULTS]
    assert names == ["use-before-wait", "idle-without-flush"]
    assert lines[-1] == (
        "holds: 2 faults: of all pairs of a fault and a property 4 are broken, 3 of them seen by both finders, and 16 "
        "are whole; 0 are open"
    )
    assert answer.code == 0


def test_what_is_open_is_named_once_a_fault_and_a_reason(
    rankproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, use_before_wait: Row
) -> None:
    gave_up, differ = "the explorer gave up after 20 states", "the explorer says holds, the solver violated"
    notes = {"same-pops": gave_up, "exact-delay": differ, "no-deadlock": gave_up}
    cells = tuple(
        Cell(cell.name, Verdict.UNDETERMINED, note=notes[cell.name]) if cell.name in notes else cell
        for cell in use_before_wait.cells
    )
    monkeypatch.setattr(matrix, "row_of", lambda name: replace(use_before_wait, cells=cells))
    out = rankproof("refute", "--matrix", "use-before-wait").out
    row = next(line.split() for line in out.splitlines() if line.startswith("use-before-wait "))
    assert row == ["use-before-wait", "7B", "?", "?", ".", ".", ".", "?", "5B", ".", ".", "-", "-"]
    words = " ".join(out.split())
    assert "? not known, for the reason below; - the scenario has nothing" in words
    assert f"use-before-wait: ? for same-pops, no-deadlock, because {gave_up}" in words
    assert f"use-before-wait: ? for exact-delay, because {differ}" in words


def test_the_faults_with_the_most_states_are_begun_first() -> None:
    begun = sorted(FAULTS, key=lambda name: -matrix._size(name))
    assert begun[0] == "two-reduces-in-one-round"
    assert set(begun[1:3]) == {"follower-pops-at-once", "agreement-in-halves"}


def test_the_report_has_them_begun_in_that_order(
    monkeypatch: pytest.MonkeyPatch, rankproof: Callable[..., Any]
) -> None:
    asked: list[Any] = []

    def here(function: Callable[[str], Row], names: list[str], *, size: object) -> Iterator[Row]:
        asked.append(size)
        return map(function, names)

    monkeypatch.setattr(parallel, "each", here)
    assert rankproof("refute", "--matrix", "use-before-wait").code == 0
    assert asked == [matrix._size]


def test_a_fault_that_the_solver_does_not_read_says_why_in_words(rankproof: Callable[..., Any]) -> None:
    answer = " ".join(rankproof("refute", "--matrix", "idle-without-flush").out.split())
    assert "idle-without-flush: E alone, because drains-to-empty plays on to the end from each state;" in answer


def test_what_falls_late_and_is_not_claimed_is_left_to_the_explorer() -> None:
    """As a shorter one is not there to the solver either, which is asked where the catalogue claims it."""
    (cell,) = (each for each in cells_of(FAULTS["pop-own-count"].model) if each.name == "exact-delay")
    assert (cell.sign, cell.note) == ("12B", "")
    cells = {each.name: each for each in cells_of(FAULTS["reset-without-drain"].model)}
    assert (cells["finished-before-pop"].sign, cells["finished-before-pop"].note) == ("15E", NOT_ASKED)


def test_the_json_document_holds_every_cell(rankproof: Callable[..., Any]) -> None:
    document = json.loads(rankproof("refute", "--matrix", "use-before-wait", "--format", "json").out)
    (fault,) = document["faults"]
    assert (document["verdict"], document["properties"]) == ("holds", list(PROPERTIES))
    first = fault["cells"][0]
    assert (first["name"], first["verdict"], first["length"], first["finders"]) == (
        "finished-before-pop",
        "violated",
        7,
        "ES",
    )
    assert fault["cells"][-1]["verdict"] is None


def test_a_table_of_schedules_is_not_written(rankproof: Callable[..., Any]) -> None:
    answer = rankproof("refute", "--matrix", "--out", "somewhere")
    assert (answer.code, answer.err) == (2, "rankproof: --matrix writes no schedules; leave out --out, or --matrix\n")


def test_what_the_catalogue_claims_is_searched_for_longer() -> None:
    model = FAULTS["use-before-wait"].model
    assert {cell.name: cell.sign for cell in cells_of(model, limit=20)}["one-owner"] == "?"
    claimed = {cell.name: cell.sign for cell in cells_of(model, ("one-owner",), limit=20)}
    assert (claimed["one-owner"], claimed["exact-delay"]) == ("5B", "?")
