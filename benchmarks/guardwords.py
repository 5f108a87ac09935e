"""What the guard words cost: the pipelined agreement with and without them, with counts alone, and by all_reduce."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from rankproof.benchmarks.estimates import Estimate
from rankproof.benchmarks.frame import Case, Effort, Item
from rankproof.benchmarks.interleaved import Setting, in_turn
from rankproof.benchmarks.results import Measured, Results
from rankproof.benchmarks.turns import Column, Turns, middle, over_turns, ratio, turns

KINDS = ("pipelined", "unguarded", "bare", "reduced")
"""The implementation; without guard words; counts alone on plain queues; and the whole, but by a MIN all_reduce."""

FORWARDS_MS = (1.0, 10.7)
RANKS = (2, 4)
SECONDS = 15.0
QUICK_SECONDS = 10.0


def cases(effort: Effort) -> Sequence[Case]:
    """A short and a long forward, on each number of ranks."""
    numbers = effort.ranks or RANKS
    settings = [(ranks, forward) for ranks in numbers for forward in FORWARDS_MS]
    if effort.quick:
        settings = [(numbers[0], FORWARDS_MS[-1])]
    seconds = QUICK_SECONDS if effort.quick else SECONDS * effort.repeat
    return [
        Case(
            f"{ranks} ranks, forward {forward:g} ms",
            {"ranks": ranks, "forward_ms": forward},
            seconds,
            partial(in_turn, kinds=KINDS, setting=Setting(ranks, forward / 1000, seed=effort.seed), seconds=seconds),
        )
        for ranks, forward in settings
    ]


ITEM = Item("guards", "the same pipelined loop with and without guard words", cases)


@dataclass(frozen=True, slots=True)
class Difference:
    """What the implementation adds to a step of each other kind: guard words, or all that is not the bare protocol.

    loop      to the wall time of a step with its forward, as a fraction of it
    core_s    to the time of the core in the rank's own thread, in seconds
    """

    ranks: int
    forward_ms: float
    loop: dict[str, Estimate]
    core_s: dict[str, Estimate]


def differences(results: Results) -> list[Difference]:
    """One for each setting that was measured."""
    found = [_difference(measured) for measured in results.of("guards") if turns(measured, KINDS).count]
    return sorted(found, key=lambda each: (each.ranks, each.forward_ms))


def _difference(measured: Measured) -> Difference:
    several, others = turns(measured, KINDS), KINDS[1:]
    return Difference(
        ranks=int(measured.parameters["ranks"]),
        forward_ms=float(measured.parameters["forward_ms"]),
        loop={kind: over_turns(several, partial(_added, kind=kind)) for kind in others},
        core_s={kind: over_turns(several, partial(_added_core, kind=kind)) for kind in others},
    )


def _added(several: Turns, kind: str) -> Column:
    """As a fraction of the step without; each turn is compared with itself."""
    return ratio(several, "pipelined", kind) - 1


def _added_core(several: Turns, kind: str) -> Column:
    return middle(several, "pipelined", "core_s") - middle(several, kind, "core_s")
