"""Obligations put to the solvers, and the verdict on each."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import z3

from rankproof.model.protocol import PIPELINED, Protocol
from rankproof.model.verdict import Verdict
from rankproof.proofs.obligation import Obligation
from rankproof.proofs.question import denial
from rankproof.proofs.solvers import Answer, cvc5_answers_both, z3_answers_both
from rankproof.proofs.theorems import OBLIGATIONS


@dataclass(frozen=True, slots=True)
class Proof:
    """The answer to one obligation, for every number of ranks.

    verdict   holds where its negation has no model; violated where it has one, of the few ranks that the obligation
              speaks of (a state from which induction fails); undetermined where a solver gave up, where two solvers
              disagree, or where the hypotheses have no model, so that anything would follow from them
    seconds   wall time of building and deciding it, beside what is decided at the same time
    note      why the verdict is undetermined; else empty
    """

    obligation: str
    property: str
    says: str
    needs: tuple[str, ...]
    verdict: Verdict
    seconds: float
    note: str = ""


def prove(
    protocol: Protocol = PIPELINED,
    *,
    without: Collection[str] = (),
    obligations: Sequence[Obligation] = OBLIGATIONS,
    timeout_s: float = 30.0,
    cross_check: bool = False,
) -> Iterator[Proof]:
    """Each obligation that applies to `protocol`, in order.

    `without` names assumptions that may not be used. With `cross_check`, cvc5 is asked the same text as z3.
    """
    for each in obligations:
        if each.applies(protocol):
            yield proof_of(each, protocol, without=without, timeout_s=timeout_s, cross_check=cross_check)


def proof_of(
    obligation: Obligation,
    protocol: Protocol = PIPELINED,
    *,
    without: Collection[str] = (),
    timeout_s: float = 30.0,
    cross_check: bool = False,
    context: z3.Context | None = None,
) -> Proof:
    """The answer to one obligation, with how long it took."""
    began = time.monotonic()
    verdict, note = judge(
        obligation, protocol, without=without, timeout_s=timeout_s, cross_check=cross_check, context=context
    )
    needs = tuple(name for name in obligation.needs if name not in without)
    seconds = time.monotonic() - began
    return Proof(obligation.name, obligation.property, obligation.says, needs, verdict, seconds, note)


def decide(
    obligation: Obligation, protocol: Protocol = PIPELINED, *, without: Collection[str] = (), timeout_s: float = 30.0
) -> Verdict:
    """The verdict on one obligation, by z3 alone."""
    return judge(obligation, protocol, without=without, timeout_s=timeout_s)[0]


def judge(
    obligation: Obligation,
    protocol: Protocol = PIPELINED,
    *,
    without: Collection[str] = (),
    timeout_s: float = 30.0,
    cross_check: bool = False,
    context: z3.Context | None = None,
) -> tuple[Verdict, str]:
    """The verdict on one obligation, and why where it is undetermined.

    One whose hypotheses contradict each other is undetermined, never proved. Both solvers are asked the same text; z3
    in a context of its own unless one is given.
    """
    text = denial(obligation, protocol, without=without).both_text()
    by_z3 = z3_answers_both(text, timeout_s, context)
    by_cvc5 = cvc5_answers_both(text, timeout_s) if cross_check else by_z3
    denied, doubt = _agreed(by_z3[0], by_cvc5[0])
    if denied is Answer.UNKNOWN:
        return Verdict.UNDETERMINED, doubt
    if denied is Answer.SAT and Answer.UNSAT not in (by_z3[1], by_cvc5[1]):
        return Verdict.VIOLATED, ""  # what has a model of all of it has one of the hypotheses, whether found or not
    assumed, doubt = _agreed(by_z3[1], by_cvc5[1])
    if assumed is Answer.UNSAT:
        return Verdict.UNDETERMINED, "the hypotheses contradict each other, so that anything would follow"
    return (Verdict.HOLDS, "") if assumed is Answer.SAT else (Verdict.UNDETERMINED, doubt)


def _agreed(of_z3: Answer, of_cvc5: Answer) -> tuple[Answer, str]:
    """What both solvers say where they agree; else unknown, and why."""
    if Answer.UNKNOWN in (of_z3, of_cvc5):
        return Answer.UNKNOWN, "z3 gave up" if of_z3 is Answer.UNKNOWN else "cvc5 gave up"
    if of_z3 is of_cvc5:
        return of_z3, ""
    return Answer.UNKNOWN, f"THE SOLVERS DISAGREE: z3 says {of_z3}, cvc5 says {of_cvc5}"
