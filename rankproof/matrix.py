"""`rankproof refute --matrix`: every fault held against every property, and who found the shortest schedule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rankproof import parallel
from rankproof.model.explorer import Exploration, explore, explore_each
from rankproof.model.faults import Fault, fault_named
from rankproof.model.properties import PROPERTIES, Property
from rankproof.model.scenario import Scenario
from rankproof.model.state import State
from rankproof.model.system import Model
from rankproof.model.verdict import Verdict, combine
from rankproof.output import Output
from rankproof.progress import Progress
from rankproof.proofs.refute import judge

LIMIT = 20_000
"""States after which a search gives up: one fault lets rounds pile up without end, and most others have far fewer."""

PATIENCE = 10
"""How many times as many states may be seen for a property that the catalogue says falls."""

SOON, LONG = 12, 24
"""Actions up to which the solver is asked about any property, and about the one that tells most of a fault; it takes
seconds to see that nothing is shorter than a longer schedule. `rankproof refute NAME` asks it whatever the length."""

DRAINS = "drains-to-empty"

LABEL = 28
"""Columns for the names of faults."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One fault and one property.

    name     of the property
    verdict   violated where a shortest schedule was replayed on ints and every finder that can look finds one as long;
             holds where every state of the fault's scenario was seen; undetermined where a finder gave up or the
             finders differ; None where the property speaks of what the scenario does not have
    length   actions in the shortest schedule, or None
    finders  "E" for the explorer, "S" for the solver's bounded search: those that found one of that length
    note     why the solver was not asked, or why there is no verdict; else empty
    """

    name: str
    verdict: Verdict | None
    length: int | None = None
    finders: str = ""
    note: str = ""

    @property
    def sign(self) -> str:
        """`.` holds, a length with E or B for its finders where it falls, `?` where that is open, `-` for None."""
        if self.verdict is Verdict.VIOLATED:
            return f"{self.length}{'B' if self.finders == 'ES' else self.finders}"
        return "-" if self.verdict is None else "." if self.verdict is Verdict.HOLDS else "?"


@dataclass(frozen=True, slots=True)
class Row:
    """One fault and every property, in their order."""

    fault: Fault
    cells: tuple[Cell, ...]

    @property
    def verdict(self) -> Verdict:
        """Holds where all falls that the catalogue says falls, and the finders agree; the rest may be open."""
        opposite = {Verdict.VIOLATED: Verdict.HOLDS, Verdict.HOLDS: Verdict.VIOLATED}
        claimed = (cell.verdict for cell in self.cells if cell.name in self.fault.breaks)
        is_disputed = any(cell.verdict is Verdict.UNDETERMINED and cell.length for cell in self.cells)
        return combine(
            [
                *(opposite.get(verdict, Verdict.UNDETERMINED) if verdict else Verdict.VIOLATED for verdict in claimed),
                Verdict.UNDETERMINED if is_disputed else Verdict.HOLDS,
            ]
        )


def report(output: Output, progress: Progress, faults: Sequence[Fault]) -> Verdict:
    """The table of these faults, a row as soon as it and those above it are known; then what the signs leave out.

    What holds here is that each fault breaks every property that the catalogue says it breaks. The JSON document has
    `properties` (their names) and `faults`, each with `name`, `breaks`, `verdict` and `cells` (`name`, `verdict` or
    null where the property does not apply, `length`, `finders`, `note`).
    """
    output.say(("Each fault against each property", "title"))
    output.paragraph(
        "  ".join(f"{place}\N{NO-BREAK SPACE}{name}" for place, name in enumerate(PROPERTIES, 1)), indent=2
    )
    heads = [str(place) for place, _ in enumerate(PROPERTIES, 1)]
    output.say((_line("", heads), "head"))
    rows: list[Row] = []  # no word of progress before the first: as in `proving`, for the sake of copies
    for row in parallel.each(row_of, [fault.name for fault in faults], size=_size):
        rows.append(row)
        output.say(_line(row.fault.name, [cell.sign for cell in row.cells]))
        progress("matrix", f"{len(rows)} of {len(faults)} faults")
    _explain(output, rows)
    verdict = combine(row.verdict for row in rows)
    output.say((verdict, verdict), f": {summary(rows)}")
    output.document("matrix", verdict, {"properties": list(PROPERTIES), "faults": [document(row) for row in rows]})
    return verdict


def _size(name: str) -> float:
    """Where a fault has more states than most: with more ranks, and then with ranks that do not all do the same."""
    scenario = fault_named(name).model.scenario
    return scenario.ranks + 0.5 * (scenario.topology != Scenario().topology)


def row_of(name: str) -> Row:
    """The row of the fault of that name."""
    fault = fault_named(name)
    cells = {cell.name: cell for cell in cells_of(fault.model, fault.breaks)}
    return Row(fault, tuple(cells[each] for each in PROPERTIES))


def cells_of(model: Model, claimed: Sequence[str] = (), limit: int = LIMIT) -> Iterator[Cell]:
    """Each property in a model: seen whole by the explorer, and searched by the solver where it falls.

    All properties share one search of the explorer, which goes on for the others where one has fallen. It gives up
    after `limit` states; for each that is `claimed` to fall there is then one more search, which gives up later.
    """
    concerned = [each for each in PROPERTIES.values() if each.concerns(model)]
    yield from (
        Cell(each.name, None, note="the scenario has nothing that it speaks of")
        for each in PROPERTIES.values()
        if each not in concerned
    )
    explored = explore_each(model, [_only_when_settled(each) for each in concerned], limit=limit)
    for prop in concerned:
        found = explored[prop.name]
        falls = found.broken is not None
        if (falls and prop.name == DRAINS) or (found.verdict is Verdict.UNDETERMINED and prop.name in claimed):
            found = explore(model, [prop], limit=limit * PATIENCE)
        if falls or found.broken is not None:
            yield _fallen(model, prop.name, found, LONG if prop.name in claimed[:1] else SOON)
        else:
            gave_up = f"the explorer gave up after {found.states:,} states"
            yield Cell(prop.name, found.verdict, note="" if found.verdict is Verdict.HOLDS else gave_up)


def _fallen(model: Model, name: str, explored: Exploration, most: int) -> Cell:
    """A property that falls, in the explorer's schedule, and to the solver where that has so many actions at most."""
    if explored.broken is None:
        return Cell(name, Verdict.UNDETERMINED, note="the explorer finds it broken at rest, and no shortest schedule")
    found = judge(model, name, explored, asks_solver=explored.depth <= most)
    finders = "ES" if found.solved and found.verdict is Verdict.VIOLATED else "E"
    return Cell(name, found.verdict, explored.depth, finders, found.note)


