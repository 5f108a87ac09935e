"""An engine with an asynchronous reduce, as sgl-project/sglang#39903 describes one; written from the description."""

from __future__ import annotations

from collections import deque
from typing import Final

import torch
import torch.distributed as dist

from rankproof.conformance.capabilities import Capabilities, Lane
from rankproof.conformance.reference import OwnedEvent
from rankproof.conformance.rendezvous import join
from rankproof.conformance.subject import Observation, SubjectConfig

LANES = (
    Lane("write"),
    Lane("load", evicts=False),
    Lane("backup", "size", evicts=False),
    Lane("release", "size", evicts=False),
)
"""Write and load acks have an event and are counted by their finished prefix; storage lanes hold what is finished."""


class DescribedSubject:
    """One rank: in each step it waits for the reduce of the step before, pops, counts, and starts the next.

    The vector is int64: the count of each lane, then the digest of reclaimed host copies and its negative, taken when
    the round is issued and compared when it is consumed. What the description leaves open is done here as the blocking
    engine does it: a reset clears the lanes, and an eviction pops all writes, whatever is in flight; there is no flush.
    """

    def __init__(self, capabilities: Capabilities) -> None:
        """`capabilities` says what is asked of it, and which lanes there are."""
        self.capabilities: Final = capabilities
        self._events: dict[tuple[int, int], OwnedEvent] = {}
        self._waited_unfinished: list[tuple[int, int]] = []
        self._lanes: list[deque[int]] = [deque() for _ in capabilities.lanes]
        self._work: dist.Work | None = None
        self._counts = torch.empty(0, dtype=torch.int64)
        self._digest = self._issued_digest = 0

    def setup(self, config: SubjectConfig) -> None:
        """Joins the group."""
        self._group = join(config)

    def enqueue(self, lane: int, ack: int) -> None:
        """Puts an ack at the tail of a lane."""
        self._events[lane, ack] = OwnedEvent(lane, ack, self._waited_unfinished)
        self._lanes[lane].append(ack)

    def finish(self, lane: int, ack: int) -> None:
        """Finishes the event of an ack."""
        self._events[lane, ack].finished = True

    def step(self) -> Observation:
        """Waits, pops, counts, issues. Raises AssertionError where the ranks reclaimed in different orders."""
        popped = self._pop(self._consume())
        self._issue()
        return self._observe(popped)

    def flush(self) -> Observation:
        """Raises ValueError: the description has none."""
        raise ValueError("nothing but a step consumes a round")

    def reset(self) -> Observation:
        """Clears the lanes, and leaves what is in flight as it is."""
        for lane in self._lanes:
            lane.clear()
        return self._observe([()] * len(self._lanes))

    def evict(self, lane: int) -> Observation:
        """Waits for all acks of the lane and pops them, without a reduce and whatever is in flight."""
        counts = [0] * len(self._lanes)
        counts[lane] = len(self._lanes[lane])
        return self._observe(self._pop(counts))

    def reconfigure(self, key: str, value: object) -> None:
        """Sets the "digest", an int, on this rank; raises ValueError for anything else."""
        if key != "digest" or not isinstance(value, int):
            raise ValueError(f"cannot set {key!r} to {value!r}; there is 'digest' (int)")
        self._digest = value

    def close(self) -> None:
        """Waits for what is in flight."""
        if self._work is not None:
            self._work.wait()

    def _consume(self) -> list[int]:
        """The agreed count of each lane; all zero where no round was issued."""
        if self._work is None:
            return [0] * len(self._lanes)
        self._work.wait()
        self._work = None
        *counts, lowest, negative_highest = map(int, self._counts.tolist())
        assert lowest == -negative_highest == self._issued_digest, "the ranks reclaimed host copies in different orders"
        return counts

    def _pop(self, counts: list[int]) -> list[tuple[int, ...]]:
        popped = []
        for lane, count in enumerate(counts):
            acks = tuple(self._lanes[lane].popleft() for _ in range(count))
            if self.capabilities.lanes[lane].counts == "prefix":
                for ack in acks:
                    self._events[lane, ack].synchronize()
            popped.append(acks)
        return popped

    def _issue(self) -> None:
        self._issued_digest = self._digest
        counts = [self._ready(lane) for lane in range(len(self._lanes))]
        self._counts = torch.tensor([*counts, self._digest, -self._digest], dtype=torch.int64)
        self._work = dist.all_reduce(self._counts, op=dist.ReduceOp.MIN, group=self._group, async_op=True)

    def _ready(self, lane: int) -> int:
        acks = self._lanes[lane]
        if self.capabilities.lanes[lane].counts == "size":
            return len(acks)
        return next((count for count, ack in enumerate(acks) if not self._events[lane, ack].query()), len(acks))

    def _observe(self, popped: list[tuple[int, ...]]) -> Observation:
        waited = tuple(self._waited_unfinished)
        self._waited_unfinished.clear()
        left = tuple(tuple(lane) for lane in self._lanes)
        return Observation(tuple(popped), left, waited, int(self._work is not None))


def pipelined() -> DescribedSubject:
    """A rank that does what the description says, and is asked for no more than that."""
    return DescribedSubject(Capabilities(lag=1, lanes=LANES, supports=frozenset()))


def pipelined_between_steps() -> DescribedSubject:
    """A rank that is also asked for what the description leaves open: resets and evictions with a round in flight."""
    return DescribedSubject(Capabilities(lag=1, lanes=LANES, supports=frozenset({"reset", "evict"})))
