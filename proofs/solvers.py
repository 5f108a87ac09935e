"""The solvers, each behind the same question: is this SMT-LIB text satisfiable?"""

from __future__ import annotations

from enum import StrEnum

import z3


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
    """The solver of z3 that is the quicker one for such a text: only bit-vectors gain by being prepared first."""
    return z3.Solver(ctx=context) if "BitVec" in text else z3.SimpleSolver(ctx=context)


def z3_answers(text: str, timeout_s: float = 30.0, seed: int = 0) -> Answer:
    """What z3 says, in a context of its own, so that no earlier question changes the answer."""
    solver = z3_solver(text, z3.Context())
    solver.set("timeout", int(timeout_s * 1000))
    solver.set("random_seed", seed)
    solver.from_string(text)
    return Answer(str(checked(solver)))


def z3_answers_both(text: str, timeout_s: float = 30.0) -> tuple[Answer, Answer]:
    """What z3 says of a text, and of the same without its last assertion; the latter only where the former is unsat.

    Each is a question to a solver of its own, in a context that holds nothing but this text, which is read once.
    """
    context = z3.Context()
    assertions = list(z3.parse_smt2_string(text, ctx=context))

    def of(asserted: list[z3.BoolRef]) -> Answer:
        solver = z3_solver(text, context)
        solver.set("timeout", int(timeout_s * 1000))
        solver.set("ctrl_c", False)  # it may not be the main thread, to which Ctrl-C belongs
        solver.add(*asserted)
        return Answer(str(checked(solver)))

    whole = of(assertions)
    return whole, of(assertions[:-1]) if whole is Answer.UNSAT else Answer.UNKNOWN


def cvc5_answers(text: str, timeout_s: float = 30.0) -> Answer:
    """What cvc5 says of the same text; unknown where it says that it could not read some part of it."""
    import cvc5  # 40 ms that only a cross-check pays

    terms = cvc5.TermManager()
    solver = cvc5.Solver(terms)
    solver.setOption("tlimit-per", str(int(timeout_s * 1000)))
    solver.setOption("decision", "justification")  # only in what order it tries things; half the time on these texts
    symbols = cvc5.SymbolManager(terms)
    parser = cvc5.InputParser(solver, symbols)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligation")
    said: list[str] = []
    while not (command := parser.nextCommand()).isNull():
        said += command.invoke(solver, symbols).split()
    # Nothing but the one answer: an error in a command before it would make it the answer to another text.
    return Answer(said[0]) if len(said) == 1 and said[0] in set(Answer) else Answer.UNKNOWN
