"""The report of a run, section by section: what was measured, in words and tables, and which plots belong to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rankproof.benchmarks.growth_tables import growth_tables
from rankproof.benchmarks.overlap_tables import carrier_tables, guard_tables, overlap_tables
from rankproof.benchmarks.results import Results
from rankproof.benchmarks.simulation_tables import simulation_tables
from rankproof.benchmarks.tables import Table
from rankproof.benchmarks.targets import target_tables
from rankproof.benchmarks.verification_tables import verification_tables


@dataclass(frozen=True, slots=True)
class Section:
    """One item as it is reported.

    name   of the item, or "targets"
    kind   measured or simulated
    says   paragraphs: what was done, and how the figures are to be read
    plots  the names of its plots (see `plots`)
    """

    name: str
    title: str
    kind: str
    says: tuple[str, ...]
    tables: tuple[Table, ...]
    plots: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Plan:
    """A section before there are results for it."""

    name: str
    title: str
    kind: str
    says: tuple[str, ...]
    tables: Callable[[Results], Sequence[Table]]
    plots: tuple[str, ...]


def sections(results: Results) -> list[Section]:
    """A section for each item that has results, in order."""
    return [
        Section(plan.name, plan.title, plan.kind, plan.says, tables, plan.plots)
        for plan in _PLANS
        if (tables := tuple(plan.tables(results)))
    ]


_PLANS: tuple[_Plan, ...] = (
    _Plan(
        "targets",
        "Targets",
        "measured",
        (
            "What was aimed for, beside what this run has measured; met is judged by the median, and where a "
            "difference is meant by the intervals. Hidden is (B - C) / (B - A), with the work of the thread that "
            "steps, which is in C as it is in B; of the wait alone says how much of the waiting is gone. The floor is "
            "the same pipelining with nothing but its counts, over the same transport and in the same turns: a target "
            "that the floor misses is missed whatever is or is not checked.",
        ),
        target_tables,
        (),
    ),
    _Plan(
        "overlap",
        "What pipelining saves",
        "measured",
        (
            "A scheduler loop in real processes that agree over gloo. In each step every rank enqueues an ack in each "
            "of two lanes, makes one step of the agreement, and then leaves its core idle for the time of a forward. "
            "The loop runs without any agreement (A), blocking (B), pipelined (C) and with two rounds in flight (D), "
            "in turn, A B C D A B C D, in the same processes, so that what slows the machine slows all alike; with "
            "them in turn runs a bare C, which reduces and pops counts and checks nothing. A slower network is made by "
            "a worker on each rank that hands over what gloo gave some time later, first in first out. The order of "
            "issue stays what it is, and the worker is given its rounds outside the step, so that it takes no time of "
            "one.",
        ),
        overlap_tables,
        ("overlap", "hidden"),
    ),
    _Plan(
        "carrier",
        "What a carrier saves",
        "measured",
        (
            "The pipelined loop, its rounds carried by a thread of their own (`open_ack_sync(..., carrier=True)`), and "
            "by the thread that steps; and the loop without any agreement; in turn. The forward is idle, or busy in "
            "one of two ways: a carrier needs the interpreter, which is free while the other thread lets go of it.",
        ),
        carrier_tables,
        (),
    ),
    _Plan(
        "guards",
        "What the guard words cost",
        "measured",
        (
            "The same loop, pipelined: the implementation, the same without its guard words, and the counts alone on "
            "plain queues, in turn.",
        ),
        guard_tables,
        ("guards",),
    ),
    _Plan(
        "growth",
        "How the cost of a step grows",
        "measured",
        (
            "Steps back to back, with no forward in between. Over ranks and lanes on real processes, blocking and "
            "pipelined in turn; once ranks outnumber the cores of the machine, gloo's threads compete for them, and "
            "that is what shows. Over acks waiting on one rank alone, without a network.",
        ),
        growth_tables,
        ("growth",),
    ),
    _Plan(
        "simulation",
        "Beyond this machine",
        "simulated",
        (
            "Measured are only the rounds of two ranks here; all else is simulated, by the recurrences of the model's "
            "waits, which a test holds against the model action by action. A round of n ranks takes log2 n exchanges, "
            "one after the other, each as slow as the slowest of n draws of the measured distribution: that is an "
            "assumption, and a pessimistic one. The published hosts have the same shape, scaled so that the median "
            "over 4 ranks is theirs. A real network of many hosts has other latencies and other tails.",
        ),
        simulation_tables,
        ("ranks", "depth"),
    ),
    _Plan(
        "verification",
        "What verification costs",
        "measured",
        (
            "Proofs by each solver in turn; worlds of growing size, each in a process of its own, until the time is "
            "spent; random schedules, run in each of several ways in turn; and each known fault, found once.",
        ),
        verification_tables,
        ("verification",),
    ),
)
