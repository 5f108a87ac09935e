"""States that differ only in which rank is which, as one number; and how many states such a number stands for.

Ranks that run the same protocol and have a voice in the same groups are alike: whatever one of them can do in a state,
the other can do in the state where the two have traded places. So the states that are reached from a start in which
all ranks are equal come in orbits, and a search needs only one of each, as long as no property asks for the number of a
rank: whether one falls must be the same for every state of an orbit. What a property plays on from a state counts, so
that it may not depend on which rank moves first (`draining`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import factorial
from operator import eq

from rankproof.model.system import Model

BITS = 24
"""Bits of a number in a packed state: room for 16 million rank-local states, more than a search can hold."""

MASK = (1 << BITS) - 1


def alike(model: Model) -> list[range]:
    """The ranks, in runs of those that may trade places without a difference to any rank's moves or to any property.

    A run is contiguous, and in a grid it has to be: the ranks of a column have the same voters and voices, yet where a
    round joins both reduces they wait for rows of their own. With two columns or more no two neighbours share a column;
    with one, each waits for both ranks.
    """
    ranks = range(model.scenario.ranks)
    groups = {model.scenario.voters(rank) for rank in ranks}

    def role(rank: int) -> tuple[object, ...]:
        voice = tuple(sorted(tuple(group) for group in groups if rank in group))
        return model.protocol_of(rank), model.scenario.voters(rank), voice

    return [range((run := list(same))[0], run[-1] + 1) for _, same in groupby(ranks, role)]


class Orbits:
    """How the numbers of rank-local states are packed into one int: those of ranks that are alike in rising order.

    The first rank has the lowest bits; above the ranks is the number of the world.
    """

    def __init__(self, model: Model) -> None:
        self.shifts = [BITS * rank for rank in range(model.scenario.ranks)]
        self.top = BITS * model.scenario.ranks
        self.runs = alike(model)
        self.run_of = [run for run in self.runs for _ in run]
        self._up = [(1 << shift + BITS) - (1 << shift) for shift in self.shifts]  # what a number gains one place higher
        self._sizes: dict[tuple[bool, ...], int] = {}

    def ids(self, packed: int) -> list[int]:
        """The number of each rank's state."""
        return [(packed >> shift) & MASK for shift in self.shifts]

    def pack(self, world: int, ids: Sequence[int]) -> int:
        """The number of a state with this world and these ranks, in whichever order."""
        packed = world
        for run in reversed(self.runs):
            for number in sorted(ids[run.start : run.stop], reverse=True):
                packed = packed << BITS | number
        return packed

    def size(self, ids: Sequence[int]) -> int:
        """How many states differ from a packed one only in which rank is which."""
        pattern = tuple(map(eq, ids, ids[1:]))
        size = self._sizes.get(pattern)
        if size is None:
            size = 1
            for run in self.runs:
                size *= factorial(len(run))
                for _, same in groupby(ids[run.start : run.stop]):
                    size //= factorial(len(list(same)))
            self._sizes[pattern] = size
        return size

    def without(self, packed: int, ids: Sequence[int], rank: int) -> tuple[list[int], list[int]]:
        """The states of the ranks that are like `rank`, and the packed state without its own, by where the gap is.

        A number that replaces it goes where `bisect` finds its place among the first; the second has a gap for it
        there, whose lowest bit is at `shifts[run_of[rank].start + place]`.
        """
        run = self.run_of[rank]
        peers = [*ids[run.start : rank], *ids[rank + 1 : run.stop]]
        left = packed - (ids[rank] << self.shifts[rank])
        for below in range(run.start, rank):
            left += ids[below] * self._up[below]
        with_gap = [left]
        for place, peer in enumerate(peers, run.start):
            left -= peer * self._up[place]
            with_gap.append(left)
        return peers, with_gap
