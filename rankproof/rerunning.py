"""`rankproof replay --real`: a schedule on real processes, each reply held against the right protocol's model."""

from __future__ import annotations

import json
from pathlib import Path

from rankproof.conformance.replay import RealRun, replay
from rankproof.diagram import ack_name
from rankproof.fuzzing import protocol_of, subject_of
from rankproof.model.schedule import Schedule, dump
from rankproof.model.verdict import Verdict
from rankproof.output import Output
from rankproof.progress import Progress
from rankproof.replaying import replayable


def report(output: Output, progress: Progress, path: Path, subject: str | None = None) -> Verdict:
    """Runs the schedule of a file on as many processes as it has ranks, with a subject or the reference implementation.

    What the schedule does to the engine is done to the subject, which is to do what the right protocol of the same lag
    does. The JSON document has `file`, `schedule`, `subject`, `compared` (each command whose reply was the model's:
    `rank`, `command`, `popped`), `left_out` (what the right protocol does not allow there), `failure` (what differed,
    or empty) and `seconds`. Raises BadInput as `rankproof replay` does, and for a subject that cannot be used.
    """
    schedule, _ = replayable(path)
    lag, ranks = schedule.model.protocol.lag, schedule.model.scenario.ranks
    named = subject_of(lag, subject)
    progress(f"replay on {ranks} processes")
    ran = replay(schedule, named, protocol_of(lag))
    output.say((f"{path} on {ranks} real processes, {named}", "title"))
    _show(output, ran)
    output.say()
    output.say((ran.verdict, ran.verdict), f": {_conclusion(schedule, ran)}")
    compared = [{"rank": each.rank, "command": each.name, "popped": each.popped} for each in ran.compared]
    content = {
        "file": str(path),
        "schedule": json.loads(dump(schedule)),
        "subject": named,
        "compared": compared,
        "left_out": ran.left_out,
        "failure": ran.failure,
        "seconds": ran.seconds,
    }
    output.document("replay", ran.verdict, content)
    return ran.verdict


def _show(output: Output, ran: RealRun) -> None:
    for place, each in enumerate(ran.compared, 1):
        popped = [ack_name(lane, ack) for lane, acks in enumerate(each.popped) for ack in acks]
        output.say(f"  {place:3}  rank {each.rank}  {each.name}{' pops ' + ' '.join(popped) if popped else ''}")
    for line in ran.left_out:
        output.paragraph(f"left out: {line}", indent=2, hang=2)
    for line in ran.failure.splitlines():
        output.say((f"  {line}", "fall"))


def _conclusion(schedule: Schedule, ran: RealRun) -> str:
    said = {
        Verdict.HOLDS: "every reply was the model's",
        Verdict.VIOLATED: "then it went wrong as shown",
        Verdict.UNDETERMINED: "not all of it was run and compared",
    }
    ranks = schedule.model.scenario.ranks
    return f"{len(ran.compared)} replies on {ranks} processes in {ran.seconds:.0f} s; {said[ran.verdict]}"
