"""What a subject did that the model does not, as a person is shown it: a picture, and files to keep and to pass on."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from rankproof import files
from rankproof.conformance.blame import Difference
from rankproof.diagram import Diagram, Fall, ack_name, diagram
from rankproof.model.schedule import Schedule, dump, run
from rankproof.model.verdict import Verdict
from rankproof.output import Output
from rankproof.results import Result
from rankproof.results_github import finding

SAID = {
    Verdict.HOLDS: "every reply was the model's",
    Verdict.VIOLATED: "it went wrong as shown",
    Verdict.UNDETERMINED: "that is no answer",
}
"""What came of holding a subject against the model, for the last line of a report."""


def file_in(folder: Path | None, schedule: Schedule | None) -> Path | None:
    """Where the schedule of a finding is to be written, or None where there is no folder or no finding."""
    return folder / "fuzz.json" if folder and schedule else None


def picture_of(schedule: Schedule | None, failure: str, breaks: str = "", seen: Sequence[str] = ()) -> Diagram | None:
    """What the model went through, which ends where the subject differed: with the first line of what was seen."""
    if schedule is None:
        return None
    picture = diagram(schedule, run(schedule))
    first = (seen or [line.strip() for line in failure.splitlines()[1:]] or [""])[0]
    says = "; ".join(filter(None, [failure.partition("\n")[0], first]))
    return replace(picture, rows=(*picture.rows, Fall(breaks or "differs", says)))


def differences(found: Iterable[Difference]) -> list[str]:
    """The fields of a reply that differ, one a line, "model | subject", with acks named as in the picture.

    What does not hold the acks of each lane is shown as it is, and what the field is to hold is said.
    """
    return [_line(each) for each in found]


def _line(each: Difference) -> str:
    if each.field in _OF_LANES and _lanes(each.subject) != _lanes(each.model):
        due = "it is to be one tuple a lane, of the ints that enqueue was given"
        return f"{each.field}: model {each.model} | subject {each.subject} ({due})"
    return f"{each.field}: model {_named(each.field, each.model)} | subject {_named(each.field, each.subject)}"


_OF_LANES = ("popped", "left")
"""The fields that hold acks of each lane."""


def _lanes(value: str) -> int | None:
    """Of how many lanes a value holds the acks; None where that is not what it holds."""
    try:
        read = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError):
        return None
    rows = isinstance(read, tuple) and all(isinstance(row, tuple) for row in read)
    return len(read) if rows and all(isinstance(ack, int) for row in read for ack in row) else None


def _named(field: str, value: str) -> str:
    """A value as the picture has it, if it can be read; else as Python writes it."""
    try:
        read = ast.literal_eval(value)
        if field in _OF_LANES:
            names = [ack_name(lane, int(ack)) for lane, acks in enumerate(read) for ack in acks]
        elif field == "waited_unfinished":
            names = [ack_name(int(lane), int(ack)) for lane, ack in read]
        else:
            return value
    except (ValueError, TypeError, SyntaxError):
        return value
    return " ".join(names) or "nothing"


def keep(output: Output, file: Path, schedule: Schedule, result: Result) -> None:
    """Writes the schedule, and beside it a page of Markdown that shows it, and says where."""
    page = file.with_suffix(".md")
    files.write(file, dump(schedule))
    files.write(page, finding(result).lstrip())
    output.say(f"  written to {file}, and {page.name} to show it to others")
