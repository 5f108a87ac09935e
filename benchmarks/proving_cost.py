"""What proofs cost: every obligation put to each solver, in turn.

It is what the solvers do, in one process that has started. Whoever waits for `rankproof prove` waits besides for its
start, for the false claims and for the report, and not for the sum of it, for it works on all cores.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from rankproof.benchmarks.frame import Case, Lost, Samples
from rankproof.benchmarks.results import Value
from rankproof.conformance.launcher import Launcher
from rankproof.model.protocol import PIPELINED
from rankproof.proofs.question import denial
from rankproof.proofs.solvers import Answer, cvc5_answers_both, z3_answers_both
from rankproof.proofs.theorems import OBLIGATIONS

SOLVERS: dict[str, Callable[[str], tuple[Answer, Answer]]] = {"z3": z3_answers_both, "cvc5": cvc5_answers_both}
"""What each says of both questions about an obligation, as `rankproof prove` asks: in one text, which it reads once."""

TURNS = 3
SECONDS_A_TURN = 8.0


def case(turns: int) -> Case:
    """So many turns of all obligations; a sample is one obligation in one turn."""
    return Case("proofs", {"turns": turns}, SECONDS_A_TURN * turns, partial(_prove, turns=turns))


def _prove(_: Launcher, turns: int) -> Samples:
    """A sample has `turn`, `obligation`, `stating_s` (making the text), and for each solver its seconds for both.

    Both are that the negation has no model, and that the hypotheses have one. Raises Lost where one says
    otherwise.
    """
    for turn in range(turns):
        for obligation in OBLIGATIONS:
            if not obligation.applies(PIPELINED):
                continue
            began = time.perf_counter()
            text = denial(obligation, PIPELINED).both_text()
            stating = time.perf_counter() - began
            took: dict[str, Value] = {"turn": turn, "obligation": obligation.name, "stating_s": stating}
            for name, answers in SOLVERS.items():
                began = time.perf_counter()
                said = answers(text)
                took[f"{name}_s"] = time.perf_counter() - began
                if said != (Answer.UNSAT, Answer.SAT):
                    raise Lost(f"{name} says {said[0]} and {said[1]} of {obligation.name}")
            yield took
