"""What makes the proofs worth believing: claims that are refuted, and the same answer by other seeds and orders."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rankproof.model.verdict import Verdict
from rankproof.output import Output
from rankproof.progress import Progress
from rankproof.proofs.answered import Refuted
from rankproof.proofs.solvers import Answer
from rankproof.proofs.stability import Sweep, sweep
from rankproof.proofs.theorems import FALSE_CLAIMS, OBLIGATIONS

_PART = re.compile(r"(min|max)_\d+ = |ranks = ")
"""Names in a solver's state that only stand for a part of a claim, or go without saying."""

_NAME = max(34, *(len(each.name) for each in FALSE_CLAIMS))
"""Columns for the name of a false claim."""


def show_refuted(output: Output, each: Refuted) -> None:
    """A claim that only sounds right, and the values that refute it."""
    words = {Verdict.HOLDS: "refuted", Verdict.VIOLATED: "PROVED"}.get(each.verdict, each.verdict)
    output.say(f"  {each.name:<{_NAME}} ", (words, each.verdict))
    against = f"not with {tried(each.counterexample)}" if each.verdict is Verdict.HOLDS else each.note or "it is so"
    output.paragraph(f"{each.says}: {against}", indent=4, hang=2, style="quiet")


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
