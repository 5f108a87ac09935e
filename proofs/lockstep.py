"""What is proved in lockstep: the round invariant, and what follows from it in one step.

An obligation is a claim about one step from any state in which the invariant holds, so that induction carries it to
every step. Counts are unbounded and of one lane; lanes do not touch each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate, pairwise

from rankproof.model import rounds, rules
from rankproof.model.protocol import BLOCKING, Protocol
from rankproof.model.reading import Family, Number, Rank, Reading, Truth
from rankproof.model.rounds import Position, Positions
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.obligation import Goals, Hypotheses, Obligation


def invariant(reading: Reading, protocol: Protocol, at: Positions) -> Hypotheses:
    """The round invariant: what is true of all ranks between two steps, by conjunct.

    What remains to be popped is offered anew in each round, so it must be backed by acks that no other round in flight
    has counted; a watermark needs only be finished, and not below the one before it.
    """
    if protocol.offers == "cumulative":
        return {
            "agree": _agree(reading, at),
            "backed": reading.every_rank(lambda rank: _largest(at(rank)) <= at(rank).finished),
            "counts": reading.every_rank(
                lambda rank: reading.both(*(low <= high for low, high in pairwise(_watermarks(at(rank)))))
            ),
        }
    return {
        "agree": _agree(reading, at),
        "backed": reading.every_rank(lambda rank: _promised(at(rank)) <= at(rank).finished),
        "counts": reading.every_rank(lambda rank: reading.both(*(0 <= count for count in at(rank).in_flight))),
    }


def _agree(reading: Reading, at: Positions) -> Truth:
    return reading.every_pair(lambda one, other: at(one).popped == at(other).popped)


def _watermarks(position: Position) -> tuple[Number, ...]:
    return (position.popped, *position.in_flight)


def _largest(position: Position) -> Number:
    return _watermarks(position)[-1]


def _promised(position: Position) -> Number:
    return list(accumulate(position.in_flight, initial=position.popped))[-1]


def claims(protocol: Protocol, position: Position) -> tuple[Number, ...]:
    """What a rank will have popped once each round in flight is consumed, as far as it goes by its own offers."""
    if protocol.offers == "cumulative":
        return tuple(position.in_flight)
    return tuple(accumulate(position.in_flight, initial=position.popped))[1:]


def any_state(reading: EveryRank, protocol: Protocol, name: str = "") -> Positions:
    finished, popped = reading.family(f"{name}finished"), reading.family(f"{name}popped")
    offered = [reading.family(f"{name}offered_{age}") for age in range(protocol.lag)]
    return cache(lambda rank: Position(finished(rank), popped(rank), tuple(each(rank) for each in offered)))


def _next_finished(reading: EveryRank, before: Positions) -> tuple[Callable[[object], Truth], Hypotheses]:
    """What every rank finds finished at its next count, which only accumulates."""
    finished = reading.family("finished_next")
    return finished, {"only-accumulate": reading.every_rank(lambda rank: before(rank).finished <= finished(rank))}


def _start(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    stale = reading.family("stale")
    at = rounds.start(protocol, stale)
    counts = {"counts": reading.every_rank(lambda rank: 0 <= stale(rank))}
    return counts, invariant(reading, protocol, at)


def _step(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    before = any_state(reading, protocol)
    finished, accumulates = _next_finished(reading, before)
    after = rounds.step(reading, protocol, before, finished)
    return invariant(reading, protocol, before) | accumulates, invariant(reading, protocol, after)


def _drain(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    before = any_state(reading, protocol)
    after = rounds.drain(reading, protocol, before)
    return invariant(reading, protocol, before), invariant(reading, protocol, after)


def _evict(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    before = any_state(reading, protocol)
    enqueued = reading.family("enqueued")
    hypotheses = invariant(reading, protocol, before) | {
        "enqueued-first": reading.every_rank(lambda rank: before(rank).finished <= enqueued(rank)),
        "aligned-enqueue": reading.every_pair(lambda one, other: enqueued(one) == enqueued(other)),
    }
    after = rounds.evict(protocol, before, enqueued)
    return hypotheses, invariant(reading, protocol, after)


def _finished_before_pop(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    before = any_state(reading, protocol)
    finished, accumulates = _next_finished(reading, before)
    after = rounds.step(reading, protocol, before, finished)
    # A pipelined pop comes before the count of its own step, so it must rest on what was finished by the last one.
    known = finished if protocol.lag == 0 else lambda rank: before(rank).finished
    goal = reading.every_pair(
        lambda rank, peer: reading.both(
            before(rank).popped <= after(rank).popped,
            after(rank).popped <= known(peer),
            after(rank).popped <= finished(peer),
        )
    )
    return invariant(reading, protocol, before) | accumulates, {"goal": goal}


def _same_pops(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    before = any_state(reading, protocol)
    after = rounds.step(reading, protocol, before, reading.family("finished_next"))
    ack = reading.table("ack")
    place = reading.number("place")
    hypotheses = invariant(reading, protocol, before)
    hypotheses["same-order"] = reading.every_pair(lambda one, other: ack(one, place) == ack(other, place))
    goal = reading.every_pair(
        lambda one, other: reading.both(
            after(one).popped == after(other).popped,
            reading.implies(place < after(one).popped, ack(one, place) == ack(other, place)),
        )
    )
    return hypotheses, {"goal": goal}


def _coupled(
    reading: EveryRank, protocol: Protocol, pipelined: Positions, blocking: Positions, history: Sequence[Family]
) -> Truth:
    """What each round in flight is going to leave popped is what blocking had popped after the step that issued it.

    `history` has what blocking had popped after each of the last `lag` steps, oldest first.
    """
    will_have: list[Family] = [lambda rank: pipelined(rank).popped]
    for age in range(protocol.lag):
        will_have.append(_after_round(reading, protocol, pipelined, age, will_have[-1]))
    return reading.every_rank(
        lambda rank: reading.both(
            *(was(rank) == will(rank) for was, will in zip(history, will_have[1:], strict=True)),
            blocking(rank).popped == history[-1](rank),
        )
    )


def _after_round(reading: EveryRank, protocol: Protocol, at: Positions, age: int, popped: Family) -> Family:
    """What a rank will have popped after the round in flight at `age`, given what it has popped before it."""
    agreed = rules.agree(reading, protocol, lambda rank: at(rank).in_flight[age])
    return cache(lambda rank: popped(rank) + rules.allowed(protocol, agreed, agreed, popped(rank)))


def _delayed(protocol: Protocol) -> bool:
    return protocol.lag > 0


def _exact_delay_start(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    stale = reading.family("stale")
    counts = {"counts": reading.every_rank(lambda rank: 0 <= stale(rank))}
    history: list[Family] = [lambda rank: 0] * protocol.lag
    start = rounds.start(protocol, stale)
    return counts, {"coupled": _coupled(reading, protocol, start, rounds.start(BLOCKING), history)}


def _exact_delay_step(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    pipelined, blocking = any_state(reading, protocol), any_state(reading, BLOCKING, "blocking_")
    history = [reading.family(f"blocking_popped_{age}") for age in range(protocol.lag)]
    finished = reading.family("finished_next")
    finished_with_blocking = reading.family("blocking_finished_next")
    hypotheses = {
        "coupled": _coupled(reading, protocol, pipelined, blocking, history),
        "open-loop": reading.every_rank(lambda rank: finished_with_blocking(rank) == finished(rank)),
    }
    pipelined_after = rounds.step(reading, protocol, pipelined, finished)
    blocking_after = rounds.step(reading, BLOCKING, blocking, finished_with_blocking)
    lag_steps_late = reading.every_rank(lambda rank: pipelined_after(rank).popped == history[0](rank))
    later = [*history[1:], lambda rank: blocking_after(rank).popped]
    coupled = _coupled(reading, protocol, pipelined_after, blocking_after, later)
    return hypotheses, {"goal": lag_steps_late, "coupled": coupled}


def _bounded_lag(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    def offers_all(at: Positions, counted: Sequence[Family]) -> Truth:
        return reading.every_rank(
            lambda rank: reading.both(
                *(each(rank) <= claim for each, claim in zip(counted, claims(protocol, at(rank)), strict=True))
            )
        )

    before = any_state(reading, protocol)
    finished = reading.family("finished_next")
    counted = [*(reading.family(f"counted_{age}") for age in range(protocol.lag)), finished]
    after = rounds.step(reading, protocol, before, finished)
    amount = reading.number("amount")
    everywhere = reading.every_rank(lambda rank: amount <= counted[0](rank))
    popped = reading.implies(everywhere, reading.every_rank(lambda rank: amount <= after(rank).popped))
    hypotheses = {
        "agree": _agree(reading, before),
        "offers-all": offers_all(before, counted[:-1]),
    }
    return hypotheses, {"offers-all": offers_all(after, counted[1:]), "goal": popped}


def _matched_collectives(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    finished, popped = reading.family("finished"), reading.family("popped")
    prefix = {"prefix": reading.every_rank(lambda rank: popped(rank) <= finished(rank))}

    def issues(rank: Rank) -> Truth:
        return rules.issues(reading, protocol, (rules.offer(protocol, finished(rank), popped(rank)),))

    return prefix, {"goal": reading.every_pair(lambda one, other: issues(one) == issues(other))}


LOCKSTEP: tuple[Obligation, ...] = (
    Obligation(
        "round-invariant/start",
        "round-invariant",
        "an epoch begins with equal pops, and with nothing offered that is not finished",
        (),
        _start,
    ),
    Obligation(
        "round-invariant/step",
        "round-invariant",
        "a step keeps pops equal, and every offer backed by finished acks that are not popped yet",
        ("only-accumulate",),
        _step,
    ),
    Obligation(
        "round-invariant/drain",
        "round-invariant",
        "consuming what is in flight and issuing nothing keeps the invariant",
        (),
        _drain,
    ),
    Obligation(
        "round-invariant/evict",
        "round-invariant",
        "a blocking eviction keeps the invariant",
        ("aligned-enqueue",),
        _evict,
    ),
    Obligation(
        "finished-before-pop/step",
        "finished-before-pop",
        "what a rank has popped after a step was finished on every rank when the round was counted, and still is",
        ("only-accumulate",),
        _finished_before_pop,
    ),
    Obligation(
        "same-pops/step",
        "same-pops",
        "after a step every rank has popped as many, and at each place the same ack",
        ("same-order",),
        _same_pops,
    ),
    Obligation(
        "exact-delay/start",
        "exact-delay",
        "pipelined and blocking begin coupled",
        (),
        _exact_delay_start,
        applies=_delayed,
    ),
    Obligation(
        "exact-delay/step",
        "exact-delay",
        "after `lag` more steps a rank has popped exactly what blocking has popped now, and they stay coupled",
        ("open-loop",),
        _exact_delay_step,
        applies=_delayed,
    ),
    Obligation(
        "bounded-lag/step",
        "bounded-lag",
        "whatever was finished on every rank at the count is popped when its round is consumed",
        (),
        _bounded_lag,
    ),
    Obligation(
        "matched-collectives/step",
        "matched-collectives",
        "in every step either all ranks issue a round or none does",
        (),
        _matched_collectives,
    ),
)
