"""The bounded world that a schedule lives in: how many ranks, which lanes, what the engine may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal


@dataclass(frozen=True, slots=True)
class Scenario:
    """What an exploration covers.

    ranks            ranks in the group, 1 or more
    lanes            the names of the lanes
    acks             how many acks each lane gets
    aligned_enqueue  whether every rank enqueues the same acks before the same step, and none within a step (else only
                     in the same order)
    aligned_attach   whether every rank attaches storage between the same two steps
    blocking_ranks   how many ranks, the last ones, run the blocking protocol whatever the others do
    topology         who agrees with whom: all ranks in one group, each half of the ranks on its own, or rank 0 alone
                     for all ranks of a pipeline
    ahead            how many steps a rank may start before the slowest has started them, so that a rank which no
                     longer waits for its peers does not run for ever

    How many of these each rank goes through, on every rank at the same place between steps:
    resets, evicts, flushes, attaches

    What may go wrong, and how often on all ranks together; each of them happens on one rank alone:
    losses       an enqueue fails
    swaps        two acks are enqueued in the other order
    withdrawals  an ack that waits is taken out of its lane again, neither finished nor popped
    stalls       a transfer fails and never finishes its ack
    declines     a step is left out
    throws       popping throws
    crashes      the rank dies
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
    attaches: int = 0
    aligned_attach: bool = True
    blocking_ranks: int = 0
    topology: Literal["group", "halves", "pipeline"] = "group"
    swaps: int = 0
    withdrawals: int = 0
    stalls: int = 0
    declines: int = 0
    throws: int = 0
    crashes: int = 0

    # A schedule file is read into this class; a field that it does not know is an error there.
    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid", "strict": True}

    def __post_init__(self) -> None:
        """Raises ValueError for a scenario without ranks or lanes, or with a negative bound."""
        if self.ranks < 1 or not self.lanes or len(set(self.lanes)) != len(self.lanes):
            raise ValueError("a scenario needs at least one rank and one lane, and each lane a name of its own")
        bounds = (self.acks, self.resets, self.evicts, self.flushes, self.attaches, *self.mishaps.values())
        if min(bounds) < 0 or self.ahead < 1:
            raise ValueError("the bounds of a scenario are 0 or more, and ahead is 1 or more")
        if not 0 <= self.blocking_ranks <= self.ranks:
            raise ValueError(f"blocking_ranks must be 0 to {self.ranks}, not {self.blocking_ranks}")

    @property
    def mishaps(self) -> dict[str, int]:
        """How often each thing may go wrong, by the name of its field."""
        names = ("losses", "swaps", "withdrawals", "stalls", "declines", "throws", "crashes")
        return {name: getattr(self, name) for name in names}

    def voters(self, rank: int) -> range:
        """The ranks whose counts make up what `rank` takes out of a round."""
        if self.topology == "pipeline":
            return range(1)
        if self.topology == "halves":
            half = (self.ranks + 1) // 2
            return range(half) if rank < half else range(half, self.ranks)
        return range(self.ranks)
