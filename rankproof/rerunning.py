"""`rankproof replay --real`: a schedule on real processes, each reply held against the right protocol's model."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

from rankproof.conformance.apart import Job, search_apart
from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.launcher import Launcher
from rankproof.conformance.replay import RealRun, replay
from rankproof.diagram import ack_name
from rankproof.fitting import fitted
from rankproof.model.errors import BadInput
from rankproof.model.protocol import Protocol
from rankproof.model.schedule import Schedule, dump
from rankproof.model.verdict import Verdict
from rankproof.output import Output
from rankproof.progress import Progress
from rankproof.replaying import replayable
from rankproof.subjects import loadable, subject_of


def report(
    output: Output, progress: Progress, path: Path, subject: str | None = None, source: Path | None = None
) -> Verdict:
    """Runs the schedule of a file on as many processes as it has ranks, with a subject or the reference implementation.

    What the schedule does to the engine is done to the subject, which is to do what it declares, or else what the right
    protocol of the schedule's lag does; `source` is the folder of the engine that it drives. The JSON document has
    `file`, `schedule`, `subject`, `compared` (each command whose reply was the model's: `rank`, `command`, `popped`),
    `left_out` (what the right protocol does not allow there), `failure` (what differed, or empty) and `seconds`.
    Raises BadInput as `rankproof replay` does, and for a subject that cannot be used.
    """
    schedule, _ = replayable(path)
    lag, ranks = schedule.model.protocol.lag, schedule.model.scenario.ranks
    named = subject_of(lag, subject)
    progress(f"replay on {ranks} processes")
    with loadable(source), Launcher() as launcher:
        capabilities = _capabilities(named, lag, ranks, launcher)
        # A schedule with guard words was taken from real processes, and is done again as it was.
        given = schedule.model.protocol
        as_it_was = bool(given.guards)
        held_to = given if as_it_was else capabilities.protocol
        try:
            done = schedule if as_it_was else fitted(schedule, capabilities.names)
        except BadInput as error:
            raise error.at(str(path)) from error
        told = None if as_it_was else capabilities
        ran = replay(done, named, held_to, launcher=launcher, capabilities=told)
    output.say((f"{path} on {ranks} real processes, {named}", "title"))
    output.paragraph(_held_against(given, held_to), indent=2, hang=2)
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


def _capabilities(subject: str, lag: int, ranks: int, launcher: Launcher) -> Capabilities:
    """What the subject declares, asked in a process of its own; else the usual lanes and the schedule's lag."""
    fallback = Capabilities(lag=lag, cumulative=lag > 1)
    only_asked = Job(subject, ranks, None, fallback, examples=0, seconds=None, seed=0, timeout=3.0, shrink_seconds=0.0)
    return search_apart(only_asked, launcher).capabilities


def _held_against(given: Protocol, held_to: Protocol) -> str:
    """Which protocol the subject is to follow: its own, and not the file's where that makes another choice."""
    # Guard words are more to look at, and no other choice.
    others = [each.name for each in fields(given) if each.name != "guards"]
    choices = [f"{name}={getattr(given, name)}" for name in others if getattr(given, name) != getattr(held_to, name)]
    told = f"; of the file, whose protocol has {', '.join(choices)}, only the engine's part is done" if choices else ""
    return f"held against the right protocol of lag {held_to.lag}{told}"


def _conclusion(schedule: Schedule, ran: RealRun) -> str:
    said = {
        Verdict.HOLDS: "every reply was the model's",
        Verdict.VIOLATED: "then it went wrong as shown",
        Verdict.UNDETERMINED: "not all of it was run and compared",
    }
    if schedule.breaks:
        said[Verdict.HOLDS] += f", so that this subject does not break {schedule.breaks} on it"
    ranks = schedule.model.scenario.ranks
    replies = "1 reply" if len(ran.compared) == 1 else f"{len(ran.compared):,} replies"
    return f"{replies} on {ranks} processes in {ran.seconds:.0f} s; {said[ran.verdict]}"
