"""What was aimed for, and what this run has measured of it; nothing fails where a target is missed."""

from __future__ import annotations

from collections.abc import Iterator

from rankproof.benchmarks.estimates import Estimate
from rankproof.benchmarks.fuzzing_cost import BARE
from rankproof.benchmarks.growth import points
from rankproof.benchmarks.guardwords import differences
from rankproof.benchmarks.overlap import PUBLISHED, Row, rows
from rankproof.benchmarks.results import Results
from rankproof.benchmarks.tables import Table, microseconds, percent, rate, seconds, short
from rankproof.benchmarks.verification_summary import commands, rates, worlds

HIDDEN = {2: 0.98, 4: 0.95}
"""The fraction of what blocking costs that one round in flight is to hide, by ranks."""

FORWARD_MS, DELAY_MS = PUBLISHED
"""The shortest forward for which it is, and the slow reduce that is to be hidden."""

PROVE_S = {"prove": 2.0, "prove --cross-check": 5.0}
"""Seconds that each command is to take at most, with the start of its process."""

CORE_S = 150e-6
"""What a step is to cost the rank's own thread at most, at 2 ranks without load."""

STATES = 100_000
"""Distinct states a second that the explorer is to see at least, on one core, in the standard world."""

STANDARD = (3, 2, 3)
"""Its ranks, its lanes, and the acks of each lane."""

STEPS = 5_000
"""Steps a second that ranks in memory are to take at least, at 4 ranks."""


def target_tables(results: Results) -> list[Table]:
    """A line for each target that something was measured of."""
    lines = (*_hidden(results), *_deeper(results), *_guards(results), *_core(results), *_verification(results))
    if not lines:
        return []
    notes = tuple(_left(row) for row in _slow(results) if row.published and row.ranks in HIDDEN)
    return [Table("Aimed for, and measured here", ("what", "target", "measured", "met"), lines, notes)]


def _line(what: str, target: str, measured: str, met: bool) -> tuple[str, ...]:
    return what, target, measured, "yes" if met else "no"


def _slow(results: Results) -> list[Row]:
    return [row for row in rows(results) if row.delay_ms == DELAY_MS]


def _hidden(results: Results) -> Iterator[tuple[str, ...]]:
    for row in _slow(results):
        if row.forward_ms >= FORWARD_MS and row.ranks in HIDDEN:
            target = HIDDEN[row.ranks]
            where = f"{row.ranks} ranks, forward {row.forward_ms:g} ms, +{row.delay_ms:g} ms"
            shares = (
                ("hidden", row.hidden["pipelined"]),
                ("hidden with a carrier", row.hidden["carried"]),
                ("hidden with counts alone (the floor)", row.hidden["bare"]),
                ("hidden with counts alone and a carrier", row.hidden["bare carried"]),
                ("of the wait alone", row.overlapped),
            )
            for what, found in shares:
                yield _line(f"{what}, {where}", f"{100 * target:.0f}%", percent(found), found.value >= target)


def _left(row: Row) -> str:
    """Where the rest goes: what the target leaves a pipelined step, and what each way to carry its round keeps."""
    target = HIDDEN[row.ranks]
    kept = {kind: f"{estimate.scaled(1e6).value:.0f} us" for kind, estimate in row.core_s.items()}
    return (
        f"At {row.ranks} ranks, forward {row.forward_ms:g} ms, +{row.delay_ms:g} ms, blocking adds "
        f"{row.costs_s.scaled(1e3).value:.2f} ms to a step, of which a pipelined step may keep "
        f"{1e6 * (1 - target) * row.costs_s.value:.0f} us if {100 * target:.0f}% is to be hidden. In the thread that "
        f"steps ours keeps {kept['pipelined']}, and {kept['carried']} with a carrier; counts alone keep "
        f"{kept['bare']}, and {kept['bare carried']} with a carrier. What a carrier takes out of the step is the "
        "collective, issued and waited for from Python after a forward in which the core was idle and its caches went "
        "cold; what is left beside the floor is what the checks cost, and lanes that know their acks by identity."
    )


def _deeper(results: Results) -> Iterator[tuple[str, ...]]:
    for row in _slow(results):
        if row.forward_ms < row.delay_ms:
            one, two = row.hidden["pipelined"], row.hidden["depth 2"]
            what = f"hidden at depth 2, {row.ranks} ranks, forward {row.forward_ms:g} ms, +{row.delay_ms:g} ms"
            yield _line(what, f"more than the {percent(one)} at depth 1", percent(two), two.low > one.high)


def _guards(results: Results) -> Iterator[tuple[str, ...]]:
    for each in differences(results):
        found: Estimate = each.loop["unguarded"]
        what = f"guard words, {each.ranks} ranks, forward {each.forward_ms:g} ms"
        yield _line(what, "an interval with zero in it", percent(found, 2), found.includes_zero)


def _core(results: Results) -> Iterator[tuple[str, ...]]:
    target = f"under {1e6 * CORE_S:.0f}"
    for point in points(results, "ranks"):
        if point.place == 2:
            found = point.core["pipelined"]
            yield _line("a step's core time, back to back, us", target, microseconds(found), found.value < CORE_S)
    for row in rows(results):
        if (row.ranks, row.forward_ms, row.delay_ms) == (2, FORWARD_MS, 0.0):
            for what, kind in (
                ("a step's core time", "pipelined"),
                ("that with a carrier", "carried"),
                ("that of counts alone (the floor)", "bare"),
            ):
                found = row.core_s[kind]
                where = f"{what}, after {row.forward_ms:g} ms of idle core, us"
                yield _line(where, target, microseconds(found), found.value < CORE_S)


def _verification(results: Results) -> Iterator[tuple[str, ...]]:
    for world in worlds(results):
        if (world.ranks, world.lanes, world.acks) == STANDARD:
            found = world.states / world.seconds
            schedules = "the schedules that stand for all others" if world.reduced else "every interleaving"
            where = f"states a second, {world.ranks} ranks, {world.lanes} lanes, {world.acks} acks, by {schedules}"
            yield _line(where, f"{STATES:,} or more", short(found), found >= STATES)
    for command, took in commands(results).items():
        what, target = f"rankproof {command}, seconds with its start", PROVE_S[command]
        yield _line(what, f"under {target:g}", seconds(took), took.value < target)
    for way in rates(results):
        if way.way == BARE:
            yield _line(f"steps a second, {BARE}", f"{STEPS:,} or more", rate(way.steps), way.steps.value >= STEPS)
