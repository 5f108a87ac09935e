"""Beyond this machine: throughput up to 4,096 ranks, simulated, with latencies whose shape was measured here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import median

import numpy as np

from rankproof.benchmarks.frame import Case, Effort, Item, Samples
from rankproof.benchmarks.latency import Latency, drawn, fitted
from rankproof.benchmarks.ranks import ranks
from rankproof.benchmarks.results import Results, Sample
from rankproof.benchmarks.scheduler import Rounds
from rankproof.benchmarks.simulator import Times, throughput
from rankproof.conformance.launcher import Launcher

RANKS = tuple(2**power for power in range(1, 13))
LAGS = (0, 1, 2, 3, 4, 6, 8, 16)
FORWARDS_MS = (5.0, 10.7, 20.0)
ROUNDS = 400
"""Steps of one simulated run."""

STRAGGLER_SHARE = 0.001
STRAGGLER_S = 0.003
"""How many of the steps of a rank are longer than its forward, and by how much, where there are stragglers."""

PUBLISHED_AT = 4
PUBLISHED_S = {"0.5 ms at 4 ranks (GB300)": 0.0005, "3.2 ms at 4 ranks (B200)": 0.0032}
"""The median of a reduce over 4 ranks on the hosts of sglang#39903."""

HERE = "gloo on this machine"
ENOUGH = 0.99
"""The fraction of the throughput without agreement that a depth must keep."""

MEASURED_ROUNDS = 250
PAUSE_S = 0.005
"""Rounds that are measured at a time, and the idle time between two of them, in which cores and caches grow cold."""


def cases(effort: Effort) -> Sequence[Case]:
    """Rounds measured on two ranks, and then all that is simulated with their latencies."""
    batches = 2 if effort.quick else 4 * effort.repeat
    return [
        Case(
            "beyond this machine",
            {"rounds": ROUNDS, "measured_rounds": batches * MEASURED_ROUNDS},
            batches * MEASURED_ROUNDS * 1.5 * PAUSE_S + 10.0,
            partial(_simulate, batches=batches, seed=effort.seed),
        )
    ]


ITEM = Item("simulation", "throughput of up to 4,096 ranks, simulated", cases)


def _simulate(launcher: Launcher, batches: int, seed: int) -> Samples:
    """First samples with `measured_s`, the latency of one round here, then simulated ones.

    A simulated sample has `network`, `forward_ms`, `stragglers`, `ranks`, and under each lag (`lag 0`, `lag 1` ...)
    throughput as a fraction of that without agreement.
    """
    measured: list[float] = []
    with ranks(launcher, 2, ("blocking",), seed=seed) as group:
        for _ in range(batches):
            for took in group.rounds(Rounds(MEASURED_ROUNDS, PAUSE_S)):
                measured.append(took)
                yield {"measured_s": took}
    for name, latency in networks(fitted(measured), seed).items():
        for forward_ms, stragglers, number in product(FORWARDS_MS, (False, True), RANKS):
            yield {
                "network": name,
                "forward_ms": forward_ms,
                "stragglers": stragglers,
                "ranks": number,
            } | simulated(latency, number, forward_ms / 1000, stragglers, seed)


def networks(here: Latency, seed: int) -> dict[str, Latency]:
    """This machine's latency, and those of the published hosts: the same shape, with their median over 4 ranks."""
    at_four = median(drawn(here, PUBLISHED_AT, 1001, seed))
    return {HERE: here} | {name: here.scaled(seconds / at_four) for name, seconds in PUBLISHED_S.items()}


def simulated(latency: Latency, number: int, forward_s: float, stragglers: bool, seed: int) -> dict[str, float]:
    """Throughput by lag, as a fraction of that without agreement, of ranks that meet in each forward."""
    work = _work(number, forward_s, stragglers, seed)
    latencies = drawn(latency, number, ROUNDS, seed)
    alone = throughput(work, latencies, None, meets=True)
    return {f"lag {lag}": throughput(work, latencies, lag, meets=True) / alone for lag in LAGS}


def _work(number: int, forward_s: float, stragglers: bool, seed: int) -> Times:
    late = np.random.default_rng(seed + 1).random((ROUNDS, number)) < (STRAGGLER_SHARE if stragglers else 0.0)
    return np.where(late, forward_s + STRAGGLER_S, forward_s)


@dataclass(frozen=True, slots=True)
class Curve:
    """One network and forward: throughput by lag at each number of ranks, as a fraction of that without agreement."""

    network: str
    forward_ms: float
    stragglers: bool
    by_ranks: dict[int, dict[int, float]]

    def depth_for(self, number: int) -> int | None:
        """The least lag that keeps enough of the throughput, or None where none of those simulated does."""
        return next((lag for lag, kept in self.by_ranks[number].items() if kept >= ENOUGH), None)


def curves(results: Results) -> list[Curve]:
    """Every curve that was simulated."""
    found: dict[tuple[str, float, bool], dict[int, dict[int, float]]] = {}
    for sample in _samples(results, "network"):
        key = str(sample["network"]), float(sample["forward_ms"]), bool(sample["stragglers"])
        by_lag = {lag: float(sample[f"lag {lag}"]) for lag in LAGS if f"lag {lag}" in sample}
        found.setdefault(key, {})[int(sample["ranks"])] = by_lag
    return [Curve(*key, by_ranks) for key, by_ranks in found.items()]


def measured_latency(results: Results) -> Latency | None:
    """The latency that was fitted to the measured rounds."""
    waits = [float(sample["measured_s"]) for sample in _samples(results, "measured_s")]
    return fitted(waits) if len(waits) >= 100 else None


def _samples(results: Results, key: str) -> list[Sample]:
    return [sample for measured in results.of("simulation") for sample in measured.samples if key in sample]
