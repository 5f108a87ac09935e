"""The reference implementation as a subject: `rankproof.impl` on a gloo group, with events that the harness owns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

import torch
from torch._C._distributed_c10d import FileStore, PrefixStore
from torch.distributed import ProcessGroupGloo

from rankproof.conformance.rendezvous import join
from rankproof.conformance.subject import Observation, SubjectConfig
from rankproof.impl.acks import Ack, LaneKind
from rankproof.impl.opening import open_ack_sync
from rankproof.impl.plan import Topology, plan_for
from rankproof.impl.sync import AckSync, BlockingAckSync, PipelinedAckSync, StepResult
from rankproof.impl.transport import GlooTransport, Transport

Opened: TypeAlias = Callable[[SubjectConfig, Mapping[str, LaneKind]], AckSync]
"""Makes one rank's part of the agreement, given the kind of each lane."""

_LIVES: dict[str, int] = {}
"""How many subjects this process has had in each group of the harness: each needs a name of its own in the store."""


class OwnedEvent:
    """An event that finishes when the harness says so; a wait for one that has not is recorded, and returns."""

    def __init__(self, lane: int, ack: int, waited_unfinished: list[tuple[int, int]]) -> None:
        self._key = (lane, ack)
        self._waited_unfinished = waited_unfinished
        self.finished = False

    def query(self) -> bool:
        """Whether the harness has finished it."""
        return self.finished

    def synchronize(self) -> None:
        """Returns at once; the driver is told where the event was not finished."""
        if not self.finished:
            self._waited_unfinished.append(self._key)


class ReferenceSubject:
    """One rank of the reference implementation, on a gloo group of its own."""

    def __init__(self, opened: Opened) -> None:
        """`opened` makes this rank's part of the agreement."""
        self._opened: Final = opened
        self._events: dict[tuple[int, int], OwnedEvent] = {}
        self._waited_unfinished: list[tuple[int, int]] = []

    def setup(self, config: SubjectConfig) -> None:
        """Opens this rank's part; returns when all ranks have."""
        self._lanes = config.lanes
        self._sync = self._opened(config, dict.fromkeys(config.lanes, "aligned"))

    def enqueue(self, lane: int, ack: int) -> None:
        """Puts an ack with an unfinished event into the lane."""
        event = self._events[lane, ack] = OwnedEvent(lane, ack, self._waited_unfinished)
        self._sync.enqueue(self._lanes[lane], Ack(ack, event))

    def finish(self, lane: int, ack: int) -> None:
        """Finishes the event of an ack."""
        self._events[lane, ack].finished = True

    def step(self) -> Observation:
        """One step of the implementation."""
        return self._observe(self._sync.step())

    def flush(self) -> Observation:
        """Consumes what is in flight and issues nothing."""
        return self._observe(self._sync.drain())

    def reset(self) -> Observation:
        """Clears every lane, once what is in flight is consumed."""
        return self._observe(self._sync.reset())

    def evict(self, lane: int) -> Observation:
        """Pops all that is in a lane, once what is in flight is consumed."""
        return self._observe(self._sync.evict(self._lanes[lane]))

    def reconfigure(self, key: str, value: object) -> None:
        """Raises ValueError: the reference implementation has no setting that may change while it runs."""
        raise ValueError(f"there is no setting {key!r} to change to {value!r}")

    def close(self) -> None:
        """Consumes what is in flight and leaves the group."""
        self._sync.close()

    def _observe(self, result: StepResult) -> Observation:
        waited = tuple(self._waited_unfinished)
        self._waited_unfinished.clear()
        popped = tuple(tuple(int(ack.identity) for ack in result.popped[lane]) for lane in self._lanes)
        left = tuple(tuple(int(ack) for ack in self._sync.waiting(lane)) for lane in self._lanes)
        return Observation(popped, left, waited, self._sync.in_flight)


def on_one_group(kind: Callable[[Transport, Mapping[str, LaneKind]], AckSync]) -> Opened:
    """Opens a part of that kind on the harness's group, which has no other user while a subject lives."""

    def opened(config: SubjectConfig, lanes: Mapping[str, LaneKind]) -> AckSync:
        backend = join(config)._get_backend(torch.device("cpu"))
        assert isinstance(backend, ProcessGroupGloo)
        return kind(GlooTransport(backend), lanes)

    return opened


def as_planned(topology: Topology) -> Opened:
    """Opens the part that the plan for a topology gives a rank, on groups of its own."""

    def opened(config: SubjectConfig, lanes: Mapping[str, LaneKind]) -> AckSync:
        _LIVES[config.store_file] = _LIVES.get(config.store_file, 0) + 1
        store = FileStore(f"{config.store_file}.planned", config.world)
        fresh = PrefixStore(f"{_LIVES[config.store_file]}", store)
        return open_ack_sync(config.rank, plan_for(topology), fresh, lanes, config.timeout)

    return opened


def pipelined() -> ReferenceSubject:
    """A rank that pops in each step what the step before has counted."""
    return ReferenceSubject(on_one_group(PipelinedAckSync))


def blocking() -> ReferenceSubject:
    """A rank that counts, reduces and pops in the same step."""
    return ReferenceSubject(on_one_group(BlockingAckSync))


def depth_2() -> ReferenceSubject:
    """A rank with two rounds in flight, which offers all that ever was ready."""
    return ReferenceSubject(on_one_group(partial(AckSync, lag=2, cumulative=True)))


def depth_4() -> ReferenceSubject:
    """A rank with four rounds in flight, which offers all that ever was ready."""
    return ReferenceSubject(on_one_group(partial(AckSync, lag=4, cumulative=True)))


def grid_2x2() -> ReferenceSubject:
    """A rank of a CP x TP grid of 2 x 2, which agrees in two groups, blocking."""
    return ReferenceSubject(as_planned(Topology(tp=2, cp=2)))
