"""`rankproof prove`: one obligation a line, name first, then the verdict and the time; then what is false."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from rankproof import files, parallel
from rankproof.doubting import asked_again, show_refuted, tried
from rankproof.model.protocol import PIPELINED
from rankproof.model.verdict import Verdict, combine
from rankproof.output import Output, counted
from rankproof.progress import Progress
from rankproof.proofs.answered import Refuted, answered
from rankproof.proofs.export import export
from rankproof.proofs.obligation import BUILT_IN, LOGIC
from rankproof.proofs.prove import Proof
from rankproof.proofs.theorems import FALSE_CLAIMS, OBLIGATIONS
from rankproof.proofs.witness import witness

_CLAIMED = {each.name: each for each in (*OBLIGATIONS, *FALSE_CLAIMS)}
_ASKED = [each for each in OBLIGATIONS if each.applies(PIPELINED)]
_NAME = max(len(each.name) for each in OBLIGATIONS)
"""Columns for the name of an obligation."""

TOGETHER = 6
"""Names that are asked about in one context of a solver: to make one costs as much as to decide a short obligation."""


def report(
    output: Output,
    progress: Progress,
    *,
    cross_check: bool = False,
    folder: Path | None = None,
    seeds: int = 0,
    witnesses: bool = False,
) -> Verdict:
    """Proves the pipelined protocol for every number of ranks, and says how it goes.

    With `cross_check` both solvers are asked; with `seeds` each obligation again so many times; with `witnesses` a
    state is shown that has the hypotheses; into `folder` each obligation is written as SMT-LIB.

    The JSON document has `proofs`, each with `obligation`, `property`, `says`, `needs` (the assumptions that it uses),
    `verdict`, `seconds`, `note` (why there is no verdict, or empty) and, if asked for, `witness`; `solvers`;
    `false_claims`, each with `name`, `says`, `verdict`, `counterexample` and `note`; `sweeps`, each with `obligation`,
    `verdict`, `answers`, `worst_s`, `control` and `spread_s`; and `files`. Raises BadInput for a folder that cannot be
    written.
    """
    written = export(files.folder_for_writing(folder)) if folder else ()
    names = [each.name for each in (*_ASKED, *FALSE_CLAIMS)]
    proofs, claims = _told(output, progress, names, cross_check=cross_check, witnesses=witnesses)
    sweeps = asked_again(output, progress, seeds) if seeds else []
    if written:
        output.say()
        output.say(f"{len(written)} files written to {folder}; each says what a solver has to answer")
    stages = [combine(proof.verdict for proof in proofs), combine(claim.verdict for claim in claims)]
    stages += [combine(sweep.verdict for sweep in sweeps)] if seeds else []
    verdict = combine(stages)
    refuted = sum(claim.verdict is Verdict.HOLDS for claim in claims)
    output.say()
    output.say(
        (verdict, verdict),
        f": {summary(proofs)}; {refuted} of {len(claims)} false claims are refuted{_loud(proofs, claims)}",
    )
    output.document(
        "prove",
        verdict,
        {
            "solvers": ["z3", "cvc5"] if cross_check else ["z3"],
            "proofs": [
                asdict(proof) | ({"witness": witness(_CLAIMED[proof.obligation])} if witnesses else {})
                for proof in proofs
            ],
            "false_claims": [asdict(claim) for claim in claims],
            "sweeps": [asdict(sweep) | {"verdict": sweep.verdict} for sweep in sweeps],
            "files": [str(path) for path in written],
        },
    )
    return verdict


def prove_all(output: Output, progress: Progress) -> list[Proof]:
    """Every obligation, by z3 alone, each shown when it and those before it are decided."""
    return _told(output, progress, [each.name for each in _ASKED])[0]


def answers(names: Sequence[str], *, cross_check: bool) -> Iterator[Proof | Refuted]:
    """The answers to the obligations and false claims of these names, in order, worked out on all cores.

    The same names are asked about together however many cores there are, and whatever is decided first.
    """
    groups = [names[first : first + TOGETHER] for first in range(0, len(names), TOGETHER)]
    return chain.from_iterable(parallel.each(partial(answered, cross_check=cross_check), groups, size=_size))


def _size(names: Sequence[str]) -> float:
    """How long the answers take, roughly: what is about words of bits takes many times as long as all else."""
    return float(any(_CLAIMED[name].logic != LOGIC for name in names))


def _told(
    output: Output, progress: Progress, names: Sequence[str], *, cross_check: bool = False, witnesses: bool = False
) -> tuple[list[Proof], list[Refuted]]:
    """The answers, each shown as it comes: proofs under one title, then refuted claims under another.

    The first word of progress is behind the first answer: on a terminal it starts a thread, and then no process is to
    be copied (`parallel.start_method`).
    """
    by = ", by z3 and by cvc5" if cross_check else ""
    output.say((f"The pipelined protocol, for every number of ranks{by}", "title"))
    proofs: list[Proof] = []
    claims: list[Refuted] = []
    for answer in answers(names, cross_check=cross_check):
        if isinstance(answer, Proof):
            proofs.append(answer)
            _show_proof(output, answer, with_witness=witnesses)
            progress("prove", counted(len(proofs), "obligation"))
            continue
        if not claims:
            output.say()
            output.say(("Claims that only sound right, and what refutes them", "title"))
        claims.append(answer)
        show_refuted(output, answer)
    return proofs, claims


def _show_proof(output: Output, proof: Proof, *, with_witness: bool) -> None:
    milliseconds = f"{proof.seconds * 1000:6.0f} ms"
    output.say(f"  {proof.obligation:<{_NAME}} ", (f"{proof.verdict:<12}", proof.verdict), (milliseconds, "quiet"))
    if proof.verdict is not Verdict.HOLDS:
        why = f"; {proof.note}" if proof.note else ""
        output.paragraph(f"{proof.says}{why}", indent=4, style=proof.verdict)
    if with_witness:
        state = witness(_CLAIMED[proof.obligation])
        output.paragraph(f"witness: {tried(state) if state else 'none'}", indent=4, hang=2, style="quiet")


def summary(proofs: Sequence[Proof]) -> str:
    """How many obligations hold, and for what."""
    holding = sum(proof.verdict is Verdict.HOLDS for proof in proofs)
    return f"{holding} of {len(proofs)} obligations hold, for every number of ranks, counts and steps"


def assumptions(proofs: Sequence[Proof]) -> list[str]:
    """The names of the assumptions that some proof uses, and of those that are in the form of all of them."""
    return sorted({name for proof in proofs for name in proof.needs} | (set(BUILT_IN) if proofs else set()))


def documents(proofs: Sequence[Proof]) -> list[dict[str, Any]]:
    """The proofs as JSON values."""
    return [asdict(proof) for proof in proofs]


def _loud(proofs: Sequence[Proof], claims: Sequence[Refuted]) -> str:
    """What no reader of the last line may miss."""
    answered_by_both = [(each.obligation, each.note) for each in proofs] + [(each.name, each.note) for each in claims]
    split = [name for name, note in answered_by_both if "DISAGREE" in note]
    return f"; THE SOLVERS DISAGREE on {', '.join(split)}" if split else ""
