"""Terms that are only ever written as SMT-LIB: the same operators as a solver's own, and a hundredth of their cost.

What is built here is a text. It means what the solver that reads it says that it means; nothing is simplified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter

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
    place how many terms were built before it; what it is applied to has lower ones
    """

    __slots__ = ("args", "op", "place", "sort", "terms")

    def __init__(self, terms: Terms, op: str, args: tuple[Term, ...], sort: str, place: int) -> None:
        self.terms = terms
        self.op = op
        self.args = args
        self.sort = sort
        self.place = place

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
        return self.terms.of("=", self.terms.all_lifted((self, other), self.sort), BOOL)

    def __ne__(self, other: object) -> Term:  # type: ignore[override]
        return self.terms.of("not", (self == other,), BOOL)

    def __str__(self) -> str:
        return f"({self.op} {' '.join(map(str, self.args))})" if self.args else self.op

    def _arithmetic(self, of_ints: str, of_words: str, one: object, other: object) -> Term:
        terms, sort = self.terms, self.sort
        return terms.of(of_ints if sort == INT else of_words, terms.all_lifted((one, other), sort), sort)

    def _compared(self, low: object, high: object) -> Term:
        terms, sort = self.terms, self.sort
        return terms.of("<=" if sort == INT else "bvsle", terms.all_lifted((low, high), sort), BOOL)


class Terms:
    """The terms of one question, each built once."""

    def __init__(self) -> None:
        # What a term is applied to, and what with, settle its sort. A tuple is looked up by the identities in it: terms
        # are hashed by them, and `==` would be asked only of two tuples of one hash; it then raises, and misses none.
        self._known: dict[tuple[str, tuple[Term, ...]], Term] = {}

    def of(self, op: str, args: tuple[Term, ...], sort: str) -> Term:
        """The term of that form."""
        term = self._known.get((op, args))
        if term is None:
            term = self._known[op, args] = Term(self, op, args, sort, len(self._known))
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

    def all_lifted(self, values: Iterable[object], sort: str) -> tuple[Term, ...]:
        """Each of them lifted; what is a term, as most are, is seen to be one without a call."""
        return tuple([each if isinstance(each, Term) else self.lifted(each, sort) for each in values])


def bitvector(bits: int) -> str:
    """The sort of machine words of so many bits."""
    return f"(_ BitVec {bits})"


def written(terms: Sequence[Term]) -> tuple[list[str], Callable[[Term], str]]:
    """The definitions of what stands in several places of these terms, in SMT-LIB, and how to write a term by them."""
    uses = _uses(terms)
    texts: dict[Term, str] = {}
    sizes: dict[Term, int] = {}
    definitions: list[str] = []
    for term in sorted(uses, key=attrgetter("place")):  # what a term is made of comes before it
        if not term.args:
            texts[term], sizes[term] = term.op, 1
            continue
        size = 1
        text = f"({term.op}"
        for each in term.args:
            text += f" {texts[each]}"
            size += sizes[each]
        text += ")"
        if size >= _NAMED_FROM and uses[term] > 1:
            name = f"part_{len(definitions)}"
            definitions.append(f"(define-fun {name} () {term.sort} {text})")
            text, size = name, 1
        texts[term], sizes[term] = text, size
    return definitions, texts.__getitem__


def _uses(terms: Iterable[Term]) -> dict[Term, int]:
    """In how many places each term stands, in these and in all that they are made of."""
    uses: dict[Term, int] = {}
    todo = list(terms)
    while todo:
        term = todo.pop()
        if term in uses:
            uses[term] += 1
        else:
            uses[term] = 1
            todo += term.args
    return uses
