"""`rankproof replay`: a schedule on the model, step by step, and what it breaks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rankproof.diagram import Diagram, ack_name, diagram, new_falls, words_of
from rankproof.diagram_text import draw
from rankproof.model.errors import BadInput
from rankproof.model.properties import CHECKED, PROPERTIES
from rankproof.model.schedule import Run, Schedule, dump, load, run
from rankproof.model.state import LaneState, RankState, State
from rankproof.model.verdict import Verdict
from rankproof.output import Output, counted


def report(output: Output, path: Path, language: Callable[[Diagram], str] | None = None) -> Verdict:
    """Replays the schedule of a file on the model and shows it: steps and a picture, or a picture in one `language`.

    The JSON document has `file`, `schedule` (as in the file), `steps` (each with `words` and the state after it:
    `ranks`, each with `lanes`, `issued`, `consumed`, `epoch` and `error`), `violations` (each with `action`, its place
    from 0, `property` and `says`), and `remark` (where the file claims what the run does not show, else empty).
    Raises BadInput for a file that cannot be used, and for an action that the model cannot take.
    """
    schedule, replayed = replayable(path)
    verdict, remark = judge(schedule, replayed)
    if language:
        output.verbatim(language(diagram(schedule, replayed)))
        return verdict
    _show(output, schedule, replayed)
    output.paragraph(f"{verdict}: {_conclusion(schedule, replayed)}", hang=2, style=verdict)
    output.paragraph(remark)
    output.document("replay", verdict, _document(path, schedule, replayed, remark))
    return verdict


def replayable(path: Path) -> tuple[Schedule, Run]:
    """The schedule of a file and its run on the model. Raises BadInput for one that cannot be run to its end."""
    schedule = load(path)
    replayed = run(schedule)
    if replayed.stopped:
        place = len(replayed.states) - 1
        raise BadInput(f"{path}: actions[{place}]: cannot be taken here: {replayed.stopped.reason}")
    return schedule, replayed


def judge(schedule: Schedule, replayed: Run) -> tuple[Verdict, str]:
    """The verdict on the run, and a remark where the file claims something else than what was seen.

    A run without actions has checked nothing, and neither has one that is to break a property which its model cannot.
    """
    fell = {violation.property for violation in replayed.violations}
    remark = ""
    if schedule.breaks is not None and schedule.breaks not in fell:
        remark = f"The file says that it breaks {schedule.breaks}; the replay does not show that."
    if fell:
        return Verdict.VIOLATED, remark
    concerned = schedule.breaks is None or PROPERTIES[schedule.breaks].concerns(schedule.model)
    return (Verdict.HOLDS if schedule.actions and concerned else Verdict.UNDETERMINED), remark


def _conclusion(schedule: Schedule, replayed: Run) -> str:
    count = len(replayed.states) - 1
    if replayed.violations:
        names = ", ".join(dict.fromkeys(violation.property for violation in replayed.violations))
        return f"within {counted(count, 'action')} fell {names}"
    if not count:
        return "there are no actions, so that nothing was checked"
    checked = [each.name for each in CHECKED if each.concerns(schedule.model)]
    return f"{counted(count, 'action')}, each held against {', '.join(checked)}"


def _show(output: Output, schedule: Schedule, replayed: Run) -> None:
    scenario, protocol = schedule.model.scenario, schedule.model.protocol
    made = f", made by {schedule.origin}" if schedule.origin else ""
    size = f"{counted(len(schedule.actions), 'action')} on {counted(scenario.ranks, 'rank')}"
    output.say((f"{size}, lag {protocol.lag}{made}", "title"))
    picture = diagram(schedule, replayed)
    output.paragraph(f"{picture.legend}; * = finished, ! = never will")
    output.say()
    table = [("", "", [f"rank {rank}" for rank in range(scenario.ranks)]), ("", "(start)", _cells(replayed.states[0]))]
    for index, action in enumerate(schedule.actions):
        before, after = replayed.states[index : index + 2]
        table.append(
            (str(index + 1), f"{action.rank}: {words_of(schedule, action, before, after).words}", _cells(after))
        )
    numbers, actions = max(len(row[0]) for row in table), max(len(row[1]) for row in table)
    columns = [max(len(row[2][rank]) for row in table) for rank in range(scenario.ranks)]
    for index, (number, words, cells) in enumerate(table):
        states = "  ".join(cell.ljust(width) for cell, width in zip(cells, columns, strict=True))
        line = f"{number.rjust(numbers)}  {words.ljust(actions)}  {states}".rstrip()
        output.say((line, "head" if index == 0 else ""))
        for fall in new_falls(replayed, index - 2):
            output.paragraph(f"✗ {fall.property}: {fall.says}", indent=numbers + 2, hang=2, style="fall")
    output.say()
    draw(output, picture)
    output.say()


def _cells(state: State) -> list[str]:
    return [_cell(rank) for rank in state.ranks]


def _cell(rank: RankState) -> str:
    """One rank in some characters: its lanes, head first, how many it has popped, and the rounds in flight."""
    lanes = " ".join(
        "[" + " ".join(ack_name(lane, ack) + _mark(content, ack) for ack in content.waiting) + "]"
        for lane, content in enumerate(rank.lanes)
    )
    popped = ",".join(str(len(content.popped)) for content in rank.lanes)
    flying = " ".join(f"r{number}" for number in range(rank.consumed + 1, rank.issued + 1))
    parts = [lanes, f"popped {popped}" if popped.strip("0,") else "", f"in flight {flying}" if flying else ""]
    parts += [f"epoch {rank.epoch}" if rank.epoch else "", f"({rank.error})" if rank.error else ""]
    return " ".join(filter(None, parts))


def _mark(lane: LaneState, ack: int) -> str:
    return "*" if ack in lane.finished else "!" if ack in lane.stalled else ""


def _document(path: Path, schedule: Schedule, replayed: Run, remark: str) -> dict[str, Any]:
    steps = [
        {
            "words": words_of(schedule, action, before, after).words,
            "rank": action.rank,
            "ranks": [_rank_document(rank) for rank in after.ranks],
        }
        for action, before, after in zip(schedule.actions, replayed.states, replayed.states[1:], strict=False)
    ]
    violations = [{"action": v.index, "property": v.property, "says": v.says} for v in replayed.violations]
    return {
        "file": str(path),
        "schedule": json.loads(dump(schedule)),
        "steps": steps,
        "violations": violations,
        "remark": remark,
    }


def _rank_document(rank: RankState) -> dict[str, Any]:
    lanes = [{"waiting": lane.waiting, "finished": sorted(lane.finished), "popped": lane.popped} for lane in rank.lanes]
    return {"lanes": lanes, "issued": rank.issued, "consumed": rank.consumed, "epoch": rank.epoch, "error": rank.error}
