"""Bounded search on terms for a shortest schedule: a second finder, independent of the explorer.

What it finds is only a claim until it has been replayed on ints (`refute.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import z3

from rankproof.model.interleaving import Model
from rankproof.model.protocol import Phase
from rankproof.model.verdict import Verdict
from rankproof.proofs.symbolic import Choice, RankTerms, Unrolling, ack_at


@dataclass(frozen=True, slots=True)
class Step:
    """One action on terms: what may be taken, which of it is (boolean terms), and all ranks before and after."""

    before: tuple[RankTerms, ...]
    after: tuple[RankTerms, ...]
    taken: list[Any]
    choices: list[Choice]
    acks: int


@dataclass(frozen=True, slots=True)
class Found:
    """The answer of a bounded search.

    verdict  violated with a schedule; holds where no schedule of at most `length` actions breaks the property;
             undetermined where the solver gave up
    length   actions in the schedule, or the bound that was searched
    choices  the kind and the rank of each action
    """

    verdict: Verdict
    length: int
    choices: tuple[tuple[str, int], ...] = ()


def supports(model: Model, property_name: str) -> str | None:
    """Why this search cannot take a model and a property, or None where it can."""
    scenario = model.scenario
    if property_name not in BROKEN:
        return f"{property_name} is not written for the solver"
    if len(scenario.lanes) != 1:
        return "the solver's reading has one lane"
    if model.protocol.lag > 1 or scenario.flushes:
        return "the solver's reading has at most one round in flight, and no flush"
    if scenario.resets + scenario.evicts > 1 or scenario.aligned_enqueue:
        return "the solver's reading has at most one reset or eviction, and enqueues in the same order only"
    return None


def search(model: Model, property_name: str, bound: int, timeout_s: float = 60.0) -> Found:
    """The shortest schedule of at most `bound` actions that breaks the property, or the answer that there is none.

    Lengths are tried in turn, so the first that is satisfiable is the least. `timeout_s` is for each of them.
    Raises ValueError for a model that `supports` does not take.
    """
    if reason := supports(model, property_name):
        raise ValueError(reason)
    solver = z3.SolverFor("QF_FD")
    solver.set("timeout", int(timeout_s * 1000))
    unrolled = Unrolling(model, bound)
    solver.add(*unrolled.plan_facts)
    state = unrolled.start
    chosen: list[list[Any]] = []
    choices: list[Choice] = []
    for length in range(1, bound + 1):
        before, previous = state, choices
        choices = list(unrolled.choices(before))
        taken = [z3.Bool(f"take_{length}_{index}") for index in range(len(choices))]
        solver.add(z3.PbEq([(each, 1) for each in taken], 1))
        solver.add(*(z3.Implies(take, each.guard) for take, each in zip(taken, choices, strict=True)))
        if chosen:
            solver.add(*unrolled.in_order(chosen[-1], previous, taken, choices))
        chosen.append(taken)
        state, facts = unrolled.after(length, before, choices, taken)
        solver.add(*facts)
        broken = BROKEN[property_name](Step(before, state, taken, choices, model.scenario.acks))
        answer = solver.check(broken)
        if answer == z3.sat:
            values = solver.model()
            picks = [[z3.is_true(values.eval(take)) for take in each].index(True) for each in chosen]
            return Found(Verdict.VIOLATED, length, tuple((choices[pick].kind, choices[pick].rank) for pick in picks))
        if answer == z3.unknown:
            return Found(Verdict.UNDETERMINED, length - 1)
        solver.add(z3.Not(broken))
    return Found(Verdict.HOLDS, bound)


def _finished_before_pop(step: Step) -> Any:
    """Some ack that the last action popped by agreement was not in the lane, or not finished on every rank."""
    cases = []
    for take, each in zip(step.taken, step.choices, strict=True):
        if each.kind != Phase.POP:
            continue
        me, new = step.before[each.rank], step.after[each.rank]
        wrong = [me.enqueued < new.popped]
        for position in range(step.acks):
            fresh = z3.And(me.popped <= position, position < new.popped)
            wrong += [z3.And(fresh, z3.Not(_is_finished(step, me, position, peer))) for peer in step.before]
        cases.append(z3.And(take, z3.Or(*wrong)))
    return z3.Or(*cases)


def _is_finished(step: Step, me: RankTerms, position: int, peer: RankTerms) -> Any:
    """Whether the ack at a position of one rank's lane is finished on another, or was before that one's reset."""
    ack = ack_at(me, position)
    known = z3.Or(*(z3.And(there < peer.finished, ack_at(peer, there) == ack) for there in range(step.acks)))
    return z3.Or(me.epoch < peer.epoch, z3.And(me.epoch == peer.epoch, known))


def _same_pops(step: Step) -> Any:
    """Two ranks in the same epoch have popped different acks at the same place."""
    return z3.Or(
        *(
            z3.And(
                one.epoch == other.epoch,
                position < one.popped,
                position < other.popped,
                ack_at(one, position) != ack_at(other, position),
            )
            for one, other in combinations(step.after, 2)
            for position in range(step.acks)
        )
    )


def _matched_collectives(step: Step) -> Any:
    """In a step that two ranks have both gone through, one issued a round and the other did not."""
    return z3.Or(
        *(
            z3.And(number < one.steps, number < other.steps, one.calls[number] != other.calls[number])
            for one, other in combinations(step.after, 2)
            for number in range(len(one.calls))
        )
    )


BROKEN: dict[str, Callable[[Step], Any]] = {
    "finished-before-pop": _finished_before_pop,
    "same-pops": _same_pops,
    "matched-collectives": _matched_collectives,
}
"""For each property that the solver can search for: the term that says that the last action broke it."""
