"""`rankproof fuzz`: random schedules of an implementation on real processes, each reply held against the model."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rankproof import files
from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.commands import TIMING, Command
from rankproof.conformance.fuzz import TRANSPORTS, fuzz
from rankproof.conformance.fuzzed import Fuzzing, Place
from rankproof.conformance.given import as_text, read_commands
from rankproof.conformance.launcher import Launcher
from rankproof.diagram import Diagram
from rankproof.diagram_text import draw
from rankproof.findings import SAID, differences, file_in, keep, picture_of
from rankproof.model.errors import BadInput
from rankproof.model.properties import PROPERTIES
from rankproof.model.schedule import dump
from rankproof.model.verdict import Verdict
from rankproof.output import Output, counted
from rankproof.places import place_of
from rankproof.profiles import Budget
from rankproof.progress import Progress
from rankproof.publishing import publish
from rankproof.results import Result
from rankproof.subjects import REFERENCE, loadable

MOST_EXAMPLES = 1_000_000
"""Schedules of a run that only its seconds limit."""

TIMEOUT, SHRINK = 3.0, 20.0
"""Seconds that a wait of the subject may last, and for which a failure is made smaller, where nothing else is asked."""

LAST_WORDS = 8
"""Lines that are shown of what a rank wrote at last."""


_ON_PROCESSES = {
    True: "on real processes it goes wrong as well",
    False: (
        "on real processes it did not show: either real ranks seldom lose this race, or the subject keeps state that "
        "ranks of one process share, and Capabilities(in_memory=False) is for it"
    ),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is asked for.

    subject  "package.module:factory"
    lag      steps between a count and its pop
    seed     the same seed gives the same schedules
    source   the folder of the engine that the subject drives, or None
    timeout  seconds that a wait of the subject may last on real processes, and shrink how many a failure is made
             smaller for
    commands  what is given, and nothing else, as `conformance.given` writes it; or None, for a search
    """

    subject: str
    lag: int
    budget: Budget
    seed: int = 0
    source: Path | None = None
    timeout: float = TIMEOUT
    shrink: float = SHRINK
    commands: str | None = None

    @property
    def again(self) -> str:
        """The command line that does the same."""
        limits = {"--examples": self.budget.examples, "--seconds": self.budget.seconds}
        words = [word for name, value in limits.items() if value is not None for word in (name, f"{value:g}")]
        return self._line(*words, "--seed", str(self.seed))

    def only(self, commands: Sequence[Command]) -> str:
        """The command line that gives these commands, and searches nothing."""
        return self._line("--commands", as_text(commands))

    def _line(self, *what: str) -> str:
        words = ["rankproof", "fuzz", "--subject", self.subject, "--lag", str(self.lag)]
        words += ["--ranks", str(self.budget.ranks)]
        words += ["--timeout", f"{self.timeout:g}"] if self.timeout != TIMEOUT else []
        return shlex.join([*words, *what, *self._source])

    def replay(self, file: Path) -> str:
        """The command line that runs one schedule."""
        return shlex.join(["rankproof", "replay", str(file), "--real", "--subject", self.subject, *self._source])

    @property
    def _source(self) -> list[str]:
        return [] if self.source is None else ["--source", str(self.source)]


def report(output: Output, progress: Progress, plan: Plan, folder: Path | None = None) -> Verdict:
    """Holds a subject against the model of its lag; a schedule that differs is written into `folder`, and told about.

    The JSON document has `subject`, `ranks`, `lag`, `seed`, `examples`, `commands`, `steps`, `popped`, `seconds`,
    `taken` (how often each action of the model was that may come), `never_taken` (those at 0), `not_asked` (the
    others, which need what the subject does not declare, or what none can), `failure` (empty where nothing went
    wrong), `breaks` (the property, or empty), `differences` (each with `field`, `model` and `subject`), `remark` (what
    such a difference usually comes from, or empty), `found_in` ("memory", "processes" or empty), `reproduced` (on
    processes: true, false or null), `on_processes`, `ended_early` (why no smaller schedule was looked for any more, or
    empty), `last_words`, `program` (that shows it again), `schedule` (the smallest that went wrong, or null), `again`
    (the command line that shows it, or empty), `driven` (what of a published engine, or empty) and `file` (or null).
    Raises BadInput for what cannot be run.
    """
    if plan.source and plan.subject in REFERENCE.values():
        raise BadInput("--source names an engine; give the subject that drives it by --subject")
    if plan.commands is not None:
        read_commands(plan.commands)  # before anything is started
    if folder:
        files.folder_for_writing(folder)
    with loadable(plan.source):
        found = run_fuzz(progress, plan)
        file = file_in(folder, found.schedule)
        result = result_of(found, plan, file)
    output.say((f"{plan.subject} on {found.ranks} ranks, lag {found.capabilities.lag}, seed {plan.seed}", "title"))
    show(output, found)
    if found.failure:
        output.say(f"  again: {result.again}")
    if file and found.schedule:
        keep(output, file, found.schedule, result)
    output.say()
    output.say((found.verdict, found.verdict), f": {summary(found)}")
    content = {"lag": found.capabilities.lag, "seed": plan.seed} | document(found) | {"again": result.again}
    output.document("fuzz", found.verdict, content | {"file": file and str(file)})
    publish(output, "fuzz", [result])
    return found.verdict


