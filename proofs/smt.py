"""Terms that are only ever written as SMT-LIB: the same operators as a solver's own, and a hundredth of their cost.

What is built here is a text. It means what the solver that reads it says that it means; nothing is simplified.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

BOOL, INT = "Bool", "Int"

CHECK = "(check-sat)"
"""What asks a solver whether all that stands before it has a model."""

_NAMED_FROM = 5
"""A term of so many parts that stands in several places is written once, with a name."""


class Term:
    """One term; equal terms of one `Terms` are one object, and `==` makes a term of its own.

    op    what SMT-LIB writes for it: an operator, a name, or a number
    args  what it is applied to; none for a constant
    sort  its sort in SMT-LIB
    """

    __slots__ = ("args", "op", "sort", "terms")

    def __init__(self, terms: Terms, op: str, args: tuple[Term, ...], sort: str) -> None:
        self.terms = terms
        self.op = op
        self.args = args
        self.sort = sort

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError(f"whether {self} is true is for a solver to say")

    def __add__(self, other: object) -> Term:
        return self._arithmetic("+", "bvadd", self, other)

    def __radd__(self, other: object) -> Term:
        return self._arithmetic("+", "bvadd", other, self)

    def __sub__(self, other: object) -> Term:
        return self._arithmetic("-", "bvsub", self, other)

    def __rsub__(self, other: object) -> Term:
        return self._arithmetic("-", "bvsub", other, self)

    def __neg__(self) -> Term:
        return self.terms.of("-" if self.sort == INT else "bvneg", (self,), self.sort)

    def __invert__(self) -> Term:
        return -1 - self if self.sort == INT else self.terms.of("bvnot", (self,), self.sort)

    def __le__(self, other: object) -> Term:
        return self._compared(self, other)

    def __ge__(self, other: object) -> Term:
        return self._compared(other, self)

    def __lt__(self, other: object) -> Term:
        return self.terms.of("not", (self >= other,), BOOL)

    def __gt__(self, other: object) -> Term:
        return self.terms.of("not", (self <= other,), BOOL)

    def __eq__(self, other: object) -> Term:  # type: ignore[override]
        return self.terms.of("=", (self, self.terms.lifted(other, self.sort)), BOOL)

    def __ne__(self, other: object) -> Term:  # type: ignore[override]
        return self.terms.of("not", (self == other,), BOOL)

    def __str__(self) -> str:
        return f"({self.op} {' '.join(map(str, self.args))})" if self.args else self.op

    def _arithmetic(self, of_ints: str, of_words: str, one: object, other: object) -> Term:
        terms, sort = self.terms, self.sort
        lifted = (terms.lifted(one, sort), terms.lifted(other, sort))
        return terms.of(of_ints if sort == INT else of_words, lifted, sort)

    def _compared(self, low: object, high: object) -> Term:
        terms, sort = self.terms, self.sort
        return terms.of("<=" if sort == INT else "bvsle", (terms.lifted(low, sort), terms.lifted(high, sort)), BOOL)


class Terms:
    """The terms of one question, each built once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Term] = {}

    def of(self, op: str, args: tuple[Term, ...], sort: str) -> Term:
        """The term of that form."""
        key = (op, sort, *map(id, args))
        term = self._known.get(key)
        if term is None:
            term = self._known[key] = Term(self, op, args, sort)
        return term

    def lifted(self, value: object, sort: str) -> Term:
        """A term as it is, or a Python number or truth as one of that sort. Raises TypeError for anything else."""
        if isinstance(value, Term):
            return value
        if isinstance(value, bool) and sort == BOOL:
            return self.of(str(value).lower(), (), BOOL)
        if isinstance(value, int) and sort == INT:
            return self.of(str(value) if value >= 0 else f"(- {-value})", (), INT)
        if isinstance(value, int) and sort.startswith("(_ BitVec"):
            bits = int(sort.split()[-1].rstrip(")"))
            return self.of(f"(_ bv{value % (1 << bits)} {bits})", (), sort)
        raise TypeError(f"{value!r} is no {sort}")


def bitvector(bits: int) -> str:
    """The sort of machine words of so many bits."""
    return f"(_ BitVec {bits})"


def written(terms: Sequence[Term]) -> tuple[list[str], Callable[[Term], str]]:
    """The definitions of what stands in several places of these terms, in SMT-LIB, and how to write a term by them."""
    uses: Counter[Term] = Counter()
    order: list[Term] = []
    _count(terms, uses, order)
    texts: dict[Term, str] = {}
    sizes: dict[Term, int] = {}
    definitions: list[str] = []
    for term in order:  # what a term is made of comes before it
        if not term.args:
            texts[term], sizes[term] = term.op, 1
            continue
        text = f"({term.op} {' '.join([texts[each] for each in term.args])})"
        size = 1 + sum([sizes[each] for each in term.args])
        if uses[term] > 1 and size >= _NAMED_FROM:
            name = f"part_{len(definitions)}"
            definitions.append(f"(define-fun {name} () {term.sort} {text})")
            text, size = name, 1
        texts[term], sizes[term] = text, size
    return definitions, texts.__getitem__


def _count(terms: Iterable[Term], uses: Counter[Term], order: list[Term]) -> None:
    """Counts the places in which each term stands, and lists each behind all that it is made of."""
    todo: list[tuple[Term, bool]] = [(each, False) for each in terms]
    while todo:
        term, done = todo.pop()
        if done:
            order.append(term)
            continue
        uses[term] += 1
        if uses[term] == 1:
            todo.append((term, True))
            todo += [(each, False) for each in term.args]
