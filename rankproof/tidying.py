"""The same schedule with its actions in an order that is easier to read: each rank does as much at a time as it can."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, permutations

from rankproof.model.actions import Action
from rankproof.model.interleaving import Disabled, apply
from rankproof.model.schedule import Schedule, run

MOST_RANKS = 5
"""Ranks up to which every order of them is tried."""


def tidy(schedule: Schedule) -> Schedule:
    """The schedule with the fewest turns among those tried, each rank's own actions and the last one where they were.

    Actions of different ranks commute, but that is not relied on: what is returned breaks in its last action, and with
    the property that the schedule names, or else it is the schedule itself.
    """
    if schedule.breaks is None or schedule.model.scenario.ranks > MOST_RANKS:
        return schedule
    tried = [schedule, *(replace(schedule, actions=actions) for actions in _orders(schedule))]
    return min((each for each in tried if each is schedule or _breaks_last(each)), key=_turns)


def _orders(schedule: Schedule) -> Iterator[tuple[Action, ...]]:
    for preference in permutations(range(schedule.model.scenario.ranks)):
        actions = _reordered(schedule, preference)
        if actions:
            yield actions


def _reordered(schedule: Schedule, preference: Sequence[int]) -> tuple[Action, ...] | None:
    """Every rank in the order of preference for as long as it can go on; None where none of them can."""
    *earlier, last = schedule.actions
    left = {rank: deque(action for action in earlier if action.rank == rank) for rank in preference}
    state = schedule.model.start
    taken: list[Action] = []
    current = preference[0]
    while len(taken) < len(earlier):
        for rank in (current, *preference):
            after = apply(schedule.model, state, left[rank][0]) if left[rank] else None
            if after is not None and not isinstance(after, Disabled):
                taken.append(left[rank].popleft())
                state, current = after, rank
                break
        else:
            return None
    return (*taken, last)


def _breaks_last(schedule: Schedule) -> bool:
    """Whether the property that the schedule names falls in its last action and not before."""
    replayed = run(schedule)
    places = [fall.index for fall in replayed.violations if fall.property == schedule.breaks]
    return replayed.stopped is None and places == [len(schedule.actions) - 1]


def _turns(schedule: Schedule) -> int:
    return sum(1 for _ in groupby(action.rank for action in schedule.actions))