def run_fuzz(
    progress: Progress, plan: Plan, launcher: Launcher | None = None, transports: Sequence[Place] = TRANSPORTS
) -> Fuzzing:
    """The subject held against the model, with the progress shown; a `launcher` saves the time to start one."""
    limit, ranks = plan.budget, plan.budget.ranks
    stage = f"fuzz {plan.subject.rpartition(':')[2]} on {ranks} ranks"

    def told(done: int, place: str) -> None:
        what = counted(done, "schedule") if done else "setting up"
        progress(stage, f"{what} {'in memory' if place == 'memory' else 'on processes'}")

    return fuzz(
        plan.subject,
        fallback=Capabilities(lag=plan.lag, cumulative=plan.lag > 1),
        ranks=ranks,
        examples=MOST_EXAMPLES if limit.examples is None else limit.examples,
        seconds=limit.seconds,
        seed=plan.seed,
        timeout=plan.timeout,
        shrink_seconds=plan.shrink,
        transports=transports,
        launcher=launcher,
        progress=told,
        commands=() if plan.commands is None else read_commands(plan.commands),
    )


def result_of(found: Fuzzing, plan: Plan, file: Path | None = None) -> Result:
    """The run as CI systems are told of it; `file` is where its schedule is written."""
    return Result(
        group="fuzz",
        name=f"{plan.subject} on {found.ranks} ranks, lag {found.capabilities.lag}",
        verdict=found.verdict,
        says=found.failure.partition("\n")[0] or summary(found),
        seconds=found.seconds,
        breaks=found.breaks,
        details=(*_seen(found), *_last_words(found)),
        again=_again(found, plan, file) if found.failure else "",
        file=file,
        place=place_of(plan.subject),
        picture=_picture(found),
        program=found.program,
    )


def _again(found: Fuzzing, plan: Plan, file: Path | None) -> str:
    """The line that shows the smallest failure again; the whole search, where there was none.

    A file has what the model went through, and is run on processes: not what only memory has shown, nor stops.
    """
    told = replace(plan, lag=found.capabilities.lag)  # which may be the subject's own
    if not found.smallest:
        return told.again
    whole = found.found_in == "processes" or found.reproduced
    in_file = whole and not any(isinstance(command, tuple(TIMING.values())) for command in found.smallest)
    return told.replay(file) if file and in_file else told.only(found.smallest)


def show(output: Output, found: Fuzzing) -> None:
    """What is driven, what differed if anything did, with the schedule that leads there, and what was exercised."""
    if found.driven:
        output.paragraph(f"driven: {found.driven}", indent=2, hang=2)
    if found.breaks:
        output.paragraph(f"breaks {found.breaks}: {PROPERTIES[found.breaks].says}", indent=2, hang=4)
    if found.failure:
        output.say((f"  {found.failure.partition(chr(10))[0]}", found.verdict))
        for line in _seen(found):
            output.paragraph(line, indent=4, hang=2)
        for line in _last_words(found):
            output.say((f"    {line}", "quiet"))
    if picture := _picture(found):
        output.say()
        output.paragraph(f"What the model did until then; {picture.legend}", indent=2)
        draw(output, picture, indent=2)
        output.say()
    for line in found.coverage.lines():
        output.paragraph(line, indent=2, hang=2)
    if found.verdict is Verdict.UNDETERMINED and not found.failure:
        nothing = "nothing ran on real processes before the time was over; give more seconds"
        if found.processes and not found.processes.steps:
            nothing = "no rank made a step, so that nothing was agreed on"
        output.paragraph(nothing, indent=2)
    if found.note and found.found_in != "memory" and found.note not in found.failure:
        output.paragraph(f"memory gave no answer: {found.note}", indent=2, hang=2)


def _picture(found: Fuzzing) -> Diagram | None:
    return picture_of(found.schedule, found.failure, found.breaks, differences(found.differences))


def _seen(found: Fuzzing) -> list[str]:
    """What was seen besides the first line of the failure, line by line."""
    lines = differences(found.differences) or [line.strip() for line in found.failure.splitlines()[1:]]
    if [each.field for each in found.differences] == ["in_flight"]:
        lines.append(f"(only the rounds in flight differ: is lag {found.capabilities.lag} what the subject does?)")
    if found.remark:
        lines.append(f"({found.remark})")
    if found.found_in == "memory" and found.reproduced is not None:
        lines.append(f"found with all ranks in one process; {_ON_PROCESSES[found.reproduced]}")
    elif found.found_in == "memory" and found.on_processes:
        lines.append(f"found with all ranks in one process; on processes there is no answer: {found.on_processes}")
    if found.ended_early:
        lines.append(f"{found.ended_early}: there may be a smaller schedule")
    return lines


def _last_words(found: Fuzzing) -> list[str]:
    """The end of what the rank wrote, which names the place in the subject's code."""
    return [line for line in found.last_words.splitlines()[-LAST_WORDS:] if line.strip(" ^~")]


def summary(found: Fuzzing) -> str:
    """How much ran on how many processes, and what came of it."""
    places = [("in memory", found.memory), (f"on {found.ranks} processes", found.processes)]
    ran = " and ".join(f"{counted(each.examples, 'schedule')} {where}" for where, each in places if each)
    counts = f"{counted(found.steps, 'step')}, {counted(found.popped, 'pop')}"
    return f"{ran or 'nothing'}, {counts} in {found.seconds:.0f} s; {SAID[found.verdict]}"


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
        "taken": dict(found.coverage.taken),
        "never_taken": found.coverage.never,
        "not_asked": found.coverage.left_out,
        "failure": found.failure,
        "breaks": found.breaks,
        "differences": [asdict(each) for each in found.differences],
        "remark": found.remark,
        "found_in": found.found_in,
        "reproduced": found.reproduced,
        "on_processes": found.on_processes,
        "ended_early": found.ended_early,
        "driven": found.driven,
        "last_words": found.last_words,
        "program": found.program,
        "schedule": json.loads(dump(found.schedule)) if found.schedule else None,
    }
