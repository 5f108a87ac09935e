"""A schedule goes onto the lanes of a subject by their names, or else by their places."""

from __future__ import annotations

import pytest

from rankproof.fitting import fitted
from rankproof.model.actions import Enqueue, Finish, Wait
from rankproof.model.errors import BadInput
from rankproof.model.interleaving import Model
from rankproof.model.protocol import PIPELINED
from rankproof.model.scenario import Scenario
from rankproof.model.schedule import Schedule


def schedule(*lanes: str, storage: int = 0) -> Schedule:
    """An ack of the last lane is enqueued and finished."""
    last = len(lanes) - 1
    scenario = Scenario(lanes=lanes, storage=storage)
    return Schedule(Model(PIPELINED, scenario), (Enqueue(0, last, 0), Finish(0, last, 0), Wait(0)))


@pytest.mark.parametrize(
    ("has", "subject", "place"),
    [
        (("write", "load"), ("write", "load"), 1),
        (("load",), ("write", "load"), 1),
        (("a",), ("write", "load"), 0),
        (("a", "b"), ("write", "load", "backup"), 1),
    ],
)
def test_lanes_are_found_by_name_or_else_by_place(has: tuple[str, ...], subject: tuple[str, ...], place: int) -> None:
    moved = fitted(schedule(*has), subject)
    assert moved.model.scenario.lanes == subject
    assert moved.actions == (Enqueue(0, place, 0), Finish(0, place, 0), Wait(0))


def test_a_subject_with_too_few_lanes_is_named() -> None:
    with pytest.raises(BadInput, match="the schedule has lanes write, load, and the subject has only one"):
        fitted(schedule("write", "load"), ("one",))


def test_lanes_of_storage_stay_the_last() -> None:
    moved = fitted(schedule("b", "a", storage=2), ("write", "a", "b"))
    assert moved.model.scenario.is_storage(1)
    assert moved.actions[0] == Enqueue(0, 1, 0)


@pytest.mark.parametrize("subject", [("hits", "write"), ("write", "hits", "load"), ("write", "load", "backup")])
def test_lanes_of_storage_that_would_not_be_the_last_are_named(subject: tuple[str, ...]) -> None:
    lanes = f"storage of the schedule is hits, which would not be the last of the lanes {', '.join(subject)}"
    with pytest.raises(BadInput, match=lanes):
        fitted(schedule("write", "hits", storage=1), subject)
