"""What is proved in lockstep for every number of ranks: one obligation an entry, each with the property it stands for.

An obligation is a claim about one step from any state in which the invariant holds, so that induction carries it to
every step. Counts are unbounded and of one lane; lanes do not touch each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import z3

from rankproof.model import rounds, rules
from rankproof.model.protocol import BLOCKING, Protocol
from rankproof.model.reading import Reading, Truth
from rankproof.model.rounds import Position, Positions
from rankproof.proofs.everyrank import EveryRank

Hypotheses: TypeAlias = dict[str, Truth]
"""What an obligation may use, by name; the assumptions among them have the names that the design gives them."""


@dataclass(frozen=True, slots=True)
class Obligation:
    """One thing to prove.

    name      the property, a slash, and which part of its argument this is
    property  the name of the property, or "round-invariant"
    says      the obligation in one sentence
    needs     the names of the assumptions among its hypotheses
    state     from a reading and a protocol, the hypotheses and the goal
    """

    name: str
    property: str
    says: str
    needs: tuple[str, ...]
    state: Callable[[EveryRank, Protocol], tuple[Hypotheses, Truth]]


def invariant(reading: Reading, at: Positions) -> dict[str, Truth]:
    """The round invariant: what is true of all ranks between two steps, by conjunct."""
    return {
        "agree": reading.every_pair(lambda one, other: at(one).popped == at(other).popped),
        "backed": reading.every_rank(lambda rank: _promised(at(rank)) <= at(rank).finished),
        "counts": reading.every_rank(lambda rank: reading.both(*(0 <= count for count in at(rank).in_flight))),
    }


def _promised(position: Position) -> Truth:
    total = position.popped
    for count in position.in_flight:
        total = total + count
    return total


def _any_state(reading: EveryRank, protocol: Protocol, name: str = "") -> Positions:
    finished, popped = reading.family(f"{name}finished"), reading.family(f"{name}popped")
    offered = [reading.family(f"{name}offered_{age}") for age in range(protocol.lag)]
    return cache(lambda rank: Position(finished(rank), popped(rank), tuple(each(rank) for each in offered)))


def _next_finished(reading: EveryRank, before: Positions) -> tuple[Callable[[object], Truth], Hypotheses]:
    """What every rank finds finished at its next count, which only accumulates."""
    finished = reading.family("finished_next")
    return finished, {"only-accumulate": reading.every_rank(lambda rank: before(rank).finished <= finished(rank))}


def _start(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Truth]:
    stale = reading.family("stale")
    at = rounds.start(protocol, stale)
    counts = {"counts": reading.every_rank(lambda rank: 0 <= stale(rank))}
    return counts, reading.both(*invariant(reading, at).values())


def _step(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Truth]:
    before = _any_state(reading, protocol)
    finished, accumulate = _next_finished(reading, before)
    after = rounds.step(reading, protocol, before, finished)
    return invariant(reading, before) | accumulate, reading.both(*invariant(reading, after).values())


def _drain(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Truth]:
    before = _any_state(reading, protocol)
    after = rounds.drain(reading, protocol, before)
    return invariant(reading, before), reading.both(*invariant(reading, after).values())


def _evict(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Truth]:
    before = _any_state(reading, protocol)
    enqueued = reading.family("enqueued")
    hypotheses = invariant(reading, before) | {
        "enqueued-first": reading.every_rank(lambda rank: before(rank).finished <= enqueued(rank)),
        "aligned-enqueue": reading.every_pair(lambda one, other: enqueued(one) == enqueued(other)),
    }
    after = rounds.evict(protocol, before, enqueued)
    return hypotheses, reading.both(*invariant(reading, after).values())


def _finished_before_pop(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Truth]:
    before = _any_state(reading, protocol)
    finished, accumulate = _next_finished(reading, before)
    after = rounds.step(reading, protocol, before, finished)
    # A pipelined pop comes before the count of its own step, so it must rest on what was finished by the last one.
    known = finished if protocol.lag == 0 else lambda rank: before(rank).finished
    goal = reading.every_pair(lambda rank, peer: after(rank).popped <= known(peer))
    return invariant(reading, before) | accumulate, goal


def _same_pops(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Truth]:
    before = _any_state(reading, protocol)
    finished, accumulate = _next_finished(reading, before)
    after = rounds.step(reading, protocol, before, finished)
    ack = z3.Function("ack", reading.sort, z3.IntSort(), z3.IntSort())
    place = z3.Int("place")
    hypotheses = invariant(reading, before) | accumulate
    hypotheses["same-order"] = reading.every_pair(lambda one, other: ack(one, place) == ack(other, place))
    goal = reading.every_pair(
        lambda one, other: reading.both(
            after(one).popped == after(other).popped,
            z3.Implies(place < after(one).popped, ack(one, place) == ack(other, place)),
        )
    )
    return hypotheses, goal


def _coupled(reading: EveryRank, protocol: Protocol, pipelined: Positions, blocking: Positions) -> Truth:
    """Blocking has popped what pipelined has, and what its round in flight is going to agree on."""
    agreed = rules.agree(reading, protocol, lambda rank: pipelined(rank).in_flight[0])
    return reading.every_rank(lambda rank: blocking(rank).popped == pipelined(rank).popped + agreed)


def _exact_delay_start(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Truth]:
    stale = reading.family("stale")
    counts = {"counts": reading.every_rank(lambda rank: 0 <= stale(rank))}
    return counts, _coupled(reading, protocol, rounds.start(protocol, stale), rounds.start(BLOCKING))


def _exact_delay_step(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Truth]:
    pipelined, blocking = _any_state(reading, protocol), _any_state(reading, BLOCKING, "blocking_")
    finished, accumulate = _next_finished(reading, pipelined)
    coupled = _coupled(reading, protocol, pipelined, blocking)
    pipelined_after = rounds.step(reading, protocol, pipelined, finished)
    blocking_after = rounds.step(reading, BLOCKING, blocking, finished)
    one_step_late = reading.every_rank(lambda rank: pipelined_after(rank).popped == blocking(rank).popped)
    goal = reading.both(one_step_late, _coupled(reading, protocol, pipelined_after, blocking_after))
    return {"coupled": coupled, "same-completions": z3.BoolVal(True)} | accumulate, goal


def _bounded_lag(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Truth]:
    def offers_all(at: Positions) -> Truth:
        return reading.every_rank(lambda rank: at(rank).finished <= _promised(at(rank)))

    before = _any_state(reading, protocol)
    finished, accumulate = _next_finished(reading, before)
    after = rounds.step(reading, protocol, before, finished)
    amount = z3.Int("amount")
    everywhere = reading.every_rank(lambda rank: amount <= before(rank).finished)
    hypotheses = {"agree": invariant(reading, before)["agree"], "offers-all": offers_all(before)} | accumulate
    popped = z3.Implies(everywhere, reading.every_rank(lambda rank: amount <= after(rank).popped))
    return hypotheses, reading.both(offers_all(after), popped)


def _matched_collectives(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Truth]:
    before = _any_state(reading, protocol)
    finished, accumulate = _next_finished(reading, before)

    def issues(rank: object) -> Truth:
        return rules.issues(reading, protocol, (rules.offer(protocol, finished(rank), before(rank).popped),))

    goal = reading.every_pair(lambda one, other: issues(one) == issues(other))
    return invariant(reading, before) | accumulate, goal


OBLIGATIONS: tuple[Obligation, ...] = (
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
        "what a rank has popped after a step was finished on every rank when the round was counted",
        ("only-accumulate",),
        _finished_before_pop,
    ),
    Obligation(
        "same-pops/step",
        "same-pops",
        "after a step every rank has popped as many, and at each place the same ack",
        ("only-accumulate", "same-order"),
        _same_pops,
    ),
    Obligation(
        "exact-delay/start",
        "exact-delay",
        "pipelined and blocking begin coupled",
        (),
        _exact_delay_start,
    ),
    Obligation(
        "exact-delay/step",
        "exact-delay",
        "pipelined pops in the next step exactly what blocking has popped in this one, and they stay coupled",
        ("only-accumulate",),
        _exact_delay_step,
    ),
    Obligation(
        "bounded-lag/step",
        "bounded-lag",
        "whatever was finished on every rank at the count is popped when its round is consumed",
        ("only-accumulate",),
        _bounded_lag,
    ),
    Obligation(
        "matched-collectives/step",
        "matched-collectives",
        "in every step either all ranks issue a round or none does",
        ("everyone-steps",),
        _matched_collectives,
    ),
)
