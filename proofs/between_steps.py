"""What one rank does between two of its steps, wherever the others are: drain, evict, reset, and the rest.

Whatever it does there, the right protocol first consumes what the rank has in flight, round by round, each of which is
an action of its own here (`drain`). A flush, a close, and a change of layout or mode are that and nothing more to the
lanes that stay; an eviction and a reset then take out of a lane all that is in it.
"""

from __future__ import annotations

from dataclasses import replace

from rankproof.model import rules
from rankproof.model.protocol import Protocol
from rankproof.model.reading import Rank, Truth
from rankproof.proofs.obligation import Hypotheses
from rankproof.proofs.ranks_alone import EVICTION, RESET, History, Place, Places


def drain(history: History, before: Places, actor: Rank) -> tuple[Hypotheses, Place]:
    """What must be so for the actor to consume and pop, between two steps, one round; and where it stands after it."""
    me = before(actor)
    number = me.consumed + 1
    allowed = history.allowed(history.agreed(number), me.popped, number, history.offer(actor, number))
    guard: Hypotheses = {
        "between": me.phase == 0,
        "in-flight": 1 <= rules.in_flight(me.issued, me.consumed),
        "complete": rules.complete(history.reading, me.consumed, lambda rank: before(rank).issued),
        "history": history.at(number),
    }
    return guard, replace(me, consumed=number, popped=me.popped + allowed, drained=number)


def evict(history: History, before: Places, actor: Rank) -> tuple[Hypotheses, Place]:
    """The same for an eviction, which waits for all that is in the lane to finish, and pops it without a round."""
    return _emptied(history, before, actor, EVICTION, drained=history.protocol.evicts == "drained")


def reset(history: History, before: Places, actor: Rank) -> tuple[Hypotheses, Place]:
    """The same for a reset, which forgets all that is in the lane; counts begin anew, at the `base` of the epoch."""
    return _emptied(history, before, actor, RESET, drained=history.protocol.resets == "drained")


def _emptied(history: History, before: Places, actor: Rank, event: int, *, drained: bool) -> tuple[Hypotheses, Place]:
    reading, me = history.reading, before(actor)
    enqueued = reading.family("enqueued")
    guard: Hypotheses = {
        "between": me.phase == 0,
        "in-turn": reading.both(history.event(me.issued) == event, me.passed == 0),
        "enqueued-first": me.finished <= enqueued(actor),
        "aligned-enqueue": enqueued(actor) == history.start(me.issued + 1),
    }
    if drained:
        guard["drained"] = nothing_in_flight(me)
    return guard, replace(me, finished=enqueued(actor), popped=enqueued(actor), passed=1)


def change(protocol: Protocol, before: Places, actor: Rank) -> tuple[Hypotheses, Place]:
    """The same for storage that is attached or detached, which does nothing to a lane that stays."""
    me = before(actor)
    guard: Hypotheses = {"between": me.phase == 0}
    if protocol.attaches != "in-flight":
        guard["drained"] = nothing_in_flight(me)
    return guard, me


def nothing_in_flight(me: Place) -> Truth:
    """Whether a rank has consumed all that it has issued."""
    return rules.in_flight(me.issued, me.consumed) <= 0
