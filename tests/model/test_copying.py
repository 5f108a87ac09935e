"""A copy with some fields changed is what `dataclasses.replace` makes of a model's states."""

from __future__ import annotations

import dataclasses

import pytest

from rankproof.model.copying import replace
from rankproof.model.state import LaneState, RankState, State, initial

LANE = LaneState(waiting=(3, 4), finished=frozenset({3}), popped=(0, 1, 2), next=5)
RANK = RankState(lanes=(LANE, LaneState()), issued=2, consumed=1, offers=((1, 0),), mishaps=("losses",))


@pytest.mark.parametrize(
    ("whole", "changes"),
    [
        (LANE, {}),
        (LANE, {"next": 6, "waiting": (3, 4, 5)}),
        (RANK, {"lanes": (LANE, LANE), "error": "dead"}),
        (initial(2, 1), {"length": 3}),
    ],
)
def test_a_copy_equals_what_dataclasses_would_make_and_leaves_what_it_was_made_of_as_it_is(
    whole: LaneState | RankState | State, changes: dict[str, object]
) -> None:
    before = dataclasses.asdict(whole)
    copy = replace(whole, **changes)  # type: ignore[arg-type] # any of the fields
    assert copy == dataclasses.replace(whole, **changes)  # type: ignore[arg-type] # any of the fields
    assert hash(copy) == hash(dataclasses.replace(whole, **changes))  # type: ignore[arg-type] # any of the fields
    assert dataclasses.asdict(whole) == before


def test_what_is_no_field_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="RankState has no field isued"):
        replace(RANK, isued=3)  # type: ignore[call-arg] # that is the point


def test_a_copy_is_as_frozen_as_what_it_was_made_of() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        replace(RANK, issued=3).issued = 4  # type: ignore[misc] # that is the point
    with pytest.raises(dataclasses.FrozenInstanceError):
        replace(LANE, next=6).next = 7  # type: ignore[misc] # likewise


@pytest.mark.parametrize("kind", [LaneState, RankState, State])
def test_what_is_copied_so_holds_its_fields_alone_and_checks_nothing_when_it_is_made(kind: type) -> None:
    assert not hasattr(kind, "__slots__")
    assert not hasattr(kind, "__post_init__")
    assert all(each.init for each in dataclasses.fields(kind))
