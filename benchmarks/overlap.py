"""What pipelining saves: a scheduler loop without agreement, blocking, pipelined and two rounds deep, in one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from rankproof.benchmarks.estimates import Estimate
from rankproof.benchmarks.frame import Case, Effort, Item
from rankproof.benchmarks.interleaved import Setting, in_turn
from rankproof.benchmarks.results import Measured, Results
from rankproof.benchmarks.turns import Column, Turns, middle, over_turns, turns

KINDS = ("alone", "blocking", "pipelined", "depth 2", "carried", "bare", "bare carried")
"""A, B, C and D of the interleaved run, and C with a carrier of its rounds; and the floor of either C: what it comes to
where only counts are reduced and popped."""

FORWARDS_MS = (1.0, 5.0, 10.7, 20.0)
DELAYS_MS = (0.0, 0.5, 2.8)
RANKS = (2, 4)

PUBLISHED = (10.7, 2.8)
"""Milliseconds of forward and of added latency that make the row of sglang#39903's box of four B200."""

PUBLISHED_THROUGHPUT = {"blocking": -0.208, "pipelined": -0.006}
"""Throughput there against no cache at all (9,303 and 11,473 tokens a second against 11,546)."""

PUBLISHED_HIDDEN = (1 / 9_303 - 1 / 11_473) / (1 / 9_303 - 1 / 11_546)
"""The hidden fraction of those figures: times of a step are in the ratio of one over tokens a second."""

SECONDS = 12.0
QUICK_SECONDS = 7.0
"""For one row."""


def cases(effort: Effort) -> Sequence[Case]:
    """Every row; the published one first, so that a run that is interrupted has it."""
    rows = [(ranks, *PUBLISHED) for ranks in effort.ranks or RANKS]
    if not effort.quick:
        rows += [
            (ranks, forward, delay)
            for ranks in effort.ranks or RANKS
            for forward in FORWARDS_MS
            for delay in DELAYS_MS
            if (forward, delay) != PUBLISHED
        ]
    else:
        rows += [((effort.ranks or RANKS)[0], forward, delay) for forward, delay in ((10.7, 0.0), (1.0, 2.8))]
    seconds = QUICK_SECONDS if effort.quick else SECONDS * effort.repeat
    return [_case(ranks, forward, delay, seconds, effort.seed) for ranks, forward, delay in rows]


def _case(ranks: int, forward_ms: float, delay_ms: float, seconds: float, seed: int) -> Case:
    setting = Setting(ranks, forward_ms / 1000, delay_ms / 1000, seed=seed)
    return Case(
        f"{ranks} ranks, forward {forward_ms:g} ms, +{delay_ms:g} ms",
        {"ranks": ranks, "forward_ms": forward_ms, "delay_ms": delay_ms},
        seconds,
        partial(in_turn, kinds=KINDS, setting=setting, seconds=seconds),
    )


ITEM = Item("overlap", "what pipelining saves in a scheduler loop on real gloo processes", cases)


@dataclass(frozen=True, slots=True)
class Row:
    """What one row comes to.

    throughput  of each kind that agrees against none, as a fraction: -0.2 is a fifth less
    hidden      the fraction of what blocking costs a step that is gone with one round in flight, or with two, or with
                one and nothing but its counts
    costs_s     what blocking adds to a step, B - A
    reduce_s    what a blocking step waits for its round
    waits_s     what a pipelined step still waits
    overlapped  the fraction of that wait of blocking which is gone with one round in flight
    core_s      what a step costs the rank's own thread in time of the core, by kind
    """

    ranks: int
    forward_ms: float
    delay_ms: float
    throughput: dict[str, Estimate]
    hidden: dict[str, Estimate]
    costs_s: Estimate
    reduce_s: Estimate
    waits_s: Estimate
    overlapped: Estimate
    core_s: dict[str, Estimate]

    @property
    def published(self) -> bool:
        """Whether it is the row of the published figures."""
        return (self.forward_ms, self.delay_ms) == PUBLISHED


def rows(results: Results) -> list[Row]:
    """Every row that was measured, by ranks, forward and latency."""
    found = [row(measured) for measured in results.of("overlap") if turns(measured, KINDS).count]
    return sorted(found, key=lambda each: (each.ranks, each.forward_ms, each.delay_ms))


def row(measured: Measured) -> Row:
    """What the samples of one row come to."""
    several = turns(measured, KINDS)
    agreeing = KINDS[1:]
    return Row(
        ranks=int(measured.parameters["ranks"]),
        forward_ms=float(measured.parameters["forward_ms"]),
        delay_ms=float(measured.parameters["delay_ms"]),
        throughput={kind: over_turns(several, partial(_against_alone, kind=kind)) for kind in agreeing},
        hidden={kind: over_turns(several, partial(_hidden, kind=kind)) for kind in agreeing[1:]},
        costs_s=over_turns(several, _costs),
        reduce_s=over_turns(several, partial(_waits, kind="blocking")),
        waits_s=over_turns(several, partial(_waits, kind="pipelined")),
        overlapped=over_turns(several, _overlapped),
        core_s={kind: over_turns(several, partial(middle, kind=kind, what="core_s")) for kind in agreeing},
    )


def _against_alone(several: Turns, kind: str) -> Column:
    return middle(several, "alone") / middle(several, kind) - 1


def _hidden(several: Turns, kind: str) -> Column:
    """(B - C) / (B - A), each the median over turns."""
    return (middle(several, "blocking") - middle(several, kind)) / _costs(several)


def _costs(several: Turns) -> Column:
    return middle(several, "blocking") - middle(several, "alone")


def _waits(several: Turns, kind: str) -> Column:
    """The median over turns of the time that a step is off the core, in seconds."""
    return np.asarray(np.median(several.columns[kind, "step_s"] - several.columns[kind, "core_s"], axis=-1))


def _overlapped(several: Turns) -> Column:
    return 1 - _waits(several, "pipelined") / _waits(several, "blocking")
