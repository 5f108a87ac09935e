"""Obligations put to the solvers, and the verdict on each."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from rankproof.model.protocol import PIPELINED, Protocol
from rankproof.model.verdict import Verdict
from rankproof.proofs.obligation import Obligation
from rankproof.proofs.question import questions
from rankproof.proofs.solvers import Answer, cvc5_answers, z3_answers
from rankproof.proofs.theorems import OBLIGATIONS


@dataclass(frozen=True, slots=True)
class Proof:
    """The answer to one obligation, for every number of ranks.

    verdict   holds where its negation has no model; violated where it has one, of the few ranks that the obligation
              speaks of (a state from which induction fails); undetermined where a solver gave up, where two solvers
              disagree, or where the hypotheses have no model, so that anything would follow from them
    seconds   wall time of building and deciding it
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
    """Each obligation that applies to `protocol`, one at a time.

    `without` names assumptions that may not be used. With `cross_check`, cvc5 is asked the same text as z3.
    """
    for obligation in obligations:
        if not obligation.applies(protocol):
            continue
        began = time.monotonic()
        verdict, note = judge(obligation, protocol, without=without, timeout_s=timeout_s, cross_check=cross_check)
        yield Proof(
            obligation.name,
            obligation.property,
            obligation.says,
            tuple(name for name in obligation.needs if name not in without),
            verdict,
            time.monotonic() - began,
            note,
        )


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
) -> tuple[Verdict, str]:
    """The verdict on one obligation, and why where it is undetermined.

    One whose hypotheses contradict each other is undetermined, never proved. Where the negation has a model, that is
    also one of the hypotheses, so only a proof needs to ask about them.
    """
    denied, assumed = questions(obligation, protocol, without=without)
    answer, doubt = _ask(denied.text(), timeout_s, cross_check)
    if answer is Answer.SAT:
        return Verdict.VIOLATED, ""
    if answer is Answer.UNKNOWN:
        return Verdict.UNDETERMINED, doubt
    witnessed, doubt = _ask(assumed.text(), timeout_s, cross_check)
    if witnessed is Answer.UNSAT:
        return Verdict.UNDETERMINED, "the hypotheses contradict each other, so that anything would follow"
    return (Verdict.HOLDS, "") if witnessed is Answer.SAT else (Verdict.UNDETERMINED, doubt)


def _ask(text: str, timeout_s: float, cross_check: bool) -> tuple[Answer, str]:
    """What the solver says, or both of them where they agree; else unknown, and why."""
    first = z3_answers(text, timeout_s)
    if first is Answer.UNKNOWN:
        return first, "z3 gave up"
    if not cross_check:
        return first, ""
    second = cvc5_answers(text, timeout_s)
    if second is first:
        return first, ""
    if second is Answer.UNKNOWN:
        return second, "cvc5 gave up"
    return Answer.UNKNOWN, f"THE SOLVERS DISAGREE: z3 says {first}, cvc5 says {second}"
