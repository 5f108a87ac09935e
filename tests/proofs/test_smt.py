"""Terms that are only written: what they write means, to a solver, what the same operators mean of numbers."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from rankproof.proofs.smt import BOOL, INT, Term, Terms, bitvector, written

NUMBERS = st.integers(-5, 5)
ARITHMETIC: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: 3 - x + (2 + y),
    lambda x, y: -x - ~y,
]
COMPARED: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x <= y,
    lambda x, y: x < y,
    lambda x, y: 1 >= x,
    lambda x, y: x > y,
    lambda x, y: x == y,
    lambda x, y: x != 2,
]


def value(sort: str, claim: Callable[[Any, Any], Any], x: int, y: int) -> bool:
    """Whether z3 finds the claim true of two constants that have these values."""
    terms = Terms()
    one, other = terms.of("x", (), sort), terms.of("y", (), sort)
    asserted = [one == x, other == y, claim(one, other)]
    definitions, text_of = written(asserted)
    lines = [f"(declare-fun x () {sort})", f"(declare-fun y () {sort})", *definitions]
    solver = z3.Solver()
    solver.from_string("\n".join([*lines, *(f"(assert {text_of(each)})" for each in asserted)]))
    return bool(solver.check() == z3.sat)


def comes_to(operation: Callable[[Any, Any], Any], expected: int, one: Any, other: Any) -> Any:
    return operation(one, other) == expected


@pytest.mark.parametrize("sort", [INT, bitvector(8)])
@settings(max_examples=10, deadline=None)
@given(NUMBERS, NUMBERS)
def test_an_operator_means_what_it_means_of_numbers(sort: str, x: int, y: int) -> None:
    for operation in ARITHMETIC:
        assert value(sort, partial(comes_to, operation, operation(x, y)), x, y)
    for comparison in COMPARED:
        assert value(sort, comparison, x, y) == comparison(x, y)


def test_a_word_is_compared_as_a_signed_number_and_wraps() -> None:
    word = bitvector(8)
    assert value(word, lambda x, y: x <= y, -128, 127)
    assert value(word, lambda x, y: -x == x, -128, 0)
    assert value(word, lambda x, y: ~x == 127, -128, 0)


def test_a_term_is_built_once_and_is_neither_true_nor_false() -> None:
    terms = Terms()
    x = terms.of("x", (), INT)
    assert (x + 1) is (x + 1)
    assert (x + 1) is not (x + 2)
    with pytest.raises(TypeError, match="is for a solver to say"):
        bool(x == 1)


@pytest.mark.parametrize(("given_value", "sort"), [("1", INT), (1.5, INT), (True, "Rank"), (1, BOOL), (None, INT)])
def test_what_is_no_number_is_refused(given_value: object, sort: str) -> None:
    with pytest.raises(TypeError, match="is no "):
        Terms().lifted(given_value, sort)


def test_what_stands_in_several_places_is_written_once() -> None:
    terms = Terms()
    x = terms.of("x", (), INT)
    long: Term = x + 1 - 2
    definitions, text_of = written([long <= 3, 4 <= long])
    assert definitions == ["(define-fun part_0 () Int (- (+ x 1) 2))"]
    assert [text_of(long <= 3), text_of(4 <= long)] == ["(<= part_0 3)", "(<= 4 part_0)"]
    assert written([long <= 3])[0] == []
