"""Counting looks at no more than the finished prefix, and popping pops no more than was counted."""

from __future__ import annotations

import pytest

from rankproof.benchmarks.growth import FINISHING, Waiting

STEPS = 20


@pytest.mark.parametrize("waiting", [1, 100, 10_000])
def test_counting_asks_the_head_alone_where_it_has_not_finished(waiting: int) -> None:
    lane = Waiting(waiting, finishing=0)
    assert [lane.step()[0] for _ in range(STEPS)] == [0] * STEPS
    assert lane.asked == STEPS


@pytest.mark.parametrize("waiting", [10, 100, 10_000])
def test_a_step_asks_and_pops_what_has_finished_and_asks_one_more(waiting: int) -> None:
    lane = Waiting(waiting, finishing=FINISHING)
    popped = [lane.step()[0] for _ in range(STEPS)]
    assert popped == [0, *[FINISHING] * (STEPS - 1)]  # pipelined: what one step counts the next one pops
    assert lane.asked == STEPS * (FINISHING + 1)
    assert lane.left == waiting + FINISHING  # those of the last step, which the next one pops
