"""The rules read on z3 terms, for a fixed number of ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import z3

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
