"""What the tests drive the implementation with: events that finish when told, a transport in memory, processes."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TypeAlias

import pytest
from torch._C._distributed_c10d import HashStore, PrefixStore, Store

from rankproof.impl.acks import FINISHED, Ack, LaneKind
from rankproof.impl.errors import StepTimeout
from rankproof.impl.frame import StepResult
from rankproof.impl.opening import open_ack_sync
from rankproof.impl.plan import Plan, Topology, plan_for
from rankproof.impl.sync import AckSync, BlockingAckSync, PipelinedAckSync
from tests.impl.ranks import Ranks, Start

DEADLINE = 5.0
"""Seconds after which a thread or a process of a test is taken to hang."""

LANES: dict[str, LaneKind] = {"write": "prefix", "load": "prefix", "backup": "size"}
Kind = type[AckSync]


@dataclass
class ManualEvent:
    """An event that finishes when the test says so, and remembers what was asked of it."""

    finished: bool = False
    queries: int = 0
    synchronized: bool = False

    def query(self) -> bool:
        self.queries += 1
        return self.finished

    def synchronize(self) -> None:
        self.synchronized = True


@dataclass
class ThrowingEvent:
    """An event that raises when it is asked, or waited for."""

    error: BaseException

    def query(self) -> bool:
        raise self.error

    def synchronize(self) -> None:
        raise self.error


@dataclass
class MemoryTransport:
    """One rank's end of a `MemoryNetwork`; a wait ends with StepTimeout when `timeout` seconds are over."""

    network: "MemoryNetwork"
    rank: int
    world: int
    timeout: float
    closed: bool = False

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        with self.network.changed:
            assert round_number == len(self.network.offers[self.rank]) + 1
            self.network.offers[self.rank].append(tuple(vector))
            self.network.changed.notify_all()

    def agreed(self, round_number: int) -> tuple[int, ...]:
        offers = self.network.offers
        with self.network.changed:
            if not self.network.changed.wait_for(lambda: min(map(len, offers)) >= round_number, self.timeout):
                raise StepTimeout(f"round {round_number}: some rank did not offer", round_number)
            return tuple(map(self.network.combine, *(mine[round_number - 1] for mine in offers)))

    def close(self) -> None:
        self.closed = True


@dataclass
class MemoryNetwork:
    """Joins ranks of one process: what each rank offered, round by round, and how offers are combined."""

    world: int = 2
    timeout: float = 0.0
    combine: Callable[..., int] = min
    changed: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        self.offers: list[list[tuple[int, ...]]] = [[] for _ in range(self.world)]
        self.transports = [MemoryTransport(self, rank, self.world, self.timeout) for rank in range(self.world)]


@dataclass
class Group:
    """The ranks of one network with the events of their acks, driven in step or one by one."""

    ranks: list[AckSync]
    network: MemoryNetwork
    events: list[dict[str, ManualEvent]] = field(init=False)

    def __post_init__(self) -> None:
        self.events = [{} for _ in self.ranks]

    def enqueue(self, *identities: str, lane: str = "write") -> None:
        """Puts unfinished acks into a lane of every rank."""
        for rank, events in zip(self.ranks, self.events, strict=True):
            for identity in identities:
                events[identity] = ManualEvent()
                rank.enqueue(lane, Ack(identity, events[identity]))

    def finish(self, *identities: str, on: Sequence[int] | None = None) -> None:
        """Finishes acks on the ranks `on`, or on every rank."""
        for rank in range(len(self.ranks)) if on is None else on:
            for identity in identities:
                self.events[rank][identity].finished = True

    def counts(self, rank: int) -> list[tuple[int, ...]]:
        """The counts that a rank has offered, round by round."""
        return [offer[: len(self.ranks[rank].lanes)] for offer in self.network.offers[rank]]

    def step(self, lane: str = "write") -> list[str]:
        """One step of every rank at once; what left the lane, which must be the same on every rank."""
        popped = []
        for result in self.results():
            if not isinstance(result, StepResult):
                raise result
            popped.append(names(result, lane))
        assert all(mine == popped[0] for mine in popped)
        return popped[0]

    def results(self, call: Callable[[AckSync], StepResult] = AckSync.step) -> list[StepResult | BaseException]:
        """What each rank's call gives or raises, all at once."""
        results: list[StepResult | BaseException] = [AssertionError("hangs")] * len(self.ranks)

        def run(rank: int) -> None:
            try:
                results[rank] = call(self.ranks[rank])
            except Exception as error:
                results[rank] = error

        threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(len(self.ranks))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE)
        return results


