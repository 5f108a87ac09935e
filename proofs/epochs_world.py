"""The state of ranks that move alone and reset in steps of their own, and the invariant of it, by conjunct."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from rankproof.model import rules, words
from rankproof.model.protocol import Phase, Protocol
from rankproof.model.reading import Number, Rank, Truth
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.obligation import Hypotheses
from rankproof.proofs.ranks_alone import counted, most_in_flight, waited


@dataclass(frozen=True, slots=True)
class EpochPlace:
    """One lane of one rank between two of its actions, as in `ranks_alone.Place`; the counts are of its epoch."""

    phase: Number
    finished: Number
    popped: Number
    allowed: Number
    counted: Number
    issued: Number
    consumed: Number
    epoch: Number


EpochPlaces: TypeAlias = Callable[[Rank], EpochPlace]


class EpochsWorld:
    """Ranks between two actions, of which `actor` acts next.

    offer, stamp     what a rank puts into a round: its count, and its epoch
    agreed           what the counts of a round come to
    least, least_of_complements  what the epoch words and their complements do
    heeds            whether ranks look at the epoch words at all
    """

    def __init__(self, reading: EveryRank, protocol: Protocol, heeds: bool) -> None:
        self.reading, self.protocol, self.heeds = reading, protocol, heeds
        self.offer, self.stamp = reading.table("offer"), reading.table("stamp")
        self.agreed, self.least = reading.series("agreed"), reading.series("least")
        self.least_of_complements = reading.series("least_of_complements")
        families = [reading.family(name) for name in EpochPlace.__dataclass_fields__]
        self.at: EpochPlaces = cache(lambda rank: EpochPlace(*(family(rank) for family in families)))
        self.actor = reading.rank("actor")
        self.me = self.at(self.actor)
        self.numbers = [reading.number("some_round"), self.me.consumed, self.me.consumed + 1]

    def reduced(self, number: Number) -> Truth:
        """That the counts of a round come to what its reduce gives."""
        least = rules.agree(self.reading, self.protocol, lambda rank: self.offer(rank, number))
        return self.reading.both(self.agreed(number) == least, self.words_reduced(number))

    def words_reduced(self, number: Number) -> Truth:
        """That no epoch word of a round, and none of their complements, is below its MIN; no more is needed of them."""

        def above(rank: Rank) -> Truth:
            stamp = self.stamp(rank, number)
            return self.reading.both(
                self.least(number) <= stamp, self.least_of_complements(number) <= words.complement(stamp)
            )

        return self.reading.every_rank(above)

    def allows(self, number: Number, me: EpochPlace, own: Number) -> Number:
        """What a round allows a rank to pop, whose own offer in it is given."""
        allowed = rules.allowed(self.protocol, own, self.agreed(number), me.popped)
        if not self.heeds:
            return allowed
        accepted = rules.accepted(self.reading, self.least(number), self.least_of_complements(number), me.epoch)
        return self.reading.choose(accepted, allowed, 0)

    def invariant(self, at: EpochPlaces) -> Hypotheses:
        """What is true between any two actions, by conjunct.

        window    a rank has between none and a window of rounds in flight, one less between its wait and its issue
        ahead     what one rank has consumed, every rank has issued
        stamped   no offer is negative, or of an epoch that its rank has not come to
        held      nothing is allowed but between a wait and a pop
        backed    what is offered in a rank's own epoch is finished there, on top of what it has popped or may
        counted   and so is what it counted and has not issued
        agree     ranks in one epoch are level, or apart by what one of them has yet to consume
        fresh     a rank has popped nothing in its epoch as long as another has not come to it
        """
        reading = self.reading

        def pending(rank: Rank) -> Number:
            return rules.in_flight(at(rank).issued, at(rank).consumed)

        def stamped(rank: Rank) -> Truth:
            return reading.both(
                *(
                    reading.implies(
                        reading.both(1 <= number, number <= at(rank).issued),
                        reading.both(0 <= self.offer(rank, number), self.stamp(rank, number) <= at(rank).epoch),
                    )
                    for number in self.numbers
                )
            )

        def backs(rank: Rank, offer: Number) -> Truth:
            return at(rank).popped + at(rank).allowed + offer <= at(rank).finished

        def backed(rank: Rank) -> Truth:
            me = at(rank)
            own = reading.both(1 <= pending(rank), self.stamp(rank, me.issued) == me.epoch)
            return reading.both(
                me.popped + me.allowed <= me.finished, reading.implies(own, backs(rank, self.offer(rank, me.issued)))
            )

        def counted_is_backed(rank: Rank) -> Truth:
            holds_one = reading.either(*(at(rank).phase == index for index in counted(self.protocol)))
            return reading.implies(holds_one, reading.both(0 <= at(rank).counted, backs(rank, at(rank).counted)))

        def agree(one: Rank, other: Rank) -> Truth:
            ahead, behind = at(one), at(other)
            number = ahead.consumed
            gone, gone_there = ahead.popped + ahead.allowed, behind.popped + behind.allowed
            after = gone_there + self.allows(number, behind, self.agreed(number))
            return reading.implies(
                ahead.epoch == behind.epoch,
                reading.both(
                    reading.implies(number == behind.consumed, gone == gone_there),
                    reading.implies(number == behind.consumed + 1, gone == after),
                ),
            )

        def fresh(one: Rank, other: Rank) -> Truth:
            nothing = reading.both(at(other).popped == 0, at(other).allowed == 0)
            return reading.implies(at(one).epoch + 1 <= at(other).epoch, nothing)

        return {
            **self.paced(at),
            "stamped": reading.every_rank(stamped),
            "backed": reading.every_rank(backed),
            "counted": reading.every_rank(counted_is_backed),
            "agree": reading.every_pair(agree),
            "fresh": reading.every_pair(fresh),
        }

    def paced(self, at: EpochPlaces) -> Hypotheses:
        """The conjuncts `window`, `ahead` and `held`, which say nothing of what is offered."""
        reading, most = self.reading, most_in_flight(self.protocol)

        def window(rank: Rank) -> Truth:
            pending = rules.in_flight(at(rank).issued, at(rank).consumed)
            places = (reading.both(at(rank).phase == index, pending <= limit) for index, limit in enumerate(most))
            return reading.both(0 <= pending, 0 <= at(rank).consumed, reading.either(*places))

        def held(rank: Rank) -> Truth:
            places = (at(rank).phase == index for index in waited(self.protocol))
            return reading.both(0 <= at(rank).allowed, reading.either(at(rank).allowed == 0, *places))

        return {
            "window": reading.every_rank(window),
            "ahead": reading.every_pair(lambda one, other: at(one).consumed <= at(other).issued),
            "held": reading.every_rank(held),
        }

    def moved(self, after: EpochPlace) -> EpochPlaces:
        """Every rank after the actor alone has moved."""

        def at(rank: Rank) -> EpochPlace:
            old = self.at(rank)
            fields = {
                name: getattr(old, name)
                if getattr(after, name) is getattr(self.me, name)
                else self.reading.choose(rank == self.actor, getattr(after, name), getattr(old, name))
                for name in EpochPlace.__dataclass_fields__
            }
            return EpochPlace(**fields)

        return cache(at)

    def turn(self, phase: Phase) -> tuple[Hypotheses, Number]:
        """That it is the actor's turn to take a phase, and the place in the step that comes after it."""
        index = self.protocol.phases.index(phase)
        return {"turn": self.me.phase == index}, (index + 1) % len(self.protocol.phases)
