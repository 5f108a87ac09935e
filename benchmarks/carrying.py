"""What a carrier saves the thread that steps, by what that does meanwhile: a carrier needs the interpreter, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from rankproof.benchmarks.estimates import Estimate
from rankproof.benchmarks.frame import Case, Effort, Item
from rankproof.benchmarks.interleaved import Setting, in_turn
from rankproof.benchmarks.results import Measured, Results
from rankproof.benchmarks.scheduler import FORWARDS, Forward
from rankproof.benchmarks.turns import Column, Turns, middle, over_turns, turns

KINDS = ("alone", "carried", "pipelined")
"""No agreement; the implementation with a carrier of its rounds; and without, as it is where nothing else is asked."""

FORWARD_MS = 10.7
RANKS = (2, 4)
SECONDS = 7.0


def cases(effort: Effort) -> Sequence[Case]:
    """Each kind of forward, on each number of ranks; the busy ones only where every rank has a core of its own."""
    numbers = effort.ranks or RANKS
    settings = [(ranks, forward) for ranks in numbers for forward in FORWARDS if forward == "idle" or ranks == RANKS[0]]
    if effort.quick:
        settings = settings[:1]
    seconds = SECONDS * (1 if effort.quick else effort.repeat)
    return [
        Case(
            f"{ranks} ranks, {forward} forward",
            {"ranks": ranks, "forward": forward, "forward_ms": FORWARD_MS},
            seconds,
            partial(
                in_turn,
                kinds=KINDS,
                setting=Setting(ranks, FORWARD_MS / 1000, seed=effort.seed, forward=forward),
                seconds=seconds,
            ),
        )
        for ranks, forward in settings
    ]


ITEM = Item("carrier", "the same pipelined loop with a carrier of its rounds and without", cases)


@dataclass(frozen=True, slots=True)
class Saving:
    """What agreement adds to a step, with a carrier and without, in seconds.

    added   to the time of a whole step with its forward, by kind
    core    of the core, in the thread that steps, by kind
    cores   added to the time of the cores in all threads of the process, by kind
    saved   by the carrier, of what is added; below 0 it costs
    """

    ranks: int
    forward: Forward
    forward_ms: float
    added: dict[str, Estimate]
    core: dict[str, Estimate]
    cores: dict[str, Estimate]
    saved: Estimate


def savings(results: Results) -> list[Saving]:
    """One for each setting that was measured."""
    found = [_saving(measured) for measured in results.of("carrier") if turns(measured, KINDS).count]
    return sorted(found, key=lambda each: (FORWARDS.index(each.forward), each.ranks))


def _saving(measured: Measured) -> Saving:
    several = turns(measured, KINDS)
    forward = next(each for each in FORWARDS if each == measured.parameters["forward"])
    return Saving(
        ranks=int(measured.parameters["ranks"]),
        forward=forward,
        forward_ms=float(measured.parameters["forward_ms"]),
        added={kind: over_turns(several, partial(_added, kind=kind, what="loop_s")) for kind in KINDS[1:]},
        core={kind: over_turns(several, partial(middle, kind=kind, what="core_s")) for kind in KINDS[1:]},
        cores={kind: over_turns(several, partial(_added, kind=kind, what="all_s")) for kind in KINDS[1:]},
        saved=over_turns(several, _saved),
    )


def _added(several: Turns, kind: str, what: str) -> Column:
    return middle(several, kind, what) - middle(several, "alone", what)


def _saved(several: Turns) -> Column:
    return middle(several, "pipelined") - middle(several, "carried")
