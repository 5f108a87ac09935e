"""The solvers, each behind the same question: is this SMT-LIB text satisfiable?"""

from __future__ import annotations

from enum import StrEnum

import z3

from rankproof.proofs.smt import CHECK


class Answer(StrEnum):
    """What a solver says of a text."""

    SAT = "sat"
    UNSAT = "unsat"
    UNKNOWN = "unknown"


def checked(solver: z3.Solver) -> z3.CheckSatResult:
    """What z3 says. Raises KeyboardInterrupt where it gave up because of Ctrl-C, which z3 takes for an unknown."""
    answer = solver.check()
    if answer == z3.unknown and "interrupted" in solver.reason_unknown():
        raise KeyboardInterrupt
    return answer


def z3_solver(text: str, context: z3.Context) -> z3.Solver:
    """The solver of z3 that is the quickest on such a text.

    Numbers: its plain core, with the older of its two simplexes, which takes four fifths of the time here. Words: made
    into bits before the core sees them, which takes half of what the preparation takes that z3 itself would choose.
    """
    if "BitVec" in text:
        return z3.Then("simplify", "solve-eqs", "bit-blast", "smt", ctx=context).solver()
    solver = z3.SimpleSolver(ctx=context)
    solver.set("arith.solver", 2)
    return solver


def z3_answers(text: str, timeout_s: float = 30.0, seed: int = 0) -> Answer:
    """What z3 says, in a context of its own, so that no earlier question changes the answer."""
    solver = z3_solver(text, z3.Context())
    solver.set("timeout", int(timeout_s * 1000))
    solver.set("random_seed", seed)
    solver.from_string(text)
    return Answer(str(checked(solver)))


def z3_answers_both(text: str, timeout_s: float = 30.0, context: z3.Context | None = None) -> tuple[Answer, Answer]:
    """What z3 says of a text with two checks, as `Question.both_text` writes it: of the whole, and of its first part.

    The solver is new, and so is its context unless one is given: to make one takes 3 ms. The solver reads the first
    part, is asked, and then reads the rest beside it, as a solver does that runs the text itself. One of words is made
    anew in between, for it prepares all that it is given at once, and reads the first part again. Raises ValueError
    where there are not two checks.
    """
    context = context or z3.Context()
    parts = text.split(f"\n{CHECK}")
    if len(parts) != 3 or parts[2].strip():
        raise ValueError(f"a text with two checks is needed, each on a line of its own:\n{text}")
    first, rest, _ = parts

    def solver_of(part: str) -> z3.Solver:
        solver = z3_solver(text, context)
        solver.set("timeout", int(timeout_s * 1000))
        solver.from_string(part)
        return solver

    solver = solver_of(first)
    without = Answer(str(checked(solver)))
    if "BitVec" in text:
        solver = solver_of(f"{first}\n{rest}")
    else:
        solver.from_string(rest)
    return Answer(str(checked(solver))), without


def cvc5_answers(text: str, timeout_s: float = 30.0) -> Answer:
    """What cvc5 says of the same text; unknown where it says that it could not read some part of it."""
    said = _cvc5_says(text, timeout_s, is_incremental=False)
    # Nothing but the one answer: an error in a command before it would make it the answer to another text.
    return said[0] if len(said) == 1 else Answer.UNKNOWN


def cvc5_answers_both(text: str, timeout_s: float = 30.0) -> tuple[Answer, Answer]:
    """What cvc5 says of a text with two checks, as `Question.both_text` writes it: of the whole, and of its first part.

    Both are unknown where it could not read some part of it.
    """
    said = _cvc5_says(text, timeout_s, is_incremental=True)
    return (said[1], said[0]) if len(said) == 2 else (Answer.UNKNOWN, Answer.UNKNOWN)


def _cvc5_says(text: str, timeout_s: float, *, is_incremental: bool) -> list[Answer]:
    """Every answer in turn; none where something else was said as well, such as an error."""
    import cvc5  # 40 ms that only a cross-check pays

    terms = cvc5.TermManager()
    solver = cvc5.Solver(terms)
    solver.setOption("tlimit-per", str(int(timeout_s * 1000)))
    solver.setOption("decision", "justification")  # only in what order it tries things; half the time on these texts
    solver.setOption("incremental", str(is_incremental).lower())
    symbols = cvc5.SymbolManager(terms)
    parser = cvc5.InputParser(solver, symbols)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligation")
    said: list[str] = []
    while not (command := parser.nextCommand()).isNull():
        said += command.invoke(solver, symbols).split()
    return [Answer(each) for each in said] if set(said) <= set(Answer) else []
