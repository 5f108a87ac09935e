"""What the samples of verification come to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

from rankproof.benchmarks.estimates import Estimate, estimate, of_median
from rankproof.benchmarks.fuzzing_cost import WAYS
from rankproof.benchmarks.proving_cost import SOLVERS
from rankproof.benchmarks.results import Results, Sample


@dataclass(frozen=True, slots=True)
class Solver:
    """What one solver takes for every obligation: all of them together, the median, and the slowest with its name."""

    name: str
    obligations: int
    whole_s: Estimate
    middle_s: float
    slowest_s: float
    slowest: str


def solvers(results: Results) -> list[Solver]:
    """One for each solver, where proofs were measured."""
    samples = _samples(results, "proofs")
    if not samples:
        return []
    turns = _by(samples, "turn")
    last = max(len(turn) for turn in turns)
    whole = [turn for turn in turns if len(turn) == last]
    return [_solver(name, whole) for name in SOLVERS]


def _solver(name: str, turns: Sequence[Sequence[Sample]]) -> Solver:
    key = f"{name}_s"
    middles = {
        str(samples[0]["obligation"]): median(float(sample[key]) for sample in samples)
        for samples in zip(*turns, strict=True)
    }
    slowest = max(middles, key=lambda obligation: middles[obligation])
    return Solver(
        name,
        len(middles),
        estimate(turns, lambda some: median(sum(float(sample[key]) for sample in turn) for turn in some)),
        median(middles.values()),
        middles[slowest],
        slowest,
    )


def commands(results: Results) -> dict[str, Estimate]:
    """What each command that proves takes from its start to its end, in seconds."""
    took: dict[str, list[float]] = {}
    for sample in _samples(results, "the command"):
        took.setdefault(str(sample["command"]), []).append(float(sample["took_s"]))
    return {command: of_median(some) for command, some in took.items()}


@dataclass(frozen=True, slots=True)
class World:
    """One bounded world, and how far its search came.

    grown_bytes  memory of a state, or None where a world is too small to tell
    reduced      whether only the schedules that stand for all others were run
    """

    ranks: int
    lanes: int
    acks: int
    whole: bool
    states: int
    seconds: float
    grown_bytes: float | None
    reduced: bool


ENOUGH_STATES = 20_000
"""Below that the memory of a process says little about a state."""


def worlds(results: Results) -> list[World]:
    """Every world that was begun, by its states."""
    found = [
        World(
            int(sample["ranks"]),
            int(sample["lanes"]),
            int(sample["acks"]),
            bool(sample["whole"]),
            int(sample["states"]),
            float(sample["seconds_s"]),
            int(sample["grown_bytes"]) / int(sample["states"]) if int(sample["states"]) >= ENOUGH_STATES else None,
            case != "explorer",
        )
        for case in ("explorer", "explorer, reduced")
        for sample in _samples(results, case)
    ]
    return sorted(found, key=lambda world: (world.reduced, not world.whole, world.states))


@dataclass(frozen=True, slots=True)
class Rate:
    """How fast one way to run schedules is: steps of a scheduler a second, and schedules a second."""

    way: str
    steps: Estimate
    examples: Estimate


def rates(results: Results) -> list[Rate]:
    """One for each way that was measured, in the order in which they were."""
    samples = _samples(results, "fuzzing")
    by_way = {way: [sample for sample in samples if sample["way"] == way] for way in WAYS}
    return [
        Rate(way, estimate(some, partial(_a_second, what="steps")), estimate(some, partial(_a_second, what="examples")))
        for way, some in by_way.items()
        if some
    ]


def _a_second(samples: Sequence[Sample], what: str) -> float:
    return sum(float(sample[what]) for sample in samples) / sum(float(sample["took_s"]) for sample in samples)


@dataclass(frozen=True, slots=True)
class Found:
    """How long it took to find a fault, in seconds.

    solver_s  None where the solver has no reading of the fault
    hunts_s   on real processes, by random schedules: one for each search, None where that did not find it in time
    """

    fault: str
    actions: int
    states: int
    explorer_s: float
    solver_s: float | None
    hunts_s: tuple[float | None, ...]

    @property
    def hunt_s(self) -> float | None:
        """The median of the searches on processes; None where half of them found nothing, or there were none."""
        found = sorted((math.inf if each is None else each) for each in self.hunts_s)
        middle = median(found) if found else math.inf
        return None if math.isinf(middle) else middle


def found_faults(results: Results) -> list[Found]:
    """Every fault that was found, the slowest of the explorer first."""
    hunts: dict[str, tuple[float | None, ...]] = {}
    for sample in _samples(results, "faults on processes"):
        took = float(sample["hunt_s"]) if sample["found"] else None
        hunts[str(sample["fault"])] = (*hunts.get(str(sample["fault"]), ()), took)
    found = [
        Found(
            str(sample["fault"]),
            int(sample["actions"]),
            int(sample["states"]),
            float(sample["explorer_s"]),
            float(sample["solver_s"]) if "solver_s" in sample else None,
            hunts.get(str(sample["fault"]), ()),
        )
        for sample in _samples(results, "faults")
    ]
    return sorted(found, key=lambda each: -each.explorer_s)


def _samples(results: Results, case: str) -> list[Sample]:
    return [sample for each in results.of("verification") if each.case == case for sample in each.samples]


def _by(samples: Sequence[Sample], key: str) -> list[list[Sample]]:
    groups: dict[object, list[Sample]] = {}
    for sample in samples:
        groups.setdefault(sample[key], []).append(sample)
    return list(groups.values())
