"""Breadth-first search over every interleaving of a bounded scenario."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rankproof.model.actions import Action
from rankproof.model.interleaving import apply, successors
from rankproof.model.memory import Fell, Memory
from rankproof.model.properties import CHECKED, Property, Transition
from rankproof.model.state import State, canonical
from rankproof.model.system import Model
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
    states       distinct states, up to what no rank can still see; ranks that trade places are not one state
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

    Stops at the first property that falls, which is then at the end of a shortest schedule. `limit` is in states, and
    looked at between two depths. `progress` is told the depth and the states seen so far, at each new depth.
    Raises ValueError where no property can fall in the model: a search that cannot fail would say nothing.
    """
    checked = [each for each in properties if each.concerns(model)]
    if not checked:
        raise ValueError("none of these properties can fall in this model")
    memory = Memory(model, checked)
    start = memory.pack(canonical(model.start))
    seen = {start}
    levels: list[Sequence[int]] = [(start,)]
    transitions = depth = 0
    while levels[-1]:
        found: set[int] = set()
        for packed in levels[-1]:
            try:
                after = memory.successors(packed)
            except Fell as fell:
                broken = _broken(model, checked, memory, levels, fell)
                return Exploration(Verdict.VIOLATED, len(seen), transitions, len(broken.actions), broken)
            transitions += len(after)
            found.update(after)
        found = found - seen  # and not -=, which goes through all of `seen`
        seen |= found
        if len(seen) > limit:
            return Exploration(Verdict.UNDETERMINED, len(seen), transitions, depth)
        levels.append(tuple(found))
        depth += bool(found)
        if progress:
            progress(depth, len(seen))
    return Exploration(Verdict.HOLDS, len(seen), transitions, depth)


def _broken(
    model: Model, properties: Sequence[Property], memory: Memory, levels: Sequence[Sequence[int]], fell: Fell
) -> Broken:
    """What fell, at the end of a shortest schedule; the checks of the model itself say so, not what was remembered."""
    way = [memory.unpack(packed) for packed in _way(memory, levels, fell.packed)]
    steps = [_between(model, one, other) for one, other in pairwise(way)]
    if fell.action is not None:
        after = apply(model, way[-1], fell.action)
        assert isinstance(after, State)
        steps.append(Transition(model, way[-1], fell.action, after))
    actions = tuple(step.action for step in steps)
    says = {each.name: each.broken(steps[-1]) for each in properties}
    name, reason = next((name, reason) for name, reason in says.items() if reason is not None)
    return Broken(name, reason, actions)


def _way(memory: Memory, levels: Sequence[Sequence[int]], packed: int) -> list[int]:
    """The states from the start to one of the last level, one of each level."""
    way = [packed]
    for level in reversed(levels[:-1]):
        way.append(next(before for before in level if way[-1] in memory.successors(before)))
    return way[::-1]


def _between(model: Model, before: State, reduced: State) -> Transition:
    """An action of the model from one canonical state to another."""
    return next(
        Transition(model, before, action, after)
        for action, after in successors(model, before)
        if canonical(after) == reduced
    )
