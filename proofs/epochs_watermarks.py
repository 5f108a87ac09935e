"""Ranks that reset in steps of their own, with watermarks: what `epochs` proves of one round, for any number in flight.

What may be gone from a lane in an epoch is a number of the epoch and the round (`level`): what the last round comes to,
up to that one, in which all ranks were in that epoch. Every rank of the epoch has popped just that, which is why they
agree; and it is nothing as long as some rank has not come to the epoch, since that one's rounds are of an earlier.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rankproof.model import rules
from rankproof.model.protocol import Protocol
from rankproof.model.reading import Number, Rank, Truth
from rankproof.proofs.epochs import ACTIONS, one_epoch
from rankproof.proofs.epochs_world import EpochPlace, EpochPlaces, EpochsWorld
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.obligation import Goals, Hypotheses, Obligation
from rankproof.proofs.ranks_alone import counted


class _Levels:
    """The ranks of `epochs_world`, with the level of each epoch and round; rounds count from 1, and 0 has level 0."""

    def __init__(self, reading: EveryRank, protocol: Protocol) -> None:
        self.world = EpochsWorld(reading, protocol, heeds=True)
        self.reading = reading
        self.level = reading.grid("level")
        self.number, self.epoch = reading.number("some_round"), reading.number("some_epoch")
        me = self.world.me
        self.numbers = [self.number, self.number - 1, me.consumed, me.consumed + 1, me.issued]
        now, then = me.epoch, me.epoch + 1
        self.unborn = [
            *((self.epoch, number) for number in self.numbers[:2]),
            *((then, number) for number in (self.number, me.consumed)),
            (now, me.consumed),
        ]

    def at(self, epoch: Number, number: Number) -> Truth:
        """That the level is what it says, in one epoch and round."""
        world, reading = self.world, self.reading
        accepted = rules.accepted(reading, world.least(number), world.least_of_complements(number), epoch)
        comes_to = reading.choose(accepted, world.agreed(number), self.level(epoch, number - 1))
        of_one = reading.implies(1 <= number, self.level(epoch, number) == comes_to)
        return reading.both(of_one, self.level(epoch, 0) == 0)

    def known(self) -> Hypotheses:
        """The invariant, and what the rounds come to of which it speaks."""
        me = self.world.me
        levels = ((self.epoch, self.number), (me.epoch, self.number), (me.epoch, me.consumed + 1))
        return self.invariant(self.world.at, self.numbers, self.unborn) | {
            "levels": self.reading.both(*(self.at(*each) for each in levels)),
            "reduced-then": self.world.reduced(self.number),
        }

    def goals(self, at: EpochPlaces) -> Goals:
        """The invariant, of a round and an epoch that are not special."""
        return self.invariant(at, self.numbers[:1], self.unborn[:1])

    def invariant(
        self, at: EpochPlaces, numbers: Sequence[Number], unborn: Sequence[tuple[Number, Number]]
    ) -> Hypotheses:
        """What is true between any two actions, by conjunct; those of one round are stated of these.

        window, ahead, held   as in `epochs_world`
        nonnegative  what a rank has popped
        stamped   no offer is of an epoch that its rank has not come to
        ledger    what is gone from a rank, or may be popped now, is the level of its epoch where it stands
        unborn    the level of an epoch is nothing up to what a rank has issued that has not come to it
        backed    up to what a rank has issued, the level of its epoch is finished there
        counted   and so is what it counted and has not issued, which is not below that level
        rising    no offer is below the level before it, of the epoch that it is of
        """
        world, reading, level = self.world, self.reading, self.level

        def issued(rank: Rank, number: Number) -> Truth:
            return reading.both(0 <= number, number <= at(rank).issued)

        def stamped(rank: Rank) -> Truth:
            return reading.both(
                *(
                    reading.implies(
                        reading.both(1 <= each, issued(rank, each)), world.stamp(rank, each) <= at(rank).epoch
                    )
                    for each in numbers
                )
            )

        def ledger(rank: Rank) -> Truth:
            return at(rank).popped + at(rank).allowed == level(at(rank).epoch, at(rank).consumed)

        def not_born(rank: Rank) -> Truth:
            later = (
                (reading.both(at(rank).epoch + 1 <= epoch, issued(rank, n)), level(epoch, n)) for epoch, n in unborn
            )
            return reading.both(*(reading.implies(is_later, gone == 0) for is_later, gone in later))

        def backed(rank: Rank) -> Truth:
            me = at(rank)
            return reading.both(
                *(reading.implies(issued(rank, each), level(me.epoch, each) <= me.finished) for each in numbers)
            )

        def counted_is_backed(rank: Rank) -> Truth:
            me = at(rank)
            holds_one = reading.either(*(me.phase == index for index in counted(world.protocol)))
            between = reading.both(level(me.epoch, me.issued) <= me.counted, me.counted <= me.finished)
            return reading.implies(holds_one, between)

        def rising(rank: Rank) -> Truth:
            offers = ((each, world.stamp(rank, each), world.offer(rank, each)) for each in numbers)
            return reading.both(
                *(
                    reading.implies(reading.both(1 <= each, issued(rank, each)), level(stamp, each - 1) <= offer)
                    for each, stamp, offer in offers
                )
            )

        return {
            **world.paced(at),
            "nonnegative": reading.every_rank(lambda rank: 0 <= at(rank).popped),
            "stamped": reading.every_rank(stamped),
            "ledger": reading.every_rank(ledger),
            "unborn": reading.every_rank(not_born),
            "backed": reading.every_rank(backed),
            "counted": reading.every_rank(counted_is_backed),
            "rising": reading.every_rank(rising),
        }


def _start(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    levels, finished = _Levels(reading, protocol), reading.family("finished_now")
    hypotheses = {
        "counts": reading.every_rank(lambda rank: 0 <= finished(rank)),
        "levels": reading.both(levels.at(0, levels.number), levels.at(levels.epoch, levels.number)),
    }
    return hypotheses, levels.goals(lambda rank: EpochPlace(0, finished(rank), *(0,) * 6))


def _keeps(reading: EveryRank, protocol: Protocol, *, name: str) -> tuple[Hypotheses, Goals]:
    levels = _Levels(reading, protocol)
    guard, after = ACTIONS[name](levels.world)
    return levels.known() | guard, levels.goals(levels.world.moved(after))


def _finished_before_pop(reading: EveryRank, protocol: Protocol, *, name: str) -> tuple[Hypotheses, Goals]:
    """A rank pops: what it has popped then is finished on every rank of its epoch, and none is in an earlier one."""
    levels = _Levels(reading, protocol)
    world = levels.world
    guard, after = ACTIONS[name](world)
    pops = world.me.popped + 1 <= after.popped

    def there(rank: Rank) -> Truth:
        peer = world.at(rank)
        known = reading.implies(peer.epoch == after.epoch, after.popped <= peer.finished)
        return reading.implies(pops, reading.both(after.epoch <= peer.epoch, known))

    return levels.known() | guard, {
        "goal": reading.every_rank(there),
        "no-pop-undone": world.me.popped <= after.popped,
    }


def _same_pops(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    levels, ack, place = _Levels(reading, protocol), reading.table("ack"), reading.number("place")
    at = levels.world.at

    def same(one: Rank, other: Rank) -> Truth:
        mine, theirs = at(one), at(other)
        level = reading.both(mine.epoch == theirs.epoch, mine.consumed == theirs.consumed)
        settled = reading.both(level, mine.allowed == 0, theirs.allowed == 0)
        both_popped = reading.both(mine.epoch == theirs.epoch, place < mine.popped, place < theirs.popped)
        return reading.both(
            reading.implies(settled, mine.popped == theirs.popped),
            reading.implies(both_popped, ack(one, place) == ack(other, place)),
        )

    in_order = reading.every_pair(
        lambda one, other: reading.implies(at(one).epoch == at(other).epoch, ack(one, place) == ack(other, place))
    )
    ledger = levels.invariant(at, levels.numbers[:1], levels.unborn[:1])["ledger"]
    return {"ledger": ledger, "same-order": in_order}, {"goal": reading.every_pair(same)}


def _cumulative(protocol: Protocol) -> bool:
    return protocol.lag >= 1 and protocol.offers == "cumulative"


_SAYS: dict[str, str] = {
    **{name: f"a {name} of one rank keeps the invariant of ranks in different epochs" for name in ACTIONS},
    "drain": "a round that one rank consumes between two steps keeps the invariant of ranks in different epochs",
    "finish": "an ack that finishes keeps the invariant of ranks in different epochs",
}

EPOCHS_WATERMARKS: tuple[Obligation, ...] = (
    Obligation(
        "epochs-invariant/start",
        "epochs-invariant",
        "ranks begin in one epoch, with nothing issued, popped or allowed",
        (),
        _start,
        applies=_cumulative,
    ),
    *(
        Obligation(
            f"epochs-invariant/{name}",
            "epochs-invariant",
            _SAYS[name],
            ("only-accumulate",) if name == "finish" else (),
            partial(_keeps, name=name),
            applies=_cumulative,
        )
        for name in ACTIONS
    ),
    Obligation(
        "clean-lifecycle/epoch-word",
        "clean-lifecycle",
        "with an epoch word, what a round allows a rank to pop was counted by every rank in that rank's epoch",
        (),
        one_epoch,
        applies=_cumulative,
    ),
    *(
        Obligation(
            f"finished-before-pop/epochs{suffix}",
            "finished-before-pop",
            f"with an epoch word, {says} pops what every rank of its epoch has finished; none is in an earlier one",
            (),
            partial(_finished_before_pop, name=name),
            applies=_cumulative,
        )
        for suffix, name, says in (("", "pop", "a rank"), ("-drain", "drain", "a drain"))
    ),
    Obligation(
        "same-pops/epochs",
        "same-pops",
        "ranks of one epoch that have consumed as many rounds have popped as many acks, and at each place the same",
        ("same-order",),
        _same_pops,
        applies=_cumulative,
    ),
)
