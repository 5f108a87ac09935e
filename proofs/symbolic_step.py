"""The ranks of one search on z3 terms, and the four quarters of a step on them.

It shares `rules`, `Protocol.phases` and who agrees with whom with the model's own interleaving, and nothing else: acks
are positions in their lane here, and a rank's state is a handful of bounded numbers.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import z3

from rankproof.model import rules
from rankproof.model.interleaving import Model, members
from rankproof.model.protocol import Phase
from rankproof.proofs.terms import Terms

NEVER = -1
"""In place of a position that no ack has, and of a number that nothing is owed."""


@dataclass(frozen=True, slots=True)
class RankTerms:
    """One rank with one lane; every field is a signed bit-vector term of the search's width, but for the last three.

    The counts are cumulative in this epoch; `finished` counts what was popped unfinished as well. `lost` is the
    position at which an ack is not in this lane, `swapped` that of the first of two in the other order, `owed` what is
    to be popped by the next pop; each of them may be NEVER. `declined`, `thrown` and `crashed` are 1 after that has
    happened, and `gone` where the rank does nothing more. `offers` and `backing` have one term for each round, `calls`
    one for each step: 0 for no round, else how many, and 3 more where their vectors are longer by one.
    """

    enqueued: Any
    finished: Any
    popped: Any
    phase: Any
    counted: Any
    backed: Any
    allowed: Any
    issued: Any
    consumed: Any
    steps: Any
    epoch: Any
    evictions: Any
    layout: Any
    declined: Any
    thrown: Any
    crashed: Any
    gone: Any
    lost: Any
    swapped: Any
    owed: Any
    offers: tuple[Any, ...]
    backing: tuple[Any, ...]
    calls: tuple[Any, ...]


Ranks = tuple[RankTerms, ...]
"""All ranks, from rank 0."""


@dataclass(frozen=True, slots=True)
class Popping:
    """A pop, in a step or in the drain with which an action begins: where it is made, of how much, and the ranks."""

    made: Any
    amount: Any
    before: RankTerms
    after: RankTerms


@dataclass(frozen=True, slots=True)
class Choice:
    """What a schedule may do at one place: the rank, the kind of action, its guard, and the rank's terms after it.

    A kind is a phase, or the name of what the engine does; where an ack is picked, its position follows. `pops` has
    the pop that it may be, or begin with.
    """

    kind: str
    rank: int
    guard: Any
    after: RankTerms
    pops: tuple[Popping, ...] = ()


class Steps:
    """What a rank does in its steps, in one model, up to a number of actions.

    rounds, steps   how many of them can begin within that many actions
    tracked         which of `backing` and `calls` are written down; for what no check reads there are no terms
    """

    def __init__(self, model: Model, bound: int, tracked: Collection[str]) -> None:
        scenario = model.scenario
        self.model = model
        self.ranks = range(scenario.ranks)
        self.tracked = tracked
        self.steps = bound // len(model.protocol.phases) + 1 + scenario.declines + scenario.throws
        self.rounds = self.steps * (2 if model.protocol.issues == "twice-when-nonempty" else 1)
        # The search is bounded, so its numbers are, and few bits are decided fast.
        self.width = (max(self.rounds, 3 * scenario.acks) + 2).bit_length() + 1
        self.zero, self.one, self.never = self.number(0), self.number(1), self.number(NEVER)

    def number(self, value: int) -> Any:
        """The term of a number."""
        return z3.BitVecVal(value, self.width)

    @property
    def start(self) -> Ranks:
        backing = (self.zero,) * self.rounds if "backing" in self.tracked else ()
        calls = (self.zero,) * self.steps if "calls" in self.tracked else ()
        rank = RankTerms(
            *(self.zero,) * 17, *(self.never,) * 3, offers=(self.zero,) * self.rounds, backing=backing, calls=calls
        )
        return (rank,) * len(self.ranks)

    def phase(self, state: Ranks, rank: int, phase: Phase) -> Choice:
        """Taking `phase`; where the rank stands in its step is not moved, and not asked for."""
        me, protocol = state[rank], self.model.protocol
        is_due = rules.due(protocol, me.issued, me.consumed)
        match phase:
            case Phase.WAIT:
                complete, waited = self._waited(state, rank)
                nothing = replace(me, allowed=self.zero, owed=me.popped if "backing" in self.tracked else me.owed)
                if protocol.bounds == "none":
                    takes = z3.And(is_due, complete)
                    return Choice(phase, rank, z3.BoolVal(True), chosen(takes, waited, nothing))
                return Choice(phase, rank, z3.Implies(is_due, complete), chosen(is_due, waited, nothing))
            case Phase.POP:
                own = self._of_round(me.offers, me.consumed)
                amount = rules.taken(protocol, me.allowed, own, me.popped)
                after = self._popped(me, amount)
                guard = z3.BoolVal(True)
                if protocol.reads == "before-wait":
                    amount = z3.If(is_due, amount, self.zero)
                    after = chosen(is_due, after, me)
                elif rank not in members(self.model, rank)[1] and protocol.follows == "waits":
                    guard = amount <= rules.ready_count(me.finished, me.popped)
                return Choice(phase, rank, guard, after, (Popping(z3.BoolVal(True), amount, me, after),))
            case Phase.COUNT:
                counted = rules.offer(protocol, me.finished, me.popped)
                backed = me.finished if "backing" in self.tracked else me.backed
                return Choice(phase, rank, z3.BoolVal(True), replace(me, counted=counted, backed=backed))
            case Phase.ISSUE:
                return Choice(phase, rank, me.steps < self.steps, self._issued(me))

    def drained(self, state: Ranks, rank: int) -> tuple[Any, RankTerms, tuple[Popping, ...]]:
        """Whether what the rank has in flight, one round at most, can be consumed now; its terms then, and the pop."""
        me = state[rank]
        something = 1 <= rules.in_flight(me.issued, me.consumed)
        complete, waited = self._waited(state, rank)
        popped = self._popped(waited, waited.allowed)
        pops = (Popping(something, waited.allowed, waited, popped),)
        return z3.Implies(something, complete), chosen(something, popped, me), pops

    def waits_in_vain(self, state: Ranks, rank: int) -> Any:
        """Whether a rank waits for one that is gone before it has issued the round."""
        me = state[rank]
        wait = self.model.protocol.phases.index(Phase.WAIT)
        issuers = members(self.model, rank)[0]
        late = (z3.And(state[peer].gone == 1, state[peer].issued <= me.consumed) for peer in issuers)
        is_due = rules.due(self.model.protocol, me.issued, me.consumed)
        return z3.And(me.gone == 0, me.phase == wait, is_due, z3.Or(*late))

    def _issued(self, me: RankTerms) -> RankTerms:
        protocol, reading = self.model.protocol, Terms(len(self.ranks))
        issues = rules.issues(reading, protocol, (me.counted,))
        again = z3.And(issues, rules.issues_again(reading, protocol, (me.counted,)))
        rounds = z3.If(issues, z3.If(again, self.number(2), self.one), self.zero)

        def of_this(number: int, value: Any, old: Any) -> Any:
            """What a round holds: `value` where it is the next of this rank, or the one after that."""
            first = z3.And(issues, me.issued == number)
            second = z3.And(again, me.issued + 1 == number) if protocol.issues == "twice-when-nonempty" else False
            return z3.If(z3.Or(first, second), value, old)

        length = 3 * me.layout if protocol.vector == "by-layout" else self.zero
        call = z3.If(issues, rounds + length, self.zero)
        return replace(
            me,
            issued=me.issued + rounds,
            offers=tuple(of_this(number, me.counted, old) for number, old in enumerate(me.offers)),
            backing=tuple(of_this(number, me.backed, old) for number, old in enumerate(me.backing)),
            calls=tuple(z3.If(me.steps == number, call, old) for number, old in enumerate(me.calls)),
            steps=me.steps + 1,
            counted=self.zero,
            backed=self.zero,
        )

    def _waited(self, state: Ranks, rank: int) -> tuple[Any, RankTerms]:
        """Whether the oldest round in flight is complete, and the rank's terms after it has been waited for."""
        me, protocol = state[rank], self.model.protocol
        issuers, voters = members(self.model, rank)
        complete = rules.complete(Terms(len(issuers)), me.consumed, lambda each: state[issuers[each]].issued)
        agreed = rules.agree(
            Terms(len(voters)), protocol, lambda each: self._of_round(state[voters[each]].offers, me.consumed)
        )
        own = self._of_round(me.offers, me.consumed)
        owed = me.owed
        if "backing" in self.tracked:
            owed = Terms(len(voters)).minimum(lambda each: self._of_round(state[voters[each]].backing, me.consumed))
        allowed = rules.allowed(protocol, own, agreed, me.popped)
        return complete, replace(me, consumed=me.consumed + 1, allowed=allowed, owed=owed)

    def _popped(self, me: RankTerms, amount: Any) -> RankTerms:
        """The rank after it has popped that much, or all that is there; less than nothing is nothing."""
        wanted = me.popped + z3.If(amount <= 0, self.zero, amount)
        popped = z3.If(wanted <= me.enqueued, wanted, me.enqueued)
        finished = z3.If(me.finished <= popped, popped, me.finished)
        return replace(me, popped=popped, finished=finished, allowed=self.zero, owed=self.never)

    def _of_round(self, numbers: tuple[Any, ...], index: Any) -> Any:
        """One of a rank's numbers, by the index of the round from 0; only asked of rounds that it has issued."""
        found = numbers[-1]
        for number, value in enumerate(numbers[:-1]):
            found = z3.If(index == number, value, found)
        return found


def chosen(condition: Any, then: RankTerms, otherwise: RankTerms) -> RankTerms:
    """Rank terms that are `then` where the condition is true."""

    def pick(one: Any, other: Any) -> Any:
        if isinstance(one, tuple):
            return tuple(pick(a, b) for a, b in zip(one, other, strict=True))
        return one if one is other or one.eq(other) else z3.If(condition, one, other)

    names = RankTerms.__dataclass_fields__
    return RankTerms(**{name: pick(getattr(then, name), getattr(otherwise, name)) for name in names})
