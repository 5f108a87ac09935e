"""What a search remembers of one rank: its moves, worked out; and values numbered in the order of their first sight."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from rankproof.model.actions import Action
from rankproof.model.properties import Property
from rankproof.model.state import Event, RankState

H = TypeVar("H", bound=Hashable)


class Numbers(Generic[H]):
    """Values numbered from 0 in the order in which they are first seen."""

    def __init__(self) -> None:
        self.values: list[H] = []
        self._numbers: dict[H, int] = {}

    def of(self, value: H) -> int:
        """The number of a value."""
        number = self._numbers.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


@dataclass(frozen=True, slots=True)
class World:
    """What is true of the whole group beside its ranks: the script of the engine, and what has gone wrong."""

    script: tuple[Event, ...]
    mishaps: tuple[str, ...]


@dataclass(slots=True)
class Move:
    """An action of one rank, worked out.

    delta    what it adds to the packed state
    after    the number of the rank's state after it
    missing  how many acks it was to pop and did not find
    event    the event that it adds to the script, or None
    mishaps  what goes wrong by it
    counts   whether it moves what states are counted from (`forget`)
    falls    whether some property falls whatever the other ranks are
    drained  the rank after each wait and each pop of the rounds that it consumes first
    pairs    the properties that may fall with one other rank
    checks   by the number of another rank's state, whether one of these falls; None where there are none
    group    the properties that have to be checked on the whole state
    """

    action: Action
    delta: int
    after: int
    missing: int
    event: Event | None
    mishaps: tuple[str, ...]
    counts: bool
    falls: bool
    drained: tuple[RankState, ...]
    pairs: tuple[Property, ...]
    checks: dict[int, bool] | None
    group: tuple[Property, ...]

    @property
    def is_plain(self) -> bool:
        """Whether it is nothing but an addition."""
        return not (self.event or self.mishaps or self.counts or self.falls or self.pairs or self.group)


@dataclass(slots=True)
class Moves:
    """What a rank can do in a state, as far as it sees; `waits` is whether what is due waits."""

    plain: tuple[int, ...] = ()
    others: tuple[Move, ...] = ()
    looking: tuple[Action, ...] = ()
    waits: bool = False
    seeing: dict[tuple[int, ...], Moves] = field(default_factory=dict)
