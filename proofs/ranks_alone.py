"""Ranks that move alone: the state of every rank between two actions, and one action of one rank.

What a rank offers in a round, and what the round comes to, are fixed functions of the rank and the round, as they would
be read off a finished run: an issue says what the function has at one place, and no array is ever updated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

from rankproof.model import rules
from rankproof.model.protocol import Phase, Protocol
from rankproof.model.reading import Number, Rank, Truth
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.obligation import Hypotheses


@dataclass(frozen=True, slots=True)
class Place:
    """One lane of one rank between two of its actions; the counts are cumulative, over all epochs.

    phase    index into `Protocol.phases` of what it takes next
    popped   acks that are gone from the lane: popped, evicted, or forgotten by a reset
    allowed  what its wait allowed it to pop and it has not popped yet
    counted  what it counted and has not issued yet
    drained  the last round that it consumed between two steps, or 0
    passed   whether (1 or 0) it has evicted or reset since it last issued
    """

    phase: Number
    finished: Number
    popped: Number
    allowed: Number
    counted: Number
    issued: Number
    consumed: Number
    steps: Number
    drained: Number
    passed: Number


Places: TypeAlias = Callable[[Rank], Place]

NOTHING, EVICTION, RESET = 0, 1, 2
"""What the script of the engine may have between two steps that takes acks out of a lane; at most one of them."""


class History:
    """What is offered and agreed, for every round of the whole run; rounds count from 1.

    offer    what a rank puts into a round
    had      what a rank had finished, cumulative, when it counted for a round
    start    how much is gone from the lane of every rank when it counts for a round
    total    how much is gone once that round is popped: `start` of the next one, but where the script has an eviction
             or a reset between them
    base     where the epoch of a round began: how much was gone from the lane then
    event    what the script has between a round and the next: NOTHING, EVICTION or RESET
    """

    def __init__(self, reading: EveryRank, protocol: Protocol) -> None:
        self.reading = reading
        self.protocol = protocol
        self.offer = reading.table("offer")
        self.had = reading.table("had")
        self.start = reading.series("start")
        self.total = reading.series("total")
        self.base = reading.series("base")
        self.event = reading.series("event")
        self.agreed: Callable[[Number], Number] = cache(self._agreed)  # what a round comes to

    def _agreed(self, number: Number) -> Number:
        return rules.agree(self.reading, self.protocol, lambda rank: self.offer(rank, number))

    def at(self, number: Number) -> Truth:
        """That `total` is what it says, at one round; nothing is gone before the first."""
        agreed = self.agreed(number)
        comes_to = self.total(number) == self.start(number) + self.allowed(agreed, self.start(number), number)
        return self.reading.both(self.reading.implies(1 <= number, comes_to), self.total(0) == 0, self.base(0) == 0)

    def offered(self, finished: Number, popped: Number, number: Number) -> Number:
        """What a rank offers in a round: rules know only of what is finished and popped in its epoch."""
        return rules.offer(self.protocol, finished - self.base(number), popped - self.base(number))

    def allowed(self, agreed: Number, popped: Number, number: Number, own: Number | None = None) -> Number:
        """What a rank may pop that consumes a round; `own` is its own offer, where that is not what all offered."""
        return rules.allowed(self.protocol, agreed if own is None else own, agreed, popped - self.base(number))

    def script(self, number: Number) -> Truth:
        """What the script may have between a round and the next: nothing takes an ack back into a lane."""
        quiet, begins = self.event(number) == NOTHING, self.event(number) == RESET
        return self.reading.both(
            self.total(number) <= self.start(number + 1),
            self.reading.implies(quiet, self.total(number) == self.start(number + 1)),
            self.base(number + 1) == self.reading.choose(begins, self.start(number + 1), self.base(number)),
        )

    def claim(self, rank: Rank, number: Number) -> Number:
        """What a rank offers in a round as a watermark, cumulative over all epochs."""
        return self.offer(rank, number) + self.base(number)


def any_place(reading: EveryRank) -> Places:
    """Ranks of which nothing is known."""
    families = [reading.family(name) for name in Place.__dataclass_fields__]
    return cache(lambda rank: Place(*(family(rank) for family in families)))


def moved(reading: EveryRank, before: Places, actor: Rank, after: Place) -> Places:
    """Every rank after the actor alone has moved."""

    def at(rank: Rank) -> Place:
        old = before(rank)
        fields = {
            name: getattr(old, name)
            if getattr(after, name) is getattr(before(actor), name)
            else reading.choose(rank == actor, getattr(after, name), getattr(old, name))
            for name in Place.__dataclass_fields__
        }
        return Place(**fields)

    return cache(at)


def take(history: History, phase: Phase, before: Places, actor: Rank) -> tuple[Hypotheses, Place]:
    """What must be so for the actor to take a phase, and where it stands after it."""
    reading, protocol, me = history.reading, history.protocol, before(actor)
    index = protocol.phases.index(phase)
    is_due = rules.due(protocol, me.issued, me.consumed)
    guard: Hypotheses = {"turn": me.phase == index}
    if index == 0:
        guard["script-first"] = reading.either(history.event(me.issued) == NOTHING, me.passed == 1)
    match phase:
        case Phase.WAIT:
            number = me.consumed + 1
            complete = rules.complete(reading, me.consumed, lambda rank: before(rank).issued)
            if protocol.bounds == "none":  # where it would have to wait, it passes
                passes = reading.both(is_due, reading.truth("passes"))
                guard["passes"] = reading.implies(passes, reading.negate(complete))
                is_due = reading.both(is_due, reading.negate(passes))
            guard |= {"complete": reading.implies(is_due, complete), "history": history.at(number)}
            allowed = history.allowed(history.agreed(number), me.popped, number, history.offer(actor, number))
            after = replace(
                me,
                consumed=reading.choose(is_due, number, me.consumed),
                allowed=reading.choose(is_due, allowed, 0),
            )
        case Phase.POP:
            number = me.consumed + 1
            amount = rules.taken(protocol, me.allowed, history.offer(actor, number), me.popped - history.base(number))
            if protocol.reads == "before-wait":
                amount = reading.choose(is_due, amount, 0)
            after = replace(me, popped=me.popped + amount, allowed=0)
        case Phase.COUNT:
            guard["counted-history"] = history.had(actor, me.issued + 1) == me.finished
            after = replace(me, counted=history.offered(me.finished, me.popped, me.issued + 1))
        case Phase.ISSUE:
            issues = rules.issues(reading, protocol, (me.counted,))
            number = me.issued + 1
            guard["offered-history"] = reading.implies(issues, history.offer(actor, number) == me.counted)
            then = number
            if protocol.issues == "twice-when-nonempty":
                then = reading.choose(rules.issues_again(reading, protocol, (me.counted,)), number + 1, number)
            after = replace(me, issued=reading.choose(issues, then, me.issued), steps=me.steps + 1, passed=0)
    return guard, replace(after, phase=(index + 1) % len(protocol.phases))


def waited(protocol: Protocol) -> list[int]:
    """The places in a step at which a rank may hold what its wait allowed and not have popped it."""
    wait, pop = (protocol.phases.index(phase) for phase in (Phase.WAIT, Phase.POP))
    return list(range(wait + 1, pop + 1))


def popped(protocol: Protocol) -> list[int]:
    """The places in a step at which a rank has popped what its last wait allowed, and not issued since."""
    after = protocol.phases.index(Phase.POP) + 1
    return [(after + place) % 4 for place in range(2 if protocol.lag == 0 else 4 - after)]


def counted(protocol: Protocol) -> list[int]:
    """The places in a step at which a rank holds what it counted and has not issued it."""
    count, issue = (protocol.phases.index(phase) for phase in (Phase.COUNT, Phase.ISSUE))
    return list(range(count + 1, issue + 1))


def most_in_flight(protocol: Protocol) -> list[Number]:
    """The most rounds that a rank may have in flight, at each place in a step."""
    short = 0 if protocol.lag else 1
    most: list[Number] = []
    for phase in protocol.phases:
        most.append(protocol.window - short)
        short = {Phase.WAIT: 1, Phase.ISSUE: 0}.get(phase, short)
    return most
