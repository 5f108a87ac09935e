"""`rankproof refute`: each known wrong variant, the property that it breaks, and a shortest schedule that shows it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rankproof import files, parallel
from rankproof.catalogue import kind_of
from rankproof.diagram import diagram
from rankproof.diagram_text import draw
from rankproof.model.errors import BadInput
from rankproof.model.faults import FAULTS, Fault, fault_named
from rankproof.model.schedule import dump, run
from rankproof.model.verdict import Verdict, combine
from rankproof.output import STICKY, Output, counted
from rankproof.progress import Progress
from rankproof.proofs.refute import Refutation, refute
from rankproof.tidying import tidy


def report(output: Output, progress: Progress, faults: Sequence[Fault], folder: Path | None = None) -> Verdict:
    """Refutes these faults, and draws the schedules; writes them into `folder` where one is given.

    What holds here is that each fault is caught (see `caught`). The JSON document has `faults`, each with `name`,
    `says`, `choice`, `references`, `property`, `caught`, `verdict` (of the faulty protocol), `length`, `explorer`
    (`verdict`, `states`, `transitions`, `depth`), `solver` (`verdict`, `length`, or null), `note`, `obligations` (those
    that it breaks for every number of ranks), `schedule` (as in a schedule file, or null) and `file` (or null).
    Raises BadInput for a folder that cannot be written.
    """
    if folder:
        files.folder_for_writing(folder)
    refutations, written = [], {}
    for each in refute_all(faults, progress):
        refutations.append(each)
        show(output, each)
        if folder and (path := _write(each, folder)):
            written[each.fault.name] = path
            output.say(f"  written to {path}")
        output.say()
    verdict = combine(caught(each) for each in refutations)
    output.say((verdict, verdict), f": {summary(refutations)}")
    output.document(
        "refute", verdict, {"faults": [document(each, written.get(each.fault.name)) for each in refutations]}
    )
    return verdict


def faults_named(names: Sequence[str]) -> list[Fault]:
    """The faults of these names, each once, or all without a name. Raises BadInput for an unknown one."""
    for name in names:
        kind = kind_of(name)
        if kind and kind != "fault":
            raise BadInput(f"{name!r} is the name of no fault: rankproof explain {name} says what this {kind} is")
    return [fault_named(name) for name in dict.fromkeys(names)] or list(FAULTS.values())


def caught(refutation: Refutation) -> Verdict:
    """Whether a fault is caught: the faulty protocol must be violated, so that is what holds."""
    opposite = {Verdict.VIOLATED: Verdict.HOLDS, Verdict.HOLDS: Verdict.VIOLATED}
    return opposite.get(refutation.verdict, Verdict.UNDETERMINED)


def refute_all(faults: Sequence[Fault], progress: Progress) -> Iterator[Refutation]:
    """Each fault held against the property that it is to break, in order, several at a time."""
    progress("refute", ", ".join(fault.name for fault in faults) if len(faults) < 3 else f"{len(faults)} faults")
    for count, refutation in enumerate(parallel.each(refute_to_read, faults), 1):
        yield refutation
        progress("refute", f"{count} of {len(faults)} faults")


def refute_to_read(fault: Fault) -> Refutation:
    """The refutation of a fault, its schedule tidied to be read."""
    refutation = refute(fault)
    return replace(refutation, schedule=tidy(refutation.schedule)) if refutation.schedule else refutation


def show(output: Output, refutation: Refutation) -> None:
    """One fault: what is done wrong, what falls, who found it, and the shortest schedule as a picture."""
    fault = refutation.fault
    output.say((fault.name, "title"), (f"  {fault.choice}", "quiet"))
    output.paragraph(fault.says, indent=2)
    if refutation.verdict is Verdict.VIOLATED:
        output.paragraph(f"breaks {refutation.property}: {lengths(refutation)}", indent=2, hang=2)
    else:
        output.paragraph(f"{refutation.property}: {refutation.verdict}", indent=2, style=caught(refutation))
    if refutation.obligations:
        output.paragraph(f"for every N it breaks {', '.join(refutation.obligations)}", indent=2, hang=2)
    if refutation.note:
        output.paragraph(f"note: {refutation.note}", indent=2, hang=2)
    if fault.references:
        output.paragraph(f"seen in {', '.join(ref.replace(' ', STICKY) for ref in fault.references)}", indent=2, hang=2)
    if refutation.schedule:
        output.say()
        draw(output, diagram(refutation.schedule, run(refutation.schedule)), indent=2)


def lengths(refutation: Refutation) -> str:
    """How long the shortest schedule is, to whom."""
    explored, solved = refutation.explored, refutation.solved
    actions = counted(explored.depth, "action")
    if solved is not None and solved.length != explored.depth:
        return f"{actions} to the explorer, {solved.length} to the solver"
    fewest = f"{actions}, the fewest to the explorer ({counted(explored.states, 'state')})"
    return fewest if solved is None else f"{fewest} and to the solver"


def summary(refutations: Sequence[Refutation]) -> str:
    """How many faults are caught."""
    count = sum(caught(each) is Verdict.HOLDS for each in refutations)
    how = "by a shortest schedule that was replayed on the model"
    if len(refutations) == 1:
        return f"the fault is caught, {how}" if count else "the fault is not caught"
    return f"{count} of {len(refutations)} faults are caught, each {how}"


def document(refutation: Refutation, path: Path | None = None) -> dict[str, Any]:
    """One fault as a JSON value."""
    fault, explored, solved = refutation.fault, refutation.explored, refutation.solved
    return {
        "name": fault.name,
        "says": fault.says,
        "choice": fault.choice,
        "references": fault.references,
        "property": refutation.property,
        "caught": caught(refutation),
        "verdict": refutation.verdict,
        "length": len(refutation.schedule.actions) if refutation.schedule else None,
        "explorer": {
            "verdict": explored.verdict,
            "states": explored.states,
            "transitions": explored.transitions,
            "depth": explored.depth,
        },
        "solver": {"verdict": solved.verdict, "length": solved.length} if solved else None,
        "note": refutation.note,
        "obligations": refutation.obligations,
        "schedule": json.loads(dump(refutation.schedule)) if refutation.schedule else None,
        "file": str(path) if path else None,
    }


def _write(refutation: Refutation, folder: Path) -> Path | None:
    if refutation.schedule is None:
        return None
    path = folder / f"{refutation.fault.name}.json"
    files.write(path, dump(refutation.schedule))
    return path
