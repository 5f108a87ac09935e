"""The interleaving on z3 terms, for a fixed number of ranks: one state, what may be taken in it, and the next.

It shares `rules` and `Protocol.phases` with the model's own interleaving, and nothing else: acks are positions in their
lane here, and a rank's state is a handful of bounded numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import z3

from rankproof.model import rules
from rankproof.model.interleaving import Model
from rankproof.model.protocol import Phase
from rankproof.proofs.terms import Terms

NEVER = -1
"""In place of a position that no ack has."""

WIDTH = 6
"""Bits of a number, signed. The search is bounded, so its numbers are (see `supports`), and bits are decided fast."""


def number(value: int) -> Any:
    """The term of a number."""
    return z3.BitVecVal(value, WIDTH)


ZERO, ONE = number(0), number(1)


@dataclass(frozen=True, slots=True)
class RankTerms:
    """One rank with one lane; every field is an integer term unless it says otherwise.

    The counts are cumulative in this epoch. `offers` and `calls` (boolean) have one entry a round and a step, from the
    first, up to the horizon. `lost` is the position at which an enqueue failed, or NEVER.
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
        # Every rank resets, or evicts, between the same two steps and with as many acks enqueued.
        self.planned_step = z3.BitVec("planned_step", WIDTH)
        self.planned_enqueued = z3.BitVec("planned_enqueued", WIDTH)
        self.plan_facts = (0 <= self.planned_step, 0 <= self.planned_enqueued)

    @property
    def start(self) -> tuple[RankTerms, ...]:
        zero = ZERO
        return tuple(
            RankTerms(
                *(zero,) * 11,
                lost=number(NEVER),
                offers=(zero,) * self.rounds,
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
                lost_so_far = sum((z3.If(other.lost == NEVER, ZERO, ONE) for other in state), ZERO)
                may_lose = z3.And(may_enqueue, lost_so_far < scenario.losses, me.lost == NEVER)
                yield Choice("lose", rank, may_lose, replace(me, lost=me.enqueued))
            between = z3.And(me.phase == 0, me.steps == self.planned_step, given == self.planned_enqueued)
            drainable, drained = self._drained(state, rank)
            if scenario.resets:
                guard, base = (drainable, drained) if protocol.resets == "drained" else (z3.BoolVal(True), me)
                cleared = replace(base, enqueued=ZERO, finished=ZERO, popped=ZERO)
                yield Choice("reset", rank, z3.And(between, me.epoch == 0, guard), replace(cleared, epoch=ONE))
            if scenario.evicts:
                guard, base = (drainable, drained) if protocol.evicts == "drained" else (z3.BoolVal(True), me)
                finished = z3.And(me.evictions == 0, me.finished == me.enqueued)
                emptied = replace(base, popped=me.enqueued, evictions=ONE)
                yield Choice("evict", rank, z3.And(between, finished, guard), emptied)
            for index, phase in enumerate(protocol.phases):
                guard, after = self._phase(state, rank, phase)
                if index == 0:
                    ahead = [me.steps - other.steps < scenario.ahead for other in state]
                    guard = z3.And(guard, *ahead, self._past_plan(me))
                following = number((index + 1) % len(protocol.phases))
                yield Choice(phase, rank, z3.And(me.phase == index, guard), replace(after, phase=following))

    def after(
        self, length: int, before: tuple[RankTerms, ...], choices: list[Choice], taken: list[Any]
    ) -> tuple[tuple[RankTerms, ...], list[Any]]:
        """Fresh terms for the state after what is taken, and what they equal."""
        facts: list[Any] = []

        def renewed(name: str, rank: int, old: Any, values: list[Any]) -> Any:
            value = old
            for take, each, new in zip(taken, choices, values, strict=True):
                if each.rank == rank and not new.eq(old):
                    value = z3.If(take, new, value)
            if value.eq(old):
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

    def in_order(
        self, previous: list[Any], earlier: list[Choice], taken: list[Any], later: list[Choice]
    ) -> Iterator[Any]:
        """One order for neighbours that commute, so that of all orders of the same schedule only one is searched.

        The order is lexicographic: the lower rank first, and on a rank the engine's actions as late as they can be.
        """
        for take, one in zip(previous, earlier, strict=True):
            for take_next, other in zip(taken, later, strict=True):
                if self._commute(one, other) and _place(other) < _place(one):
                    yield z3.Or(z3.Not(take), z3.Not(take_next))

    def _commute(self, one: Choice, other: Choice) -> bool:
        """Whether two neighbours have the same effect in either order, and neither enables the other."""
        if one.rank != other.rank:
            first = self.model.protocol.phases[0]
            touched = {Phase.WAIT, first, "reset", "evict", "lose"}
            return not any(
                a.kind in (Phase.ISSUE, "lose") and b.kind in touched for a, b in ((one, other), (other, one))
            )
        engine, own = sorted((one, other), key=lambda each: isinstance(each.kind, Phase))
        return engine.kind in ("enqueue", "finish", "lose") and own.kind in (Phase.WAIT, Phase.POP, Phase.ISSUE)

    def _phase(self, state: tuple[RankTerms, ...], rank: int, phase: Phase) -> tuple[Any, RankTerms]:
        """The guard of taking `phase` and the rank's terms after it; where it stands in its step is not moved."""
        me, protocol = state[rank], self.model.protocol
        is_due = rules.due(protocol, me.issued, me.consumed)
        match phase:
            case Phase.WAIT:
                complete, waited = self._waited(state, rank)
                nothing = replace(me, allowed=ZERO)
                return z3.Implies(is_due, complete), _choose(is_due, waited, nothing)
            case Phase.POP:
                own = self._offer(me, me.consumed)
                amount = rules.taken(protocol, me.allowed, own, me.popped)
                if protocol.reads == "before-wait":
                    amount = z3.If(is_due, amount, 0)
                return z3.BoolVal(True), replace(me, popped=me.popped + amount, allowed=ZERO)
            case Phase.COUNT:
                counted = rules.offer(protocol, me.finished, me.popped)
                return z3.BoolVal(True), replace(me, counted=counted)
            case Phase.ISSUE:
                issues = rules.issues(self.reading, protocol, (me.counted,))
                offers = tuple(
                    z3.If(z3.And(issues, me.issued == k), me.counted, old) for k, old in enumerate(me.offers)
                )
                calls = tuple(z3.If(me.steps == k, issues, old) for k, old in enumerate(me.calls))
                issued = me.issued + z3.If(issues, ONE, ZERO)
                after = replace(me, issued=issued, offers=offers, calls=calls, steps=me.steps + 1)
                return me.steps < self.rounds, replace(after, counted=ZERO)

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
        popped = replace(waited, popped=me.popped + waited.allowed, allowed=ZERO)
        return z3.Implies(something, complete), _choose(something, popped, me)

    def _offer(self, me: RankTerms, round_index: Any) -> Any:
        """What a rank offered in a round, by index from 0; only asked of rounds that it has issued."""
        offered = me.offers[-1]
        for k in range(self.rounds - 1):
            offered = z3.If(round_index == k, me.offers[k], offered)
        return offered

    def _given(self, me: RankTerms) -> Any:
        """How many enqueues a rank has gone through in this epoch, the lost one included."""
        return me.enqueued + z3.If(me.lost == NEVER, ZERO, ONE)

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


def _place(choice: Choice) -> tuple[int, bool]:
    return choice.rank, not isinstance(choice.kind, Phase)


def _choose(condition: Any, then: RankTerms, otherwise: RankTerms) -> RankTerms:
    def pick(one: Any, other: Any) -> Any:
        if isinstance(one, tuple):
            return tuple(pick(a, b) for a, b in zip(one, other, strict=True))
        return one if one.eq(other) else z3.If(condition, one, other)

    names = RankTerms.__dataclass_fields__
    return RankTerms(**{name: pick(getattr(then, name), getattr(otherwise, name)) for name in names})


def ack_at(me: RankTerms, position: int) -> Any:
    """The number of the ack at a position of a rank's lane, counted in the order of the engine's enqueues."""
    return number(position) + z3.If(z3.And(me.lost != NEVER, me.lost <= position), ONE, ZERO)
