"""Several ways to agree, measured in turn in the same processes: what slows the machine down slows all of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rankproof.benchmarks.frame import Samples
from rankproof.benchmarks.ranks import ranks
from rankproof.benchmarks.scheduler import LAGS, SLOWEST, Forward, Segment
from rankproof.conformance.launcher import Launcher

TURN_S = 0.8
"""About how long one turn of all kinds takes: short beside the swings of a machine's load, long beside one step."""

FEWEST_STEPS = 6
MOST_STEPS = 200
"""Steps of one kind in a turn."""

FEWEST_TURNS = 5
"""Below that a bootstrap interval says little."""

CALIBRATION = 5
"""Steps of each kind that tell how many are to make the first turn; no sample is taken of them."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all kinds are given alike.

    forward_s  seconds of the forward of each step
    delay_s    seconds added to each round
    forward    what the forward does
    """

    ranks: int
    forward_s: float
    delay_s: float = 0.0
    lanes: int = 2
    seed: int = 0
    forward: Forward = "idle"


def in_turn(launcher: Launcher, kinds: Sequence[str], setting: Setting, seconds: float) -> Samples:
    """Each kind in turn, over and over, for that many seconds; a sample is one kind's part of a turn.

    A sample has `turn`, `kind`, `steps`, and what one step took (see `Took`).
    """
    until = time.monotonic() + seconds
    opened = ranks(
        launcher, setting.ranks, tuple(kinds), lanes=setting.lanes, delay_s=setting.delay_s, seed=setting.seed
    )
    with opened as group:
        step_of_each_s = sum(group.run(_segment(kind, CALIBRATION, setting), 1.0).loop_s for kind in kinds)
        turn = 0
        while turn < FEWEST_TURNS or time.monotonic() < until:
            steps = max(FEWEST_STEPS, min(MOST_STEPS, round(TURN_S / step_of_each_s)))
            step_of_each_s = 0.0  # so that a machine that has become busy makes the next turn no longer
            for kind in kinds:
                took = group.run(_segment(kind, steps, setting), TURN_S)
                step_of_each_s += took.loop_s
                yield {"turn": turn, "kind": kind, "steps": steps, **asdict(took)}
            turn += 1


def _segment(kind: str, steps: int, setting: Setting) -> Segment:
    """Transfers and rounds in flight are in a steady state before the first step that is measured."""
    warm = max(LAGS.get(kind, 0), SLOWEST // 2)
    return Segment(kind, warm, steps, setting.forward_s, setting.forward)
