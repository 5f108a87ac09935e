"""`rankproof fuzz --check`: the records of ranks that ran without a driver, held against the model."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from rankproof import files
from rankproof.conformance.recorded_check import Judgement, check
from rankproof.diagram_text import draw
from rankproof.findings import SAID, file_in, keep, picture_of
from rankproof.model.properties import PROPERTIES
from rankproof.model.schedule import dump
from rankproof.model.verdict import Verdict
from rankproof.output import Output, counted
from rankproof.places import place_of
from rankproof.publishing import publish
from rankproof.results import Result
from rankproof.subjects import loadable


def report(output: Output, records: Path, folder: Path | None = None) -> Verdict:
    """Judges the records in a folder; a schedule that differs is written into `folder`, as `rankproof fuzz` does.

    The JSON document has `records` (the folder), `subject`, `ranks`, `lag`, `seed`, `examples`, `commands`, `steps`,
    `popped`, `seconds`, `taken`, `never_taken` and `not_asked` (as for `rankproof fuzz`), `ends` (how the record of
    each rank ends), `failure`, `breaks` (the property, or empty), `schedule` and `file` (both may be null).
    Raises BadInput for records that cannot be used.
    """
    if folder:
        files.folder_for_writing(folder)
    found = check(records)
    file = file_in(folder, found.schedule)
    with loadable():  # to say where the subject is
        result = result_of(found, records, file)
    plan = found.plan
    output.say((f"records of {plan.subject} on {plan.world} ranks, seed {plan.seed}, in {records}", "title"))
    for rank, end in enumerate(found.ends):
        output.paragraph(f"rank {rank}  {end}", indent=2, hang=2)
    if found.breaks:
        output.paragraph(f"breaks {found.breaks}: {PROPERTIES[found.breaks].says}", indent=2, hang=4)
    for line in found.failure.splitlines():
        output.say(f"  {line}")
    for line in found.coverage.lines():
        output.paragraph(line, indent=2, hang=2)
    if result.picture:
        output.say()
        draw(output, result.picture, indent=2)
    if result.again:
        output.say(f"  again: {result.again}")
    if file and found.schedule:
        keep(output, file, found.schedule, result)
    output.say()
    output.say((found.verdict, found.verdict), f": {_summary(found)}")
    output.document("fuzz", found.verdict, _document(found, records) | {"file": file and str(file)})
    publish(output, "fuzz", [result])
    return found.verdict


def result_of(found: Judgement, records: Path, file: Path | None = None) -> Result:
    """The judgement as CI systems are told of it; `file` is where its schedule is written."""
    check_again = shlex.join(["rankproof", "fuzz", "--check", str(records)])
    subject = found.plan.subject
    replay = shlex.join(["rankproof", "replay", str(file), "--real", "--subject", subject]) if file else check_again
    return Result(
        group="records",
        name=f"{subject} on {found.plan.world} ranks, recorded",
        verdict=found.verdict,
        says=found.failure.partition("\n")[0] or _summary(found),
        seconds=found.seconds,
        breaks=found.breaks,
        details=(
            *(line.strip() for line in found.failure.splitlines()[1:]),
            *(f"rank {rank}  {end}" for rank, end in enumerate(found.ends)),
        ),
        again=replay if found.failure else "",
        file=file,
        place=place_of(subject),
        picture=picture_of(found.schedule, found.failure, found.breaks),
    )


def _summary(found: Judgement) -> str:
    ran = f"{counted(found.examples, 'example')}, {counted(found.steps, 'step')}, {counted(found.popped, 'pop')}"
    return f"{ran} of {found.plan.world} ranks in {found.seconds:.0f} s; {SAID[found.verdict]}"


def _document(found: Judgement, records: Path) -> dict[str, Any]:
    return {
        "records": str(records),
        "subject": found.plan.subject,
        "ranks": found.plan.world,
        "lag": found.plan.capabilities.lag,
        "seed": found.plan.seed,
        "examples": found.examples,
        "commands": found.commands,
        "steps": found.steps,
        "popped": found.popped,
        "seconds": found.seconds,
        "taken": dict(found.coverage.taken),
        "never_taken": found.coverage.never,
        "not_asked": found.coverage.left_out,
        "ends": found.ends,
        "failure": found.failure,
        "breaks": found.breaks,
        "schedule": json.loads(dump(found.schedule)) if found.schedule else None,
    }
