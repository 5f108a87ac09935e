"""The rules read for every number of ranks at once: a family of numbers is a function of an uninterpreted rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import z3

from rankproof.model.reading import Family, Number, Rank, Truth


class QuantifiedMinimum(Exception):
    """A minimum, a maximum or a claim about all ranks was built inside a claim about all ranks.

    It would be one constant where it must differ from rank to rank, and so prove false things.
    """


@dataclass(frozen=True, slots=True)
class _Universal:
    """A fact that is true of every tuple of `arity` ranks."""

    arity: int
    of: Callable[..., Truth]


class EveryRank:
    """The reading on terms over an uninterpreted sort of ranks, of which there may be any number from 1.

    A claim about all ranks becomes a boolean constant with two facts: where it is true, it is true of every rank, and
    where it is false, it is false of its own witness. A minimum becomes an integer constant that is below every rank's
    number and equal to its witness's. `facts` instantiates what is true of every rank at all the witnesses, and leaves
    no quantifier. No function returns a rank, so that loses nothing: a model of the facts is a real group, made of the
    witnesses.
    """

    def __init__(self) -> None:
        self.sort = z3.DeclareSort("Rank")
        self.witnesses: list[Any] = [z3.Const("some_rank", self.sort)]
        self._ground: list[Any] = []
        self._universals: list[_Universal] = []
        self._quantified = False

    def family(self, name: str) -> Family:
        """A number a rank, of which nothing is known."""
        function = z3.Function(name, self.sort, z3.IntSort())
        return cache(lambda rank: function(rank))

    def choose(self, condition: Truth, then: Number, otherwise: Number) -> Number:
        return z3.If(condition, then, otherwise)

    def both(self, *conditions: Truth) -> Truth:
        return z3.And(*conditions) if conditions else z3.BoolVal(True)

    def either(self, *conditions: Truth) -> Truth:
        return z3.Or(*conditions) if conditions else z3.BoolVal(False)

    def negate(self, condition: Truth) -> Truth:
        return z3.Not(condition)

    def minimum(self, family: Family) -> Number:
        """The least number of a family. Raises QuantifiedMinimum inside a claim about all ranks."""
        return self._bound("min", lambda bound, number: bound <= number, family)

    def maximum(self, family: Family) -> Number:
        """The greatest number of a family. Raises QuantifiedMinimum inside a claim about all ranks."""
        return self._bound("max", lambda bound, number: number <= bound, family)

    def every_rank(self, claim: Callable[[Rank], Truth]) -> Truth:
        """Whether the claim is true of every rank. Raises QuantifiedMinimum inside another claim about all ranks."""
        return self._every(1, claim)

    def every_pair(self, claim: Callable[[Rank, Rank], Truth]) -> Truth:
        """Whether the claim is true of every two ranks. Raises QuantifiedMinimum inside a claim about all ranks."""
        return self._every(2, claim)

    def facts(self) -> list[Truth]:
        """All that is known of the terms built so far, without quantifiers.

        Raises QuantifiedMinimum where a claim about all ranks has another one, or a minimum, in it.
        """
        instances = [
            self._inside(universal.of, *ranks)
            for universal in self._universals
            for ranks in product(self.witnesses, repeat=universal.arity)
        ]
        return [*self._ground, *instances]

    def _every(self, arity: int, claim: Callable[..., Truth]) -> Truth:
        witnesses = [self._witness("other" if index else "rank") for index in range(arity)]
        truth = z3.Bool(f"every_{len(self._universals)}")
        self._universals.append(_Universal(arity, lambda *ranks: z3.Implies(truth, claim(*ranks))))
        self._ground.append(z3.Or(truth, z3.Not(self._inside(claim, *witnesses))))
        return truth

    def _bound(self, kind: str, within: Callable[[Number, Number], Truth], family: Family) -> Number:
        witness = self._witness(kind)
        bound = z3.Int(f"{kind}_{len(self._universals)}")
        self._universals.append(_Universal(1, lambda rank: within(bound, family(rank))))
        self._ground.append(bound == self._inside(family, witness))
        return bound

    def _witness(self, role: str) -> Any:
        if self._quantified:
            raise QuantifiedMinimum("a minimum or a claim about all ranks stands inside a claim about all ranks")
        witness = z3.Const(f"at_{role}_{len(self.witnesses)}", self.sort)
        self.witnesses.append(witness)
        return witness

    def _inside(self, body: Callable[..., Any], *ranks: Any) -> Any:
        self._quantified = True
        try:
            return body(*ranks)
        finally:
            self._quantified = False
