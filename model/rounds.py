"""The protocol in lockstep: every rank takes each phase of a step before any rank takes the next phase."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

from rankproof.model import rules
from rankproof.model.protocol import Phase, Protocol
from rankproof.model.reading import Family, Number, Rank, Reading

InFlight: TypeAlias = Any
"""A tuple of offers, or a solver's window on a table of them: a step uses only `[0]`, `[1:]` and `+ (offer,)` on it."""


@dataclass(frozen=True, slots=True)
class Position:
    """One lane of one rank between two steps.

    finished   acks up to the end of the finished prefix when this rank last counted, cumulative
    popped     acks popped, cumulative
    in_flight  the offers of the rounds in flight, oldest first; always `lag` of them (see `start`)
    """

    finished: Number
    popped: Number
    in_flight: InFlight


Positions: TypeAlias = Callable[[Rank], Position]


def start(protocol: Protocol, stale: Family | None = None) -> Positions:
    """Where every rank stands when an epoch begins: at an empty lane.

    Nothing in flight is written as `lag` rounds that pop nothing. `stale` says what each rank has in flight from the
    epoch before; only a protocol that resets without draining carries it over.
    """
    if stale is not None and protocol.resets == "in-flight":
        return lambda rank: Position(0, 0, protocol.filled(stale(rank)))
    return lambda rank: Position(0, 0, _nothing(protocol, 0))


def step(reading: Reading, protocol: Protocol, before: Positions, finished: Family) -> Positions:
    """Where every rank stands after one step in which it finds `finished` acks, cumulative, when it counts.

    Every rank takes part in every round here; whether that is so is a question of its own (`rules.issues`).
    """
    now = _between_steps(before)
    for phase in protocol.phases:
        now = _take(reading, protocol, phase, now, finished)
    done = now
    return cache(lambda rank: Position(finished(rank), done.popped(rank), done.in_flight(rank)))


def evict(protocol: Protocol, before: Positions, enqueued: Family) -> Positions:
    """Where every rank stands after a blocking eviction: all that was `enqueued`, cumulative, is finished and popped.

    The right protocol consumes what is in flight first; what that pops is among the enqueued.
    """
    kept = protocol.evicts == "in-flight"
    return lambda rank: Position(
        enqueued(rank), enqueued(rank), before(rank).in_flight if kept else _nothing(protocol, enqueued(rank))
    )


def consume(reading: Reading, protocol: Protocol, before: Positions) -> Positions:
    """Where every rank stands after it has consumed one round between two steps, and popped what that allows.

    It issues nothing, so it has one round fewer in flight.
    """
    now = _between_steps(before)
    for phase in protocol.phases:
        if phase in (Phase.WAIT, Phase.POP):
            now = _take(reading, protocol, phase, now, lambda rank: before(rank).finished)
    done = now
    return cache(lambda rank: Position(before(rank).finished, done.popped(rank), done.in_flight(rank)))


def drain(reading: Reading, protocol: Protocol, before: Positions) -> Positions:
    """Where every rank stands after it has consumed all that is in flight and popped it, and issued nothing."""
    after = before
    for _ in range(protocol.lag):
        after = consume(reading, protocol, after)
    return resting(protocol, after)


def resting(protocol: Protocol, before: Positions) -> Positions:
    """The same with nothing in flight, written as `lag` rounds that pop nothing."""
    return cache(
        lambda rank: Position(before(rank).finished, before(rank).popped, _nothing(protocol, before(rank).popped))
    )


def _nothing(protocol: Protocol, popped: Number) -> InFlight:
    """The offers of `lag` rounds that pop nothing from a lane that has popped this many."""
    return protocol.filled(rules.offer(protocol, popped, popped))


@dataclass(frozen=True, slots=True)
class _Moment:
    """What every rank holds between two phases; each family is computed once a rank, for terms are costly to build."""

    popped: Family
    after_wait: Family
    counted: Family
    in_flight: Callable[[Rank], InFlight]


def _between_steps(before: Positions) -> _Moment:
    return _Moment(
        popped=cache(lambda rank: before(rank).popped),
        after_wait=lambda rank: 0,
        counted=lambda rank: 0,
        in_flight=cache(lambda rank: before(rank).in_flight),
    )


def _take(reading: Reading, protocol: Protocol, phase: Phase, now: _Moment, finished: Family) -> _Moment:
    """What every rank holds after all have taken `phase`."""
    match phase:
        case Phase.WAIT:
            agreed = rules.agree(reading, protocol, lambda rank: now.in_flight(rank)[0])
            return replace(
                now,
                after_wait=cache(
                    lambda rank: rules.allowed(protocol, now.in_flight(rank)[0], agreed, now.popped(rank))
                ),
                in_flight=cache(lambda rank: now.in_flight(rank)[1:]),
            )
        case Phase.POP:
            return replace(now, popped=cache(lambda rank: now.popped(rank) + _amount(protocol, now, rank)))
        case Phase.COUNT:
            return replace(now, counted=cache(lambda rank: rules.offer(protocol, finished(rank), now.popped(rank))))
        case Phase.ISSUE:
            # Not unpacked, for a solver's window has any length.
            return replace(now, in_flight=cache(lambda rank: now.in_flight(rank) + (now.counted(rank),)))  # noqa: RUF005 # a solver's window has its own +


def _amount(protocol: Protocol, now: _Moment, rank: Rank) -> Number:
    own = now.in_flight(rank)[0] if protocol.reads == "before-wait" else 0
    return rules.taken(protocol, now.after_wait(rank), own, now.popped(rank))
