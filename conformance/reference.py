"""The reference implementation as a subject: `rankproof.impl` on a gloo group, with events that the harness owns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, cast

import torch
from torch._C._distributed_c10d import FileStore, PrefixStore
from torch.distributed import ProcessGroupGloo

from rankproof.conformance.capabilities import Capabilities, Lane
from rankproof.conformance.commands import STORAGE
from rankproof.conformance.rendezvous import join
from rankproof.conformance.subject import Observation, SubjectConfig
from rankproof.impl.acks import Ack, LaneKind
from rankproof.impl.exchange import ExchangeTransport
from rankproof.impl.opening import open_ack_sync
from rankproof.impl.plan import ASYNC_VARIABLE, Topology, plan_for
from rankproof.impl.sync import AckSync, BlockingAckSync, PipelinedAckSync, StepResult
from rankproof.impl.transport import GlooTransport, Transport

Opened: TypeAlias = Callable[[SubjectConfig, Mapping[str, LaneKind]], AckSync]
"""Makes one rank's part of the agreement, given the kind of each lane."""

_LIVES: dict[str, int] = {}
"""How many subjects this process has had in each group of the harness: each needs a name of its own in the store."""


class OwnedEvent:
    """An event that finishes when the harness says so; a wait for one that has not is recorded, and returns.

    One that is `spoiled` raises when it is asked.
    """

    def __init__(self, lane: int, ack: int, waited_unfinished: list[tuple[int, int]]) -> None:
        self._key = (lane, ack)
        self._waited_unfinished = waited_unfinished
        self.finished = False
        self.spoiled = False

    def query(self) -> bool:
        """Whether the harness has finished it. Raises RuntimeError once it is spoiled."""
        if self.spoiled:
            raise RuntimeError(f"the event of ack {self._key[1]} in lane {self._key[0]} is spoiled")
        return self.finished

    def synchronize(self) -> None:
        """Returns at once; the driver is told where the event was not finished."""
        if not self.finished:
            self._waited_unfinished.append(self._key)


class ReferenceSubject:
    """One rank of the reference implementation, on a gloo group of its own.

    It declares no capabilities of its own accord, so that a caller says what it is held to.
    """

    capabilities: Capabilities

    def __init__(self, opened: Opened, kind: LaneKind = "aligned", storage: int = 0, *, numbered: bool = False) -> None:
        """`opened` makes this rank's part of the agreement, on lanes of that kind.

        storage   how many of the lanes, the last ones, are there only while storage is attached; where none is, a lane
                  that is given no acks stands for storage
        numbered  whether its steps are numbered, those that were left out too
        """
        self._opened: Final = opened
        self._kind: Final = kind
        self._storage: Final = storage
        self._numbered: Final = numbered
        self._steps = 0
        self._events: dict[tuple[int, int], OwnedEvent] = {}
        self._waited_unfinished: list[tuple[int, int]] = []

    def setup(self, config: SubjectConfig) -> None:
        """Opens this rank's part; returns when all ranks have."""
        self._lanes = config.lanes
        self._sync = self._opened(config, self._kinds(config.lanes[: len(config.lanes) - self._storage]))

    def enqueue(self, lane: int, ack: int) -> None:
        """Puts an ack with an unfinished event into the lane."""
        event = self._events[lane, ack] = OwnedEvent(lane, ack, self._waited_unfinished)
        self._sync.enqueue(self._lanes[lane], Ack(ack, event))

    def finish(self, lane: int, ack: int) -> None:
        """Finishes the event of an ack."""
        self._events[lane, ack].finished = True

    def spoil(self, lane: int, ack: int) -> None:
        """Makes the event of an ack raise when it is asked."""
        self._events[lane, ack].spoiled = True

    def step(self) -> Observation:
        """One step of the implementation."""
        self._steps += 1
        return self._observe(self._sync.step(self._steps if self._numbered else None))

    def decline(self) -> None:
        """Leaves a step out."""
        self._steps += 1

    def withdraw(self, lane: int, ack: int) -> None:
        """Takes an ack out of its lane, as an engine can that reaches into the lane: no call is there for it."""
        held = self._sync._lanes[self._lanes[lane]]
        held._take_in()
        held._acks = deque(each for each in held._acks if each.identity != ack)
        del held._identities[ack]

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
        """Asks for the storage lanes, or for them to go. Raises ValueError for any setting but "storage"."""
        storage = self._lanes[len(self._lanes) - self._storage :] or (STORAGE,)
        if key != STORAGE:
            raise ValueError(f"there is no setting {key!r} to change to {value!r}")
        if value:
            self._sync.attach(self._kinds(storage))
        else:
            self._sync.detach(*storage)

    def close(self) -> None:
        """Consumes what is in flight and leaves the group."""
        self._sync.close()

    def _observe(self, result: StepResult) -> Observation:
        waited = tuple(self._waited_unfinished)
        self._waited_unfinished.clear()
        there = self._sync.lanes
        popped = tuple(tuple(int(ack.identity) for ack in result.popped.get(lane, ())) for lane in self._lanes)
        left = tuple(tuple(map(int, self._sync.waiting(lane))) if lane in there else () for lane in self._lanes)
        return Observation(popped, left, waited, self._sync.in_flight)

    def _kinds(self, lanes: tuple[str, ...]) -> dict[str, LaneKind]:
        return dict.fromkeys(lanes, self._kind)


