"""Breadth-first search over every interleaving of a bounded scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rankproof.model.actions import Action
from rankproof.model.interleaving import successors
from rankproof.model.memory import Memory
from rankproof.model.moves import Fell
from rankproof.model.properties import CHECKED, Property, Transition
from rankproof.model.reduction import why_not
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
    states       distinct states, up to what no rank can still see; two in which ranks have traded places are two, of
                 which the search itself visits one
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
    reduced: bool = False,
) -> Exploration:
    """Every state that the scenario can reach, each action from it held against `properties`.

    Stops at the first property that falls, which is then at the end of a shortest schedule. `limit` is in states, and
    looked at between two depths. `progress` is told the depth and the states seen so far, at each new depth.
    With `reduced` it tries only the schedules that stand for all others (`reduction`), and counts only their states.
    A property of your own must look at no more than its `looks_at` says, and fall or not whatever the numbers of ranks
    that are alike (`orbits`): of all states in which these have only traded places, one is looked at.
    Raises ValueError where no property can fall in the model, since a search that cannot fail would say nothing, and
    where those schedules do not stand for all others. Raises RuntimeError where a property fell in the search and not
    in the schedule that it found, which is then no counterexample.
    """
    search = _Search(model, properties, reduced=reduced)
    for fell, prop in search.run(limit, progress):
        return search.fallen(fell, prop)
    return search.whole()


def explore_each(model: Model, properties: Sequence[Property], *, limit: int = 1_000_000) -> dict[str, Exploration]:
    """What a search for each of these properties alone would come to, by name, out of one search for all of them.

    It goes on for the others where one falls, until all have fallen. Properties that cannot fall in the model are left
    out. Raises ValueError where that leaves none, and RuntimeError as `explore` does.
    """
    search = _Search(model, properties)
    fallen: dict[str, Exploration] = {}
    for fell, prop in search.run(limit):
        fallen[prop.name] = search.fallen(fell, prop)
    whole = search.whole()
    return {each.name: fallen.get(each.name, whole) for each in search.properties}


class _Search:
    """A search, as far as it has got."""

    def __init__(self, model: Model, properties: Sequence[Property], *, reduced: bool = False) -> None:
        self.properties = [each for each in properties if each.concerns(model)]
        if not self.properties:
            raise ValueError("none of these properties can fall in this model")
        if reduced and (reason := why_not(model, [each.name for each in self.properties])):
            raise ValueError(f"no schedules stand for all others here: {reason}")
        self._model = model
        self._memory = Memory(model, self.properties, reduced=reduced)
        self._levels: list[Sequence[int]] = [(self._memory.pack(canonical(model.start)),)]
        self._states = self._memory.size(self._levels[0][0])
        self._transitions = self._depth = 0
        self._verdict = Verdict.UNDETERMINED

    def run(self, limit: int, progress: Callable[[int, int], None] | None = None) -> Iterator[tuple[Fell, Property]]:
        """Each property that falls, once, at its shortest depth, until all have."""
        memory, levels = self._memory, self._levels
        left = {each.name: each for each in self.properties}
        seen = set(levels[0])
        while levels[-1]:
            found: set[int] = set()
            for packed in levels[-1]:
                after, enabled, fell = memory.successors(packed)
                for each in fell:
                    for prop in [left[name] for name in left if name in each.names]:
                        yield each, prop
                        memory.close(prop.name)
                        del left[prop.name]
                if not left:
                    return
                self._transitions += enabled
                found.update(after)
            found = found - seen  # and not -=, which goes through all of `seen`
            seen |= found
            self._states += sum(map(memory.size, found))
            if self._states > limit:
                return
            levels.append(tuple(found))
            self._depth += bool(found)
            if progress:
                progress(self._depth, self._states)
        self._verdict = Verdict.HOLDS

    def whole(self) -> Exploration:
        """What it came to for the properties that have not fallen."""
        return Exploration(self._verdict, self._states, self._transitions, self._depth)

    def fallen(self, fell: Fell, prop: Property) -> Exploration:
        """What it came to for a property that has just fallen."""
        broken = self._broken(fell, prop)
        return Exploration(Verdict.VIOLATED, self._states, self._transitions, len(broken.actions), broken)

    def _broken(self, fell: Fell, prop: Property) -> Broken:
        """A shortest schedule; the check of the property itself says what fell, not what was remembered."""
        state, steps = canonical(self._model.start), list[Transition]()
        for packed in self._way(fell.packed)[1:]:
            steps.append(next(each for each in self._from(state) if self._number(each.after) == packed))
            state = canonical(steps[-1].after)
        # A state that broke it by itself is held against it where it was reached, an action where it is taken.
        last = steps[-1:] if fell.action is None else self._from(state)
        before = steps[:-1] if fell.action is None else steps
        for step in last:
            if says := prop.broken(step):
                return Broken(prop.name, says, (*(each.action for each in before), step.action))
        raise RuntimeError(
            f"{prop.name} fell in the search after {len(steps)} actions, and by its own check nothing there breaks it"
        )

    def _way(self, packed: int) -> list[int]:
        """The numbers of states from the start to one of the last level, one of each level."""
        way = [packed]
        for level in reversed(self._levels[:-1]):
            way.append(next(each for each in level if way[-1] in self._memory.successors(each, checked=False)[0]))
        return way[::-1]

    def _from(self, state: State) -> list[Transition]:
        return [Transition(self._model, state, action, after) for action, after in successors(self._model, state)]

    def _number(self, state: State) -> int:
        return self._memory.pack(canonical(state))
