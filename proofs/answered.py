"""The answers to what is claimed, by name: proofs of obligations, and refutations of what only sounds right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import z3

from rankproof.model.verdict import Verdict
from rankproof.proofs.obligation import Obligation
from rankproof.proofs.prove import Proof, judge, proof_of
from rankproof.proofs.theorems import FALSE_CLAIMS, OBLIGATIONS
from rankproof.proofs.witness import counterexample

_OBLIGATIONS = {each.name: each for each in OBLIGATIONS}
_FALSE = {each.name: each for each in FALSE_CLAIMS}


@dataclass(frozen=True, slots=True)
class Refuted:
    """A claim that is false, and a state that shows it.

    verdict         holds where it is refuted; violated where it can be proved, so that the proofs prove too much
    counterexample  a name a line; empty where there is none
    note            why the verdict is undetermined; else empty
    """

    name: str
    says: str
    verdict: Verdict
    counterexample: tuple[str, ...]
    note: str = ""


def refuted(claim: Obligation, *, cross_check: bool = False, context: z3.Context | None = None) -> Refuted:
    """What the solvers say of a claim that should be false.

    By z3 alone a state is enough, for one that refutes the claim has its hypotheses too.
    """
    state = counterexample(claim, context=context)
    if state is not None and not cross_check:
        return Refuted(claim.name, claim.says, Verdict.HOLDS, state)
    opposite = {Verdict.VIOLATED: Verdict.HOLDS, Verdict.HOLDS: Verdict.VIOLATED}
    answer, note = judge(claim, cross_check=cross_check, context=context)
    verdict = opposite.get(answer, Verdict.UNDETERMINED)
    return Refuted(claim.name, claim.says, verdict, (state or ()) if verdict is Verdict.HOLDS else (), note)


def answered(names: Sequence[str], *, cross_check: bool = False) -> tuple[Proof | Refuted, ...]:
    """The answers to the obligations and false claims of these names; only names are sent to another process.

    z3 has one context for all of them, and a new solver for each: which others were asked before in that context can
    change what it tries first. So whoever asks for some names together asks for the same ones together each time.
    Raises KeyError for an unknown name.
    """
    context = z3.Context()
    return tuple(
        refuted(_FALSE[name], cross_check=cross_check, context=context)
        if name in _FALSE
        else proof_of(_OBLIGATIONS[name], cross_check=cross_check, context=context)
        for name in names
    )
