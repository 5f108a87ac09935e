"""The interleaving on z3 terms, for a fixed number of ranks: one state, what may be taken in it, and the next.

It shares `rules` and `Protocol.phases` with the model's own interleaving, and nothing else: acks are positions in their
lane here, and a rank's state is a handful of bounded numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any

import z3

from rankproof.model import rules
from rankproof.model.interleaving import Model
from rankproof.model.protocol import Phase
from rankproof.proofs.terms import Terms

NEVER = -1
"""In place of a position that no ack has."""


@dataclass(frozen=True, slots=True)
class RankTerms:
    """One rank with one lane; every field is a signed bit-vector term of the unrolling's width, but for the last two.

    The counts are cumulative in this epoch. `lost` is the position at which an enqueue failed, or NEVER. `offers` has
    one such term for each round, and `calls` one boolean term for each step, from the first up to the horizon.
    """

    enqueued: Any
    finished: Any
    popped: Any
    phase: Any
    counted: Any
    allowed: Any
    issued: Any
    consumed: Any
    steps: Any
    epoch: Any
    evictions: Any
    lost: Any
    offers: tuple[Any, ...]
    calls: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """What a schedule may do at one place: the rank, the kind of action, its guard, and the rank's terms after it."""

    kind: str
    rank: int
    guard: Any
    after: RankTerms


