"""The solvers behind one question: what each says of a text with two checks, of numbers and of words."""

import pytest
import z3

from rankproof.proofs.solvers import Answer, cvc5_answers_both, z3_answers, z3_answers_both
from rankproof.proofs.terms import assert_all, clause

NUMBERS = "(set-logic QF_UFLIA)\n(declare-fun f (Int) Int)\n(define-fun part_0 () Int (f 1))\n"
WORDS = "(set-logic QF_UFBV)\n(declare-fun f () (_ BitVec 64))\n(define-fun part_0 () (_ BitVec 64) (bvadd f f))\n"
BELOW = {NUMBERS: "(assert (<= part_0 {}))\n", WORDS: "(assert (bvsle part_0 (_ bv{} 64)))\n"}
ABOVE = {NUMBERS: "(assert (<= {} part_0))\n", WORDS: "(assert (bvsle (_ bv{} 64) part_0))\n"}


@pytest.mark.parametrize("names", [NUMBERS, WORDS], ids=["numbers", "words"])
@pytest.mark.parametrize(
    ("between", "beyond", "answers"),
    [
        ((2, 8), 5, (Answer.SAT, Answer.SAT)),
        ((2, 8), 9, (Answer.UNSAT, Answer.SAT)),
        ((8, 2), 5, (Answer.UNSAT, Answer.UNSAT)),
    ],
)
def test_the_second_part_of_a_text_is_read_beside_the_first_and_asked_with_it(
    names: str, between: tuple[int, int], beyond: int, answers: tuple[Answer, Answer]
) -> None:
    low, high = between
    first = names + ABOVE[names].format(low) + BELOW[names].format(high)
    text = f"{first}(check-sat)\n; not the goal\n{ABOVE[names].format(beyond)}(check-sat)\n"
    assert z3_answers_both(text) == cvc5_answers_both(text) == answers
    assert z3_answers(first) is answers[1]


def test_a_context_may_hold_several_texts_that_mean_other_things_by_the_same_names() -> None:
    context = z3.Context()
    for names, other in ((NUMBERS, "Int"), (WORDS, "(_ BitVec 8)"), (NUMBERS, "Bool")):
        declared = f"{names}(declare-fun other () {other})\n"
        for low, answer in ((3, Answer.SAT), (7, Answer.UNSAT)):
            first = declared + BELOW[names].format(5)
            text = f"{first}(check-sat)\n{ABOVE[names].format(low)}(check-sat)\n"
            assert z3_answers_both(text, context=context) == (answer, Answer.SAT)


@pytest.mark.parametrize("checks", [0, 1, 3])
def test_a_text_with_another_number_of_checks_is_no_two_questions(checks: int) -> None:
    with pytest.raises(ValueError, match="a text with two checks is needed"):
        z3_answers_both(NUMBERS + "(check-sat)\n" * checks)


def test_a_clause_is_what_the_solver_itself_would_make_of_it_and_is_asserted() -> None:
    one, other = z3.Bools("one other")
    assert clause(z3.Not(one), other).eq(z3.Or(z3.Not(one), other))
    solver = z3.Solver()
    assert_all(solver, [clause(one, other), z3.Not(one)])
    assert solver.check(z3.Not(other)) == z3.unsat
    assert solver.check(other) == z3.sat
