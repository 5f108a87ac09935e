"""What the engine does, on z3 terms: to the lane of a rank at any moment, and to the rank between two of its steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import z3

from rankproof.model.protocol import Phase
from rankproof.proofs.symbolic_step import NEVER, Choice, Ranks, RankTerms, Steps


class Engine:
    """The engine of one scenario, up to a number of actions."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._scenario = steps.model.scenario
        self._protocol = steps.model.protocol
        # Every rank resets, evicts or attaches between the same two steps, unless the scenario lets each do so in steps
        # of its own, and resets and evicts with as many acks enqueued; which, is for the solver to choose.
        self._planned_step = z3.BitVec("planned_step", steps.width)
        self._planned_enqueued = z3.BitVec("planned_enqueued", steps.width)
        self.facts = (0 <= self._planned_step, 0 <= self._planned_enqueued)

    def choices(self, state: Ranks, rank: int) -> Iterator[Choice]:
        """Everything that the engine may do on a rank that is not gone."""
        yield from self._in_lane(state, rank)
        yield from self._between(state, rank)
        yield from self._going_wrong(state, rank)

    def may_start_a_step(self, state: Ranks, rank: int) -> Any:
        """Whether a rank is not too far ahead, and has gone through the reset, eviction or attachment that is due."""
        me = state[rank]
        near = [me.steps - other.steps < self._scenario.ahead for other in state]
        return z3.And(*near, z3.Or(self._through_plan(me), me.steps < self._planned_step))

    def _in_lane(self, state: Ranks, rank: int) -> Iterator[Choice]:
        me, scenario = state[rank], self._scenario
        given = self._given(me)
        within_plan = z3.Or(self._has_no_plan_of_acks(me), given < self._planned_enqueued)
        may_enqueue = z3.And(given < scenario.acks, within_plan)
        yield Choice("enqueue", rank, may_enqueue, replace(me, enqueued=me.enqueued + 1))
        yield Choice("finish", rank, me.finished < me.enqueued, replace(me, finished=me.finished + 1))
        if scenario.losses:
            may_lose = z3.And(may_enqueue, *(other.lost == NEVER for other in state))
            yield Choice("lose", rank, may_lose, replace(me, lost=me.enqueued))
        if scenario.swaps:
            two_left = given + 2 <= z3.If(self._has_no_plan_of_acks(me), scenario.acks, self._planned_enqueued)
            may_swap = z3.And(given + 2 <= scenario.acks, two_left, *(other.swapped == NEVER for other in state))
            yield Choice("swap", rank, may_swap, replace(me, enqueued=me.enqueued + 2, swapped=me.enqueued))
        if scenario.withdrawals:
            unused = [other.lost == NEVER for other in state]
            for place in range(scenario.acks):
                finished = z3.If(place < me.finished, me.finished - 1, me.finished)
                shorter = replace(me, enqueued=me.enqueued - 1, finished=finished, lost=self._steps.number(place))
                waits = z3.And(me.popped <= place, place < me.enqueued)
                yield Choice(f"withdraw {place}", rank, z3.And(waits, *unused), shorter)

    def _between(self, state: Ranks, rank: int) -> Iterator[Choice]:
        me, one = state[rank], self._steps.one
        in_place = z3.And(me.phase == 0, me.steps == self._planned_step)
        with_acks = self._given(me) == self._planned_enqueued
        if self._scenario.resets:
            guard, base, pops = self._first_drained(state, rank, self._protocol.resets)
            zero = self._steps.zero
            cleared = replace(base, enqueued=zero, finished=zero, popped=zero, epoch=one)
            place = in_place if self._scenario.aligned_resets else me.phase == 0
            yield Choice("reset", rank, z3.And(place, with_acks, me.epoch == 0, guard), cleared, pops)
        if self._scenario.evicts:
            guard, base, pops = self._first_drained(state, rank, self._protocol.evicts)
            can = z3.And(in_place, with_acks, me.evictions == 0, me.finished == me.enqueued, guard)
            yield Choice("evict", rank, can, replace(base, popped=me.enqueued, evictions=one), pops)
        if self._scenario.attaches:
            guard, base, pops = self._first_drained(state, rank, self._protocol.attaches)
            place = in_place if self._scenario.aligned_attach else me.phase == 0
            yield Choice("attach", rank, z3.And(place, me.layout == 0, guard), replace(base, layout=one), pops)

    def _going_wrong(self, state: Ranks, rank: int) -> Iterator[Choice]:
        me, scenario, one = state[rank], self._scenario, self._steps.one
        if scenario.declines:
            calls = tuple(z3.If(me.steps == number, 0, old) for number, old in enumerate(me.calls))
            can = z3.And(me.phase == 0, me.steps < self._steps.steps, self.may_start_a_step(state, rank))
            left_out = replace(me, declined=one, steps=me.steps + 1, calls=calls)
            yield Choice("decline", rank, z3.And(can, *(other.declined == 0 for other in state)), left_out)
        if scenario.throws:
            once = [other.thrown == 0 for other in state]
            for index, phase in enumerate(self._protocol.phases):
                if phase is Phase.POP or (phase is Phase.COUNT and index):
                    can = z3.And(me.phase == index, me.steps < self._steps.steps, *once)
                    yield Choice("throw", rank, can, self._thrown(me, phase))
        if scenario.crashes:
            alive = [other.crashed == 0 for other in state]
            yield Choice("crash", rank, z3.And(*alive), replace(me, crashed=one, gone=one))
            if self._protocol.throws == "broken":
                yield Choice("notice", rank, z3.Or(*(other.crashed == 1 for other in state)), replace(me, gone=one))

    def _thrown(self, me: RankTerms, phase: Phase) -> RankTerms:
        """The rank that carries on with its next step; the rest of this one was to issue its round, or had done so."""
        steps = self._steps
        after = replace(me, phase=steps.zero, allowed=steps.zero, owed=steps.never, thrown=steps.one)
        phases = self._protocol.phases
        if phases.index(Phase.ISSUE) < phases.index(phase):
            return after
        calls = tuple(z3.If(me.steps == number, 0, old) for number, old in enumerate(me.calls))
        return replace(after, calls=calls, steps=me.steps + 1)

    def _first_drained(self, state: Ranks, rank: int, choice: str) -> tuple[Any, RankTerms, tuple[Any, ...]]:
        return self._steps.drained(state, rank) if choice == "drained" else (z3.BoolVal(True), state[rank], ())

    def _given(self, me: RankTerms) -> Any:
        """How many enqueues a rank has gone through in this epoch, one that is not there any more included."""
        return me.enqueued + z3.If(me.lost == NEVER, self._steps.zero, self._steps.one)

    def _through_plan(self, me: RankTerms) -> Any:
        scenario = self._scenario
        planned = scenario.resets + scenario.evicts + (scenario.attaches if scenario.aligned_attach else 0)
        return me.epoch + me.evictions + me.layout == 1 if planned else z3.BoolVal(True)

    def _has_no_plan_of_acks(self, me: RankTerms) -> Any:
        """Whether a rank may enqueue all that the scenario gives: its plan, if any, is behind it or says nothing."""
        planned = self._scenario.resets + self._scenario.evicts
        return self._through_plan(me) if planned else z3.BoolVal(True)
