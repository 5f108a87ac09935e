"""The interleaving invariant, by conjunct: what is true between any two actions of ranks that move alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from rankproof.model import rules
from rankproof.model.protocol import Protocol
from rankproof.model.reading import Number, Rank, Truth
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.obligation import Hypotheses
from rankproof.proofs.ranks_alone import History, Places, counted, most_in_flight, waited

_Conjuncts: TypeAlias = dict[str, Callable[[], Truth]]
"""Each is built only where it is used, for terms are costly to build."""


def invariant(
    history: History, at: Places, numbers: Sequence[Number], only: Collection[str] | None = None
) -> Hypotheses:
    """The conjuncts, or only those of these names; those about single rounds are stated of the rounds in `numbers`.

    window    a rank has between none and a window of rounds in flight, one less between its wait and its issue
    full      (of watermarks) once it has consumed one, it has as many in flight as it may
    in-step   a rank has issued one round a step
    ahead     what one rank has consumed, every rank has issued
    ledger    what a rank has popped, or may pop now, is what the rounds that it has consumed come to
    held      nothing else is allowed
    backed    everything that a rank offers in a round not yet consumed is finished there
    counted   and so is what it counted and has not issued
    rising    what the rounds come to does not fall
    had       an offer is what was finished at the count, less what the rounds before had allowed to be popped
    had-now   and so is what it counted and has not issued
    """
    reading, protocol = history.reading, history.protocol
    most = most_in_flight(protocol)

    def window(rank: Rank) -> Truth:
        me = at(rank)
        pending = rules.in_flight(me.issued, me.consumed)
        places = (reading.both(me.phase == index, pending <= limit) for index, limit in enumerate(most))
        return reading.both(0 <= pending, 0 <= me.consumed, reading.either(*places))

    def held(rank: Rank) -> Truth:
        me = at(rank)
        return reading.both(
            0 <= me.allowed,
            reading.either(me.allowed == 0, *(me.phase == index for index in waited(protocol))),
        )

    conjuncts: _Conjuncts = {
        "window": lambda: reading.every_rank(window),
        "in-step": lambda: reading.every_rank(lambda rank: at(rank).issued == at(rank).steps),
        "ahead": lambda: reading.every_pair(lambda one, other: at(one).consumed <= at(other).issued),
        "ledger": lambda: reading.every_rank(
            lambda rank: at(rank).popped + at(rank).allowed == history.total(at(rank).consumed)
        ),
        "held": lambda: reading.every_rank(held),
    }
    special = _watermarks if protocol.offers == "cumulative" else _remainders
    conjuncts |= special(reading, history, at, numbers)
    return {name: conjunct() for name, conjunct in conjuncts.items() if only is None or name in only}


def _of_each(reading: EveryRank, numbers: Sequence[Number], claim: Callable[[Rank, Number], Truth]) -> Truth:
    """That the claim is true of every rank, of each of these rounds."""

    def of_all(rank: Rank) -> Truth:
        return reading.both(*(claim(rank, number) for number in numbers))

    return reading.every_rank(of_all)


def _while_counted(reading: EveryRank, protocol: Protocol, at: Places, rank: Rank, claim: Truth) -> Truth:
    return reading.implies(reading.either(*(at(rank).phase == index for index in counted(protocol))), claim)


def _remainders(reading: EveryRank, history: History, at: Places, numbers: Sequence[Number]) -> _Conjuncts:
    """What is special to counts of what remains, of which at most one may be in flight."""
    protocol = history.protocol

    def backed(rank: Rank) -> Truth:
        me = at(rank)
        owed, pending = me.popped + me.allowed, history.offer(rank, me.issued)
        return reading.both(
            owed <= me.finished,
            reading.implies(
                1 <= rules.in_flight(me.issued, me.consumed),
                reading.both(0 <= pending, owed + pending <= me.finished),
            ),
        )

    def counted_is_backed(rank: Rank) -> Truth:
        me = at(rank)
        claim = reading.both(0 <= me.counted, me.popped + me.allowed + me.counted <= me.finished)
        return _while_counted(reading, protocol, at, rank, claim)

    def had(rank: Rank, number: Number) -> Truth:
        offered = rules.offer(protocol, history.had(rank, number), history.total(number - 1))
        return reading.implies(
            reading.both(1 <= number, number <= at(rank).issued), history.offer(rank, number) == offered
        )

    def had_now(rank: Rank) -> Truth:
        me = at(rank)
        offered = rules.offer(protocol, history.had(rank, me.issued + 1), history.total(me.issued))
        return _while_counted(reading, protocol, at, rank, me.counted == offered)

    def rising(one: Rank, other: Rank) -> Truth:
        earlier, later = at(one).consumed, at(other).consumed
        return reading.implies(earlier <= later, history.total(earlier) <= history.total(later))

    return {
        "backed": lambda: reading.every_rank(backed),
        "counted": lambda: reading.every_rank(counted_is_backed),
        "rising": lambda: reading.every_pair(rising),
        "had": lambda: _of_each(reading, numbers, had),
        "had-now": lambda: reading.every_rank(had_now),
    }


def _watermarks(reading: EveryRank, history: History, at: Places, numbers: Sequence[Number]) -> _Conjuncts:
    """What is special to watermarks, of which any number may be in flight."""
    protocol = history.protocol
    most = most_in_flight(protocol)

    def backed(rank: Rank, number: Number) -> Truth:
        below = reading.both(0 <= number, number <= at(rank).issued)
        return reading.implies(below, history.offer(rank, number) <= at(rank).finished)

    def rising(rank: Rank, number: Number) -> Truth:
        below = reading.both(0 <= number, number + 1 <= at(rank).issued)
        return reading.implies(below, history.offer(rank, number) <= history.offer(rank, number + 1))

    def counted_is_backed(rank: Rank) -> Truth:
        me = at(rank)
        claim = reading.both(history.offer(rank, me.issued) <= me.counted, me.counted <= me.finished)
        return _while_counted(reading, protocol, at, rank, claim)

    def had(rank: Rank, number: Number) -> Truth:
        issued = reading.both(1 <= number, number <= at(rank).issued)
        return reading.implies(issued, history.offer(rank, number) == history.had(rank, number))

    def had_now(rank: Rank) -> Truth:
        me = at(rank)
        return _while_counted(reading, protocol, at, rank, me.counted == history.had(rank, me.issued + 1))

    def full(rank: Rank) -> Truth:
        me = at(rank)
        pending = rules.in_flight(me.issued, me.consumed)
        places = (reading.both(me.phase == index, pending == limit) for index, limit in enumerate(most))
        return reading.implies(1 <= me.consumed, reading.either(*places))

    return {
        "full": lambda: reading.every_rank(full),
        "backed": lambda: _of_each(reading, numbers, backed),
        "counted": lambda: reading.every_rank(counted_is_backed),
        "rising": lambda: _of_each(reading, numbers, rising),
        "had": lambda: _of_each(reading, numbers, had),
        "had-now": lambda: reading.every_rank(had_now),
    }
