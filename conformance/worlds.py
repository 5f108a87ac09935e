"""The worlds in which the reference implementation is held against the model: topologies, and what happens there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import hypothesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis.errors import Flaky
from hypothesis.stateful import run_state_machine_as_test

from rankproof.conformance.driver import HarnessLost, Mismatch
from rankproof.conformance.launcher import Launcher
from rankproof.conformance.machine import Enough, Findings, machine_for
from rankproof.conformance.pool import RankPool
from rankproof.conformance.ranks import Pool
from rankproof.model.actions import KINDS
from rankproof.model.interleaving import Model
from rankproof.model.protocol import BLOCKING, PIPELINED, Protocol, Word, depth
from rankproof.model.scenario import Scenario

WORDS: tuple[Word, ...] = ("request", "round", "mode", "layout", "epoch", "enqueued", "popped")
"""The guard words of the reference implementation, where lanes are filled in the same step on every rank."""

PLENTY = 300
"""More of everything than one random schedule comes to."""

STEPS_AN_EXAMPLE = 30
"""Moves of a random schedule, each of one rank or of all."""

_REFERENCE = "rankproof.conformance.reference"


@dataclass(frozen=True, slots=True)
class World:
    """A subject of the reference implementation, and the model that it is held against.

    says    the topology and what happens, in a few words
    subject the factory in `rankproof.conformance.reference`
    model   the protocol with its guard words, and what the engine does and what goes wrong
    """

    says: str
    subject: str
    model: Model

    @property
    def factory(self) -> str:
        """The factory as "package.module:name"."""
        return f"{_REFERENCE}:{self.subject}"


def guarded(protocol: Protocol, *lacking: Word) -> Protocol:
    """The protocol with the guard words of the reference implementation but for these; changes are agreed on."""
    words = tuple(word for word in WORDS if word not in lacking)
    return replace(protocol, guards=words, attaches="agreed" if "request" in words else "drained")


_ENGINE = Scenario(
    lanes=("write", "hits"),
    storage=1,
    acks=PLENTY,
    resets=PLENTY,
    evicts=PLENTY,
    flushes=PLENTY,
    attaches=PLENTY,
    closes=1,
    aligned_enqueue=True,
    aligned_attach=False,
    ahead=PLENTY,
)
# Acks of storage would have to reach a rank before it detaches, and nothing aligns that here.
_UNALIGNED = replace(_ENGINE, lanes=("write", "load"), storage=0, aligned_enqueue=False, aligned_resets=False, evicts=0)
_PIPELINE = replace(
    _ENGINE, ranks=4, lanes=("write", "load"), storage=0, attaches=0, topology="pipeline", leaders=2, ahead=4
)
_FAULTY = replace(_ENGINE, lanes=("write", "load"), storage=0, attaches=0, evicts=0, closes=0)

WORLDS: tuple[World, ...] = (
    World("TP 2, pipelined", "with_storage", Model(guarded(PIPELINED), _ENGINE)),
    World("TP 2, blocking", "blocking_with_storage", Model(guarded(BLOCKING), _ENGINE)),
    World("TP 2, depth 2", "depth_2_with_storage", Model(guarded(depth(2)), _ENGINE)),
    World("TP 2, depth 4", "depth_4_with_storage", Model(guarded(depth(4)), _ENGINE)),
    World("TP 4, pipelined", "with_storage", Model(guarded(PIPELINED), replace(_ENGINE, ranks=4))),
    World("CP 2 x TP 2, blocking", "grid_2x2_with_storage", Model(guarded(BLOCKING), replace(_ENGINE, ranks=4))),
    World("PP 2 x TP 2, blocking", "pipeline_2x2", Model(guarded(BLOCKING, "request"), _PIPELINE)),
    World("TP 2, pipelined, reset in other steps", "unaligned", Model(guarded(PIPELINED, "enqueued"), _UNALIGNED)),
    World(
        "TP 2, pipelined, acks lost, swapped and stalled",
        "on_its_own_group",
        Model(guarded(PIPELINED, "request"), replace(_FAULTY, losses=1, swaps=1, stalls=2)),
    ),
    World(
        "TP 2, pipelined, a rank throws or is killed",
        "on_its_own_group",
        Model(guarded(PIPELINED, "request"), replace(_FAULTY, throws=1, crashes=1)),
    ),
    World(
        "TP 2, the second rank blocking",
        "mixed_modes",
        Model(guarded(PIPELINED, "request"), replace(_FAULTY, blocking_ranks=1)),
    ),
)
"""Every topology of the implementation with every operation, and what may go wrong where ranks agree in one group."""

OF_THE_MODEL_ONLY = {
    "decline": "a step that a rank leaves out: the implementation cannot see it without the caller's own step numbers",
    "withdraw": "an ack taken out of its lane: no call of the implementation does it",
    "notice": "a rank learns that another is gone before it needs it: that is up to gloo, and taken where it happens",
}
"""The actions that no world takes, each with the reason."""


def not_taken(taken: Iterable[dict[str, int]]) -> tuple[str, ...]:
    """The actions of the model that none of some runs took, in the order of the model, but for `OF_THE_MODEL_ONLY`."""
    total: Counter[str] = Counter()
    for each in taken:
        total.update(each)
    return tuple(name for name in KINDS if not total[name] and name not in OF_THE_MODEL_ONLY)


def walk(
    examples: Mapping[int, int], *, seed: int = 0, timeout: float = 3.0, launcher: Launcher | None = None
) -> dict[World, Findings]:
    """Random schedules of every world on as many real processes as it has ranks, each held against the model.

    examples  how many, by the number of ranks
    timeout   seconds within which a wait of the subject is to end

    A `launcher` saves the time to start one. Raises HarnessLost, and Mismatch for the first difference as it was found.
    """
    found = {world: Findings() for world in WORLDS}
    for ranks in sorted({world.model.scenario.ranks for world in WORLDS}):
        worlds = [world for world in WORLDS if world.model.scenario.ranks == ranks]
        with RankPool(ranks, factory=worlds[0].factory, timeout=timeout, launcher=launcher) as pool:
            for world in worlds:
                pool.regroup(factory=world.factory, lanes=world.model.scenario.lanes)
                walk_on(pool, world, found[world], examples=examples[ranks], seed=seed)
    return found


def walk_on(pool: Pool, world: World, findings: Findings, *, examples: int, seed: int) -> None:
    """Random schedules of one world on ranks that have its subject, counted into `findings`.

    The subject is held against the model, and not the model against its properties, which would take most of the time.
    """
    machine = machine_for(world.model, pool, findings, checked=())
    with suppress(Enough, Flaky):  # a failure need not come twice in the same way; `findings` has it
        run_state_machine_as_test(
            hypothesis.seed(seed)(machine),
            settings=settings(
                max_examples=examples,
                stateful_step_count=STEPS_AN_EXAMPLE,
                deadline=None,
                database=None,
                print_blob=False,
                phases=(Phase.generate,),
                suppress_health_check=list(HealthCheck),
            ),
        )
    if found := findings.failure:
        raise Mismatch(found.says, found.schedule, found.reply)
    if findings.examples < examples:
        raise HarnessLost(f"{findings.examples} of {examples} schedules ran")
