"""Medians and their bootstrap intervals."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from rankproof.benchmarks.estimates import Estimate, estimate, of_median


def test_equal_samples_leave_no_doubt() -> None:
    assert of_median([3.0] * 9) == Estimate(3.0, 3.0, 3.0, 9)


def test_the_interval_holds_the_median_and_is_narrower_where_samples_are_closer() -> None:
    draw = random.Random(1)
    wide = of_median([draw.gauss(5, 2) for _ in range(40)])
    narrow = of_median([draw.gauss(5, 0.2) for _ in range(40)])
    assert wide.low <= wide.value <= wide.high
    assert narrow.high - narrow.low < wide.high - wide.low


def test_about_95_of_100_intervals_hold_the_true_median() -> None:
    draw = random.Random(2)
    intervals = [of_median([draw.gauss(0, 1) for _ in range(15)], seed=run) for run in range(100)]
    assert 88 <= sum(each.includes_zero for each in intervals) <= 100


def test_the_same_samples_give_the_same_interval() -> None:
    values = [1.0, 2.0, 4.0, 8.0, 16.0]
    assert of_median(values) == of_median(values)


def test_what_was_measured_together_is_resampled_together() -> None:
    pairs = [(value, 2 * value) for value in (1.0, 5.0, 9.0, 40.0)]

    def ratio(some: Sequence[tuple[float, float]]) -> float:
        return sum(second for _, second in some) / sum(first for first, _ in some)

    assert estimate(pairs, ratio) == Estimate(2.0, 2.0, 2.0, 4)


def test_a_difference_is_one_only_where_the_interval_leaves_zero_out() -> None:
    assert Estimate(0.1, -0.1, 0.3, 9).includes_zero
    assert not Estimate(0.1, 0.05, 0.3, 9).includes_zero


def test_a_negative_factor_keeps_the_ends_in_order() -> None:
    assert Estimate(1.0, 0.5, 2.0, 9).scaled(-10) == Estimate(-10.0, -20.0, -5.0, 9)


def test_nothing_cannot_be_estimated_from() -> None:
    with pytest.raises(ValueError, match="nothing to estimate from"):
        of_median([])