def on_one_group(
    kind: Callable[[Transport, Mapping[str, LaneKind]], AckSync],
    wire: Callable[[ProcessGroupGloo], Transport] = ExchangeTransport,
) -> Opened:
    """Opens a part of that kind on the harness's group, which has no other user while a subject lives.

    By default its rounds travel by the wire of `open_ack_sync`.
    """

    def opened(config: SubjectConfig, lanes: Mapping[str, LaneKind]) -> AckSync:
        return kind(wire(_backend(config)), lanes)

    return opened


def at_depth(
    lag: int, wire: Callable[[ProcessGroupGloo], Transport] = ExchangeTransport, *, carrier: bool = False
) -> Opened:
    """Opens a part with that many rounds in flight on the harness's group, with a carrier of them where that is asked.

    In memory there is none, since there a thread may run only when it has its turn.
    """

    def opened(config: SubjectConfig, lanes: Mapping[str, LaneKind]) -> AckSync:
        backend = _backend(config)
        carried = carrier and isinstance(backend, ProcessGroupGloo)
        return AckSync(wire(backend), lanes, lag, cumulative=lag > 1, carrier=carried)

    return opened


def _backend(config: SubjectConfig) -> ProcessGroupGloo:
    """In memory it is a stand-in."""
    return cast(ProcessGroupGloo, join(config)._get_backend(torch.device("cpu")))


def as_planned(topology: Topology, depth: int = 1, switch: str = "1") -> Opened:
    """Opens the part that the plan for a topology gives a rank, on groups of its own; `switch` is RANKPROOF_ASYNC."""

    def opened(config: SubjectConfig, lanes: Mapping[str, LaneKind]) -> AckSync:
        _LIVES[config.store_file] = _LIVES.get(config.store_file, 0) + 1
        store = FileStore(f"{config.store_file}.planned", config.world)
        fresh = PrefixStore(f"{_LIVES[config.store_file]}", store)
        plan = plan_for(topology, depth, {ASYNC_VARIABLE: switch})
        return open_ack_sync(config.rank, plan, fresh, lanes, config.timeout)

    return opened


def pipelined() -> ReferenceSubject:
    """A rank that pops in each step what the step before has counted."""
    return ReferenceSubject(at_depth(1))


def carried() -> ReferenceSubject:
    """As `pipelined`, its rounds carried by a thread of their own."""
    return ReferenceSubject(at_depth(1, carrier=True))


def carried_at_depth_2() -> ReferenceSubject:
    """As `depth_2`, its rounds carried by a thread of their own."""
    return ReferenceSubject(at_depth(2, carrier=True))


def carried_with_storage() -> ReferenceSubject:
    """As `with_storage`, its rounds carried by a thread of their own."""
    return _stored(at_depth(1, carrier=True))


def reduced() -> ReferenceSubject:
    """As `pipelined`, by a MIN all_reduce, as sglang#39903 has it."""
    return ReferenceSubject(at_depth(1, GlooTransport))


def blocking() -> ReferenceSubject:
    """A rank that counts, reduces and pops in the same step."""
    return ReferenceSubject(on_one_group(BlockingAckSync))


