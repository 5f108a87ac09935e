"""When it is safe to stop: a rank that stops stepping takes no part in later rounds, so all must stop after the same.

Each round carries an idle word, 1 where nothing waits in any lane of the rank that issues it; its MIN is 1 where that
is so on every rank. A caller stops after the step in which it consumes such a round, and then drains.
"""

from __future__ import annotations

from rankproof.model import rules
from rankproof.model.protocol import Phase, Protocol
from rankproof.model.reading import Number, Rank, Truth
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.interleaved_claims import world
from rankproof.proofs.obligation import Goals, Hypotheses, Obligation


def same_step(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A rank in the wait in which it consumes a round: how many it has issued once it stops, after that step.

    That is a number of the round. So where all stop for the same round, what each has then in flight is issued by all,
    and every rank can consume it.
    """
    _, at, actor, _, known = world(reading, protocol, ("window",))
    me = at(actor)
    known |= {
        "in-its-wait": me.phase == protocol.phases.index(Phase.WAIT),
        "due": rules.due(protocol, me.issued, me.consumed),
    }
    number = me.consumed + 1
    issued_then = me.issued + 1 if protocol.lag else me.issued
    return known, {"goal": issued_then == (number + protocol.window if protocol.lag else number)}


def _lanes_are_empty(reading: EveryRank, protocol: Protocol, *, agreed: bool) -> tuple[Hypotheses, Goals]:
    """A round for which every rank said whether it was idle, and what is in its lanes when it stops.

    `agreed` is whether a rank goes by what the words come to; else by its own.
    """
    idle, enqueued, popped = reading.family("idle"), reading.family("enqueued"), reading.family("popped")
    enqueued_then, popped_then = reading.family("enqueued_then"), reading.family("popped_then")
    me, stops = reading.rank("me"), reading.number("stops")
    word = rules.agree(reading, protocol, idle) if agreed else idle(me)

    def told(rank: Rank) -> Truth:
        empty = enqueued_then(rank) <= popped_then(rank)
        return reading.both(idle(rank) <= 1, reading.implies(idle(rank) == 1, empty))

    def later(rank: Rank) -> Truth:
        return popped_then(rank) <= popped(rank)

    hypotheses = {
        "idle-word": reading.every_rank(told),
        "accumulates": reading.every_rank(later),
        "nothing-since": reading.every_rank(lambda rank: enqueued(rank) == enqueued_then(rank)),
        "stops": reading.both(stops == word, stops == 1),
    }
    return hypotheses, {"goal": reading.every_rank(lambda rank: enqueued(rank) <= popped(rank))}


def _agreed(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    return _lanes_are_empty(reading, protocol, agreed=True)


def _on_its_own(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    return _lanes_are_empty(reading, protocol, agreed=False)


def _nothing_more(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """Ranks that stop stepping and do not drain: what was counted last stays in its lane."""
    popped, offered = reading.family("popped"), reading.family("offered")
    last: Number = rules.agree(reading, protocol, offered)
    return {"counts": reading.every_rank(lambda rank: 0 <= offered(rank))}, {
        "goal": reading.every_rank(lambda rank: popped(rank) + last <= popped(rank))
    }


STOPPING: tuple[Obligation, ...] = (
    Obligation(
        "matched-collectives/stop",
        "matched-collectives",
        "ranks that stop after the step in which they consume one round have issued as many, so that each can drain",
        (),
        same_step,
        applies=lambda protocol: protocol.lag <= 1 or protocol.offers == "cumulative",
    ),
    Obligation(
        "drains-to-empty/idle-word",
        "drains-to-empty",
        "where the idle word of a round comes to 1, every lane is empty on every rank, but for acks enqueued since",
        (),
        _agreed,
    ),
)

FALSE_OF_STOPPING: tuple[Obligation, ...] = (
    Obligation(
        "false/stop-when-its-own-lanes-are-empty",
        "drains-to-empty",
        "a rank may stop when its own lanes are empty, for then all are",
        (),
        _on_its_own,
    ),
    Obligation(
        "false/empty-without-a-drain",
        "drains-to-empty",
        "when ranks stop stepping nothing is left that was counted, though the last round is not consumed",
        (),
        _nothing_more,
    ),
)
