"""Bounded search on terms for a shortest schedule: a second finder, independent of the explorer.

What it finds is only a claim until it has been replayed on ints (`refute.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any

import z3

from rankproof.model.interleaving import Model
from rankproof.model.protocol import PIPELINED
from rankproof.model.scenario import Scenario
from rankproof.model.verdict import Verdict
from rankproof.proofs.solvers import checked
from rankproof.proofs.symbolic import Unrolling
from rankproof.proofs.symbolic_checks import CHECKS, Step
from rankproof.proofs.symbolic_step import Choice
from rankproof.proofs.terms import assert_all, clause


@dataclass(frozen=True, slots=True)
class Found:
    """The answer of a bounded search.

    verdict  violated with a schedule; holds where no schedule of at most `length` actions breaks the property;
             undetermined where the solver gave up
    length   actions in the schedule, or the bound that was searched
    choices  the kind (as `Choice` has it) and the rank of each action
    """

    verdict: Verdict
    length: int
    choices: tuple[tuple[str, int], ...] = ()


_READ = {
    "scenario": {
        *("ranks", "lanes", "acks", "ahead", "topology", "leaders", "resets", "evicts", "attaches"),
        *("aligned_resets", "aligned_attach"),
        *("losses", "swaps", "withdrawals", "declines", "throws", "crashes"),
    },
    "protocol": {
        *("lag", "counts", "reads", "reduces", "pops", "issues", "offers", "resets", "evicts", "attaches", "vector"),
        *("buffers", "bounds", "joins", "follows", "throws", "deadline", "guards", "compares"),
    },
}
"""What the solver's reading knows of a model; anything else has to be as it is by default."""


def supports(model: Model, property_name: str) -> str | None:
    """Why this search cannot take a model and a property, or None where it can."""
    if property_name not in CHECKS:
        return WHY_NOT[property_name]
    for part, default in (("scenario", Scenario()), ("protocol", PIPELINED)):
        given = getattr(model, part)
        for each in fields(default):
            value = getattr(given, each.name)
            if each.name not in _READ[part] and value != getattr(default, each.name):
                return f"the solver's reading has no {each.name}={value}"
    scenario, protocol = model.scenario, model.protocol
    drains = {"resets": protocol.resets, "evicts": protocol.evicts, "attaches": protocol.attaches}
    limits = {
        "has no grid, of whose four ranks it takes minutes to see that nothing is shorter": scenario.topology != "grid",
        "has one lane": len(scenario.lanes) == 1,
        "has at most one reset, eviction or attachment": scenario.resets + scenario.evicts + scenario.attaches <= 1,
        "drains one round at most": protocol.lag <= 1
        or not any(getattr(scenario, name) and how == "drained" for name, how in drains.items()),
        "has no change that is agreed on": protocol.attaches != "agreed",
        "compares no guard words": not protocol.guards or protocol.compares == "nothing",
        "has each mishap once": max(scenario.mishaps.values()) <= 1,
        "has one ack at most that is lost, withdrawn or in the other order": (
            scenario.losses + scenario.swaps + scenario.withdrawals <= 1
        ),
        "has no rank that is broken once it throws": not scenario.throws or protocol.throws == "carries-on",
        "has no wait that ends in an error": not scenario.crashes or protocol.deadline == "none",
    }
    return next((f"the solver's reading {limit}" for limit, is_kept in limits.items() if not is_kept), None)


def search(model: Model, property_name: str, bound: int, timeout_s: float = 240.0) -> Found:
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
    """One more action: what is known of it, which of its choices is taken and which is not, and what broke."""

    facts: list[Any]
    taken: list[Any]
    not_taken: list[Any]
    choices: list[Choice]
    broken: Any


def _unroll(model: Model, property_name: str, bound: int) -> list[_Length]:
    """Every schedule of at most `bound` actions, in one order for those that commute."""
    check = CHECKS[property_name]
    unrolled = Unrolling(model, bound, check.reads, to_the_end=property_name != "finished-before-pop")
    state = unrolled.start
    is_alike = model.scenario.topology != "pipeline"
    lengths: list[_Length] = []
    for length in range(1, bound + 1):
        choices = list(unrolled.choices(state))
        taken = [z3.Bool(f"take_{length}_{index}") for index in range(len(choices))]
        not_taken = [z3.Not(each) for each in taken]  # each stands in as many facts as there are choices
        facts = [] if lengths else list(unrolled.plan_facts)
        facts += (clause(one, other) for one, other in combinations(not_taken, 2))  # at most one, quickly
        facts += (z3.Implies(take, each.guard) for take, each in zip(taken, choices, strict=True))
        if lengths:
            facts.append(z3.Implies(z3.Or(*taken), z3.Or(*lengths[-1].taken)))
            facts += unrolled.in_order(lengths[-1].not_taken, not_taken, choices)
        after, renamed = unrolled.after(length, state, choices, taken)
        broken = check.broken(Step(unrolled.steps, state, after, taken, choices))
        if is_alike:  # the one that breaks the property may be the last of them, which the order puts last
            last = len(state) - 1
            by_the_last = z3.Or(*(take for take, each in zip(taken, choices, strict=True) if each.rank == last))
            broken = z3.And(by_the_last, broken)
        lengths.append(_Length(facts + renamed, taken, not_taken, choices, broken))
        state = after
    return lengths


def _ask(unrolled: list[_Length], lengths: range, timeout_s: float) -> Found:
    """A schedule of one of these lengths that breaks the property with its last action, if there is one."""
    solver = z3.Then("simplify", "propagate-values", "solve-eqs", "card2bv", "bit-blast", "sat").solver()
    solver.set("timeout", int(timeout_s * 1000))
    for each in unrolled[: lengths[-1]]:
        assert_all(solver, each.facts)
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


WHY_NOT = {
    "no-deadlock": "no-deadlock is about ranks that never move again, and the solver's search ends with an action",
    "drains-to-empty": "drains-to-empty plays on to the end from each state; the solver's search ends with an action",
    "named-divergence": "named-divergence compares guard words, digests of acks among them; the solver has counts",
}
"""For each property that the solver cannot search for: why."""
