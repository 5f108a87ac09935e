"""A median with a bootstrap interval: what is said of samples, and how sure that is."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

One = TypeVar("One")

RESAMPLES = 1000
"""How often the samples are drawn again, with replacement; the interval's ends then move by about a tenth of it."""

LEVEL = 0.95
"""How much of the resampled values lies in the interval."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic of `count` samples, and its interval of 95% by the percentile bootstrap."""

    value: float
    low: float
    high: float
    count: int

    @property
    def includes_zero(self) -> bool:
        """Whether the interval has zero in it: no difference was measured."""
        return self.low <= 0 <= self.high

    def scaled(self, factor: float) -> Estimate:
        """The same in another unit, `factor` of which make one of this."""
        ends = sorted((self.low * factor, self.high * factor))
        return Estimate(self.value * factor, ends[0], ends[1], self.count)


def estimate(samples: Sequence[One], statistic: Callable[[Sequence[One]], float], seed: int = 0) -> Estimate:
    """The statistic of the samples; whole samples are resampled, so that what was measured together stays together.

    Raises ValueError where there is no sample.
    """
    if not samples:
        raise ValueError("there is nothing to estimate from")
    draw = random.Random(seed)
    values = sorted(statistic(draw.choices(samples, k=len(samples))) for _ in range(RESAMPLES))
    tail = round((1 - LEVEL) / 2 * RESAMPLES)
    return Estimate(statistic(samples), values[tail], values[-1 - tail], len(samples))


def of_median(values: Sequence[float], seed: int = 0) -> Estimate:
    """The median of some numbers."""
    return estimate(values, median, seed)
