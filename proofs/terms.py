"""The rules read on z3 terms, for a fixed number of ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import z3
from z3 import z3core

from rankproof.model.reading import Family, Number, Truth


@dataclass(frozen=True, slots=True)
class Terms:
    """The reading on z3 terms; a rank is still a Python int, from 0 to `ranks - 1`."""

    ranks: int

    def choose(self, condition: Truth, then: Number, otherwise: Number) -> Number:
        return z3.If(condition, then, otherwise)

    def both(self, *conditions: Truth) -> Truth:
        return z3.And(*conditions) if conditions else z3.BoolVal(True)

    def either(self, *conditions: Truth) -> Truth:
        return z3.Or(*conditions) if conditions else z3.BoolVal(False)

    def negate(self, condition: Truth) -> Truth:
        return z3.Not(condition)

    def minimum(self, family: Family) -> Number:
        least = family(0)
        for rank in range(1, self.ranks):
            least = z3.If(family(rank) <= least, family(rank), least)
        return least

    def maximum(self, family: Family) -> Number:
        greatest = family(0)
        for rank in range(1, self.ranks):
            greatest = z3.If(greatest <= family(rank), family(rank), greatest)
        return greatest

    def every_rank(self, claim: Callable[[int], Truth]) -> Truth:
        return z3.And(*(claim(rank) for rank in range(self.ranks)))

    def every_pair(self, claim: Callable[[int, int], Truth]) -> Truth:
        return z3.And(*(claim(one, other) for one in range(self.ranks) for other in range(self.ranks)))


def clause(one: Any, other: Any) -> Any:
    """Either of two boolean terms of one context: as `z3.Or`, which takes five times as long to see that they are."""
    context = one.ctx
    return z3.BoolRef(z3core.Z3_mk_or(context.ref(), 2, (z3.Ast * 2)(one.as_ast(), other.as_ast())), context)


def assert_all(solver: Any, facts: Iterable[Any]) -> None:
    """Asserts boolean terms of the solver's context: as its `add`, which looks at each of them for longer than it."""
    context = solver.ctx.ref()
    for fact in facts:
        z3core.Z3_solver_assert(context, solver.solver, fact.as_ast())
