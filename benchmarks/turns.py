"""Turns of an interleaved run as arrays, so that a statistic of them and its bootstrap are one computation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankproof.benchmarks.estimates import LEVEL, RESAMPLES, Estimate
from rankproof.benchmarks.results import Measured, Sample

Column: TypeAlias = NDArray[np.float64]
"""One number a turn, of shape [turns], or [resamples, turns]; or what comes of them, without the last dimension."""


@dataclass(frozen=True, slots=True)
class Turns:
    """What each kind took in each turn, by the kind and what is asked for."""

    count: int
    columns: Mapping[tuple[str, str], Column]

    def resampled(self) -> Turns:
        """So many draws of as many turns, with replacement; a turn is drawn whole."""
        drawn = np.random.default_rng(0).integers(self.count, size=(RESAMPLES, self.count))
        return Turns(self.count, {key: column[drawn] for key, column in self.columns.items()})


def middle(several: Turns, kind: str, what: str = "loop_s") -> Column:
    """The median over turns of what a step of a kind took, in seconds."""
    return np.asarray(np.median(several.columns[kind, what], axis=-1))


def ratio(several: Turns, kind: str, other: str) -> Column:
    """The median over turns of a step of one kind against one of another in the same turn."""
    return np.asarray(np.median(several.columns[kind, "loop_s"] / several.columns[other, "loop_s"], axis=-1))


def turns(measured: Measured, kinds: Sequence[str]) -> Turns:
    """The turns in which every kind was measured."""
    by_turn: dict[object, dict[str, Sample]] = {}
    for sample in measured.samples:
        by_turn.setdefault(sample["turn"], {})[str(sample["kind"])] = sample
    whole = [turn for turn in by_turn.values() if set(kinds) <= set(turn)]
    names = [name for name in whole[0][kinds[0]] if name.endswith("_s")] if whole else []
    return Turns(
        len(whole),
        {(kind, name): np.array([float(turn[kind][name]) for turn in whole]) for kind in kinds for name in names},
    )


def over_turns(several: Turns, statistic: Callable[[Turns], Column]) -> Estimate:
    """A statistic of the turns, with the interval of its bootstrap; raises ValueError where there is no turn."""
    if not several.count:
        raise ValueError("there is no turn to estimate from")
    draws = np.sort(statistic(several.resampled()))
    tail = round((1 - LEVEL) / 2 * RESAMPLES)
    return Estimate(float(statistic(several)), float(draws[tail]), float(draws[-1 - tail]), several.count)
