"""Bounded search on terms for a shortest schedule: a second finder, independent of the explorer.

What it finds is only a claim until it has been replayed on ints (`refute.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any

import z3

from rankproof.model.interleaving import Model
from rankproof.model.protocol import PIPELINED, Phase
from rankproof.model.scenario import Scenario
from rankproof.model.verdict import Verdict
from rankproof.proofs.solvers import checked
from rankproof.proofs.symbolic import NEVER, Choice, RankTerms, Unrolling


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


_READ = {
    "scenario": {"ranks", "lanes", "acks", "losses", "resets", "evicts", "ahead"},
    "protocol": {"lag", "counts", "reads", "reduces", "pops", "issues", "offers", "resets", "evicts"},
}
"""What the solver's reading knows of a model; anything else has to be as it is by default."""


def supports(model: Model, property_name: str) -> str | None:
    """Why this search cannot take a model and a property, or None where it can."""
    if property_name not in BROKEN:
        return f"{property_name} is not written for the solver"
    for part, default in (("scenario", Scenario()), ("protocol", PIPELINED)):
        given = getattr(model, part)
        for each in fields(default):
            value = getattr(given, each.name)
            if each.name not in _READ[part] and value != getattr(default, each.name):
                return f"the solver's reading has no {each.name}={value}"
    scenario = model.scenario
    if len(scenario.lanes) != 1:
        return "the solver's reading has one lane"
    if model.protocol.lag > 1:
        return "the solver's reading has at most one round in flight"
    if model.protocol.issues not in ("always", "when-nonempty"):
        return f"the solver's reading has no issues={model.protocol.issues}"
    if scenario.resets + scenario.evicts > 1:
        return "the solver's reading has at most one reset or eviction"
    return None


def search(model: Model, property_name: str, bound: int, timeout_s: float = 60.0) -> Found:
    """The shortest schedule of at most `bound` actions that breaks the property, or the answer that there is none.

    Asks for a schedule that is shorter than the bound, then for one as long, and while there is one, for one that is
    shorter than that. So where the bound is the least length already, as it is when the explorer has found it, there
    are two questions. `timeout_s` is for each of them. Raises ValueError for a model that `supports` does not take, and
    for a bound below 0; no schedule of 0 actions breaks anything.
    """
    if reason := supports(model, property_name):
        raise ValueError(reason)
    if bound < 0:
        raise ValueError(f"bound must be 0 or more actions, not {bound}")
    unrolled = _unroll(model, property_name, bound)
    shortest = Found(Verdict.HOLDS, bound)
    none_up_to = 0
    questions = [range(1, bound), range(max(1, bound), bound + 1)]
    while questions:
        lengths = questions.pop(0)
        found = _ask(unrolled, lengths, timeout_s) if lengths else Found(Verdict.HOLDS, 0)
        match found.verdict:
            case Verdict.UNDETERMINED:
                return found
            case Verdict.HOLDS:
                none_up_to = found.length
            case Verdict.VIOLATED:
                shortest, questions = found, [range(none_up_to + 1, found.length)]
    return shortest


@dataclass(frozen=True, slots=True)
class _Length:
    """One more action: what is known of it, which of its choices is taken, and whether it broke the property."""

    facts: list[Any]
    taken: list[Any]
    choices: list[Choice]
    broken: Any


def _unroll(model: Model, property_name: str, bound: int) -> list[_Length]:
    """Every schedule of at most `bound` actions, in one order for those that commute."""
    unrolled = Unrolling(model, bound)
    state = unrolled.start
    lengths: list[_Length] = []
    for length in range(1, bound + 1):
        choices = list(unrolled.choices(state))
        taken = [z3.Bool(f"take_{length}_{index}") for index in range(len(choices))]
        facts = [] if lengths else list(unrolled.plan_facts)
        facts.append(z3.AtMost(*taken, 1))
        facts += (z3.Implies(take, each.guard) for take, each in zip(taken, choices, strict=True))
        if lengths:
            facts.append(z3.Implies(z3.Or(*taken), z3.Or(*lengths[-1].taken)))
            facts += unrolled.in_order(lengths[-1].taken, taken, choices)
        after, renamed = unrolled.after(length, state, choices, taken)
        # Ranks are alike, so the one that breaks the property may be the last of them, which the order puts last.
        by_the_last = z3.Or(*(take for take, each in zip(taken, choices, strict=True) if each.rank == len(state) - 1))
        broken = BROKEN[property_name](Step(state, after, taken, choices, model.scenario.acks))
        lengths.append(_Length(facts + renamed, taken, choices, z3.And(by_the_last, broken)))
        state = after
    return lengths


def _ask(unrolled: list[_Length], lengths: range, timeout_s: float) -> Found:
    """A schedule of one of these lengths that breaks the property with its last action, if there is one."""
    solver = z3.Then("simplify", "propagate-values", "solve-eqs", "card2bv", "bit-blast", "sat").solver()
    solver.set("timeout", int(timeout_s * 1000))
    for each in unrolled[: lengths[-1]]:
        solver.add(*each.facts)
    solver.add(z3.Or(*(unrolled[length - 1].broken for length in lengths)))
    answer = checked(solver)
    if answer == z3.unsat:
        return Found(Verdict.HOLDS, lengths[-1])
    if answer == z3.unknown:
        return Found(Verdict.UNDETERMINED, lengths[0] - 1)
    values = solver.model()
    length = next(
        length for length in lengths if z3.is_true(values.eval(unrolled[length - 1].broken, model_completion=True))
    )
    picks = [
        [z3.is_true(values.eval(take, model_completion=True)) for take in each.taken].index(True)
        for each in unrolled[:length]
    ]
    choices = [each.choices[pick] for each, pick in zip(unrolled, picks, strict=False)]
    return Found(Verdict.VIOLATED, length, tuple((each.kind, each.rank) for each in choices))


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
    ack = _ack_at(me, position)
    known = z3.Or(*(z3.And(there < peer.finished, _ack_at(peer, there) == ack) for there in range(step.acks)))
    return z3.Or(me.epoch < peer.epoch, z3.And(me.epoch == peer.epoch, known))


def _ack_at(me: RankTerms, position: int) -> Any:
    """The number of the ack at a position of a rank's lane, counted in the order of the engine's enqueues."""
    behind_a_lost_one = z3.And(me.lost != NEVER, me.lost <= position)
    return z3.If(behind_a_lost_one, z3.BitVecVal(position + 1, me.lost.size()), z3.BitVecVal(position, me.lost.size()))


def _same_pops(step: Step) -> Any:
    """Two ranks in the same epoch have popped different acks at the same place."""
    return z3.Or(
        *(
            z3.And(
                one.epoch == other.epoch,
                position < one.popped,
                position < other.popped,
                _ack_at(one, position) != _ack_at(other, position),
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
