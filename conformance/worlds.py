"""The worlds in which the reference implementation is held against the model: topologies, and what happens there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from rankproof.conformance.capabilities import PLENTY
from rankproof.conformance.commands import Command, Step
from rankproof.impl.chain import OUTSTANDING
from rankproof.model.actions import (
    KINDS,
    Attach,
    Crash,
    Decline,
    Detach,
    Enqueue,
    Evict,
    Finish,
    Flush,
    Lose,
    Reset,
    Stall,
    Swap,
    Throw,
    Withdraw,
)
from rankproof.model.interleaving import Model
from rankproof.model.protocol import BLOCKING, PIPELINED, Protocol, Word, depth
from rankproof.model.scenario import Scenario

WORDS: tuple[Word, ...] = ("request", "round", "mode", "layout", "epoch", "enqueued", "popped")
"""The guard words of the reference implementation, where lanes are filled in the same step on every rank."""

_REFERENCE = "rankproof.conformance.reference"


@dataclass(frozen=True, slots=True)
class World:
    """A subject of the reference implementation, and the model that it is held against.

    says    the topology and what happens, in a few words
    subject the factory in `rankproof.conformance.reference`
    model   the protocol with its guard words, and what the engine does and what goes wrong
    begins  commands, each of them with which a schedule begins: random ones may not come so far, or there is no time
            for any; so every world has one
    """

    says: str
    subject: str
    model: Model
    begins: tuple[tuple[Command, ...], ...] = ()

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
_PIPELINE = replace(_ENGINE, ranks=4, topology="pipeline", leaders=2, ahead=OUTSTANDING)
_FAULTY = replace(_ENGINE, lanes=("write", "load"), storage=0, attaches=0, evicts=0, closes=0)
_GONE = replace(_FAULTY, throws=1, crashes=1)


def _steps(ranks: int, number: int) -> tuple[Command, ...]:
    return tuple(Step(rank) for _ in range(number) for rank in range(ranks))


def _filled(ranks: int, lane: int = 0) -> tuple[Command, ...]:
    return tuple(Enqueue(rank, lane, ack) for ack in range(2) for rank in range(ranks))


def _with_storage(says: str, subject: str, protocol: Protocol, scenario: Scenario = _ENGINE) -> World:
    """A world in which a schedule begins with storage attached, with acks in its lane, and another with it detached.

    Acks that are left there when storage goes are what a lane that stays by mistake would keep.
    """
    ranks, model = scenario.ranks, Model(guarded(protocol), scenario)
    late = scenario.ahead if scenario.topology == "pipeline" else 0
    made = _steps(ranks, late + protocol.window + 1)
    attached = (*map(Attach, range(ranks)), *made, *_filled(ranks, len(scenario.lanes) - 1))
    emptied = (*_filled(ranks), *(Finish(rank, 0, ack) for ack in range(2) for rank in range(ranks)))
    emptied += (*(Evict(rank, 0) for rank in range(ranks)), *map(Flush, range(ranks)))
    return World(says, subject, model, (attached, (*attached, *map(Detach, range(ranks)), *made, *emptied)))


def _gone(says: str, subject: str, protocol: Protocol, *begins: tuple[Command, ...]) -> World:
    """A world of one TP group in which a rank throws or is killed."""
    model = Model(guarded(protocol, "request"), _GONE)
    return World(f"TP 2, {says}, a rank throws or is killed", subject, model, begins)


_FOLLOWER_KILLED: tuple[Command, ...] = (*_steps(4, 1), Crash(3), *_steps(2, OUTSTANDING))
"""The rank of the first stage in its column learns of it at the next send, before it needs it."""

WORLDS: tuple[World, ...] = (
    _with_storage("TP 2, pipelined", "with_storage", PIPELINED),
    _with_storage("TP 2, pipelined, on a MIN all_reduce", "reduced_with_storage", PIPELINED),
    _with_storage("TP 2, pipelined, with a carrier", "carried_with_storage", PIPELINED),
    _with_storage("TP 2, blocking", "blocking_with_storage", BLOCKING),
    _with_storage("TP 2, depth 2", "depth_2_with_storage", depth(2)),
    _with_storage("TP 2, depth 4", "depth_4_with_storage", depth(4)),
    _with_storage("TP 4, pipelined", "with_storage", PIPELINED, replace(_ENGINE, ranks=4)),
    _with_storage("CP 2 x TP 2, blocking", "grid_2x2_with_storage", BLOCKING, replace(_ENGINE, ranks=4)),
    _with_storage("PP 2 x TP 2, blocking", "pipeline_2x2_with_storage", BLOCKING, _PIPELINE),
    World(
        "TP 2, pipelined, reset in other steps",
        "unaligned",
        Model(guarded(PIPELINED, "enqueued"), _UNALIGNED),
        ((*_filled(2), *_steps(2, 1), Reset(0), *_steps(2, 2), Reset(1), *_steps(2, 2)),),
    ),
    World(
        "TP 2, pipelined, acks lost, swapped and stalled",
        "on_its_own_group",
        Model(guarded(PIPELINED, "request"), replace(_FAULTY, losses=1, swaps=1, stalls=2)),
        tuple((*_filled(2), wrong, *_steps(2, 2)) for wrong in (Lose(1, 0, 2), Swap(1, 0, 2), Stall(1, 0, 0))),
    ),
    World(
        "TP 2, blocking, an ack taken out of its lane",
        "blocking_unaligned",
        Model(guarded(BLOCKING, "request", "enqueued"), replace(_FAULTY, aligned_enqueue=False, withdrawals=1)),
        ((*_filled(2), Withdraw(1, 0, 0), Finish(0, 0, 0), Finish(1, 0, 1), *_steps(2, 2)),),
    ),
    World(
        "TP 2, pipelined, a step left out",
        "numbered",
        Model(guarded(PIPELINED, "request"), replace(_FAULTY, declines=1)),
        ((*_steps(2, 1), Decline(1), *_steps(2, 2)),),
    ),
    _gone("pipelined", "on_its_own_group", PIPELINED, (*_filled(2), *_steps(2, 1), Throw(1))),
    _gone("blocking", "blocking_on_its_own_group", BLOCKING, (*_filled(2), *_steps(2, 1), Crash(1))),
    _gone("depth 2", "depth_2_on_its_own_group", depth(2), (*_filled(2), *_steps(2, 3), Crash(0))),
    World(
        "PP 2 x TP 2, blocking, a rank throws or is killed",
        "pipeline_2x2",
        Model(guarded(BLOCKING, "request"), replace(_GONE, ranks=4, topology="pipeline", leaders=2, ahead=OUTSTANDING)),
        (_FOLLOWER_KILLED,),
    ),
    World(
        "TP 2, the second rank blocking",
        "mixed_modes",
        Model(guarded(PIPELINED, "request"), replace(_FAULTY, blocking_ranks=1)),
        (_steps(2, 2),),
    ),
)
"""Every topology of the implementation with every operation, and what may go wrong."""


def not_taken(taken: Iterable[Mapping[str, int]]) -> tuple[str, ...]:
    """The actions of the model that none of some runs took, in the order of the model."""
    total: Counter[str] = Counter()
    for each in taken:
        total.update(each)
    return tuple(name for name in KINDS if not total[name])
