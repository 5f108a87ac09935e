"""What the ranks of a group in memory share: the collectives each has issued, and the messages it has sent."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import torch

Patience = Callable[[Callable[[], bool], float], bool]
"""How one rank waits: until the first says so, or so many seconds of its deadline; False where that came first."""


class Kind(NamedTuple):
    """What ranks must issue alike, so that they can meet: a name, and the type and shape of each tensor."""

    name: str
    tensors: tuple[tuple[torch.dtype, torch.Size], ...]

    def __str__(self) -> str:
        shown = (f"{str(dtype).removeprefix('torch.')}{list(shape)}" for dtype, shape in self.tensors)
        return " of ".join(filter(None, (self.name, ", ".join(shown))))


@dataclass(slots=True)
class Meeting:
    """The collective that each rank issued as its k-th: what each rank put in, and what comes out.

    rank, kind  who issued it first, and what that was
    differs     how another rank's differs, or empty
    """

    rank: int
    kind: Kind
    given: dict[int, list[torch.Tensor]] = field(default_factory=dict)
    differs: str = ""
    result: list[torch.Tensor] | None = None


class Board:
    """What the ranks of one group share: the collectives that they have issued and the messages that they have sent."""

    def __init__(self, world: int) -> None:
        self.world = world
        self.lost = ""
        self.unsupported = ""
        self.changed = threading.Condition()
        self._meetings: dict[int, Meeting] = {}
        self._sent: dict[tuple[int, int, int], list[torch.Tensor]] = {}

    def lose(self, why: str) -> None:
        """Breaks the group: every wait for what is not complete raises from now on, with the first reason."""
        with self.changed:
            self.lost = self.lost or why
            self.changed.notify_all()

    def issue(self, number: int, rank: int, kind: Kind, given: list[torch.Tensor]) -> Meeting:
        """Puts a rank's part into the collective that it issued as its `number`-th."""
        with self.changed:
            if (meeting := self._meetings.get(number)) is None:
                meeting = self._meetings[number] = Meeting(rank, kind)
            if meeting.kind != kind:
                meeting.differs = f"rank {rank} issued {kind} where rank {meeting.rank} issued {meeting.kind}"
            meeting.given[rank] = given
            if len(meeting.given) == self.world:
                del self._meetings[number]  # the works of the ranks hold it
            self.changed.notify_all()
        return meeting

    def post(self, source: int, target: int, tag: int, tensor: torch.Tensor) -> None:
        """Sends a message."""
        with self.changed:
            self.letters(source, target, tag).append(tensor)
            self.changed.notify_all()

    def letters(self, source: int, target: int, tag: int) -> list[torch.Tensor]:
        """All messages ever sent so, in order."""
        return self._sent.setdefault((source, target, tag), [])
