"""The tables for reviewers name properties, faults and tests that there are."""

import re
from pathlib import Path

import pytest

from rankproof.model.faults import FAULTS
from rankproof.model.properties import PROPERTIES

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
HEADS = ("ask", "what one rank does wrong", "what happens on a rank of stage s")
TESTS = {name for file in HERE.glob("test_*.py") for name in re.findall(r"^def (test_\w+)", file.read_text(), re.M)}


def rows(name: str) -> list[list[str]]:
    """The cells of each row of the tables of a document, without their heads."""
    lines = (DOCS / name).read_text().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return [row for row in cells if row[0] not in HEADS]


def named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize("name", ["gloo.md", "reviewing.md"])
def test_every_row_names_a_test_that_there_is(name: str) -> None:
    assert len(rows(name)) >= 15
    for row in rows(name):
        assert named(row[-1])
        assert set(named(row[-1])) <= TESTS


def test_every_question_names_a_property_and_faults_of_the_catalogue() -> None:
    for _, of_property, fault, _ in rows("reviewing.md"):
        assert named(of_property)[0] in PROPERTIES
        assert set(named(fault)) <= set(FAULTS)


def test_every_fault_breaks_the_property_that_it_is_to_show() -> None:
    shown = [(name, named(row[1])[0]) for row in rows("reviewing.md") for name in named(row[2])]
    assert len(shown) >= 20
    assert [pair for pair in shown if pair[1] not in FAULTS[pair[0]].breaks] == []


def test_every_property_is_asked_about() -> None:
    asked = {named(row[1])[0] for row in rows("reviewing.md")}
    assert set(PROPERTIES) - asked == {"bounded-lag", "no-deadlock"}
