"""What is proved in lockstep, once more for watermarks: the depth is a term, and rounds in flight a window on a table.

Where something takes as many steps as there are rounds in flight (a flush, a lane that empties), the obligation is
about one of these steps, with the number of those before it a term too; induction has the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

from rankproof.model import rounds
from rankproof.model.protocol import BLOCKING, Protocol
from rankproof.model.reading import Number, Rank, Truth
from rankproof.model.rounds import Position, Positions
from rankproof.proofs.depths import Window, at_any_depth
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.lifecycle import LIFECYCLE
from rankproof.proofs.lockstep import LOCKSTEP, any_state
from rankproof.proofs.obligation import Goals, Hypotheses, Obligation


class InLockstep:
    """All ranks between two steps, with the rounds `first` to `last` in flight, and one round that is not special.

    Of the ranks `before` nothing is known but what `known` says.
    """

    def __init__(self, reading: EveryRank, protocol: Protocol, last: Number = None, first: Number = 1) -> None:
        self.reading, self.protocol = reading, protocol
        self.first, self.last = first, protocol.window if last is None else last
        self.number = reading.number("some_round")
        self.offer = reading.table("offer")
        self.finished, self.popped = reading.family("finished"), reading.family("popped")
        self.before: Positions = cache(self._any)

    def _any(self, rank: Rank) -> Position:
        in_flight = Window(self.reading, partial(self.offer, rank), self.first, self.last)
        return Position(self.finished(rank), self.popped(rank), in_flight)

    def known(self) -> Hypotheses:
        """The invariant, of the oldest round, of the newest, and of one that is not special."""
        return self.invariant(self.before, [self.number, self.first, self.last])

    def goals(self, at: Positions) -> Goals:
        """The invariant, of a round that is not special."""
        return self.invariant(at, [self.number])

    def invariant(self, at: Positions, numbers: Sequence[Number]) -> Hypotheses:
        """What is true of all ranks between two steps, by conjunct; of single rounds it is stated of these."""
        reading = self.reading

        def counts(rank: Rank) -> Truth:
            me = at(rank)
            window = me.in_flight
            rising = (
                reading.implies(
                    reading.both(window.has(each), window.has(each + 1)), window.offer(each) <= window.offer(each + 1)
                )
                for each in numbers
            )
            return reading.both(reading.implies(window.has(window.first), me.popped <= window[0]), *rising)

        return {
            "agree": reading.every_pair(lambda one, other: at(one).popped == at(other).popped),
            "backed": reading.both(
                reading.every_rank(lambda rank: at(rank).popped <= at(rank).finished),
                self.in_each(at, numbers, lambda rank, number, offer: offer <= at(rank).finished),
            ),
            "counts": reading.every_rank(counts),
        }

    def in_each(
        self, at: Positions, numbers: Sequence[Number], claim: Callable[[Rank, Number, Number], Truth]
    ) -> Truth:
        """That the claim is true of every rank and its offer in each of these rounds that is in flight."""

        def of_one(rank: Rank) -> Truth:
            window = at(rank).in_flight
            claims = (self.reading.implies(window.has(each), claim(rank, each, window.offer(each))) for each in numbers)
            return self.reading.both(*claims)

        return self.reading.every_rank(of_one)

    def step(self, finished: Callable[[Rank], Number]) -> Positions:
        """Where all ranks stand after one step in which they find so many acks finished."""
        return rounds.step(self.reading, self.protocol, self.before, finished)

    def accumulating(self) -> tuple[Callable[[Rank], Number], Hypotheses]:
        """What the ranks find finished in the next step, which only accumulates."""
        finished = self.reading.family("finished_next")
        return finished, {
            "only-accumulate": self.reading.every_rank(lambda rank: self.finished(rank) <= finished(rank))
        }


def _start(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    ranks, stale = InLockstep(reading, protocol), reading.family("stale")
    counts = {"counts": reading.every_rank(lambda rank: 0 <= stale(rank))}
    return counts, ranks.goals(rounds.start(protocol, stale))


def _step(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    ranks = InLockstep(reading, protocol)
    finished, accumulates = ranks.accumulating()
    return ranks.known() | accumulates, ranks.goals(ranks.step(finished))


def _drain(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """Ranks that have still some rounds in flight consume one and issue none; behind the last of them they rest."""
    some = reading.number("in_flight")
    ranks = InLockstep(reading, protocol, last=some)
    after = rounds.consume(reading, protocol, ranks.before)
    resting = ranks.goals(rounds.resting(protocol, after))
    goals = {name: reading.both(goal, resting[name]) for name, goal in ranks.goals(after).items()}
    return ranks.known() | {"in-flight": 1 <= some}, goals


def _evict(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    ranks, enqueued = InLockstep(reading, protocol), reading.family("enqueued")
    hypotheses = ranks.known() | {
        "enqueued-first": reading.every_rank(lambda rank: ranks.finished(rank) <= enqueued(rank)),
        "aligned-enqueue": reading.every_pair(lambda one, other: enqueued(one) == enqueued(other)),
    }
    after = rounds.evict(protocol, ranks.before, enqueued)
    return hypotheses, ranks.goals(after)


def _finished_before_pop(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    ranks = InLockstep(reading, protocol)
    finished, accumulates = ranks.accumulating()
    before, after = ranks.before, ranks.step(finished)
    goal = reading.every_pair(
        lambda rank, peer: reading.both(
            before(rank).popped <= after(rank).popped,
            after(rank).popped <= before(peer).finished,
            after(rank).popped <= finished(peer),
        )
    )
    return ranks.known() | accumulates, {"goal": goal}


def _same_pops(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """After a step, and after a round that is consumed between two."""
    ranks, ack, place = InLockstep(reading, protocol), reading.table("ack"), reading.number("place")
    moves = (ranks.step(reading.family("finished_next")), rounds.consume(reading, protocol, ranks.before))
    in_order = reading.every_pair(lambda one, other: ack(one, place) == ack(other, place))

    def same(one: Rank, other: Rank) -> Truth:
        return reading.both(
            *(after(one).popped == after(other).popped for after in moves),
            reading.implies(place < moves[0](one).popped, ack(one, place) == ack(other, place)),
        )

    return {"same-order": in_order}, {"goal": reading.every_pair(same)}


def _coupled(reading: EveryRank, was: Callable[[Number], Number], at: Positions, numbers: Sequence[Number]) -> Truth:
    """That each of these rounds, if in flight, comes to what blocking had popped after the step that issued it."""
    window = at(reading.rank("some")).in_flight  # which rounds are in flight is the same on every rank

    def comes_to(number: Number) -> Number:
        return reading.minimum(lambda rank: at(rank).in_flight.offer(number))

    return reading.both(*(reading.implies(window.has(each), was(each) == comes_to(each)) for each in numbers))


def _exact_delay_start(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    stale = reading.family("stale")
    counts = {"counts": reading.every_rank(lambda rank: 0 <= stale(rank))}
    start = rounds.start(protocol, stale)
    return counts, {"coupled": _coupled(reading, lambda number: 0, start, [reading.number("some_round")])}


def _exact_delay_step(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """`was` is what blocking had popped after the step that issued each round."""
    ranks, blocking = InLockstep(reading, protocol), any_state(reading, BLOCKING, "blocking_")
    was, finished = reading.series("was"), reading.family("finished_next")
    finished_with_blocking = reading.family("blocking_finished_next")
    after, blocking_after = ranks.step(finished), rounds.step(reading, BLOCKING, blocking, finished_with_blocking)
    newest = ranks.last + 1
    now = blocking_after(reading.rank("some")).popped

    def was_or_is(number: Number) -> Number:
        return reading.choose(number == newest, now, was(number))

    hypotheses = {
        "coupled": _coupled(reading, was, ranks.before, [ranks.number, ranks.first]),
        "blocking": reading.every_rank(lambda rank: blocking(rank).popped == was(ranks.last)),
        "open-loop": reading.every_rank(lambda rank: finished_with_blocking(rank) == finished(rank)),
    }
    return hypotheses, {
        "goal": reading.every_rank(lambda rank: after(rank).popped == was(ranks.first)),
        "coupled": _coupled(reading, was_or_is, after, [ranks.number]),
        "blocking": reading.every_rank(lambda rank: blocking_after(rank).popped == now),
    }


def _bounded_lag(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """`counted` is what a rank had finished when it counted for a round."""
    ranks, counted, amount = InLockstep(reading, protocol), reading.table("counted"), reading.number("amount")
    finished, newest = reading.family("finished_next"), ranks.last + 1
    after = ranks.step(finished)

    def counted_or_counts(rank: Rank, number: Number) -> Number:
        return reading.choose(number == newest, finished(rank), counted(rank, number))

    def offers_all(at: Positions, had: Callable[[Rank, Number], Number], numbers: Sequence[Number]) -> Truth:
        return ranks.in_each(at, numbers, lambda rank, number, offer: had(rank, number) <= offer)

    everywhere = reading.every_rank(lambda rank: amount <= counted(rank, ranks.first))
    popped = reading.every_rank(lambda rank: amount <= after(rank).popped)
    return {"offers-all": offers_all(ranks.before, counted, [ranks.number, ranks.first])}, {
        "offers-all": offers_all(after, counted_or_counts, [ranks.number]),
        "goal": reading.implies(everywhere, popped),
    }


def _reset(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """While nothing is finished in an epoch, nothing is popped, and all that is in flight was counted in it."""
    ranks, stale = InLockstep(reading, protocol), reading.family("stale")
    after = ranks.step(lambda rank: 0)

    def quiet(at: Positions, numbers: Sequence[Number]) -> Truth:
        nothing_popped = reading.every_rank(lambda rank: at(rank).popped == 0)
        return reading.both(nothing_popped, ranks.in_each(at, numbers, lambda rank, number, offer: offer == 0))

    return {"quiet": quiet(ranks.before, [ranks.number, ranks.first])}, {
        "begins": quiet(rounds.start(protocol, stale), [ranks.number]),
        "goal": quiet(after, [ranks.number]),
    }


def _flush(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """Each round that a flush consumes leaves popped what it came to; so does the last, behind which is nothing."""
    ranks = InLockstep(reading, protocol)
    after = rounds.consume(reading, protocol, ranks.before)
    oldest = reading.minimum(lambda rank: ranks.offer(rank, ranks.first))
    resting = rounds.resting(protocol, after)

    return {}, {
        "goal": reading.every_rank(lambda rank: after(rank).popped == oldest),
        "nothing-in-flight": ranks.in_each(
            resting, [ranks.number], lambda rank, number, offer: offer == after(rank).popped
        ),
    }


def _drains(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """One of the steps since all was finished, after `steps` of them; the rounds issued in these offer all there is."""
    steps, depth = reading.number("steps"), protocol.window
    ranks = InLockstep(reading, protocol, last=depth + steps, first=1 + steps)
    enqueued, finished = reading.family("enqueued"), reading.family("finished_next")
    after = ranks.step(finished)

    def all_there_is(rank: Rank, number: Number, offer: Number) -> Truth:
        return reading.implies(depth + 1 <= number, offer == enqueued(rank))

    empty = reading.every_rank(lambda rank: after(rank).popped == enqueued(rank))
    hypotheses = {
        "offers-all": ranks.in_each(ranks.before, [ranks.number, ranks.first], all_there_is),
        "aligned-enqueue": reading.every_pair(lambda one, other: enqueued(one) == enqueued(other)),
        "every-ack-finishes": reading.every_rank(lambda rank: finished(rank) == enqueued(rank)),
    }
    return hypotheses, {
        "offers-all": ranks.in_each(after, [ranks.number], all_there_is),
        "goal": reading.implies(depth + 1 <= steps + 1, empty),
    }


def _stuck_head(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    ranks, finished = InLockstep(reading, protocol), reading.family("finished_next")
    stuck, head = reading.rank("stuck"), reading.number("head")
    after = ranks.step(finished)
    on_one = {"head": reading.both(finished(stuck) == head, ranks.finished(stuck) <= head)}
    return ranks.known() | on_one, {"goal": reading.every_rank(lambda rank: after(rank).popped <= head)}


_STATES: dict[str, Callable[[EveryRank, Protocol], tuple[Hypotheses, Goals]]] = {
    "round-invariant/start": _start,
    "round-invariant/step": _step,
    "round-invariant/drain": _drain,
    "round-invariant/evict": _evict,
    "finished-before-pop/step": _finished_before_pop,
    "same-pops/step": _same_pops,
    "exact-delay/start": _exact_delay_start,
    "exact-delay/step": _exact_delay_step,
    "bounded-lag/step": _bounded_lag,
    "clean-lifecycle/reset": _reset,
    "clean-lifecycle/flush": _flush,
    "drains-to-empty/steps": _drains,
    "drains-to-empty/stuck-head": _stuck_head,
}

LOCKSTEP_ANY_DEPTH: tuple[Obligation, ...] = tuple(
    at_any_depth(replace(each, state=_STATES[each.name])) for each in (*LOCKSTEP, *LIFECYCLE) if each.name in _STATES
)
"""Those of a step and around it, but for one that looks at no round in flight: `matched-collectives/step`."""
