"""A schedule in an order that is easier to read, and still the same schedule."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby

import pytest

from rankproof import tidying
from rankproof.model.actions import Action, Count, Enqueue, Finish, Issue, Pop, Wait
from rankproof.model.schedule import Schedule, run
from rankproof.tidying import tidy


@pytest.fixture
def scattered(own_count: Schedule) -> Schedule:
    """The schedule of a fault, with ranks that take turns at every action."""
    zero: tuple[Action, ...] = (Enqueue(0, 0, 0), Finish(0, 0, 0), Wait(0), Pop(0), Count(0), Issue(0))
    one: tuple[Action, ...] = (Wait(1), Pop(1), Count(1), Issue(1))
    alternating = [action for pair in zip(zero, one, strict=False) for action in pair]
    return replace(own_count, actions=(*alternating, *zero[len(one) :], Wait(0), Pop(0)))


def turns(schedule: Schedule) -> list[int]:
    return [rank for rank, _ in groupby(action.rank for action in schedule.actions)]


def test_each_rank_does_what_it_can_before_the_next_begins(scattered: Schedule) -> None:
    assert turns(scattered) == [0, 1, 0, 1, 0, 1, 0, 1, 0]
    assert turns(tidy(scattered)) == [1, 0]


def test_no_rank_does_anything_else_or_in_another_order(scattered: Schedule) -> None:
    tidied = tidy(scattered)
    assert Counter(tidied.actions) == Counter(scattered.actions)
    for rank in (0, 1):
        assert [a for a in tidied.actions if a.rank == rank] == [a for a in scattered.actions if a.rank == rank]


def test_the_same_property_falls_in_the_same_last_action(scattered: Schedule) -> None:
    tidied = tidy(scattered)
    assert tidied.actions[-1] == scattered.actions[-1]
    fall = run(tidied).violations[0]
    assert (fall.property, fall.index) == ("finished-before-pop", len(tidied.actions) - 1)


def test_an_order_in_which_the_property_does_not_fall_last_is_not_taken(
    scattered: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidying, "_orders", lambda schedule: iter([schedule.actions[:-2]]))
    assert tidy(scattered) == scattered


def test_a_schedule_that_is_about_no_property_is_left_alone(scattered: Schedule) -> None:
    assert tidy(replace(scattered, breaks=None)).actions == scattered.actions


def test_a_schedule_that_stops_is_left_alone(scattered: Schedule) -> None:
    stopped = replace(scattered, actions=(*scattered.actions, Count(1)))
    assert tidy(stopped) == stopped