def depth_2() -> ReferenceSubject:
    """A rank with two rounds in flight, which offers all that ever was ready."""
    return ReferenceSubject(at_depth(2))


def depth_4() -> ReferenceSubject:
    """A rank with four rounds in flight, which offers all that ever was ready."""
    return ReferenceSubject(at_depth(4))


def grid_2x2() -> ReferenceSubject:
    """A rank of a CP x TP grid of 2 x 2, which agrees in two groups, blocking."""
    subject = ReferenceSubject(as_planned(Topology(tp=2, cp=2)))
    subject.capabilities = Capabilities(lag=0, in_memory=False)
    return subject


def pipeline_2x2() -> ReferenceSubject:
    """A rank of a pipeline of two stages of two ranks, of which the first stage agrees."""
    return ReferenceSubject(as_planned(Topology(tp=2, pp=2)))


def with_storage() -> ReferenceSubject:
    """As `pipelined`; its last lane is there only while storage is attached."""
    return _stored(at_depth(1))


def reduced_with_storage() -> ReferenceSubject:
    """As `reduced`; its last lane is there only while storage is attached."""
    return _stored(at_depth(1, GlooTransport))


def blocking_with_storage() -> ReferenceSubject:
    """As `blocking`; its last lane is there only while storage is attached."""
    return _stored(on_one_group(BlockingAckSync), lag=0)


def depth_2_with_storage() -> ReferenceSubject:
    """As `depth_2`; its last lane is there only while storage is attached."""
    return _stored(at_depth(2), lag=2)


def depth_4_with_storage() -> ReferenceSubject:
    """As `depth_4`; its last lane is there only while storage is attached."""
    return _stored(at_depth(4), lag=4)


def grid_2x2_with_storage() -> ReferenceSubject:
    """As `grid_2x2`; its last lane is there only while storage is attached."""
    return _stored(as_planned(Topology(tp=2, cp=2)), lag=0, in_memory=False)


def pipeline_2x2_with_storage() -> ReferenceSubject:
    """As `pipeline_2x2`; its last lane is there only while storage is attached."""
    return ReferenceSubject(as_planned(Topology(tp=2, pp=2)), storage=1)


def _stored(opened: Opened, lag: int = 1, *, in_memory: bool = True) -> ReferenceSubject:
    subject = ReferenceSubject(opened, storage=1)
    subject.capabilities = Capabilities(
        lag=lag,
        lanes=(Lane("write"), Lane("hits")),
        cumulative=lag > 1,
        supports=frozenset({"flush", "reset", "evict", "reconfigure"}),
        storage=1,
        attaches="agreed",
        in_memory=in_memory,
    )
    return subject


def unaligned() -> ReferenceSubject:
    """As `pipelined`, with lanes that ranks fill at different times; ranks may reset in different steps."""
    return ReferenceSubject(at_depth(1), "prefix")


def on_its_own_group() -> ReferenceSubject:
    """As `pipelined`, on a group that its rank leaves when it breaks, so that others learn of it at once."""
    return ReferenceSubject(as_planned(Topology(tp=2)))


def blocking_unaligned() -> ReferenceSubject:
    """As `blocking`, with lanes that ranks fill at different times."""
    return ReferenceSubject(on_one_group(BlockingAckSync), "prefix")


def numbered() -> ReferenceSubject:
    """As `pipelined`, with steps that are numbered, so that one which a rank left out is found."""
    return ReferenceSubject(at_depth(1), numbered=True)


def blocking_on_its_own_group() -> ReferenceSubject:
    """As `on_its_own_group`, blocking."""
    return ReferenceSubject(as_planned(Topology(tp=2), switch="0"))


def depth_2_on_its_own_group() -> ReferenceSubject:
    """As `on_its_own_group`, with two rounds in flight."""
    return ReferenceSubject(as_planned(Topology(tp=2), depth=2))


def mixed_modes() -> ReferenceSubject:
    """A rank that is pipelined, but for the last one, which is blocking: a setting that is not the same everywhere."""

    def opened(config: SubjectConfig, lanes: Mapping[str, LaneKind]) -> AckSync:
        kind = BlockingAckSync if config.rank == config.world - 1 else PipelinedAckSync
        return on_one_group(kind)(config, lanes)

    return ReferenceSubject(opened)