def _only_when_settled(prop: Property) -> Property:
    """The property `drains-to-empty` looked at where the engine has nothing left to do; any other as it is.

    It falls in a model if and only if the whole property does. The whole property first plays on from each state, by
    actions that the explorer takes too, until all ranks are at the end of the same step and all that can finish has;
    so that state is seen anyway. It only falls later, so its length is not the shortest.
    """
    if prop.name != DRAINS:
        return prop

    def is_settled(state: State) -> bool:
        return len({rank.steps for rank in state.ranks}) == 1 and not any(
            rank.phase or rank.error or not lane.finished | lane.stalled >= set(lane.waiting)
            for rank in state.ranks
            for lane in rank.lanes
        )

    return replace(
        prop,
        broken=lambda step: prop.broken(step) if is_settled(step.after) else None,
        touched=lambda before, after: before is not after and not after.phase,
    )


def summary(rows: Sequence[Row]) -> str:
    """How many cells there are of each kind."""
    signs = Counter(cell.verdict for row in rows for cell in row.cells)
    both = sum(cell.finders == "ES" for row in rows for cell in row.cells)
    return (
        f"{len(rows)} faults: of all pairs of a fault and a property {signs[Verdict.VIOLATED]} are broken, {both} of "
        f"them seen by both finders, and {signs[Verdict.HOLDS]} are whole; {signs[Verdict.UNDETERMINED]} are open"
    )


def document(row: Row) -> dict[str, Any]:
    """A row as a JSON value."""
    cells = [asdict(cell) for cell in row.cells]
    return {"name": row.fault.name, "breaks": row.fault.breaks, "verdict": row.verdict, "cells": cells}


def _line(label: str, signs: Sequence[str]) -> str:
    """A line of the table."""
    return f"{label:<{LABEL}}" + "".join(f"{sign:>4}" for sign in signs)


def _explain(output: Output, rows: Sequence[Row]) -> None:
    """What the signs mean, and the notes, each once."""
    output.say()
    output.paragraph(
        "a number: actions in the shortest schedule that breaks it, found by E the explorer alone, B both, it and the "
        "solver's search; . holds in the whole scenario of the fault, seen by E; ? not known, for the reason below; "
        "- the scenario has nothing that the property speaks of",
        indent=2,
    )
    for row in rows:
        reasons = dict.fromkeys(cell.note for cell in row.cells if cell.verdict is Verdict.UNDETERMINED)
        for reason in reasons:
            names = [cell.name for cell in row.cells if cell.verdict is Verdict.UNDETERMINED and cell.note == reason]
            words = f"{row.fault.name}: ? for {', '.join(names)}, because {reason}"
            output.paragraph(words, indent=2, hang=2, style="undetermined")
    unread = [row for row in rows if not any(cell.finders == "ES" for cell in row.cells)]
    for row in unread:
        if why := "; ".join(dict.fromkeys(cell.note for cell in row.cells if cell.finders == "E")):
            output.paragraph(f"{row.fault.name}: E alone, because {why}", indent=2, hang=2, style="quiet")
    others = [cell for row in rows if row not in unread for cell in row.cells if cell.finders == "E" and cell.note]
    for reason, count in Counter(cell.note for cell in others).most_common():
        cells = "cell" if count == 1 else "cells"
        output.paragraph(
            f"E alone in {count} {cells} of other faults, because {reason}", indent=2, hang=2, style="quiet"
        )
    output.say()
