"""What `rankproof verify` has checked, as results for a CI system: each proof, fault, bounded world and real run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rankproof import refuting
from rankproof.conformance.walking import Walked
from rankproof.diagram import diagram
from rankproof.exploring import Seen, bounds
from rankproof.model.schedule import run
from rankproof.model.verdict import Verdict
from rankproof.proofs.prove import Proof
from rankproof.proofs.refute import Refutation
from rankproof.results import Result

_SAID = {Verdict.HOLDS: "holds", Verdict.UNDETERMINED: "is undetermined"}


def of_proofs(proofs: Sequence[Proof]) -> Iterator[Result]:
    """One result an obligation."""
    for proof in proofs:
        broken = proof.property if proof.verdict is Verdict.VIOLATED else ""
        says = f"{proof.says}; {proof.note}" if proof.note else proof.says
        yield Result("prove", proof.obligation, proof.verdict, says, proof.seconds, broken)


def of_faults(refutations: Sequence[Refutation]) -> Iterator[Result]:
    """One result a fault: what holds is that it is caught."""
    for each in refutations:
        verdict = refuting.caught(each)
        schedule = None if verdict is Verdict.HOLDS else each.schedule
        yield Result(
            "refute",
            each.fault.name,
            verdict,
            f"breaks {each.property}: {refuting.lengths(each)}" if verdict is Verdict.HOLDS else _not_caught(each),
            again=f"rankproof refute {each.fault.name}",
            picture=diagram(schedule, run(schedule)) if schedule else None,
        )


def of_worlds(worlds: Sequence[Seen]) -> Iterator[Result]:
    """One result a bounded world."""
    for seen in worlds:
        explored, fallen = seen.exploration, seen.exploration.broken
        says = f"{fallen.property}: {fallen.says}" if fallen else f"{explored.states:,} states"
        name = f"{seen.world.name}: {bounds(seen.world.model.scenario)}"
        yield Result("explore", name, explored.verdict, says, breaks=fallen.property if fallen else "")


def of_operations(walked: Walked) -> Iterator[Result]:
    """One result a world of the reference implementation on real processes."""
    failed, says = (walked.failure[0].says, walked.failure[1].says) if walked.failure else ("", "")
    for row in walked.rows():
        verdict = Verdict.HOLDS if row["steps"] else Verdict.UNDETERMINED
        counts = f"{row['schedules']:,} schedules, {row['steps']:,} steps"
        if row["world"] == failed:
            verdict, counts = Verdict.VIOLATED, says
        yield Result("operations", f"{row['world']} on {row['ranks']} processes", verdict, counts)
    if walked.lost or walked.not_taken:
        missing = f"never taken: {', '.join(walked.not_taken)}" if walked.not_taken else ""
        yield Result("operations", "all worlds", Verdict.UNDETERMINED, walked.lost or missing)


def _not_caught(refutation: Refutation) -> str:
    note = f"; {refutation.note}" if refutation.note else ""
    return f"is to break {refutation.property}, and that {_SAID.get(refutation.verdict, 'fell')}{note}"
