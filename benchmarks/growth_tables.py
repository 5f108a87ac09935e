"""What was measured of growth, as tables."""

from __future__ import annotations

from rankproof.benchmarks.growth import FINISHING, KINDS, points
from rankproof.benchmarks.results import Results
from rankproof.benchmarks.tables import Table, microseconds


def growth_tables(results: Results) -> list[Table]:
    """A table for each axis that was measured."""
    return [*_on_ranks(results, "ranks", "2 lanes"), *_on_ranks(results, "lanes", "2 ranks"), *_waiting(results)]


def _on_ranks(results: Results, over: str, at: str) -> list[Table]:
    measured = points(results, over)
    if not measured:
        return []
    return [
        Table(
            f"A step against {over}, {at}, with no forward in between; us",
            (over, *(f"{kind}, all" for kind in KINDS), *(f"{kind}, core" for kind in KINDS)),
            tuple(
                (
                    f"{point.place:,}",
                    *(microseconds(point.costs[kind]) for kind in KINDS),
                    *(microseconds(point.core[kind]) for kind in KINDS),
                )
                for point in measured
            ),
            (
                "All is wall time, with the wait for the round; core is time of the core in the rank's own thread. "
                "Without a forward there is nothing to hide behind, so that both kinds wait for the reduce.",
            ),
        )
    ]


def _waiting(results: Results) -> list[Table]:
    measured = points(results, "waiting")
    if not measured:
        return []
    return [
        Table(
            "A step against the acks that wait in a lane, one rank alone; us of the core",
            ("acks waiting", "the head has not finished", f"{FINISHING} acks popped in each step"),
            tuple(
                (f"{point.place:,}", microseconds(point.costs["counting"]), microseconds(point.costs["popping"]))
                for point in measured
            ),
            (
                "Counting asks the finished prefix and the first ack behind it, and nothing else; a test holds that by "
                "the number of questions asked.",
            ),
        )
    ]
