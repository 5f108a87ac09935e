"""The fitted latency, and how it is carried to more ranks."""

from __future__ import annotations

import random
from statistics import median

import numpy as np
import pytest

from rankproof.benchmarks.latency import Latency, drawn, exchanges, fitted
from rankproof.benchmarks.simulation import ENOUGH, Curve, networks, simulated

HERE = Latency(0.0002, 0.0003, 0.4)


def test_the_fit_has_the_median_and_the_tail_of_what_was_measured() -> None:
    draw = random.Random(3)
    measured = [HERE.quantile(draw.uniform(1e-6, 1 - 1e-6)) for _ in range(4000)]
    fit = fitted(measured)
    assert fit.median == pytest.approx(median(measured))
    assert fit.tail == pytest.approx(sorted(measured)[3959])
    assert fit.least < min(measured)


def test_too_few_rounds_have_no_tail() -> None:
    with pytest.raises(ValueError, match="99 rounds are too few"):
        fitted([0.001] * 99)


def test_latencies_that_are_all_alike_have_no_spread() -> None:
    assert fitted([0.001] * 100).spread == 0


def test_a_round_takes_an_exchange_more_where_ranks_double() -> None:
    assert [exchanges(number) for number in (2, 3, 4, 8, 4096)] == [1, 2, 2, 3, 12]


def test_one_draw_stands_for_the_slowest_of_many() -> None:
    rounds, ranks = 4000, 16
    flat = Latency(0.0, 1.0, 0.5)
    draw = np.random.default_rng(5)
    slowest = np.exp(0.5 * draw.standard_normal((rounds, 4, ranks))).max(axis=2).sum(axis=1)
    assert float(np.median(drawn(flat, ranks, rounds, seed=6))) == pytest.approx(float(np.median(slowest)), rel=0.02)


def test_the_published_hosts_have_their_median_over_4_ranks() -> None:
    found = networks(HERE, seed=0)
    for name, seconds in (("0.5 ms at 4 ranks (GB300)", 0.0005), ("3.2 ms at 4 ranks (B200)", 0.0032)):
        assert median(drawn(found[name], 4, 1001, 0)) == pytest.approx(seconds)


def test_more_depth_never_loses_throughput_and_blocking_loses_the_most() -> None:
    kept = list(simulated(HERE, 64, 0.005, True, seed=0).values())
    assert kept == sorted(kept)
    assert kept[0] < ENOUGH


def test_the_depth_that_is_needed_is_the_least_that_keeps_enough() -> None:
    curve = Curve("net", 5.0, True, {2: {0: 0.5, 1: 0.9, 2: 0.995, 4: 1.0}, 4: {0: 0.1, 1: 0.2}})
    assert curve.depth_for(2) == 2
    assert curve.depth_for(4) is None
