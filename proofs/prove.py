"""Obligations put to a solver: the text of one, and the verdict on it."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import z3

from rankproof.model.protocol import PIPELINED, Protocol
from rankproof.model.verdict import Verdict
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.solvers import Answer, z3_answers
from rankproof.proofs.theorems import OBLIGATIONS, Obligation

LOGIC = "QF_UFLIA"
"""Quantifier-free, with uninterpreted functions and linear integers: decided by both solvers."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The answer to one obligation, for every number of ranks.

    verdict   holds where its negation has no model; violated where it has one, of the few ranks that the obligation
              speaks of (a state from which induction fails); undetermined where the solver gave up, or where the
              hypotheses have no model, so that anything would follow from them
    seconds   wall time of building and deciding it
    """

    obligation: str
    property: str
    says: str
    needs: tuple[str, ...]
    verdict: Verdict
    seconds: float


def prove(
    protocol: Protocol = PIPELINED,
    *,
    without: Collection[str] = (),
    obligations: Sequence[Obligation] = OBLIGATIONS,
    timeout_s: float = 30.0,
) -> Iterator[Proof]:
    """Each obligation about `protocol`, one at a time; `without` names assumptions that may not be used."""
    for obligation in obligations:
        began = time.monotonic()
        verdict = decide(obligation, protocol, without=without, timeout_s=timeout_s)
        yield Proof(
            obligation.name,
            obligation.property,
            obligation.says,
            tuple(name for name in obligation.needs if name not in without),
            verdict,
            time.monotonic() - began,
        )


def decide(
    obligation: Obligation, protocol: Protocol, *, without: Collection[str] = (), timeout_s: float = 30.0
) -> Verdict:
    """The verdict on one obligation. One whose hypotheses contradict each other is undetermined, never proved."""
    match z3_answers(refutation_text(obligation, protocol, without=without), timeout_s):
        case Answer.SAT:
            return Verdict.VIOLATED
        case Answer.UNSAT:
            witnessed = z3_answers(witness_text(obligation, protocol, without=without), timeout_s)
            return Verdict.HOLDS if witnessed is Answer.SAT else Verdict.UNDETERMINED
        case Answer.UNKNOWN:
            return Verdict.UNDETERMINED


def refutation_text(obligation: Obligation, protocol: Protocol, *, without: Collection[str] = ()) -> str:
    """The obligation as SMT-LIB text that is unsatisfiable where it holds: the hypotheses, and not the goal."""
    return _text(obligation, protocol, without, goal=True)


def witness_text(obligation: Obligation, protocol: Protocol, *, without: Collection[str] = ()) -> str:
    """The hypotheses alone as SMT-LIB text, satisfiable where they do not contradict each other."""
    return _text(obligation, protocol, without, goal=False)


def _text(obligation: Obligation, protocol: Protocol, without: Collection[str], *, goal: bool) -> str:
    reading = EveryRank()
    hypotheses, claim = obligation.state(reading, protocol)
    solver = z3.Solver()
    solver.add(*reading.facts())
    solver.add(*(truth for name, truth in hypotheses.items() if name not in without))
    if goal:
        solver.add(z3.Not(claim))
    return f"(set-logic {LOGIC})\n{solver.to_smt2()}"
