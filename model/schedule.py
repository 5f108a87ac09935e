"""A schedule: a model and the actions that drive it, as one value and as a versioned JSON file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from rankproof.model.actions import KINDS, Action
from rankproof.model.errors import BadInput, unknown_name
from rankproof.model.interleaving import Disabled, Model, apply
from rankproof.model.properties import CHECKED, PROPERTIES, Transition
from rankproof.model.protocol import Protocol
from rankproof.model.scenario import Scenario
from rankproof.model.state import State
from rankproof.model.textfile import read_text

FORMAT = "rankproof schedule"
VERSION = 1

MOST_RANKS, MOST_LANES, LONGEST = 1024, 64, 200
"""What a file may ask for: ranks, lanes, and characters in a name that is shown."""

LARGEST = 16 << 20
"""Bytes that a file may have."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """What one run does, action by action.

    origin  what made it: "explorer", "solver", "fuzzer" or anything else a person may want to know
    breaks  the name of the property that its last action breaks, or None
    """

    model: Model
    actions: tuple[Action, ...]
    origin: str = ""
    breaks: str | None = None


@dataclass(frozen=True, slots=True)
class Violation:
    """A property that an action of a run broke: its place in the schedule from 0, its name, and what happened."""

    index: int
    property: str
    says: str


@dataclass(frozen=True, slots=True)
class Run:
    """A schedule on the model.

    states      the state before the first action, and after each one that was taken
    violations  every property that fell, in order
    stopped     why the action after the last state could not be taken, or None where all were
    """

    states: tuple[State, ...]
    violations: tuple[Violation, ...]
    stopped: Disabled | None = None


def run(schedule: Schedule) -> Run:
    """The schedule on the model, action by action, held against `CHECKED` and what it is to break."""
    model = schedule.model
    checked = [each for each in PROPERTIES.values() if each in CHECKED or each.name == schedule.breaks]
    states = [model.start]
    violations: list[Violation] = []
    for index, action in enumerate(schedule.actions):
        after = apply(model, states[-1], action)
        if isinstance(after, Disabled):
            return Run(tuple(states), tuple(violations), after)
        step = Transition(model, states[-1], action, after)
        violations += [Violation(index, each.name, says) for each in checked if (says := each.broken(step))]
        states.append(after)
    return Run(tuple(states), tuple(violations))


def dump(schedule: Schedule) -> str:
    """The schedule as JSON text, one action a line."""
    lanes = schedule.model.scenario.lanes
    head: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "origin": schedule.origin,
        "breaks": schedule.breaks,
        "scenario": asdict(schedule.model.scenario),
        "protocol": asdict(schedule.model.protocol),
    }
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    actions = ",\n".join(f"    {json.dumps(_entry(action, lanes))}" for action in schedule.actions)
    body = f"[\n{actions}\n  ]" if schedule.actions else "[]"
    return "{\n" + ",\n".join([*lines, f'  "actions": {body}']) + "\n}\n"


def load(path: Path) -> Schedule:
    """The schedule in a file. Raises BadInput, naming the file and the place in it, for one that cannot be used."""
    return parse(read_text(path, "schedule", LARGEST), str(path))


def parse(text: str, name: str) -> Schedule:
    """The schedule in JSON text; `name` is what errors call it. Raises BadInput, naming the place."""
    try:
        file = _File.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        says = first["msg"].removeprefix("Value error, ")
        raise BadInput(f"{name}: {_place(first['loc'])}{says[0].lower()}{says[1:]}") from error
    if file.breaks is not None and file.breaks not in PROPERTIES:
        raise BadInput(f"{name}: breaks: {file.breaks!r} is no property; known: {', '.join(PROPERTIES)}")
    scenario = file.scenario
    if scenario.ranks > MOST_RANKS or len(scenario.lanes) > MOST_LANES:
        raise BadInput(f"{name}: scenario: a schedule has at most {MOST_RANKS} ranks and {MOST_LANES} lanes")
    for place, words in (
        ("origin", file.origin),
        *((f"scenario.lanes[{k}]", lane) for k, lane in enumerate(scenario.lanes)),
    ):
        if len(words) > LONGEST or not words.isprintable():
            raise BadInput(f"{name}: {place}: at most {LONGEST} characters, all printable")
    actions = tuple(_action(entry, scenario, f"{name}: actions[{index}]") for index, entry in enumerate(file.actions))
    return Schedule(Model(file.protocol, scenario), actions, file.origin, file.breaks)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _ActionEntry(_Strict):
    do: str
    rank: int
    lane: str | None = None
    ack: int | None = None


class _File(_Strict):
    format: Literal["rankproof schedule"]
    version: Literal[1]
    origin: str = ""
    breaks: str | None = None
    scenario: Scenario
    protocol: Protocol
    actions: list[_ActionEntry]


def _action(entry: _ActionEntry, scenario: Scenario, place: str) -> Action:
    if entry.do not in KINDS:
        raise unknown_name("action", entry.do, KINDS).at(place)
    kind = KINDS[entry.do]
    wanted = set(kind.__dataclass_fields__)
    given: dict[str, Any] = {"rank": entry.rank, "lane": entry.lane, "ack": entry.ack}
    given = {name: value for name, value in given.items() if value is not None}
    if wrong := sorted(wanted ^ set(given)):
        needs = ", ".join(sorted(wanted))
        raise BadInput(f"{place}: {entry.do} takes {needs}; {' and '.join(wrong)} is missing or too many")
    if not 0 <= entry.rank < scenario.ranks:
        raise BadInput(f"{place}.rank: there is no rank {entry.rank}; ranks are 0 to {scenario.ranks - 1}")
    if entry.lane is not None:
        if entry.lane not in scenario.lanes:
            raise BadInput(f"{place}.lane: there is no lane {entry.lane!r}; lanes are {', '.join(scenario.lanes)}")
        given["lane"] = scenario.lanes.index(entry.lane)
    return kind(**given)


def _entry(action: Action, lanes: tuple[str, ...]) -> dict[str, Any]:
    numbers = asdict(action)
    if "lane" in numbers:
        numbers["lane"] = lanes[numbers["lane"]]
    return {"do": type(action).__name__.lower(), **numbers}


def _place(location: tuple[int | str, ...]) -> str:
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")
    return f"{place}: " if place else ""
