"""The rules read for every number of ranks at once: a family of numbers is a function of an uninterpreted rank."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from rankproof.model.reading import Family, Number, Rank, Truth
from rankproof.proofs.smt import BOOL, INT, Term, Terms, bitvector

RANK = "Rank"
"""The sort of all ranks."""


class ChangedClaim(Exception):
    """A claim about all ranks says something else of the same rank than when it was built.

    Its body reads a variable that was given another value since, so its instances would be of another claim.
    """


class QuantifiedMinimum(Exception):
    """A minimum, a maximum or a claim about all ranks was built inside a claim about all ranks.

    It would be one constant where it must differ from rank to rank, and so prove false things.
    """


@dataclass(frozen=True, slots=True)
class _Claim:
    """A claim about every tuple of ranks, the constant that stands for it, and the ranks that it fails of if false."""

    truth: Any
    body: Callable[..., Truth]
    witnesses: tuple[Any, ...]
    of_witnesses: Truth


@dataclass(frozen=True, slots=True)
class _Bound:
    """The constant that stands for a minimum or a maximum, and the rank that has that number."""

    number: Any
    within: Callable[[Number, Number], Truth]
    family: Family
    witness: Any
    of_witness: Number


class EveryRank:
    """The reading on terms over an uninterpreted sort of ranks, of which there may be any number from 1.

    A claim about all ranks becomes a boolean constant: where it is true, the claim is true of every rank, and where it
    is false, it is false of its own witness. A minimum becomes an integer constant that is below every rank's number
    and equal to its witness's. `facts` instantiates what is true of every rank at all the witnesses, and leaves no
    quantifier. No function returns a rank, so that loses nothing: a model of the facts is a real group, made of the
    witnesses.
    """

    def __init__(self) -> None:
        self.terms = Terms()
        self._claims: list[_Claim] = []
        self._bounds: list[_Bound] = []
        self._named: list[Any] = []
        self._witnesses = 0
        self._checked = 0
        self._quantified = False
        self._declared: dict[str, tuple[str, ...]] = {}

    def family(self, name: str) -> Family:
        """A number a rank, of which nothing is known."""
        return self._declare(name, RANK, INT)

    def table(self, name: str) -> Callable[[Rank, Number], Number]:
        """A number for each rank and each index (of a round, or of a place in a lane)."""
        return self._declare(name, RANK, INT, INT)

    def series(self, name: str) -> Callable[[Number], Number]:
        """A number for each index, the same for every rank."""
        return self._declare(name, INT, INT)

    def grid(self, name: str) -> Callable[[Number, Number], Number]:
        """A number for each two indices, the same for every rank."""
        return self._declare(name, INT, INT, INT)

    def words(self, name: str, bits: int) -> Family:
        """A machine word a rank; `<=` compares words as signed numbers."""
        return self._declare(name, RANK, bitvector(bits))

    def number(self, name: str) -> Number:
        """One number, of which nothing is known."""
        return self._declare(name, INT)()

    def truth(self, name: str) -> Truth:
        """One truth, of which nothing is known."""
        return self._declare(name, BOOL)()

    def rank(self, name: str) -> Rank:
        """One rank of the group, of which nothing is known."""
        named = self._declare(name, RANK)()
        if not any(named is other for other in self._named):
            self._named.append(named)
        return named

    @property
    def declarations(self) -> list[str]:
        """Every name in SMT-LIB, in the order in which the terms were built."""
        functions = (
            f"(declare-fun {name} ({' '.join(sorts[:-1])}) {sorts[-1]})" for name, sorts in self._declared.items()
        )
        return [f"(declare-sort {RANK} 0)", *functions]

    def choose(self, condition: Truth, then: Number, otherwise: Number) -> Number:
        sort = then.sort if isinstance(then, Term) else otherwise.sort if isinstance(otherwise, Term) else INT
        choices = self.terms.all_lifted((then, otherwise), sort)
        return self.terms.of("ite", (self.terms.lifted(condition, BOOL), *choices), sort)

    def both(self, *conditions: Truth) -> Truth:
        return self._joined("and", conditions) if conditions else self.terms.lifted(True, BOOL)

    def either(self, *conditions: Truth) -> Truth:
        return self._joined("or", conditions) if conditions else self.terms.lifted(False, BOOL)

    def negate(self, condition: Truth) -> Truth:
        return self.terms.of("not", (self.terms.lifted(condition, BOOL),), BOOL)

    def implies(self, condition: Truth, conclusion: Truth) -> Truth:
        """Whether the conclusion is true where the condition is."""
        return self._joined("=>", (condition, conclusion))

    def minimum(self, family: Family) -> Number:
        """The least number of a family. Raises QuantifiedMinimum inside a claim about all ranks."""
        return self._bound("min", lambda bound, number: bound <= number, family)

    def maximum(self, family: Family) -> Number:
        """The greatest number of a family. Raises QuantifiedMinimum inside a claim about all ranks."""
        return self._bound("max", lambda bound, number: number <= bound, family)

    def every_rank(self, claim: Callable[[Rank], Truth]) -> Truth:
        """Whether the claim is true of every rank. Raises QuantifiedMinimum inside another claim about all ranks."""
        return self._every(claim, "rank")

    def every_pair(self, claim: Callable[[Rank, Rank], Truth]) -> Truth:
        """Whether the claim is true of every two ranks. Raises QuantifiedMinimum inside a claim about all ranks."""
        return self._every(claim, "one", "other")

    def facts(self, asserted: Sequence[Truth], goals: Sequence[Truth] = ()) -> list[Truth]:
        """What the constants in the asserted terms, and in the goals, stand for, without quantifiers.

        One of the goals, at least, is to be false. A claim that is only ever asserted needs no witness, and one that
        is only ever denied no instances, so neither is given: that keeps the text small, and has a model exactly where
        the full one has. Goals that are claims share their witnesses, for only one of them has to be false.
        A claim in the condition of a choice between numbers is given neither, so that nothing follows from it.
        Raises QuantifiedMinimum where a claim about all ranks has another one, or a minimum, in it, and ChangedClaim
        where one reads a variable that was changed since.
        """
        claims = {each.truth: each for each in self._claims}
        self._check_unchanged()
        composed = [goal for goal in goals if goal not in claims]
        polarities = self._polarities([*asserted, *(self.negate(goal) for goal in composed)])
        shared = [claims[goal] for goal in dict.fromkeys(goals) if goal in claims and goal not in polarities]
        alone = {each.truth for each in shared}
        # A goal that is also asserted, or part of another goal, keeps a witness of its own.
        for goal in goals:
            if goal in claims and goal not in alone:
                polarities[goal].add(False)
        true = [each for each in self._claims if True in polarities.get(each.truth, ())]
        false = [each for each in self._claims if False in polarities.get(each.truth, ())]
        pool = max((each.witnesses for each in shared), key=len, default=())
        ranks = [*self._named, *pool, *(rank for each in false for rank in each.witnesses)]
        ranks = [*ranks, *(each.witness for each in self._bounds)] or [self.rank("some_rank")]
        facts = [self.either(each.truth, self.negate(each.of_witnesses)) for each in false]
        for each in shared:
            fails = (
                each.of_witnesses if each.witnesses is pool else self._inside(each.body, *pool[: len(each.witnesses)])
            )
            facts.append(self.either(each.truth, self.negate(fails)))
        facts += [each.number == each.of_witness for each in self._bounds]
        for bound in self._bounds:
            facts += [bound.within(bound.number, self._inside(bound.family, rank)) for rank in ranks]
        for claim in true:
            for chosen in product(ranks, repeat=len(claim.witnesses)):
                facts.append(self.implies(claim.truth, self._inside(claim.body, *chosen)))
        return facts

    def _check_unchanged(self) -> None:
        for each in self._claims[self._checked :]:
            again = self._inside(each.body, *each.witnesses)
            if not (again is each.of_witnesses if isinstance(again, Term) else again == each.of_witnesses):
                raise ChangedClaim(f"{each.truth} was {each.of_witnesses} when it was built")
        self._checked = len(self._claims)

    def _every(self, claim: Callable[..., Truth], *roles: str) -> Truth:
        witnesses = tuple(self._witness(role) for role in roles)
        truth = self.truth(f"every_{len(self._claims)}")
        self._claims.append(_Claim(truth, claim, witnesses, self._inside(claim, *witnesses)))
        return truth

    def _bound(self, kind: str, within: Callable[[Number, Number], Truth], family: Family) -> Number:
        witness = self._witness(kind)
        of_witness = self._inside(family, witness)
        sort = of_witness.sort if isinstance(of_witness, Term) else INT
        number = self._declare(f"{kind}_{len(self._bounds)}", sort)()
        self._bounds.append(_Bound(number, within, family, witness, of_witness))
        return number

    def _witness(self, role: str) -> Any:
        if self._quantified:
            raise QuantifiedMinimum("a minimum or a claim about all ranks stands inside a claim about all ranks")
        self._witnesses += 1
        return self._declare(f"at_{role}_{self._witnesses}", RANK)()

    def _declare(self, name: str, *sorts: str) -> Callable[..., Term]:
        """The function of that name. Raises ValueError where the name already means something else."""
        if self._declared.setdefault(name, sorts) != sorts:
            raise ValueError(f"the name {name!r} is taken by {self._declared[name]}")

        terms, (*needed, sort) = self.terms, sorts

        def applied(*arguments: object) -> Term:
            placed = zip(arguments, needed, strict=True)
            lifted = [each if isinstance(each, Term) else terms.lifted(each, of) for each, of in placed]
            return terms.of(name, tuple(lifted), sort)

        return applied

    def _joined(self, op: str, conditions: Sequence[Truth]) -> Term:
        lifted = self.terms.all_lifted(conditions, BOOL)
        return lifted[0] if len(lifted) == 1 else self.terms.of(op, lifted, BOOL)

    def _inside(self, body: Callable[..., Any], *ranks: Any) -> Any:
        self._quantified = True
        try:
            return body(*ranks)
        finally:
            self._quantified = False

    def _polarities(self, asserted: Iterable[Truth]) -> dict[Truth, set[bool]]:
        """For each truth in the asserted terms: True where it helps to be true, False where to be false."""
        stands_for = {each.truth: each.of_witnesses for each in self._claims}
        found: dict[Truth, set[bool]] = {}
        todo = [(term, True) for term in asserted]
        while todo:
            term, polarity = todo.pop()
            if not isinstance(term, Term) or polarity in found.setdefault(term, set()):
                continue
            found[term].add(polarity)
            if term in stands_for:
                todo.append((stands_for[term], polarity))
                continue
            match term.op:
                case "not":
                    todo.append((term.args[0], not polarity))
                case "=>":
                    todo += [(term.args[0], not polarity), (term.args[1], polarity)]
                case "and" | "or":
                    todo += [(each, polarity) for each in term.args]
                case "=" | "ite":
                    truths = [each for each in term.args if each.sort == BOOL]
                    todo += [(each, either) for each in truths for either in (True, False)]
        return found
