"""The bounded world that a schedule lives in: how many ranks, which lanes, what the engine may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal


@dataclass(frozen=True, slots=True)
class Scenario:
    """What an exploration covers.

    ranks            ranks in the group, 1 or more
    lanes            the names of the lanes
    storage          how many of them, the last ones, are there only while storage is attached
    acks             how many acks each lane gets
    aligned_enqueue  whether every rank enqueues the same acks before the same step, and none within a step (else only
                     in the same order)
    aligned_attach   whether every rank attaches and detaches storage between the same two steps
    aligned_resets   whether every rank resets between the same two steps; else in steps of its own, though with the
                     same acks enqueued
    blocking_ranks   how many ranks, the last ones, run the blocking protocol whatever the others do
    topology         who agrees with whom: all ranks in one group, each half of the ranks on its own, the first stage
                     alone for all ranks of a pipeline, or a grid of two rows, over which a round is two reduces
    leaders          how many ranks, the first ones, are the first stage of a pipeline
    ahead            how many steps a rank may start before the slowest has started them, so that a rank which no
                     longer waits for its peers does not run for ever; in a pipeline, how far a stage may run ahead of a
                     later one, and so how late what that asks for is counted in

    How many of these each rank goes through, on every rank at the same place between steps:
    resets, evicts, flushes, closes, and attaches, among which detaches count

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
    aligned_resets: bool = True
    storage: int = 0
    closes: int = 0
    leaders: int = 1
    blocking_ranks: int = 0
    topology: Literal["group", "halves", "pipeline", "grid"] = "group"
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
        bounds = (self.acks, self.resets, self.evicts, self.flushes, self.attaches, self.closes, *self.mishaps.values())
        if min(bounds) < 0 or self.ahead < 1:
            raise ValueError("the bounds of a scenario are 0 or more, and ahead is 1 or more")
        if not 0 <= self.blocking_ranks <= self.ranks:
            raise ValueError(f"blocking_ranks must be 0 to {self.ranks}, not {self.blocking_ranks}")
        if not 0 <= self.storage <= len(self.lanes):
            raise ValueError(f"storage must be 0 to {len(self.lanes)} of the lanes, not {self.storage}")
        if self.topology == "grid" and self.ranks % 2:
            raise ValueError(f"a grid has two rows of as many ranks, which {self.ranks} ranks do not make")
        if not 1 <= self.leaders <= self.ranks:
            raise ValueError(f"leaders must be 1 to {self.ranks}, not {self.leaders}")

    @property
    def mishaps(self) -> dict[str, int]:
        """How often each thing may go wrong, by the name of its field."""
        names = ("losses", "swaps", "withdrawals", "stalls", "declines", "throws", "crashes")
        return {name: getattr(self, name) for name in names}

    def is_storage(self, lane: int) -> bool:
        """Whether a lane is there only while storage is attached."""
        return lane >= len(self.lanes) - self.storage

    def row(self, rank: int) -> range:
        """The ranks of a grid with which `rank` has its first reduce."""
        columns = self.ranks // 2
        return range(rank - rank % columns, rank - rank % columns + columns)

    def column(self, rank: int) -> range:
        """The ranks of a grid with which `rank` has its second reduce."""
        return range(rank % (self.ranks // 2), self.ranks, self.ranks // 2)

    def voters(self, rank: int) -> range:
        """The ranks whose counts make up what `rank` takes out of a round; in a grid, out of its last reduce."""
        if self.topology == "pipeline":
            return range(self.leaders)
        if self.topology == "halves":
            half = (self.ranks + 1) // 2
            return range(half) if rank < half else range(half, self.ranks)
        if self.topology == "grid":
            return self.column(rank)
        return range(self.ranks)
