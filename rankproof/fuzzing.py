"""`rankproof fuzz`: random schedules of an implementation on real processes, each reply held against the model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from rankproof import files
from rankproof.conformance.fuzz import Fuzzing, fuzz
from rankproof.conformance.launcher import Launcher
from rankproof.diagram import Stop, diagram
from rankproof.diagram_text import draw
from rankproof.model.errors import BadInput
from rankproof.model.protocol import BLOCKING, PIPELINED, Protocol, depth
from rankproof.model.schedule import dump, run
from rankproof.model.verdict import Verdict
from rankproof.output import Output
from rankproof.progress import Progress

REFERENCE = {
    0: "rankproof.conformance.reference:blocking",
    1: "rankproof.conformance.reference:pipelined",
    2: "rankproof.conformance.reference:depth_2",
    4: "rankproof.conformance.reference:depth_4",
}
"""The reference implementation as a subject, by its lag."""


def report(
    output: Output,
    progress: Progress,
    *,
    subject: str | None,
    lag: int,
    ranks: int,
    examples: int,
    seed: int,
    folder: Path | None,
) -> Verdict:
    """Holds a subject, the reference implementation where none is given, against the model of this lag.

    The JSON document has `subject`, `ranks`, `lag`, `seed`, `examples`, `commands`, `steps`, `popped`, `seconds`,
    `taken` (how often each action of the model was), `failure` (empty where nothing went wrong), `program` (that shows
    it again), `schedule` (the smallest that went wrong, or null) and `file` (or null). Raises BadInput for what cannot
    be run.
    """
    named = subject_of(lag, subject)
    if folder:
        files.folder_for_writing(folder)
    found = run_fuzz(progress, named, lag=lag, ranks=ranks, examples=examples, seed=seed)
    output.say((f"{named} on {ranks} real processes, lag {lag}, seed {seed}", "title"))
    show(output, found)
    if found.failure:
        again = f"rankproof fuzz --subject {named} --lag {lag} --ranks {ranks} --examples {examples} --seed {seed}"
        output.say(f"  again: {again}")
    path = _write(found, folder) if folder else None
    if path:
        output.say(f"  written to {path}")
    output.say()
    output.say((found.verdict, found.verdict), f": {summary(found)}")
    output.document("fuzz", found.verdict, {"lag": lag, "seed": seed} | document(found) | {"file": path and str(path)})
    return found.verdict


def run_fuzz(
    progress: Progress,
    subject: str,
    *,
    lag: int,
    ranks: int,
    examples: int,
    seed: int,
    launcher: Launcher | None = None,
) -> Fuzzing:
    """The subject on real processes, with the progress shown; a `launcher` saves the time to start one."""
    stage = f"fuzz {subject.rpartition(':')[2]} on {ranks} processes"
    progress(stage, "starting them")

    def told(done: int) -> None:
        progress(
            stage, f"{done} of {examples} schedules" if done <= examples else f"{done} schedules, making it smaller"
        )

    return fuzz(
        subject,
        protocol_of(lag),
        ranks=ranks,
        examples=examples,
        seed=seed,
        launcher=launcher,
        progress=told,
    )


def subject_of(lag: int, subject: str | None) -> str:
    """The subject that is meant: the reference implementation where none is named. Raises BadInput for another lag."""
    named = REFERENCE.get(lag) if subject is None else subject
    if named is None:
        known = ", ".join(map(str, REFERENCE))
        raise BadInput(f"the reference implementation has lag {known}, not {lag}; give another by --subject")
    return named


def protocol_of(lag: int) -> Protocol:
    """The right protocol of a lag."""
    return {0: BLOCKING, 1: PIPELINED}.get(lag) or depth(lag)


def show(output: Output, found: Fuzzing) -> None:
    """What ran, and where something differed, what it was and the schedule that leads there."""
    taken = ", ".join(f"{name} {count:,}" for name, count in sorted(found.taken.items()))
    output.paragraph(f"actions taken: {taken or 'none'}", indent=2, hang=2)
    if found.failure:
        output.say()
        for line in [*found.failure.splitlines(), "", *found.program.splitlines()]:
            output.say(f"  {line}".rstrip())
    if found.schedule:
        output.say()
        picture = diagram(found.schedule, run(found.schedule))
        ending = Stop(" ".join(line.strip() for line in found.failure.splitlines()[:2]))
        draw(output, replace(picture, rows=(*picture.rows, ending)), indent=2)


def summary(found: Fuzzing) -> str:
    """How much ran on how many processes, and what came of it."""
    ran = f"{found.examples:,} schedules, {found.steps:,} steps, {found.popped:,} pops on {found.ranks} processes"
    said = {
        Verdict.HOLDS: "every reply was the model's",
        Verdict.VIOLATED: "it went wrong as shown",
        Verdict.UNDETERMINED: "that is no answer",
    }
    return f"{ran} in {found.seconds:.0f} s; {said[found.verdict]}"


def document(found: Fuzzing) -> dict[str, Any]:
    """One run as JSON values."""
    return {
        "subject": found.subject,
        "ranks": found.ranks,
        "verdict": found.verdict,
        "examples": found.examples,
        "commands": found.commands,
        "steps": found.steps,
        "popped": found.popped,
        "seconds": found.seconds,
        "taken": found.taken,
        "failure": found.failure,
        "program": found.program,
        "schedule": json.loads(dump(found.schedule)) if found.schedule else None,
    }


def _write(found: Fuzzing, folder: Path) -> Path | None:
    if found.schedule is None:
        return None
    path = folder / "fuzz.json"
    files.write(path, dump(found.schedule))
    return path
