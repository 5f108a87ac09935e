"""The latency of a reduce as a distribution: fitted to measured rounds, and carried to numbers of ranks beyond them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, median

import numpy as np

from rankproof.benchmarks.simulator import Times

NORMAL = NormalDist()
TAIL = 0.99
"""The quantile that is fitted beside the median."""


@dataclass(frozen=True, slots=True)
class Latency:
    """One exchange between two ranks: never below `least` seconds, and lognormal above that.

    middle  the median of what is above the least, in seconds
    spread  of its logarithm
    """

    least: float
    middle: float
    spread: float

    @property
    def median(self) -> float:
        """In seconds."""
        return self.least + self.middle

    @property
    def tail(self) -> float:
        """The 99th percentile, in seconds."""
        return self.quantile(TAIL)

    def quantile(self, share: float) -> float:
        """The time within which that share of exchanges is done, in seconds."""
        return self.least + self.middle * math.exp(self.spread * NORMAL.inv_cdf(share))

    def scaled(self, factor: float) -> Latency:
        """The same shape, so many times as slow."""
        return Latency(self.least * factor, self.middle * factor, self.spread)


def fitted(seconds: Sequence[float]) -> Latency:
    """The latency whose median and 99th percentile are those of the measured exchanges.

    Raises ValueError for fewer than 100 of them, which have no such percentile.
    """
    if len(seconds) < 100:
        raise ValueError(f"{len(seconds)} rounds are too few for a tail")
    ordered = sorted(seconds)
    least = 0.9 * ordered[0]
    middle = median(ordered) - least
    tail = ordered[math.ceil(TAIL * len(ordered)) - 1] - least
    return Latency(least, middle, max(0.0, math.log(tail / middle)) / NORMAL.inv_cdf(TAIL))


def exchanges(ranks: int) -> int:
    """How many exchanges a round takes one after the other, where the number of ranks that know doubles in each."""
    return math.ceil(math.log2(ranks))


def drawn(latency: Latency, ranks: int, rounds: int, seed: int) -> Times:
    """The latencies of so many rounds, in seconds.

    Each of a round's exchanges ends when the slowest rank's does. The slowest of n has the quantile of u where one has
    that of the n-th root of u, so that one draw stands for all of them.
    """
    draw = np.random.default_rng(seed)
    shares = draw.uniform(1e-9, 1, size=(rounds, exchanges(ranks))) ** (1 / ranks)
    quantile = np.vectorize(latency.quantile, otypes=[float])
    slowest: Times = quantile(np.minimum(shares, 1 - 1e-12))
    total: Times = slowest.sum(axis=1)
    return total
