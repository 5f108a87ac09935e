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


def z3_answers(text: str, timeout_s: float = 30.0, seed: int = 0) -> Answer:
    """What z3 says, in a context of its own, so that no earlier question changes the answer."""
    solver = z3.SimpleSolver(ctx=z3.Context())
    solver.set("timeout", int(timeout_s * 1000))
    solver.set("random_seed", seed)
    solver.from_string(text)
    return Answer(str(checked(solver)))


def cvc5_answers(text: str, timeout_s: float = 30.0) -> Answer:
    """What cvc5 says of the same text; unknown where it says that it could not read some part of it."""
    import cvc5  # 40 ms that only a cross-check pays

    terms = cvc5.TermManager()
    solver = cvc5.Solver(terms)
    solver.setOption("tlimit-per", str(int(timeout_s * 1000)))
    symbols = cvc5.SymbolManager(terms)
    parser = cvc5.InputParser(solver, symbols)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligation")
    said: list[str] = []
    while not (command := parser.nextCommand()).isNull():
        said += command.invoke(solver, symbols).split()
    # Nothing but the one answer: an error in a command before it would make it the answer to another text.
    return Answer(said[0]) if len(said) == 1 and said[0] in set(Answer) else Answer.UNKNOWN
