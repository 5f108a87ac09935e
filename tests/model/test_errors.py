"""A name that is not known is answered with the one that a typo explains, and else with all that there are."""

from __future__ import annotations

import pytest

from rankproof.model.errors import unknown_name
from rankproof.model.faults import FAULTS


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("no-deadlin", "no-deadline"),
        ("kept-bufer", "kept-buffer"),
        ("mixed_modes", "mixed-modes"),
        ("count-before", "count-before-pop"),
        ("skiped-ruond", "skipped-round"),
    ],
)
def test_a_typo_is_told_the_name_that_it_is_of(typed: str, meant: str) -> None:
    assert str(unknown_name("fault", typed, FAULTS)) == f"unknown fault {typed!r}; did you mean {meant!r}?"


def test_two_letters_that_changed_places_are_a_typo_of_the_shortest_names_too() -> None:
    assert str(unknown_name("action", "wiat", ["wait", "pop"])) == "unknown action 'wiat'; did you mean 'wait'?"


@pytest.mark.parametrize("typed", ["nonsense", "lost-enqueue", "deadlock-free", "nothing", "x", ""])
def test_a_name_that_no_typo_explains_is_told_all_that_there_are(typed: str) -> None:
    assert str(unknown_name("fault", typed, FAULTS)) == f"unknown fault {typed!r}; known: {', '.join(sorted(FAULTS))}"
