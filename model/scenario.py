"""The bounded world that a schedule lives in: how many ranks, which lanes, what the engine may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Scenario:
    """What an exploration covers; every bound is a count of actions, for all ranks unless it says otherwise.

    ranks            ranks in the group, 1 or more
    lanes            the names of the lanes
    acks             how many acks each lane gets
    losses           how many enqueues may fail, each on one rank
    resets, evicts, flushes   how many of each a rank goes through
    aligned_enqueue  whether every rank enqueues the same acks before the same step (else only in the same order)
    ahead            how many steps a rank may start before the slowest has started them, so that a rank which no
                     longer waits for its peers does not run for ever
    """

    ranks: int = 2
    lanes: tuple[str, ...] = ("write",)
    acks: int = 2
    losses: int = 0
    resets: int = 0
    evicts: int = 0
    flushes: int = 0
    aligned_enqueue: bool = False
    ahead: int = 3

    # A schedule file is read into this class; a field that it does not know is an error there.
    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid", "strict": True}

    def __post_init__(self) -> None:
        """Raises ValueError for a scenario without ranks or lanes, or with a negative bound."""
        if self.ranks < 1 or not self.lanes or len(set(self.lanes)) != len(self.lanes):
            raise ValueError("a scenario needs at least one rank and one lane, and each lane a name of its own")
        if min(self.acks, self.losses, self.resets, self.evicts, self.flushes) < 0 or self.ahead < 1:
            raise ValueError("the bounds of a scenario are 0 or more, and ahead is 1 or more")
