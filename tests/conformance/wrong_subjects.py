"""Implementations with one fault each, for the driver to find; imported by rank processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankproof.conformance.reference import ReferenceSubject, on_one_group
from rankproof.conformance.subject import Observation
from rankproof.impl.acks import LaneKind
from rankproof.impl.sync import AckSync, PipelinedAckSync
from rankproof.impl.transport import Transport


class Passing:
    """A transport that hands everything on to another one."""

    def __init__(self, inner: Transport, lanes: int) -> None:
        self.inner = inner
        self.lanes = lanes
        self.rank, self.world, self.timeout = inner.rank, inner.world, inner.timeout

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        self.inner.offer(round_number, vector)

    def agreed(self, round_number: int) -> tuple[int, ...]:
        return self.inner.agreed(round_number)

    def close(self) -> None:
        self.inner.close()


class OwnCounts(Passing):
    """Waits for a round, and then gives back the counts that this rank offered itself."""

    def __init__(self, inner: Transport, lanes: int) -> None:
        super().__init__(inner, lanes)
        self.offered: dict[int, tuple[int, ...]] = {}

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        self.offered[round_number] = tuple(vector[: self.lanes])
        super().offer(round_number, vector)

    def agreed(self, round_number: int) -> tuple[int, ...]:
        return (*self.offered.pop(round_number), *super().agreed(round_number)[self.lanes :])


class CountedBeforePop(Passing):
    """Offers the counts as they were before the pop of the same step."""

    def __init__(self, inner: Transport, lanes: int) -> None:
        super().__init__(inner, lanes)
        self.just_popped = (0,) * lanes

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        counts = [left + popped for left, popped in zip(vector, self.just_popped, strict=False)]
        super().offer(round_number, [*counts, *vector[self.lanes :]])

    def agreed(self, round_number: int) -> tuple[int, ...]:
        agreed = super().agreed(round_number)
        self.just_popped = agreed[: self.lanes]
        return agreed


class SkipsWhenEmpty(ReferenceSubject):
    """Issues no round in a step before which nothing has finished on this rank."""

    finished_something = False

    def finish(self, lane: int, ack: int) -> None:
        self.finished_something = True
        super().finish(lane, ack)

    def step(self) -> Observation:
        return super().step() if self.finished_something else self.flush()


class ResetsNothing(ReferenceSubject):
    """Drains in a reset, and keeps what waits."""

    def reset(self) -> Observation:
        return self.flush()


class EvictsNothing(ReferenceSubject):
    """Drains in an eviction, and keeps what waits."""

    def evict(self, lane: int) -> Observation:
        assert lane in (0, 1)
        return self.flush()


def _with(wrong: type[OwnCounts | CountedBeforePop]) -> ReferenceSubject:
    def opened(transport: Transport, lanes: Mapping[str, LaneKind]) -> AckSync:
        return PipelinedAckSync(wrong(transport, len(lanes)), lanes)

    return ReferenceSubject(on_one_group(opened))


def pops_its_own_count() -> ReferenceSubject:
    return _with(OwnCounts)


def counts_before_pop() -> ReferenceSubject:
    return _with(CountedBeforePop)


def skips_when_empty() -> ReferenceSubject:
    return SkipsWhenEmpty(on_one_group(PipelinedAckSync))


def resets_nothing() -> ReferenceSubject:
    return ResetsNothing(on_one_group(PipelinedAckSync))


def evicts_nothing() -> ReferenceSubject:
    return EvictsNothing(on_one_group(PipelinedAckSync))
