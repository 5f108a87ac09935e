"""Breadth-first search over every interleaving of a bounded scenario."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rankproof.model.actions import Action
from rankproof.model.interleaving import Model, successors
from rankproof.model.properties import CHECKED, Property, Transition
from rankproof.model.state import State, canonical
from rankproof.model.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Broken:
    """A property that fell.

    property  its name
    says      what the last action did
    actions   a shortest schedule that ends in that action
    """

    property: str
    says: str
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Exploration:
    """What a search covered and found.

    verdict      holds where every state was seen and no property fell; undetermined where the limit was reached first
    states       distinct states, up to what no rank can still see
    transitions  actions tried from them that were enabled
    depth        actions in the longest shortest way to a state seen
    broken       the first property that fell, in a shortest schedule
    """

    verdict: Verdict
    states: int
    transitions: int
    depth: int
    broken: Broken | None = None


def explore(
    model: Model,
    properties: Sequence[Property] = CHECKED,
    *,
    limit: int = 1_000_000,
    progress: Callable[[int, int], None] | None = None,
) -> Exploration:
    """Every state that the scenario can reach, each action from it held against `properties`.

    Stops at the first property that falls, which is then at the end of a shortest schedule. `limit` is in states.
    `progress` is told the depth and the states seen so far, at each new depth.
    Raises ValueError where no property is checked: a search that cannot fail would say nothing.
    """
    checks = [(each.name, each.broken) for each in properties if each.broken is not None]
    if not checks:
        raise ValueError("none of these properties can be checked on single actions")
    start = canonical(model.start)
    came_from: dict[State, tuple[State, Action] | None] = {start: None}
    frontier = [start]
    transitions = depth = 0
    while frontier:
        found: list[State] = []
        for state in frontier:
            for action, after in successors(model, state):
                transitions += 1
                step = Transition(model, state, action, after)
                for name, broken in checks:
                    if says := broken(step):
                        path = (*_path(came_from, state), action)
                        return Exploration(
                            Verdict.VIOLATED, len(came_from), transitions, depth + 1, Broken(name, says, path)
                        )
                reduced = canonical(after)
                if reduced not in came_from:
                    came_from[reduced] = (state, action)
                    found.append(reduced)
        if len(came_from) > limit:
            return Exploration(Verdict.UNDETERMINED, len(came_from), transitions, depth)
        frontier = found
        depth += bool(found)
        if progress:
            progress(depth, len(came_from))
    return Exploration(Verdict.HOLDS, len(came_from), transitions, depth)


def _path(came_from: dict[State, tuple[State, Action] | None], state: State) -> tuple[Action, ...]:
    actions: list[Action] = []
    while (step := came_from[state]) is not None:
        state, action = step
        actions.append(action)
    return tuple(reversed(actions))
