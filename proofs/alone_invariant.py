"""The interleaving invariant, by conjunct: what is true between any two actions of ranks that move alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from rankproof.model import rules
from rankproof.model.protocol import Phase, Protocol
from rankproof.model.reading import Number, Rank, Truth
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.obligation import Hypotheses
from rankproof.proofs.ranks_alone import NOTHING, History, Places, counted, most_in_flight, waited

_Conjuncts: TypeAlias = dict[str, Callable[[], Truth]]
"""Each is built only where it is used, for terms are costly to build."""


def invariant(
    history: History, at: Places, numbers: Sequence[Number], only: Collection[str] | None = None
) -> Hypotheses:
    """The conjuncts, or only those of these names; those about single rounds are stated of the rounds in `numbers`.

    window    a rank has between none and a window of rounds in flight, one less between its wait and its issue
    full      (of watermarks) it has as many in flight as it may, less those that it has consumed between two steps
    in-step   a rank has issued one round a step
    ahead     what one rank has consumed, every rank has issued
    passed    a rank that has evicted or reset since it last issued was to, and has nothing in flight or left to pop
    begun     a rank that is within a step, before its issue, is through what the script has before that step
    through   (of watermarks) and what the script has before a round that it issued came when the rounds up to there
              were consumed
    ledger    what is gone from a rank, or may be popped now, is what the rounds that it has consumed come to
    held      nothing is allowed but by the last of them, and only between its wait and its pop
    backed    everything that a rank offers in a round not yet consumed is finished there
    counted   and so is what it counted and has not issued
    rising    what a round comes to is not below what was gone before it
    fresh     (of watermarks) an offer after an eviction or a reset is not below what that took out
    had       an offer is what was finished at the count, less what was gone by then
    had-now   and so is what it counted and has not issued
    """
    reading, protocol = history.reading, history.protocol
    most = most_in_flight(protocol)
    before_issue = range(1, protocol.phases.index(Phase.ISSUE) + 1)

    def window(rank: Rank) -> Truth:
        me = at(rank)
        pending = rules.in_flight(me.issued, me.consumed)
        places = (reading.both(me.phase == index, pending <= limit) for index, limit in enumerate(most))
        return reading.both(0 <= pending, 0 <= me.consumed, reading.either(*places))

    def passed(rank: Rank) -> Truth:
        me = at(rank)
        scripted = reading.negate(history.event(me.issued) == NOTHING)
        nothing_left = reading.both(me.consumed == me.issued, me.allowed == 0)
        gone = history.start(me.issued + 1) <= me.finished
        return reading.either(me.passed == 0, reading.both(me.passed == 1, scripted, nothing_left, gone))

    def begun(rank: Rank) -> Truth:
        me = at(rank)
        within = reading.either(*(me.phase == index for index in before_issue))
        return reading.implies(within, reading.either(history.event(me.issued) == NOTHING, me.passed == 1))

    def held(rank: Rank) -> Truth:
        me = at(rank)
        waits_to_pop = reading.either(*(me.phase == index for index in waited(protocol)))
        of_the_last_round = me.popped + me.allowed == history.total(me.consumed)
        return reading.both(
            0 <= me.allowed, reading.either(me.allowed == 0, reading.both(waits_to_pop, of_the_last_round))
        )

    conjuncts: _Conjuncts = {
        "window": lambda: reading.every_rank(window),
        "in-step": lambda: reading.every_rank(lambda rank: at(rank).issued == at(rank).steps),
        "ahead": lambda: reading.every_pair(lambda one, other: at(one).consumed <= at(other).issued),
        "passed": lambda: reading.every_rank(passed),
        "begun": lambda: reading.every_rank(begun),
        "ledger": lambda: reading.every_rank(
            lambda rank: at(rank).popped + at(rank).allowed == reached(history, at, rank)
        ),
        "held": lambda: reading.every_rank(held),
    }
    special = _watermarks if protocol.offers == "cumulative" else _remainders
    conjuncts |= special(reading, history, at, numbers)
    return {name: conjunct() for name, conjunct in conjuncts.items() if only is None or name in only}


def is_past(history: History, at: Places, rank: Rank) -> Truth:
    """Whether a rank is past what the script has behind the last round that it consumed, which may be nothing."""
    me = at(rank)
    return history.reading.either(me.passed == 1, me.consumed + 1 <= me.issued)


def reached(history: History, at: Places, rank: Rank) -> Number:
    """How much is gone from a rank that has popped all it may."""
    me = at(rank)
    return history.reading.choose(
        is_past(history, at, rank), history.start(me.consumed + 1), history.total(me.consumed)
    )


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
        offered = history.offered(history.had(rank, number), history.start(number), number)
        return reading.implies(
            reading.both(1 <= number, number <= at(rank).issued), history.offer(rank, number) == offered
        )

    def had_now(rank: Rank) -> Truth:
        me = at(rank)
        number = me.issued + 1
        offered = history.offered(history.had(rank, number), history.start(number), number)
        return _while_counted(reading, protocol, at, rank, me.counted == offered)

    def rising(rank: Rank) -> Truth:
        consumed = at(rank).consumed
        return reading.implies(1 <= consumed, history.start(consumed) <= history.total(consumed))

    return {
        "backed": lambda: reading.every_rank(backed),
        "counted": lambda: reading.every_rank(counted_is_backed),
        "rising": lambda: reading.every_rank(rising),
        "had": lambda: _of_each(reading, numbers, had),
        "had-now": lambda: reading.every_rank(had_now),
    }


def _watermarks(reading: EveryRank, history: History, at: Places, numbers: Sequence[Number]) -> _Conjuncts:
    """What is special to watermarks, of which any number may be in flight."""
    protocol = history.protocol
    most = most_in_flight(protocol)

    def backed(rank: Rank, number: Number) -> Truth:
        below = reading.both(0 <= number, number <= at(rank).issued)
        return reading.implies(below, history.claim(rank, number) <= at(rank).finished)

    def rising(rank: Rank, number: Number) -> Truth:
        below = reading.both(0 <= number, number + 1 <= at(rank).issued)
        return reading.implies(below, history.claim(rank, number) <= history.claim(rank, number + 1))

    def fresh(rank: Rank, number: Number) -> Truth:
        behind = reading.both(0 <= number, number + 1 <= at(rank).issued)
        scripted = reading.negate(history.event(number) == NOTHING)
        return reading.implies(
            reading.both(behind, scripted), history.start(number + 1) <= history.claim(rank, number + 1)
        )

    def through(rank: Rank, number: Number) -> Truth:
        behind = reading.both(0 <= number, number + 1 <= at(rank).issued)
        return reading.implies(behind, reading.either(history.event(number) == NOTHING, number <= at(rank).consumed))

    def counted_is_backed(rank: Rank) -> Truth:
        me = at(rank)
        now = me.counted + history.base(me.issued + 1)
        claim = reading.both(
            history.claim(rank, me.issued) <= now,
            now <= me.finished,
            reading.implies(me.passed == 1, history.start(me.issued + 1) <= now),
        )
        return _while_counted(reading, protocol, at, rank, claim)

    def had(rank: Rank, number: Number) -> Truth:
        issued = reading.both(1 <= number, number <= at(rank).issued)
        return reading.implies(issued, history.claim(rank, number) == history.had(rank, number))

    def had_now(rank: Rank) -> Truth:
        me = at(rank)
        now = me.counted + history.base(me.issued + 1)
        return _while_counted(reading, protocol, at, rank, now == history.had(rank, me.issued + 1))

    def full(rank: Rank) -> Truth:
        me = at(rank)
        exactly = (
            reading.both(
                me.phase == index,
                me.consumed == reading.choose(me.drained + limit <= me.issued, me.issued - limit, me.drained),
            )
            for index, limit in enumerate(most)
        )
        return reading.both(0 <= me.drained, reading.either(*exactly))

    return {
        "full": lambda: reading.every_rank(full),
        "through": lambda: _of_each(reading, numbers, through),
        "backed": lambda: _of_each(reading, numbers, backed),
        "counted": lambda: reading.every_rank(counted_is_backed),
        "rising": lambda: _of_each(reading, numbers, rising),
        "fresh": lambda: _of_each(reading, numbers, fresh),
        "had": lambda: _of_each(reading, numbers, had),
        "had-now": lambda: reading.every_rank(had_now),
    }
