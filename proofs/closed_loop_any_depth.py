"""The closed loop once more for watermarks, at whatever depth: one step of an induction over the steps.

With a depth that is a term, so many times the demand is no linear term. It is a series that grows by the demand
(`times`), of which each obligation knows the few members that it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rankproof.model import rounds
from rankproof.model.protocol import BLOCKING, Protocol
from rankproof.model.reading import Number, Rank, Truth
from rankproof.model.rounds import Position, Positions
from rankproof.proofs.closed_loop import CLOSED_LOOP
from rankproof.proofs.depths import at_any_depth
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.lockstep_any_depth import InLockstep
from rankproof.proofs.obligation import Goals, Hypotheses, Obligation


class _ClosedLoop:
    """Ranks in lockstep before step `step`, in which the engine enqueues `demand` acks as far as its window lets it.

    Round n is issued in step n, and rounds from 0 down are those that pop nothing, with which all begins. All ranks
    begin alike and do the same, so what they hold are numbers here and no families; a round is still a MIN over ranks.
    """

    def __init__(self, reading: EveryRank, protocol: Protocol) -> None:
        self.reading, self.depth = reading, protocol.window
        self.step = reading.number("step")
        self.ranks = InLockstep(reading, protocol, first=self.step - self.depth, last=self.step - 1)
        offer, finished = reading.series("offer_of_each"), reading.number("finished_on_each")
        popped = reading.number("popped_on_each")
        self.ranks.offer = lambda rank, number: offer(number)
        self.ranks.finished, self.ranks.popped = lambda rank: finished, lambda rank: popped
        self.demand, self.window = reading.number("demand"), reading.number("window")
        self.times = reading.series("times_demand")
        self.after = self.ranks.step(self.enqueued)

    def level(self, at: Positions, rank: Rank, number: Number) -> Number:
        """What a rank has popped, or will have once a round in flight is consumed, as far as it goes by its own offers.

        The number before that of the oldest in flight stands for what is popped.
        """
        me = at(rank)
        return self.reading.choose(number + 1 == me.in_flight.first, me.popped, me.in_flight.offer(number))

    def enqueued(self, rank: Rank) -> Number:
        """What is enqueued and finished at the count of the step."""
        me = self.ranks.before(rank)
        wanted, room = me.in_flight.offer(self.ranks.last) + self.demand, me.popped + self.window
        return self.reading.choose(wanted <= room, wanted, room)

    def multiples(self, *numbers: Number) -> Truth:
        """What so many times the demand are, and once more of each."""
        reading, times = self.reading, self.times
        grows = (times(number + 1) == times(number) + self.demand for number in numbers)
        counts = (reading.implies(0 <= number, 0 <= times(number)) for number in numbers)
        return reading.both(times(0) == 0, *grows, *counts)


def _keeps_up(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """One step of both protocols; blocking has the demand of one step in its lane, so the window does not touch it.

    goal    the newest round offers what blocking has popped, a depth of steps before it is consumed
    steady  from one round to a later one no more is offered than the demand of the steps between
    """
    loop, popped_by_blocking = _ClosedLoop(reading, protocol), reading.number("blocking_popped")
    ranks, earlier, later = loop.ranks, reading.number("some_earlier_round"), reading.number("some_round")
    popped, newest = ranks.first - 1, ranks.last

    def close(at: Positions, by_blocking: Positions, pairs: Sequence[tuple[Number, Number]]) -> Goals:
        def steady(rank: Rank) -> Truth:
            window = at(rank).in_flight
            gaps = (
                reading.implies(
                    reading.both(window.first <= low + 1, low <= high, high <= window.last),
                    loop.level(at, rank, high) <= loop.level(at, rank, low) + loop.times(high - low),
                )
                for low, high in pairs
            )
            return reading.both(*gaps)

        def even(rank: Rank) -> Truth:
            window = at(rank).in_flight
            return window.offer(window.last) == by_blocking(rank).popped

        return {"goal": reading.every_rank(even), "steady": reading.every_rank(steady)}

    blocking: Positions = lambda rank: Position(popped_by_blocking, popped_by_blocking, ())  # noqa: E731 # a family, typed where it is made
    then = rounds.step(reading, BLOCKING, blocking, lambda rank: popped_by_blocking + loop.demand)
    known = [(earlier, later), (earlier, newest), (popped, newest)]
    hypotheses = close(ranks.before, blocking, known) | {
        "demand": 1 <= loop.demand,
        "multiples": loop.multiples(loop.depth, newest - earlier, later - earlier),
        "window": loop.times(loop.depth + 1) <= loop.window,
    }
    begins = close(rounds.start(protocol), rounds.start(BLOCKING), [(earlier, later)])
    return hypotheses, close(loop.after, then, [(earlier, later)]) | {"begins": reading.both(*begins.values())}


def _falls_behind(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """One of the first 2 depth + 1 steps with less room; in the last of them one protocol is behind.

    Up to step depth + 1 nothing is popped, so its round offers no more than the window.
    """
    loop = _ClosedLoop(reading, protocol)
    ranks, number = loop.ranks, loop.ranks.number

    def slow(at: Positions, step: Number, numbers: Sequence[Number]) -> Truth:
        def of_one(rank: Rank) -> Truth:
            window = at(rank).in_flight
            nothing = (reading.implies(reading.both(window.has(n), n <= 0), window.offer(n) == 0) for n in numbers)
            first = reading.both(
                *(
                    reading.implies(reading.both(window.has(n), n <= loop.depth + 1), window.offer(n) <= loop.window)
                    for n in numbers
                )
            )
            none_yet = reading.implies(step <= loop.depth + 1, at(rank).popped == 0)
            return reading.both(*nothing, first, none_yet)

        return reading.every_rank(of_one)

    hypotheses = {
        "slow": slow(ranks.before, loop.step, [number, ranks.first]),
        "step-1-or-later": 1 <= loop.step,
        "demand": reading.both(1 <= loop.demand, loop.demand <= loop.window),
        "window": loop.window + 1 <= loop.times(loop.depth + 1),
    }
    start = Position(0, 0, replace(protocol.filled(0), first=1 - loop.depth, last=0))
    popped_last = reading.every_rank(lambda rank: loop.after(rank).popped + 1 <= loop.times(loop.depth + 1))
    return hypotheses, {
        "begins": slow(lambda rank: start, 1, [number]),
        "slow": slow(loop.after, loop.step + 1, [number]),
        "goal": reading.implies(loop.step == loop.depth + loop.depth + 1, popped_last),
    }


_STATES: dict[str, Callable[[EveryRank, Protocol], tuple[Hypotheses, Goals]]] = {
    "exact-delay/closed-loop": _keeps_up,
    "exact-delay/closed-loop-needs-room": _falls_behind,
}

CLOSED_LOOP_ANY_DEPTH: tuple[Obligation, ...] = tuple(
    at_any_depth(replace(each, state=_STATES[each.name])) for each in CLOSED_LOOP
)
