"""Ranks that move alone and reset in steps of their own: what an epoch word makes of the rounds that find them apart.

In `ranks_alone` every rank resets between the same two steps. Here each does when it likes, with or without draining;
acks stand on the same side of the reset on every rank, and counts are of one epoch. What a round comes to is a number
of its own again, and so are the least epoch word and the least complement; a rank pops only what `rules.accepted` lets
it. One round in flight, and counts of what remains.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from rankproof.model import rules
from rankproof.model.protocol import Phase, Protocol
from rankproof.model.reading import Rank, Truth
from rankproof.proofs.epochs_world import EpochPlace, EpochsWorld
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.obligation import Goals, Hypotheses, Obligation

Action: TypeAlias = Callable[[EpochsWorld], tuple[Hypotheses, EpochPlace]]


def _wait(world: EpochsWorld) -> tuple[Hypotheses, EpochPlace]:
    me, number = world.me, world.me.consumed + 1
    guard, following = world.turn(Phase.WAIT)
    is_due = rules.due(world.protocol, me.issued, me.consumed)
    complete = rules.complete(world.reading, me.consumed, lambda rank: world.at(rank).issued)
    guard |= {"complete": world.reading.implies(is_due, complete), "reduced": world.reduced(number)}
    allowed = world.allows(number, me, world.offer(world.actor, number))
    choose = world.reading.choose
    after = replace(me, consumed=choose(is_due, number, me.consumed), allowed=choose(is_due, allowed, 0))
    return guard, replace(after, phase=following)


def _pop(world: EpochsWorld) -> tuple[Hypotheses, EpochPlace]:
    me = world.me
    guard, following = world.turn(Phase.POP)
    amount = rules.taken(world.protocol, me.allowed, world.offer(world.actor, me.consumed + 1), me.popped)
    return guard, replace(me, popped=me.popped + amount, allowed=0, phase=following)


def _count(world: EpochsWorld) -> tuple[Hypotheses, EpochPlace]:
    guard, following = world.turn(Phase.COUNT)
    counts = rules.offer(world.protocol, world.me.finished, world.me.popped)
    return guard, replace(world.me, counted=counts, phase=following)


def _issue(world: EpochsWorld) -> tuple[Hypotheses, EpochPlace]:
    me, number = world.me, world.me.issued + 1
    guard, following = world.turn(Phase.ISSUE)
    guard["offered"] = world.offer(world.actor, number) == me.counted
    guard["stamped-now"] = world.stamp(world.actor, number) == me.epoch
    return guard, replace(me, issued=number, phase=following)


def _finish(world: EpochsWorld) -> tuple[Hypotheses, EpochPlace]:
    finished = world.reading.number("finished_now")
    return {"only-accumulate": world.me.finished <= finished}, replace(world.me, finished=finished)


def _reset(world: EpochsWorld) -> tuple[Hypotheses, EpochPlace]:
    """Between two steps, with what is in flight left there, as the epoch word allows; a drain is a wait and a pop."""
    me = world.me
    guard = {
        "between": me.phase == 0,
        "words-reduced": world.words_reduced(me.consumed),
        "next-words-reduced": world.words_reduced(me.consumed + 1),
    }
    return guard, replace(me, epoch=me.epoch + 1, popped=0, finished=0)


def _drain(world: EpochsWorld) -> tuple[Hypotheses, EpochPlace]:
    me, number = world.me, world.me.consumed + 1
    guard = {
        "between": me.phase == 0,
        "in-flight": 1 <= rules.in_flight(me.issued, me.consumed),
        "complete": rules.complete(world.reading, me.consumed, lambda rank: world.at(rank).issued),
        "reduced": world.reduced(number),
    }
    allowed = world.allows(number, me, world.offer(world.actor, number))
    return guard, replace(me, consumed=number, popped=me.popped + allowed)


def _keeps(reading: EveryRank, protocol: Protocol, *, action: Action, heeds: bool = True) -> tuple[Hypotheses, Goals]:
    world = EpochsWorld(reading, protocol, heeds)
    guard, after = action(world)
    return world.invariant(world.at) | guard, world.invariant(world.moved(after))


def _start(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    world, finished = EpochsWorld(reading, protocol, heeds=True), reading.family("finished_now")
    counts = {"counts": reading.every_rank(lambda rank: 0 <= finished(rank))}
    return counts, world.invariant(lambda rank: EpochPlace(0, finished(rank), *(0,) * 6))


def one_epoch(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A rank waits: where the round allows it to pop anything, every rank had counted for it in that rank's epoch."""
    world = EpochsWorld(reading, protocol, heeds=True)
    guard, after = _wait(world)
    number = world.me.consumed + 1
    due = {"due": rules.due(protocol, world.me.issued, world.me.consumed)}
    same = reading.every_rank(lambda rank: world.stamp(rank, number) == world.me.epoch)
    return guard | due, {"goal": reading.implies(1 <= after.allowed, same)}


