"""The interleaving on z3 terms, for a fixed number of ranks: one state, what may be taken in it, and the next."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import z3

from rankproof.model.interleaving import Model
from rankproof.proofs.symbolic_engine import Engine
from rankproof.proofs.symbolic_order import out_of_order
from rankproof.proofs.symbolic_step import Choice, Ranks, RankTerms, Steps
from rankproof.proofs.terms import clause


class Unrolling:
    """The transition relation of one model, up to a number of actions; `tracked` as in `Steps`.

    `to_the_end` is whether the search goes on behind a pop of what is not finished.
    """

    def __init__(self, model: Model, bound: int, tracked: Collection[str], *, to_the_end: bool) -> None:
        self.model = model
        self.steps = Steps(model, bound, tracked)
        self.start = self.steps.start
        self._engine = Engine(self.steps)
        self.plan_facts = self._engine.facts
        self._to_the_end = to_the_end
        self._forbidden: list[tuple[int, int]] = []

    def choices(self, state: Ranks) -> Iterator[Choice]:
        """Every action of the scenario in `state`, enabled under its guard."""
        for rank in self.steps.ranks:
            for each in (*self._engine.choices(state, rank), *self._quarters(state, rank)):
                may_crash = self.model.scenario.crashes > 0
                yield replace(each, guard=z3.And(state[rank].gone == 0, each.guard)) if may_crash else each

    def _quarters(self, state: Ranks, rank: int) -> Iterator[Choice]:
        me, phases = state[rank], self.model.protocol.phases
        for index, phase in enumerate(phases):
            taken = self.steps.phase(state, rank, phase)
            may_begin = self._engine.may_start_a_step(state, rank) if index == 0 else z3.BoolVal(True)
            after = replace(taken.after, phase=self.steps.number((index + 1) % len(phases)))
            yield replace(taken, guard=z3.And(me.phase == index, taken.guard, may_begin), after=after)

    def after(self, length: int, before: Ranks, choices: list[Choice], taken: list[Any]) -> tuple[Ranks, list[Any]]:
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
                    entries = [[value[k] for value in values] for k in range(len(old))]
                    terms[name] = tuple(renewed(f"{name}{k}", rank, old[k], entries[k]) for k in range(len(old)))
                else:
                    terms[name] = renewed(name, rank, old, values)
            return RankTerms(**terms)

        return tuple(after(rank, me) for rank, me in enumerate(before)), facts

    def in_order(self, not_before: list[Any], not_now: list[Any], choices: list[Choice]) -> Iterator[Any]:
        """That the two last actions stand in the order that `out_of_order` leaves to be searched.

        For each choice there is the term that it was not taken in the action before, and that it is not in this one.
        """
        if not self._forbidden:
            self._forbidden.extend(out_of_order(self.model.protocol, choices, to_the_end=self._to_the_end))
        for earlier, later in self._forbidden:
            yield clause(not_before[earlier], not_now[later])
