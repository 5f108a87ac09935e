"""What was simulated beyond this machine, as tables."""

from __future__ import annotations

from rankproof.benchmarks.results import Results
from rankproof.benchmarks.simulation import ENOUGH, LAGS, STRAGGLER_S, STRAGGLER_SHARE, Curve, curves, measured_latency
from rankproof.benchmarks.tables import Table

SHOWN = (2, 4, 8, 32, 128, 512, 4096)
"""The numbers of ranks that the tables show; the plots show all."""

FORWARD_MS = 10.7
"""The forward whose throughput is shown whole."""


def simulation_tables(results: Results) -> list[Table]:
    """What was measured for it, then throughput, then the depth that is needed."""
    found = curves(results)
    if not found:
        return []
    return [*_measured(results), _throughput(found), _depths(found)]


def _measured(results: Results) -> list[Table]:
    latency = measured_latency(results)
    if latency is None:
        return []
    row = (f"{1e3 * value:.2f}" for value in (latency.least, latency.median, latency.tail))
    return [
        Table(
            "Measured: one exchange between two ranks here, ms",
            ("", "least", "median", "99th percentile"),
            (("fitted, lognormal above the least", *row),),
        )
    ]


def _throughput(found: list[Curve]) -> Table:
    shown = [curve for curve in found if curve.forward_ms == FORWARD_MS and curve.stragglers]
    lags = [lag for lag in (0, 1, 2, 4) if lag in LAGS]
    return Table(
        f"Simulated: throughput against no agreement, forward {FORWARD_MS:g} ms, with stragglers",
        ("network, lag", *(f"{number:,}" for number in SHOWN)),
        tuple(
            (
                f"{curve.network}, {_lag(lag)}",
                *(_share(curve.by_ranks.get(number, {}).get(lag)) for number in SHOWN),
            )
            for curve in shown
            for lag in lags
        ),
        (
            f"Columns are ranks. A straggler is {1000 * STRAGGLER_S:g} ms late, in one of {1 / STRAGGLER_SHARE:,.0f} "
            "steps of each rank. Ranks meet in each forward, with or without agreement, so that what a straggler costs "
            "the forward is on both sides.",
        ),
    )


def _depths(found: list[Curve]) -> Table:
    return Table(
        f"Simulated: the depth needed for {100 * ENOUGH:.0f}% of the throughput without agreement, with stragglers",
        ("network, forward", *(f"{number:,}" for number in SHOWN)),
        tuple(
            (
                f"{curve.network}, {curve.forward_ms:g} ms",
                *(_depth(curve, number) for number in SHOWN),
            )
            for curve in found
            if curve.stragglers
        ),
        ("Columns are ranks; 0 is blocking.",),
    )


def _depth(curve: Curve, number: int) -> str:
    if number not in curve.by_ranks:
        return "-"
    depth = curve.depth_for(number)
    return f"more than {LAGS[-1]}" if depth is None else str(depth)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}%"


def _lag(lag: int) -> str:
    return {0: "blocking", 1: "pipelined"}.get(lag, f"depth {lag}")
