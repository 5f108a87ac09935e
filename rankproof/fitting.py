"""A schedule moved onto the lanes that a subject has."""

from __future__ import annotations

from dataclasses import fields, replace

from rankproof.model.actions import Action
from rankproof.model.errors import BadInput
from rankproof.model.interleaving import Model
from rankproof.model.schedule import Schedule


def fitted(schedule: Schedule, names: tuple[str, ...]) -> Schedule:
    """The same schedule with these lanes, of which those that it does not use stay empty.

    Lanes are taken by their name where the subject has each of them, else by their position. Raises BadInput where the
    subject has fewer lanes, and where those of storage, which a scenario has at the end, would not stay there.
    """
    given = schedule.model.scenario.lanes
    if given == names:
        return schedule
    if len(given) > len(names):
        raise BadInput(f"the schedule has lanes {', '.join(given)}, and the subject has only {', '.join(names)}")
    by_name = set(given) <= set(names)
    places = [names.index(name) if by_name else place for place, name in enumerate(given)]
    storage = schedule.model.scenario.storage
    if sorted(places[len(given) - storage :]) != list(range(len(names) - storage, len(names))):
        there = ", ".join(given[len(given) - storage :])
        raise BadInput(
            f"storage of the schedule is {there}, which would not be the last of the lanes {', '.join(names)}"
        )
    model = Model(schedule.model.protocol, replace(schedule.model.scenario, lanes=names))
    return replace(schedule, model=model, actions=tuple(_moved(action, places) for action in schedule.actions))


def _moved(action: Action, places: list[int]) -> Action:
    moved = {each.name: places[getattr(action, each.name)] for each in fields(action) if each.name == "lane"}
    return replace(action, **moved) if moved else action
