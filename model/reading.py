"""What a rule may do with numbers and across ranks; a reading says what those numbers and ranks are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

Number: TypeAlias = Any
"""An int, or a solver's integer term: rules use only `+`, `-`, `<=` and `==` on it."""

Truth: TypeAlias = Any
"""A bool, or a solver's boolean term."""

Rank: TypeAlias = Any
"""An int, or a solver's term of an uninterpreted sort."""

Family: TypeAlias = Callable[[Rank], Number]
"""One number a rank."""


class Reading(Protocol):
    """The operations beyond `+`, `-`, `<=` and `==` that the rules of the protocol are written with."""

    def choose(self, condition: Truth, then: Number, otherwise: Number) -> Number:
        """`then` where the condition is true, else `otherwise`."""

    def both(self, *conditions: Truth) -> Truth:
        """Whether all the conditions are true; true for none."""

    def either(self, *conditions: Truth) -> Truth:
        """Whether some condition is true; false for none."""

    def negate(self, condition: Truth) -> Truth:
        """Whether the condition is false."""

    def minimum(self, family: Family) -> Number:
        """The least number of the family, over all ranks."""

    def maximum(self, family: Family) -> Number:
        """The greatest number of the family, over all ranks."""

    def every_rank(self, claim: Callable[[Rank], Truth]) -> Truth:
        """Whether the claim is true of every rank."""

    def every_pair(self, claim: Callable[[Rank, Rank], Truth]) -> Truth:
        """Whether the claim is true of every two ranks, in both orders; a rank is paired with itself too."""


@dataclass(frozen=True, slots=True)
class Ints:
    """The reading on Python ints, for a fixed number of ranks (at least 1)."""

    ranks: int

    def choose(self, condition: bool, then: int, otherwise: int) -> int:
        return then if condition else otherwise

    def both(self, *conditions: bool) -> bool:
        return all(conditions)

    def either(self, *conditions: bool) -> bool:
        return any(conditions)

    def negate(self, condition: bool) -> bool:
        return not condition

    def minimum(self, family: Callable[[int], int]) -> int:
        return min(family(rank) for rank in range(self.ranks))

    def maximum(self, family: Callable[[int], int]) -> int:
        return max(family(rank) for rank in range(self.ranks))

    def every_rank(self, claim: Callable[[int], bool]) -> bool:
        return all(claim(rank) for rank in range(self.ranks))

    def every_pair(self, claim: Callable[[int, int], bool]) -> bool:
        return all(claim(one, other) for one in range(self.ranks) for other in range(self.ranks))
