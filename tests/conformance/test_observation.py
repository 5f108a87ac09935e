"""What a subject says of a call, whatever sequences it says it in."""

from __future__ import annotations

from collections import deque

import pytest

from rankproof.conformance.subject import Observation


@pytest.mark.parametrize("rows", [[[0, 1], []], ([0, 1], ()), (deque([0, 1]), ()), ((0, 1), [])])
def test_lists_and_deques_are_as_good_as_tuples_for_a_lane_and_for_all_of_them(rows: tuple[tuple[int, ...]]) -> None:
    assert Observation(rows, rows) == Observation(((0, 1), ()), ((0, 1), ()))


def test_what_is_no_sequence_stays_to_be_shown_as_it_is() -> None:
    assert Observation(None, ({0},)).popped is None  # type: ignore[arg-type]
    assert repr(Observation((), ({0},)).left) == "({0},)"  # type: ignore[arg-type]
