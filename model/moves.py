"""What a search remembers of one rank: its moves, worked out; and values numbered in the order of their first sight."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

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


Same: TypeAlias = tuple[int, int, int, type[Action], tuple[RankState, ...]]
"""What a check of a rank and one other depends on, besides the other: the rank before and after, and what it did."""


@dataclass(slots=True)
class Move:
    """An action of one rank, worked out.

    after    the number of the rank's state after it
    missing  how many acks it was to pop and did not find
    event    the event that it adds to the script, or None
    mishaps  what goes wrong by it
    counts   whether it moves what states are counted from (`forget`)
    falls    the properties that fall whatever the other ranks are
    drained  the rank after each wait and each pop of the rounds that it consumes first
    pairs    the properties that may fall with one other rank
    checks   by the number of another rank's state, which of these fall; None where there are none
    group    the properties that have to be checked on the whole state
    """

    action: Action
    after: int
    missing: int
    event: Event | None
    mishaps: tuple[str, ...]
    counts: bool
    falls: tuple[str, ...]
    drained: tuple[RankState, ...]
    pairs: tuple[Property, ...]
    checks: dict[int, tuple[str, ...]] | None
    group: tuple[Property, ...]

    @property
    def is_plain(self) -> bool:
        """Whether it does nothing but put one number for another."""
        return not (self.event or self.mishaps or self.counts or self.falls or self.pairs or self.group)


@dataclass(slots=True)
class Moves:
    """What a rank can do in a state, as far as it sees.

    plain    the number of its state after each move that is nothing more
    others   every other move
    looking  what it can only tell once it looks at the other ranks
    waits    whether what is due waits
    seeing   what it can do besides, by what the others have put into its rounds in flight
    known    the same, by what these rounds come to
    """

    plain: tuple[int, ...] = ()
    others: tuple[Move, ...] = ()
    looking: tuple[Action, ...] = ()
    waits: bool = False
    seeing: dict[tuple[int, ...], Moves] = field(default_factory=dict)
    known: dict[tuple[int, ...], Moves] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fell:
    """Properties fell in a move from a packed state; `action` is None where it is the state itself that broke them."""

    names: tuple[str, ...]
    packed: int
    action: Action | None
