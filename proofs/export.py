"""Every obligation as a commented SMT-LIB file, which any solver of its logic decides alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap

from rankproof.model.errors import BadInput
from rankproof.model.protocol import PIPELINED, Protocol
from rankproof.proofs.obligation import Obligation
from rankproof.proofs.question import questions
from rankproof.proofs.theorems import FALSE_CLAIMS, OBLIGATIONS


def export(
    directory: Path,
    protocol: Protocol = PIPELINED,
    *,
    obligations: Sequence[Obligation] = OBLIGATIONS,
    false_claims: Sequence[Obligation] = FALSE_CLAIMS,
) -> tuple[Path, ...]:
    """Two files for each obligation that applies: one that must be unsat, and its hypotheses, which must be sat.

    A false claim is one file, which must be sat. The answer that is expected of the right protocol stands in the file
    as its `:status`. Raises BadInput where the directory cannot be written.
    """
    written: list[Path] = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for obligation in (*obligations, *false_claims):
            if not obligation.applies(protocol):
                continue
            denied, assumed = questions(obligation, protocol)
            is_false = obligation in false_claims
            files = [("", denied.text(), "sat" if is_false else "unsat")]
            if not is_false:
                files.append((".hypotheses", assumed.text(), "sat"))
            for suffix, text, status in files:
                path = directory / f"{obligation.name.replace('/', '.')}{suffix}.smt2"
                path.write_text(_commented(obligation, text, status), encoding="utf-8")
                written.append(path)
    except OSError as error:
        raise BadInput(f"{directory}: cannot write the obligations there: {error.strerror or error}") from error
    return tuple(written)


def _commented(obligation: Obligation, text: str, status: str) -> str:
    needs = ", ".join(obligation.needs) or "no assumption"
    says = [
        f"{obligation.name}: {obligation.says}.",
        f"It is about any number of ranks, and needs {needs}.",
        "Rank is the sort of all ranks; `at_...` are the ranks at which a claim about all of them is used; "
        "`every_N` stands for one such claim, `min_N` and `max_N` for the least and the greatest number of a family.",
        f"Expected: {status}. "
        + (
            "No group of ranks has the hypotheses and not the goal, so the obligation holds."
            if status == "unsat"
            else "There is a state that has all of this."
        ),
    ]
    comment = "\n".join(f"; {line}" for paragraph in says for line in wrap(paragraph, 110))
    logic, rest = text.split("\n", 1)
    return f"{comment}\n{logic}\n(set-info :status {status})\n{rest}"
