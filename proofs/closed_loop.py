"""The closed loop: how many acks have to be outstanding, so that popping later costs nothing."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

from rankproof.model import rounds
from rankproof.model.protocol import BLOCKING, Protocol
from rankproof.model.reading import Number, Rank, Truth
from rankproof.model.rounds import Position, Positions
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.lockstep import any_state, claims
from rankproof.proofs.obligation import Goals, Hypotheses, Obligation


def _keeps_up(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """One step of both protocols, in which the engine enqueues `demand` acks, as far as its window lets it.

    All that is enqueued before a step is finished by its count. Blocking never has more than the demand of one step in
    its lane, so the window does not touch it.
    """
    before, popped_by_blocking = any_state(reading, protocol), reading.family("blocking_popped")
    demand, window = reading.number("demand"), reading.number("window")

    def levels(at: Positions, rank: Rank) -> tuple[Number, ...]:
        return (at(rank).popped, *claims(protocol, at(rank)))

    def close(at: Positions, by_blocking: Positions) -> Goals:
        def steady(rank: Rank) -> Truth:
            gaps = (reading.both(low <= high, high <= low + demand) for low, high in pairwise(levels(at, rank)))
            return reading.both(*gaps)

        def even(rank: Rank) -> Truth:
            return levels(at, rank)[-1] == by_blocking(rank).popped

        def alike(one: Rank, other: Rank) -> Truth:
            pairs = zip(levels(at, one), levels(at, other), strict=True)
            return reading.both(*(mine == theirs for mine, theirs in pairs))

        return {
            "goal": reading.every_rank(even),
            "steady": reading.every_rank(steady),
            "alike": reading.every_pair(alike),
        }

    def enqueued(rank: Rank) -> Number:
        wanted, allowed = levels(before, rank)[-1] + demand, before(rank).popped + window
        return reading.choose(wanted <= allowed, wanted, allowed)

    def enqueued_for_blocking(rank: Rank) -> Number:
        return popped_by_blocking(rank) + demand

    blocking: Positions = lambda rank: Position(popped_by_blocking(rank), popped_by_blocking(rank), ())  # noqa: E731 # a family, typed where it is made
    after = rounds.step(reading, protocol, before, enqueued)
    blocking_after = rounds.step(reading, BLOCKING, blocking, enqueued_for_blocking)
    enough = demand
    for _ in range(protocol.lag):
        enough = enough + demand
    hypotheses = close(before, blocking) | {"demand": 1 <= demand, "window": enough <= window}
    begins = reading.both(*close(rounds.start(protocol), rounds.start(BLOCKING)).values())
    return hypotheses, close(after, blocking_after) | {"begins": begins}


def _falls_behind(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """The first steps of both protocols with less room: after step 2 lag + 1, blocking lag before, one is behind.

    The ranks are alike, as in `_keeps_up`. A demand that is more than the window finds no room in either protocol, so
    it is not above it; then what blocking has popped after step n is n times the demand.
    """
    demand, window = reading.number("demand"), reading.number("window")
    at, enough, due = rounds.start(protocol), demand, demand
    for _ in range(protocol.lag):
        enough, due = enough + demand, due + demand
    given: Number = 0
    for _ in range(2 * protocol.lag + 1):
        popped = at(reading.rank("some")).popped
        wanted, room = given + demand, popped + window
        given = reading.choose(wanted <= room, wanted, room)
        at = rounds.step(reading, protocol, at, cache(lambda rank, given=given: given))
    hypotheses = {"demand": reading.both(1 <= demand, demand <= window), "window": window + 1 <= enough}
    return hypotheses, {"goal": reading.every_rank(lambda rank: at(rank).popped + 1 <= due)}


CLOSED_LOOP: tuple[Obligation, ...] = (
    Obligation(
        "exact-delay/closed-loop",
        "exact-delay",
        "with lag + 1 times the demand of a step outstanding, popping later costs no throughput in a closed loop",
        (),
        _keeps_up,
        applies=lambda protocol: protocol.lag >= 1,
    ),
    Obligation(
        "exact-delay/closed-loop-needs-room",
        "exact-delay",
        "and with less outstanding it does: after 2 lag + 1 steps less is popped than blocking has after lag + 1",
        (),
        _falls_behind,
        applies=lambda protocol: protocol.lag >= 1,
    ),
)
