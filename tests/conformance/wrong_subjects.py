"""Implementations with one fault each, for the driver to find; imported by rank processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from torch.distributed import ProcessGroupGloo

from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.engines.described import DescribedSubject
from rankproof.conformance.memory_group import MemoryConfig
from rankproof.conformance.reference import Opened, ReferenceSubject, as_planned, on_one_group
from rankproof.conformance.subject import Observation, SubjectConfig
from rankproof.impl.acks import LaneKind
from rankproof.impl.chain import FollowerAckSync
from rankproof.impl.exchange import ExchangeTransport
from rankproof.impl.frame import StepResult
from rankproof.impl.guards import Agreement
from rankproof.impl.plan import Topology
from rankproof.impl.sync import AckSync, BlockingAckSync, PipelinedAckSync
from rankproof.impl.transport import GlooTransport, Transport
from rankproof.model.errors import BadInput


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


def _opened_with(
    wrong: Callable[[Transport, int], Transport], wire: Callable[[ProcessGroupGloo], Transport] = ExchangeTransport
) -> Opened:
    def opened(transport: Transport, lanes: Mapping[str, LaneKind]) -> AckSync:
        return PipelinedAckSync(wrong(transport, len(lanes)), lanes)

    return on_one_group(opened, wire)


def _with(wrong: Callable[[Transport, int], Transport]) -> ReferenceSubject:
    return ReferenceSubject(_opened_with(wrong))


def pops_its_own_count() -> ReferenceSubject:
    return _with(OwnCounts)


def counts_before_pop() -> ReferenceSubject:
    return _with(CountedBeforePop)


class LateWhereWaitsAreShort(ReferenceSubject):
    """Says in its second step that a wait ran out, if one may last a second at most, as on a host that is busy."""

    _short = 1.0
    _late_at = 2
    _taken = 0

    def setup(self, config: SubjectConfig) -> None:
        self._hurried = config.timeout <= self._short
        super().setup(config)

    def step(self) -> Observation:
        self._taken += 1
        if self._hurried and self._taken == self._late_at:
            raise RuntimeError("Timed out waiting 1000ms for recv operation to complete")
        return super().step()


class AlwaysLate(LateWhereWaitsAreShort):
    """The same, however long a wait may last."""

    _short = 1e9


class LateInProcesses(LateWhereWaitsAreShort):
    """The same in a process of its own; where all ranks share one it counts a round too many in flight instead."""

    _late_at = 1

    def setup(self, config: SubjectConfig) -> None:
        super().setup(config)
        self._hurried = not isinstance(config, MemoryConfig)

    def step(self) -> Observation:
        seen = super().step()
        return seen if self._hurried else replace(seen, in_flight=seen.in_flight + 1)


def is_always_late() -> ReferenceSubject:
    return AlwaysLate(on_one_group(PipelinedAckSync))


def is_late_where_waits_are_short() -> ReferenceSubject:
    return LateWhereWaitsAreShort(on_one_group(PipelinedAckSync))


def names_no_difference() -> DescribedSubject:
    """Pops by position alone, as engines do, and compares no acks."""
    return DescribedSubject(Capabilities(supports=frozenset()))


def is_late_in_processes_and_wrong_in_memory() -> ReferenceSubject:
    return LateInProcesses(on_one_group(PipelinedAckSync))


def skips_when_empty() -> ReferenceSubject:
    return SkipsWhenEmpty(on_one_group(PipelinedAckSync))


def resets_nothing() -> ReferenceSubject:
    return ResetsNothing(on_one_group(PipelinedAckSync))


def evicts_nothing() -> ReferenceSubject:
    return EvictsNothing(on_one_group(PipelinedAckSync))


class ReadsBeforeWait(Passing):
    """Takes the result of a round out of its tensor as soon as a step begins, and waits for it only then.

    Until a MIN all_reduce is over that tensor holds the rank's own offer, or by luck what it comes to.
    """

    def __init__(self, inner: Transport, lanes: int) -> None:
        super().__init__(inner, lanes)
        assert isinstance(inner, GlooTransport)
        self.gloo = inner

    def agreed(self, round_number: int) -> tuple[int, ...]:
        early = tuple(self.gloo._in_flight[0].tensor.tolist())
        super().agreed(round_number)
        return early


class WhenItPops(ReferenceSubject):
    """Does something wrong in the first step that pops."""

    def __init__(self, opened: Opened, act: Callable[[], object]) -> None:
        super().__init__(opened)
        self.act = act

    def step(self) -> Observation:
        seen = super().step()
        if any(seen.popped):
            self.act()
        return seen


class EvictsLoadAlone(ReferenceSubject):
    """Cannot flush or reset, and evicts only its second lane."""

    def flush(self) -> Observation:
        raise NotImplementedError

    def reset(self) -> Observation:
        raise NotImplementedError

    def evict(self, lane: int) -> Observation:
        if lane != 1:
            raise NotImplementedError
        return super().evict(lane)


class WithASizeLane(ReferenceSubject):
    """Its first lane is counted by the finished prefix, and its second by its length."""

    def setup(self, config: SubjectConfig) -> None:
        self._lanes = config.lanes
        first, second = config.lanes
        self._sync = self._opened(config, {first: "aligned", second: "size"})

    def enqueue(self, lane: int, ack: int) -> None:
        super().enqueue(lane, ack)
        if lane == 1:
            super().finish(lane, ack)


class ResetsNothingInMemory(ResetsNothing):
    """Keeps what waits in a reset, but only where all ranks share a process."""

    def setup(self, config: SubjectConfig) -> None:
        self.shares = isinstance(config, MemoryConfig)
        super().setup(config)

    def reset(self) -> Observation:
        return super().reset() if self.shares else ReferenceSubject.reset(self)


class LivesInMemoryAlone(ResetsNothing):
    """Keeps what waits in a reset, and cannot be made ready on a process of its own."""

    def setup(self, config: SubjectConfig) -> None:
        if not isinstance(config, MemoryConfig):
            raise BadInput("the engine's source is gone")
        super().setup(config)


class ObjectsLater(ReferenceSubject):
    """Finds in its first step that its input cannot be used."""

    def step(self) -> Observation:
        raise BadInput("the engine's source is gone")


def reads_before_wait() -> ReferenceSubject:
    return ReferenceSubject(_opened_with(ReadsBeforeWait, GlooTransport))


def aborts_when_it_pops() -> ReferenceSubject:
    return WhenItPops(on_one_group(PipelinedAckSync), os.abort)


def sleeps_when_it_pops() -> ReferenceSubject:
    return WhenItPops(on_one_group(PipelinedAckSync), lambda: time.sleep(3600))


def evicts_load_alone() -> ReferenceSubject:
    return EvictsLoadAlone(on_one_group(PipelinedAckSync))


def with_a_size_lane() -> ReferenceSubject:
    return WithASizeLane(on_one_group(PipelinedAckSync))


def pops_its_own_size() -> ReferenceSubject:
    return WithASizeLane(_opened_with(OwnCounts))


def resets_nothing_where_ranks_share_a_process() -> ReferenceSubject:
    return ResetsNothingInMemory(on_one_group(PipelinedAckSync))


def lives_in_memory_alone() -> ReferenceSubject:
    return LivesInMemoryAlone(on_one_group(PipelinedAckSync))


def objects_later() -> ReferenceSubject:
    return ObjectsLater(on_one_group(PipelinedAckSync))


def declares_that_it_blocks() -> ReferenceSubject:
    subject = ReferenceSubject(on_one_group(BlockingAckSync))
    subject.capabilities = Capabilities(lag=0)
    return subject


def declares_nonsense() -> ReferenceSubject:
    subject = ReferenceSubject(on_one_group(BlockingAckSync))
    subject.capabilities = "blocking"  # type: ignore[assignment]
    return subject


def ends_when_made() -> ReferenceSubject:
    os.abort()


class PopsAtOnce(FollowerAckSync):
    """A later stage of a pipeline that pops what the first stage counted, whatever has finished here."""

    def _pop(self, agreed: Agreement, result: StepResult) -> None:
        AckSync._pop(self, agreed, result)


def follower_pops_at_once() -> ReferenceSubject:
    opened = as_planned(Topology(tp=2, pp=2))

    def opened_wrongly(config: SubjectConfig, lanes: Mapping[str, LaneKind]) -> AckSync:
        sync = opened(config, lanes)
        if isinstance(sync, FollowerAckSync):
            sync.__class__ = PopsAtOnce
        return sync

    return ReferenceSubject(opened_wrongly)