def _without_the_word(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """The same where ranks compare no epochs, but reset between the same two steps, with nothing in flight."""
    world = EpochsWorld(reading, protocol, heeds=False)
    guard, after = _wait(world)
    number = world.me.consumed + 1
    guard |= {
        "due": rules.due(protocol, world.me.issued, world.me.consumed),
        "aligned-reset": reading.every_pair(lambda one, other: world.stamp(one, number) == world.stamp(other, number)),
    }
    if protocol.resets == "drained":  # so what it has in flight is of its epoch
        guard["drained"] = world.stamp(world.actor, number) == world.me.epoch
    same = reading.every_rank(lambda rank: world.stamp(rank, number) == world.me.epoch)
    return guard, {"goal": reading.implies(1 <= after.allowed, same)}


def _finished_before_pop(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A rank pops: what it has popped then is finished on every rank of its epoch, and none is in an earlier one."""
    world = EpochsWorld(reading, protocol, heeds=True)
    guard, after = _pop(world)
    pops = world.me.popped + 1 <= after.popped

    def there(rank: Rank) -> Truth:
        peer = world.at(rank)
        known = reading.implies(peer.epoch == after.epoch, after.popped <= peer.finished)
        return reading.implies(pops, reading.both(after.epoch <= peer.epoch, known))

    return world.invariant(world.at) | guard | {"reduced": world.reduced(world.me.consumed)}, {
        "goal": reading.every_rank(there),
        "no-pop-undone": world.me.popped <= after.popped,
    }


def _same_pops(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    world = EpochsWorld(reading, protocol, heeds=True)
    at, ack, place = world.at, reading.table("ack"), reading.number("place")

    def same(one: Rank, other: Rank) -> Truth:
        mine, theirs = at(one), at(other)
        level = reading.both(mine.epoch == theirs.epoch, mine.consumed == theirs.consumed)
        settled = reading.both(level, mine.allowed == 0, theirs.allowed == 0)
        both_popped = reading.both(mine.epoch == theirs.epoch, place < mine.popped, place < theirs.popped)
        return reading.both(
            reading.implies(settled, mine.popped == theirs.popped),
            reading.implies(both_popped, ack(one, place) == ack(other, place)),
        )

    known = world.invariant(at)
    in_order = reading.every_pair(
        lambda one, other: reading.implies(at(one).epoch == at(other).epoch, ack(one, place) == ack(other, place))
    )
    return {"agree": known["agree"], "same-order": in_order}, {"goal": reading.every_pair(same)}


def _one_remainder(protocol: Protocol) -> bool:
    return protocol.lag <= 1 and protocol.offers == "remaining"


def _pipelined_remainder(protocol: Protocol) -> bool:
    return protocol.lag == 1 and protocol.offers == "remaining"


ACTIONS: dict[str, Action] = {
    "wait": _wait,
    "pop": _pop,
    "count": _count,
    "issue": _issue,
    "reset": _reset,
    "drain": _drain,
    "finish": _finish,
}
"""What a rank may do, by name: what must be so for it, and where the rank stands after it."""

EPOCHS: tuple[Obligation, ...] = (
    Obligation(
        "epochs-invariant/start",
        "epochs-invariant",
        "ranks begin in one epoch, with nothing issued, popped or allowed",
        (),
        _start,
        applies=_one_remainder,
    ),
    *(
        Obligation(
            f"epochs-invariant/{name}",
            "epochs-invariant",
            f"with an epoch word, a {name} of one rank keeps the invariant of ranks that reset in different steps",
            (),
            partial(_keeps, action=action),
            applies=_one_remainder,
        )
        for name, action in ACTIONS.items()
        if name not in ("drain", "finish")
    ),
    Obligation(
        "epochs-invariant/drain",
        "epochs-invariant",
        "and so does a round that it consumes between two steps",
        (),
        partial(_keeps, action=_drain),
        applies=_pipelined_remainder,
    ),
    Obligation(
        "epochs-invariant/finish",
        "epochs-invariant",
        "and an ack that finishes on it",
        ("only-accumulate",),
        partial(_keeps, action=_finish),
        applies=_one_remainder,
    ),
    Obligation(
        "clean-lifecycle/epoch-word",
        "clean-lifecycle",
        "with an epoch word, what a round allows a rank to pop was counted by every rank in that rank's epoch",
        (),
        one_epoch,
        applies=_one_remainder,
    ),
    Obligation(
        "clean-lifecycle/no-epoch-word",
        "clean-lifecycle",
        "and so it was without the word, where all ranks reset between the same two steps and drain first",
        ("aligned-reset",),
        _without_the_word,
        applies=_one_remainder,
    ),
    Obligation(
        "finished-before-pop/epochs",
        "finished-before-pop",
        "with an epoch word, what a rank pops is finished on every rank of its epoch, and none is in an earlier one",
        (),
        _finished_before_pop,
        applies=_one_remainder,
    ),
    Obligation(
        "same-pops/epochs",
        "same-pops",
        "ranks of one epoch that have consumed as many rounds have popped as many acks, and at each place the same",
        ("same-order",),
        _same_pops,
        applies=_one_remainder,
    ),
)

FALSE_OF_EPOCHS: tuple[Obligation, ...] = (
    Obligation(
        "false/reset-in-another-step",
        "finished-before-pop",
        "ranks may reset in different steps without an epoch word",
        (),
        partial(_keeps, action=_reset, heeds=False),
        applies=_one_remainder,
    ),
)