def names(result: StepResult, lane: str = "write") -> list[str]:
    """The identities that a call popped from a lane."""
    return [str(ack.identity) for ack in result.popped[lane]]


Open: TypeAlias = Callable[..., Group]
"""Opens every rank of a topology on real gloo groups, each in a thread of its own while it works."""

KINDS: dict[str, LaneKind] = {"write": "aligned", "load": "prefix", "backup": "size"}
"""The lanes with which `open_group` opens."""


def opened_together(plans: list[Plan], store: Store, timeout: float) -> list[AckSync]:
    """Opens one rank a plan, all at once."""
    with ThreadPoolExecutor(len(plans)) as pool:
        opening = [pool.submit(open_ack_sync, rank, plan, store, KINDS, timeout) for rank, plan in enumerate(plans)]
        return [each.result() for each in opening]


@pytest.fixture
def open_group() -> Iterator[Open]:
    """Opens all ranks of a topology, and closes what is left of them in the end."""
    opened: list[Group] = []
    store, number = HashStore(), count()

    def open_ranks(topology: Topology, depth: int = 1, timeout: float = 10.0) -> Group:
        plan = plan_for(topology, depth, {})
        ranks = opened_together([plan] * topology.world, PrefixStore(str(next(number)), store), timeout)
        opened.append(Group(ranks, MemoryNetwork()))
        return opened[-1]

    yield open_ranks
    for group in opened:
        group.results(AckSync.close)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts ranks and, but for `opened=False`, opens their groups; ends every process whatever the test does."""
    running: list[Ranks] = []

    def ranks(
        timeout: float = 10.0,
        switch: str = "1",
        depth: int = 1,
        opened: bool = True,
        carrier: bool = False,
        **topology: int,
    ) -> Ranks:
        store = tmp_path / f"store{len(running)}"
        running.append(Ranks(store, timeout, switch, depth, topology or {"tp": 2}, carrier=carrier))
        if opened:
            assert running[-1].each("open") is None
        return running[-1]

    yield ranks
    for group in running:
        group.end()


def group_of(kind: Kind, world: int = 2, combine: Callable[..., int] = min) -> Group:
    """Ranks of one kind. A pipelined rank that is driven in order never waits; a blocking one does, in its thread."""
    network = MemoryNetwork(world, DEADLINE if kind is BlockingAckSync else 0.0, combine)
    return Group([kind(transport, LANES) for transport in network.transports], network)


@pytest.fixture
def pipelined() -> Group:
    return group_of(PipelinedAckSync)


@pytest.fixture(params=[BlockingAckSync, PipelinedAckSync])
def either(request: pytest.FixtureRequest) -> Group:
    return group_of(request.param)


def every_call(rank: AckSync) -> list[Callable[[], object]]:
    """Each call that a closed or broken object refuses; close() itself, which may come twice, is not among them."""
    return [
        rank.step,
        rank.drain,
        rank.reset,
        lambda: rank.step(-1),
        lambda: rank.evict("write"),
        lambda: rank.evict("no such lane"),
        lambda: rank.enqueue("write", Ack("a", FINISHED)),
        lambda: rank.attach({"more": "size"}),
        lambda: rank.detach("load"),
        rank.fall_back,
    ]
