"""The answer to what is claimed, by its name: a proof of an obligation, or the refutation of what only sounds right."""

from __future__ import annotations

from dataclasses import dataclass

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


def refuted(claim: Obligation, *, cross_check: bool = False) -> Refuted:
    """What the solvers say of a claim that should be false."""
    opposite = {Verdict.VIOLATED: Verdict.HOLDS, Verdict.HOLDS: Verdict.VIOLATED}
    answer, note = judge(claim, cross_check=cross_check)
    verdict = opposite.get(answer, Verdict.UNDETERMINED)
    state = counterexample(claim) if verdict is Verdict.HOLDS else None
    return Refuted(claim.name, claim.says, verdict, state or (), note)


def answered(name: str, *, cross_check: bool = False) -> Proof | Refuted:
    """The answer to the obligation, or to the false claim, of that name; only names are sent to another process.

    Raises KeyError for an unknown name.
    """
    if name in _FALSE:
        return refuted(_FALSE[name], cross_check=cross_check)
    return proof_of(_OBLIGATIONS[name], cross_check=cross_check)
