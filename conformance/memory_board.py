"""What the ranks of a group in memory share: the collectives each has issued, and the messages it has sent."""

from __future__ import annotations

import threading
from collections.abc import Callable
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


class Meeting:
    """The collective that each rank issued as its k-th: what each rank put in, and what comes out.

    rank, kind  who issued it first, and what that was
    given       what each rank put in; empty for one that has not come, and `missing` is how many have not
    differs     how another rank's differs, or empty
    result      what comes out, once a rank has asked for it

    One is made in each round, where a dataclass would be felt.
    """

    __slots__ = ("differs", "given", "kind", "missing", "rank", "result", "there")

    def __init__(self, world: int, rank: int, kind: Kind) -> None:
        self.rank = rank
        self.kind = kind
        self.given: list[list[torch.Tensor]] = [[]] * world
        self.there = [False] * world
        self.missing = world
        self.differs = ""
        self.result: list[torch.Tensor] | None = None


class Board:
    """What the ranks of one group share: the collectives that they have issued and the messages that they have sent."""

    def __init__(self, world: int) -> None:
        self.world = world
        self.lost = ""
        self.unsupported = ""
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._waiting = 0
        self._meetings: dict[int, Meeting] = {}
        self._sent: dict[tuple[int, int, int], list[torch.Tensor]] = {}

    def lose(self, why: str) -> None:
        """Breaks the group: every wait for what is not complete raises from now on, with the first reason."""
        with self._lock:
            self.lost = self.lost or why
            self._tell()

    def issue(self, number: int, rank: int, kind: Kind, given: list[torch.Tensor]) -> Meeting:
        """Puts a rank's part into the collective that it issued as its `number`-th."""
        with self._lock:
            if (meeting := self._meetings.get(number)) is None:
                meeting = self._meetings[number] = Meeting(self.world, rank, kind)
            elif meeting.kind != kind:
                meeting.differs = f"rank {rank} issued {kind} where rank {meeting.rank} issued {meeting.kind}"
            meeting.given[rank] = given
            meeting.there[rank] = True
            meeting.missing -= 1
            if not meeting.missing:
                del self._meetings[number]  # the works of the ranks hold it
            self._tell()
        return meeting

    def post(self, source: int, target: int, tag: int, tensor: torch.Tensor) -> None:
        """Sends a message."""
        with self._lock:
            self.letters(source, target, tag).append(tensor)
            self._tell()

    def letters(self, source: int, target: int, tag: int) -> list[torch.Tensor]:
        """All messages ever sent so, in order."""
        return self._sent.setdefault((source, target, tag), [])

    def wait_for(self, ready: Callable[[], bool], within: float) -> bool:
        """Waits in real time until `ready` says so, or so many seconds; whether it does."""
        with self._changed:
            self._waiting += 1
            try:
                return self._changed.wait_for(ready, within)
            finally:
                self._waiting -= 1

    def _tell(self) -> None:
        """Wakes who waits in real time: hardly ever anyone, and to look for them takes as long as to issue."""
        if self._waiting:
            self._changed.notify_all()
