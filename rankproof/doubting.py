"""What makes the proofs worth believing: claims that are refuted, and the same answer by other seeds and orders."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rankproof.model.verdict import Verdict
from rankproof.output import Output
from rankproof.progress import Progress
from rankproof.proofs.obligation import Obligation
from rankproof.proofs.prove import judge
from rankproof.proofs.solvers import Answer
from rankproof.proofs.stability import Sweep, sweep
from rankproof.proofs.theorems import FALSE_CLAIMS, OBLIGATIONS
from rankproof.proofs.witness import counterexample

_PART = re.compile(r"(min|max)_\d+ = |ranks = ")
"""Names in a solver's state that only stand for a part of a claim, or go without saying."""


@dataclass(frozen=True, slots=True)
class Refuted:
    """A claim that is false, and a state that shows it.

    verdict         holds where it is refuted; violated where it can be proved, so that the proofs prove too much
    counterexample  a name a line; empty where there is none
    """

    name: str
    says: str
    verdict: Verdict
    counterexample: tuple[str, ...]


def refuted(claim: Obligation, *, cross_check: bool = False) -> Refuted:
    """What the solvers say of a claim that should be false."""
    opposite = {Verdict.VIOLATED: Verdict.HOLDS, Verdict.HOLDS: Verdict.VIOLATED}
    verdict = opposite.get(judge(claim, cross_check=cross_check)[0], Verdict.UNDETERMINED)
    state = counterexample(claim) if verdict is Verdict.HOLDS else None
    return Refuted(claim.name, claim.says, verdict, state or ())


def false_claims(output: Output, *, cross_check: bool = False) -> list[Refuted]:
    """Every claim that only sounds right, with the values that refute it."""
    output.say(("Claims that only sound right, and what refutes them", "title"))
    found = []
    for claim in FALSE_CLAIMS:
        each = refuted(claim, cross_check=cross_check)
        found.append(each)
        words = {Verdict.HOLDS: "refuted", Verdict.VIOLATED: "PROVED"}.get(each.verdict, each.verdict)
        output.say(f"  {each.name:<34} ", (words, each.verdict))
        output.paragraph(f"{each.says}: not with {tried(each.counterexample)}", indent=4, hang=2, style="quiet")
    return found


def tried(state: Sequence[str]) -> str:
    """A solver's state in one line: each number as the list of its values on the ranks, from rank 0."""
    lines = [line for line in state if not _PART.match(line)]
    return "; ".join(re.sub(r"rank \d+: ", "", line) for line in lines) or "any ranks"


def asked_again(output: Output, progress: Progress, seeds: int) -> list[Sweep]:
    """Each obligation `seeds` times under other seeds and orders, and as often under the same, which is the control."""
    output.say()
    output.say((f"Each obligation again, by {seeds} seeds and orders, each in a context of its own", "title"))
    sweeps: list[Sweep] = []
    longest = max(len(each.name) for each in OBLIGATIONS)
    for obligation in OBLIGATIONS:
        progress("seeds", obligation.name)
        for each in sweep(seeds, obligations=[obligation]):
            sweeps.append(each)
            times = f"worst {each.worst_s * 1000:5.0f} ms, control within {each.spread_s * 1000:.0f} ms"
            output.say(f"  {each.obligation:<{longest}} ", (f"{each.verdict:<12} ", each.verdict), (times, "quiet"))
    unknown = sum(each.answers.get(Answer.UNKNOWN, 0) for each in sweeps)
    asked = sum(sum(each.answers.values()) for each in sweeps)
    unstable = sum(set(each.control) != {Answer.UNSAT} for each in sweeps)
    slowest = max(sweeps, key=lambda each: each.worst_s)
    output.paragraph(
        f"{asked:,} questions: worst {slowest.worst_s * 1000:.0f} ms ({slowest.obligation}), {unknown} unknown; "
        f"control: {unstable} of {len(sweeps)} changed their answer under one seed and order",
        indent=2,
        hang=2,
    )
    return sweeps
