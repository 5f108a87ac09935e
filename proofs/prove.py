"""Obligations put to the solvers, and the verdict on each."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from rankproof.model.protocol import PIPELINED, Protocol
from rankproof.model.verdict import Verdict
from rankproof.proofs.obligation import Obligation
from rankproof.proofs.question import questions
from rankproof.proofs.solvers import Answer, cvc5_answers, z3_answers_both
from rankproof.proofs.theorems import OBLIGATIONS

_MOST_AT_ONCE = 4


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

    `without` names assumptions that may not be used. With `cross_check`, cvc5 is asked the same text as z3. z3 alone is
    asked about several of them at once, as it leaves the interpreter free while it works.
    """

    def proof(obligation: Obligation) -> Proof:
        began = time.monotonic()
        verdict, note = judge(obligation, protocol, without=without, timeout_s=timeout_s, cross_check=cross_check)
        needs = tuple(name for name in obligation.needs if name not in without)
        seconds = time.monotonic() - began
        return Proof(obligation.name, obligation.property, obligation.says, needs, verdict, seconds, note)

    asked = [each for each in obligations if each.applies(protocol)]
    if cross_check:
        yield from map(proof, asked)
        return
    threads = ThreadPoolExecutor(max_workers=min(os.cpu_count() or 1, _MOST_AT_ONCE))
    try:
        yield from threads.map(proof, asked)
    finally:
        threads.shutdown(cancel_futures=True)


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
    text = denied.text()
    z3_denied, z3_assumed = z3_answers_both(text, timeout_s)
    answer, doubt = _agreed(z3_denied, cross_check, lambda: cvc5_answers(text, timeout_s))
    if answer is Answer.SAT:
        return Verdict.VIOLATED, ""
    if answer is Answer.UNKNOWN:
        return Verdict.UNDETERMINED, doubt
    witnessed, doubt = _agreed(z3_assumed, cross_check, lambda: cvc5_answers(assumed.text(), timeout_s))
    if witnessed is Answer.UNSAT:
        return Verdict.UNDETERMINED, "the hypotheses contradict each other, so that anything would follow"
    return (Verdict.HOLDS, "") if witnessed is Answer.SAT else (Verdict.UNDETERMINED, doubt)


def _agreed(first: Answer, cross_check: bool, ask_cvc5: Callable[[], Answer]) -> tuple[Answer, str]:
    """What z3 says, or both solvers where they agree; else unknown, and why."""
    if first is Answer.UNKNOWN:
        return first, "z3 gave up"
    if not cross_check:
        return first, ""
    second = ask_cvc5()
    if second is first:
        return first, ""
    if second is Answer.UNKNOWN:
        return second, "cvc5 gave up"
    return Answer.UNKNOWN, f"THE SOLVERS DISAGREE: z3 says {first}, cvc5 says {second}"
