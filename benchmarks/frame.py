"""How a run goes: case after case, each sample kept at once, with an estimate of the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeAlias

from rankproof.benchmarks.machine import load_average
from rankproof.benchmarks.results import Measured, Results, Sample, Value
from rankproof.conformance.launcher import Launcher

Keep: TypeAlias = Callable[[Results], None]
"""Told the run after each case, also where that is left half way."""

Samples: TypeAlias = Generator[Sample, None, None]
"""Samples as they are taken; closing it ends what takes them."""


class Lost(RuntimeError):
    """A measurement that did not come to its end; its text says why, in one line."""


class Progress(Protocol):
    """Told what is measured now, and how far that has come."""

    def __call__(self, stage: str, detail: str = "") -> None: ...


@dataclass(frozen=True, slots=True)
class Effort:
    """How much a run does.

    quick   only a first picture: fewer cases and fewer repetitions
    repeat  how many times as long each case is measured
    ranks   the numbers of ranks in place of those of each item, or () for those
    seed    of the work that ranks are given, of random schedules, and of simulated latencies
    """

    quick: bool = False
    repeat: int = 1
    ranks: tuple[int, ...] = ()
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to measure.

    seconds  about how long it takes, for the estimate
    measure  gives its samples one by one; what it has opened is closed where it is left early
    """

    name: str
    parameters: dict[str, Value]
    seconds: float
    measure: Callable[[Launcher], Samples]


@dataclass(frozen=True, slots=True)
class Item:
    """One of the things that a run measures: its cases, given the effort and what was measured before it."""

    name: str
    says: str
    cases: Callable[[Effort], Sequence[Case]]


def run(items: Sequence[Item], effort: Effort, results: Results, keep: Keep, progress: Progress) -> Results:
    """Measures every case of the items; `keep` is told what there is after each, and also where it is interrupted.

    A case that is lost is kept with its failure, and the run goes on. What is not the measurement's own failure, such
    as an interrupt, is raised.
    """
    cases = [(item, case) for item in items for case in item.cases(effort)]
    left = sum(case.seconds for _, case in cases)
    slower = 1.0
    with Launcher() as launcher:
        for number, (item, case) in enumerate(cases, 1):
            place = f"{case.name}; {number} of {len(cases)}, about {_minutes(left * slower)} left"
            progress(f"bench {item.name}", place)
            taking = _Taking(item, case)
            try:
                taking.run(launcher, partial(_tell, progress, item, place))
            finally:
                measured = taking.measured()
                results = results.with_measured(measured)
                keep(results)
            left -= case.seconds
            slower += 0.2 * (measured.seconds / case.seconds - slower)
    whole = not any(each.failure for each in results.measured)
    results = replace(results, whole=whole)
    keep(results)
    return results


def _tell(progress: Progress, item: Item, place: str, taken: int) -> None:
    progress(f"bench {item.name}", f"{place}; {taken} samples")


class _Taking:
    """One case while it is measured; what there is of it can be had at any time."""

    def __init__(self, item: Item, case: Case) -> None:
        self._item = item
        self._case = case
        self._began = time.monotonic()
        self._load = load_average()
        self._samples: list[Sample] = []
        self._failure = "interrupted"

    def run(self, launcher: Launcher, told: Callable[[int], None]) -> None:
        """Takes every sample; what is lost is the case's failure."""
        try:
            with closing(self._case.measure(launcher)) as samples:
                for sample in samples:
                    self._samples.append(sample)
                    told(len(self._samples))
            self._failure = "" if self._samples else "no sample was taken"
        except Lost as lost:
            self._failure = str(lost)

    def measured(self) -> Measured:
        """The case with what was measured so far."""
        return Measured(
            self._item.name,
            self._case.name,
            self._case.parameters,
            tuple(self._samples),
            time.monotonic() - self._began,
            (self._load, load_average()),
            self._failure,
        )


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