class Unrolling:
    """The transition relation of one model, up to a number of actions."""

    def __init__(self, model: Model, bound: int) -> None:
        self.model = model
        self.ranks = range(model.scenario.ranks)
        self.reading = Terms(model.scenario.ranks)
        self.rounds = bound // len(model.protocol.phases) + 1
        # The search is bounded, so its numbers are, and few bits are decided fast. A rank that pops what it does not
        # have has broken finished-before-pop before it comes to pop three times as much as there is.
        self.width = (max(self.rounds, 3 * model.scenario.acks) + 2).bit_length() + 1
        self.zero, self.one = self.number(0), self.number(1)
        # Every rank resets, or evicts, between the same two steps and with as many acks enqueued.
        self.planned_step = z3.BitVec("planned_step", self.width)
        self.planned_enqueued = z3.BitVec("planned_enqueued", self.width)
        self._forbidden: list[tuple[int, int]] = []
        self.plan_facts = (0 <= self.planned_step, 0 <= self.planned_enqueued)

    def number(self, value: int) -> Any:
        """The term of a number."""
        return z3.BitVecVal(value, self.width)

    @property
    def start(self) -> tuple[RankTerms, ...]:
        return tuple(
            RankTerms(
                *(self.zero,) * 11,
                lost=self.number(NEVER),
                offers=(self.zero,) * self.rounds,
                calls=(z3.BoolVal(False),) * self.rounds,
            )
            for _ in self.ranks
        )

    def choices(self, state: tuple[RankTerms, ...]) -> Iterator[Choice]:
        """Every action of the scenario in `state`, enabled under its guard."""
        scenario, protocol = self.model.scenario, self.model.protocol
        for rank, me in enumerate(state):
            given = self._given(me)
            may_enqueue = z3.And(given < scenario.acks, self._within_plan(me, given))
            yield Choice("enqueue", rank, may_enqueue, replace(me, enqueued=me.enqueued + 1))
            yield Choice("finish", rank, me.finished < me.enqueued, replace(me, finished=me.finished + 1))
            if scenario.losses:
                lost_so_far = sum((z3.If(other.lost == NEVER, self.zero, self.one) for other in state), self.zero)
                may_lose = z3.And(may_enqueue, lost_so_far < scenario.losses, me.lost == NEVER)
                yield Choice("lose", rank, may_lose, replace(me, lost=me.enqueued))
            between = z3.And(me.phase == 0, me.steps == self.planned_step, given == self.planned_enqueued)
            drainable, drained = self._drained(state, rank)
            if scenario.resets:
                guard, base = (drainable, drained) if protocol.resets == "drained" else (z3.BoolVal(True), me)
                cleared = replace(base, enqueued=self.zero, finished=self.zero, popped=self.zero)
                yield Choice("reset", rank, z3.And(between, me.epoch == 0, guard), replace(cleared, epoch=self.one))
            if scenario.evicts:
                guard, base = (drainable, drained) if protocol.evicts == "drained" else (z3.BoolVal(True), me)
                finished = z3.And(me.evictions == 0, me.finished == me.enqueued)
                emptied = replace(base, popped=me.enqueued, evictions=self.one)
                yield Choice("evict", rank, z3.And(between, finished, guard), emptied)
            for index, phase in enumerate(protocol.phases):
                guard, after = self._phase(state, rank, phase)
                if index == 0:
                    ahead = [me.steps - other.steps < scenario.ahead for other in state]
                    guard = z3.And(guard, *ahead, self._past_plan(me))
                following = self.number((index + 1) % len(protocol.phases))
                yield Choice(phase, rank, z3.And(me.phase == index, guard), replace(after, phase=following))

    def after(
        self, length: int, before: tuple[RankTerms, ...], choices: list[Choice], taken: list[Any]
    ) -> tuple[tuple[RankTerms, ...], list[Any]]:
        """Fresh terms for the state after what is taken, and what they equal."""
        facts: list[Any] = []

        def renewed(name: str, rank: int, old: Any, values: list[Any]) -> Any:
            value = old
            for take, each, new in zip(taken, choices, values, strict=True):
                if each.rank == rank and new is not old:
                    value = z3.If(take, new, value)
            if value is old:
                return old
            named = z3.Const(f"{name}_{rank}_{length}", old.sort())
            facts.append(named == value)
            return named

        def after(rank: int, me: RankTerms) -> RankTerms:
            terms: dict[str, Any] = {}
            for name in RankTerms.__dataclass_fields__:
                old = getattr(me, name)
                values = [getattr(each.after, name) for each in choices]
                if isinstance(old, tuple):
                    entries = [[value[k] for value in values] for k in range(self.rounds)]
                    terms[name] = tuple(renewed(f"{name}{k}", rank, old[k], entries[k]) for k in range(self.rounds))
                else:
                    terms[name] = renewed(name, rank, old, values)
            return RankTerms(**terms)

        return tuple(after(rank, me) for rank, me in enumerate(before)), facts

    def in_order(self, previous: list[Any], taken: list[Any], choices: list[Choice]) -> Iterator[Any]:
        """One order for actions that commute, so that of all orders of the same schedule only one is searched.

        The phases of a block stand together. Of two neighbouring blocks that commute, the one of the lower rank is
        first; on a rank, what it does itself, then what is enqueued, then what finishes. Any shortest schedule can be
        brought into this order by swaps of neighbours, each of which makes it smaller in that order.
        """
        if not self._forbidden:
            self._forbidden.extend(self._out_of_order(choices))
        for earlier, later in self._forbidden:
            yield z3.Or(z3.Not(previous[earlier]), z3.Not(taken[later]))

    def _out_of_order(self, choices: list[Choice]) -> Iterator[tuple[int, int]]:
        """The pairs of neighbours that need not be searched, each by its place among the choices."""
        following: dict[str, str] = {
            one: other for run in blocks(self.model.protocol.phases) for one, other in pairwise(run)
        }
        for (earlier, one), (later, other) in product(enumerate(choices), repeat=2):
            if one.kind in following:
                if (other.rank, other.kind) != (one.rank, following[one.kind]):
                    yield earlier, later
            elif _place(other) < _place(one) and self._commute(one, other):
                yield earlier, later

    def _commute(self, one: Choice, other: Choice) -> bool:
        """Whether the blocks that end in one and begin with the other may change places."""
        first = self.model.protocol.phases[0]
        pairs = product(self._block(one.kind), self._block(other.kind))
        if one.rank != other.rank:
            seen: dict[str, set[str]] = {Phase.ISSUE: {Phase.WAIT, first, "reset", "evict"}, "lose": {"lose"}}
            return not any(b in seen.get(a, ()) or a in seen.get(b, ()) for a, b in pairs)
        independent: dict[str, set[str]] = {
            "enqueue": {*Phase},
            "lose": {*Phase},
            "finish": {Phase.WAIT, Phase.POP, Phase.ISSUE, "enqueue", "lose"},
        }
        return all(b in independent.get(a, ()) for a, b in pairs)

    def _block(self, kind: str) -> tuple[str, ...]:
        return next((block for block in blocks(self.model.protocol.phases) if kind in block), (kind,))

    def _phase(self, state: tuple[RankTerms, ...], rank: int, phase: Phase) -> tuple[Any, RankTerms]:
        """The guard of taking `phase` and the rank's terms after it; where it stands in its step is not moved."""
        me, protocol = state[rank], self.model.protocol
        is_due = rules.due(protocol, me.issued, me.consumed)
        match phase:
            case Phase.WAIT:
                complete, waited = self._waited(state, rank)
                nothing = replace(me, allowed=self.zero)
                return z3.Implies(is_due, complete), _choose(is_due, waited, nothing)
            case Phase.POP:
                own = self._offer(me, me.consumed)
                amount = rules.taken(protocol, me.allowed, own, me.popped)
                if protocol.reads == "before-wait":
                    amount = z3.If(is_due, amount, 0)
                return z3.BoolVal(True), replace(me, popped=me.popped + amount, allowed=self.zero)
            case Phase.COUNT:
                counted = rules.offer(protocol, me.finished, me.popped)
                return z3.BoolVal(True), replace(me, counted=counted)
            case Phase.ISSUE:
                issues = rules.issues(self.reading, protocol, (me.counted,))
                offers = tuple(
                    z3.If(z3.And(issues, me.issued == k), me.counted, old) for k, old in enumerate(me.offers)
                )
                calls = tuple(z3.If(me.steps == k, issues, old) for k, old in enumerate(me.calls))
                issued = me.issued + z3.If(issues, self.one, self.zero)
                after = replace(me, issued=issued, offers=offers, calls=calls, steps=me.steps + 1)
                return me.steps < self.rounds, replace(after, counted=self.zero)

    def _waited(self, state: tuple[RankTerms, ...], rank: int) -> tuple[Any, RankTerms]:
        """Whether the oldest round in flight is complete, and the rank's terms after it has been waited for."""
        me, protocol = state[rank], self.model.protocol
        complete = rules.complete(self.reading, me.consumed, lambda peer: state[peer].issued)
        agreed = rules.agree(self.reading, protocol, lambda peer: self._offer(state[peer], me.consumed))
        own = self._offer(me, me.consumed)
        allowed = rules.allowed(protocol, own, agreed, me.popped)
        return complete, replace(me, consumed=me.consumed + 1, allowed=allowed)

    def _drained(self, state: tuple[RankTerms, ...], rank: int) -> tuple[Any, RankTerms]:
        """Whether what the rank has in flight can be consumed now, and its terms once that is popped."""
        me = state[rank]
        something = 1 <= rules.in_flight(me.issued, me.consumed)
        complete, waited = self._waited(state, rank)
        popped = replace(waited, popped=me.popped + waited.allowed, allowed=self.zero)
        return z3.Implies(something, complete), _choose(something, popped, me)

    def _offer(self, me: RankTerms, round_index: Any) -> Any:
        """What a rank offered in a round, by index from 0; only asked of rounds that it has issued."""
        offered = me.offers[-1]
        for k in range(self.rounds - 1):
            offered = z3.If(round_index == k, me.offers[k], offered)
        return offered

    def _given(self, me: RankTerms) -> Any:
        """How many enqueues a rank has gone through in this epoch, the lost one included."""
        return me.enqueued + z3.If(me.lost == NEVER, self.zero, self.one)

    def _through_plan(self, me: RankTerms) -> Any:
        return me.epoch + me.evictions == 1

    def _planned(self) -> bool:
        return self.model.scenario.resets + self.model.scenario.evicts > 0

    def _within_plan(self, me: RankTerms, given: Any) -> Any:
        """A rank enqueues no more before its reset or eviction than the plan says."""
        if not self._planned():
            return z3.BoolVal(True)
        return z3.Or(self._through_plan(me), given < self.planned_enqueued)

    def _past_plan(self, me: RankTerms) -> Any:
        """A rank does not start the step behind the planned place before it has gone through the reset or eviction."""
        if not self._planned():
            return z3.BoolVal(True)
        return z3.Or(self._through_plan(me), me.steps < self.planned_step)


def _place(choice: Choice) -> tuple[int, bool, bool]:
    return choice.rank, not isinstance(choice.kind, Phase), choice.kind == "finish"


def blocks(phases: tuple[Phase, ...]) -> list[tuple[Phase, ...]]:
    """The phases of a step, in runs between which something else has to be able to happen.

    A wait can be put off until the phase behind it, for no other rank sees it and nothing takes its result away. An
    issue can be moved up to the phase before it, for that only lets other ranks wait sooner.
    """
    runs: list[tuple[Phase, ...]] = []
    for phase in phases:
        if runs and (phase is Phase.ISSUE or runs[-1][-1] is Phase.WAIT):
            runs[-1] = (*runs[-1], phase)
        else:
            runs.append((phase,))
    return runs


def _choose(condition: Any, then: RankTerms, otherwise: RankTerms) -> RankTerms:
    def pick(one: Any, other: Any) -> Any:
        if isinstance(one, tuple):
            return tuple(pick(a, b) for a, b in zip(one, other, strict=True))
        return one if one.eq(other) else z3.If(condition, one, other)

    names = RankTerms.__dataclass_fields__
    return RankTerms(**{name: pick(getattr(then, name), getattr(otherwise, name)) for name in names})
