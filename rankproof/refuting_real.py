"""`rankproof refute --real`: each fault on real processes, how soon random schedules find it, and who says anything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankproof import files
from rankproof.conformance.faulty import FAULTY
from rankproof.conformance.hunting import SECONDS, Hunt, again, happened, hunt
from rankproof.conformance.hunting_torch import NO_ANSWER, NOTHING, said, said_in_detail
from rankproof.conformance.launcher import Launcher
from rankproof.model.faults import Fault
from rankproof.model.schedule import dump
from rankproof.model.verdict import Verdict, combine
from rankproof.output import Output, counted
from rankproof.progress import Progress

SEEDS = 5


@dataclass(frozen=True, slots=True)
class Seen:
    """A fault on real processes.

    hunt      what the searches came to
    happened  what the fault did at the end of the shortest schedule, in words; empty where it was not found
    guarded   the same, where ranks compare guard words
    torch     what torch says of that schedule by itself
    """

    hunt: Hunt
    happened: str = ""
    guarded: str = ""
    torch: str = ""

    @property
    def verdict(self) -> Verdict:
        """Holds where each search found it in time; a search that finds nothing is no answer."""
        return Verdict.HOLDS if self.hunt.is_found else Verdict.UNDETERMINED


def report(
    output: Output,
    progress: Progress,
    faults: Sequence[Fault],
    folder: Path | None = None,
    *,
    seeds: int = SEEDS,
    seconds: float = SECONDS,
) -> Verdict:
    """Looks for these faults, each `seeds` times for `seconds` at most; then asks torch what it says of each.

    What holds here is that each search finds its fault in time. The schedules are written into `folder` where one is
    given. The JSON document has `seeds`, `seconds` and `faults`, each with `name`, `at` (the implementation or the
    engine), `ranks`, `verdict`, `found` (a list of `examples` and `seconds`, or null, one a seed), `examples` and
    `seconds` (medians, or null), `commands` (in the shortest schedule, or null), `happened`, `guarded`, `torch`,
    `detail` (what torch says with TORCH_DISTRIBUTED_DEBUG=DETAIL, or "no answer: " and why), `note`, `schedule` (what
    the model went through, or null) and `file` (or null). Raises BadInput for a folder that cannot be written.
    """
    if folder:
        files.folder_for_writing(folder)
    output.say(("Each fault on real processes, looked for by random schedules", "title"))
    output.say((_line("", "schedules", "seconds", "shortest"), "head"))
    seen: list[Seen] = []
    written: dict[str, str] = {}
    with Launcher() as launcher:
        for fault in faults:
            seen.append(each := _look(fault, launcher, progress, seeds, seconds))
            _show(output, each)
            if folder and each.hunt.failure:
                path = folder / f"{fault.name}.json"
                files.write(path, dump(each.hunt.failure.schedule))
                written[fault.name] = str(path)
                output.say(f"    written to {path}")
    details = _details(output, progress, seen)
    verdict = combine(each.verdict for each in seen)
    output.say()
    output.paragraph(
        "schedules and seconds: the median over the seeds, without the start of the processes; shortest: commands in "
        "the smallest schedule. Ranks run without guard words, except where the fault is in these; what is said 'with "
        "guard words' is of that one schedule, and not of a search of its own. With DETAIL an "
        "asynchronous reduce waits for every rank when it is issued, so that nothing is pipelined any more",
        indent=2,
        style="quiet",
    )
    output.say()
    output.say((verdict, verdict), f": {summary(seen, details, seeds)}")
    documents = [
        document(each, detail, written.get(each.hunt.fault)) for each, detail in zip(seen, details, strict=True)
    ]
    output.document("refute-real", verdict, {"seeds": seeds, "seconds": seconds, "faults": documents})
    return verdict


def _look(fault: Fault, launcher: Launcher, progress: Progress, seeds: int, seconds: float) -> Seen:
    stage = f"{fault.name} on {FAULTY[fault.name].ranks} processes"

    def told(detail: str) -> None:
        progress(stage, detail)

    hunted = hunt(fault.name, seeds=range(seeds), seconds=seconds, launcher=launcher, progress=told)
    failure = hunted.failure
    if failure is None:
        return Seen(hunted)
    told("with guard words")
    guarded = again(fault.name, failure.commands, guarded=True, launcher=launcher)
    told("what torch says")
    alarm = "false alarm" if FAULTY[fault.name].needs_words else "named"
    seen, with_words = (words.replace("named:", f"{alarm}:", 1) for words in (happened(failure), guarded))
    return Seen(hunted, seen, with_words, said((fault.name, failure.commands), launcher))


def _details(output: Output, progress: Progress, seen: Sequence[Seen]) -> list[str]:
    """What torch says of each in its debug mode; empty for one that was not found."""
    cases = [(each.hunt.fault, each.hunt.failure.commands) for each in seen if each.hunt.failure]
    progress("torch", f"{counted(len(cases), 'fault')} with TORCH_DISTRIBUTED_DEBUG=DETAIL")
    answers = dict(zip((fault for fault, _ in cases), said_in_detail(cases), strict=True)) if cases else {}
    output.say()
    output.say(("What torch says of the same, and with TORCH_DISTRIBUTED_DEBUG=DETAIL", "title"))
    for each in seen:
        if each.hunt.failure:
            detail = answers[each.hunt.fault]
            same = "the same" if detail == each.torch else detail
            output.paragraph(f"{each.hunt.fault}: {each.torch}; with DETAIL {same}", indent=2, hang=4)
    return [answers.get(each.hunt.fault, "") for each in seen]


def _show(output: Output, seen: Seen) -> None:
    hunted = seen.hunt
    if hunted.failure is None:
        output.say(_line(hunted.fault, "-", "-", "-"), ("  not found", Verdict.UNDETERMINED))
    else:
        output.say(
            _line(hunted.fault, f"{hunted.examples:g}", f"{hunted.seconds:.1f}", str(len(hunted.failure.commands)))
        )
        output.paragraph(seen.happened, indent=4, hang=2)
        output.paragraph(f"with guard words: {'the same' if seen.guarded == seen.happened else seen.guarded}", indent=4)
    if not hunted.is_found:
        missed = hunted.finds.count(None)
        output.paragraph(f"{missed} of {len(hunted.finds)} searches found nothing {hunted.note}".rstrip(), indent=4)


def summary(seen: Sequence[Seen], details: Sequence[str], seeds: int) -> str:
    """How many faults are found, how soon, and of how many torch says nothing, or could not be asked."""
    found = [each for each in seen if each.hunt.is_found]
    slowest = max((each.hunt.seconds for each in found), default=0.0)
    silent = sum(each.torch.startswith(NOTHING) for each in seen)
    silent_too = sum(detail.startswith(NOTHING) for detail in details)
    unasked = sum(detail.startswith(NO_ANSWER) for detail in details)
    return (
        f"{len(found)} of {counted(len(seen), 'fault')} found by each of {counted(seeds, 'seed')}, the slowest in "
        f"{slowest:.1f} s; torch says nothing of {silent}, and with DETAIL of {silent_too}"
        f"{f'; with DETAIL there is {NO_ANSWER} for {unasked}' if unasked else ''}"
    )


def document(seen: Seen, detail: str, path: str | None) -> dict[str, Any]:
    """One fault as a JSON value."""
    hunted, faulty = seen.hunt, FAULTY[seen.hunt.fault]
    known = hunted.finds.count(None) * 2 < len(hunted.finds)
    return {
        "name": hunted.fault,
        "at": faulty.at,
        "ranks": faulty.ranks,
        "verdict": seen.verdict,
        "found": [{"examples": each.examples, "seconds": each.seconds} if each else None for each in hunted.finds],
        "examples": hunted.examples if known else None,
        "seconds": hunted.seconds if known else None,
        "commands": len(hunted.failure.commands) if hunted.failure else None,
        "happened": seen.happened,
        "guarded": seen.guarded,
        "torch": seen.torch,
        "detail": detail,
        "note": hunted.note,
        "schedule": json.loads(dump(hunted.failure.schedule)) if hunted.failure else None,
        "file": path,
    }


def _line(name: str, *columns: str) -> str:
    return f"  {name:<30}" + "".join(f"{column:>11}" for column in columns)
