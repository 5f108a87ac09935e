"""A scheduler loop on one rank: what runs in the processes of the measurements of overlap, guard words and growth."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from typing import Protocol

from torch._C._distributed_c10d import FileStore, PrefixStore

from rankproof.benchmarks.bare import Alone, BareSync
from rankproof.benchmarks.delayed import DelayedTransport
from rankproof.benchmarks.unguarded import UnguardedSync
from rankproof.benchmarks.watched import WatchedTransport
from rankproof.conformance.channel import Channel
from rankproof.impl.acks import Ack, LaneKind
from rankproof.impl.group import gloo_group
from rankproof.impl.sync import AckSync
from rankproof.impl.transport import GlooTransport, Transport


class Part(Protocol):
    """One rank's part in an agreement, of whatever kind."""

    def enqueue(self, lane: str, ack: Ack) -> None: ...

    def step(self) -> object: ...

    def drain(self) -> object: ...

    def close(self) -> object: ...


LAGS: Mapping[str, int] = {"blocking": 0, "pipelined": 1, "depth 2": 2, "depth 4": 4, "unguarded": 1, "bare": 1}
"""Each way to agree, by its name, and its lag; `alone` is no agreement."""

OF_ITS_OWN: Mapping[str, Callable[[Transport, Mapping[str, LaneKind]], Part]] = {
    "unguarded": UnguardedSync,
    "bare": BareSync,
}
"""What opens a part that the implementation does not have."""

SLOWEST = 6
"""The most steps that a transfer takes; each rank draws its own."""


@dataclass(frozen=True)
class Opening:
    """Request: open a part of each of these kinds, each on a group of its own.

    lanes    how many, all `aligned`; each gets an ack a step
    delay_s  the latency that is added to each round
    timeout  seconds: the deadline of each wait
    """

    rank: int
    world: int
    kinds: tuple[str, ...]
    lanes: int
    delay_s: float
    timeout: float
    store_file: str
    seed: int


@dataclass(frozen=True)
class Segment:
    """Request: so many steps of the loop with the part of this kind, of which the first `warm` are not measured.

    forward_s  how long this rank's core is idle in each step, as it is while a GPU works
    """

    kind: str
    warm: int
    steps: int
    forward_s: float


@dataclass(frozen=True)
class Rounds:
    """Request: so many steps with the blocking part; the reply holds what the round of each took, in seconds."""

    steps: int
    forward_s: float


@dataclass(frozen=True)
class Took:
    """What a step took on this rank, the mean over a segment.

    loop_s        wall time, forward and all
    step_s        wall time of the agreement alone
    wait_s        wall time in which it waited for the round that was due
    core_s        time of the core in the agreement, in this rank's own thread
    offer_core_s  of that, what offering took: the tensor, and the issue of the reduce
    take_core_s   of that, what the wait and reading its result took
    """

    loop_s: float
    step_s: float
    wait_s: float
    core_s: float
    offer_core_s: float
    take_core_s: float


class Clock:
    """Counts the steps of a loop."""

    def __init__(self) -> None:
        self.step = 0


class Transfer:
    """The event of a transfer that finishes at a step of this rank's loop."""

    __slots__ = ("_clock", "_due")

    def __init__(self, clock: Clock, due: int) -> None:
        self._clock = clock
        self._due = due

    def query(self) -> bool:
        """Whether that step has come."""
        return self._clock.step >= self._due

    def synchronize(self) -> None:
        """Returns at once: only what has finished is popped."""


class Loop:
    """One part, driven as a scheduler drives it."""

    def __init__(self, part: Part, watched: WatchedTransport | None, lanes: tuple[str, ...], seed: str) -> None:
        draw = random.Random(seed)
        self.part = part
        self._watched = watched
        self._lanes = lanes
        self._clock = Clock()
        self._durations = cycle([draw.randint(0, SLOWEST) for _ in range(997)])

    def run(self, segment: Segment) -> Took:
        """The measured steps begin with as many rounds in flight as they end with."""
        for _ in range(segment.warm):
            self._step(segment.forward_s)
        before = self._seen()
        began = time.perf_counter()
        wall = core = 0.0
        for _ in range(segment.steps):
            step_wall, step_core = self._step(segment.forward_s)
            wall += step_wall
            core += step_core
        loop = time.perf_counter() - began
        waited, offering, taking = (now - then for now, then in zip(self._seen(), before, strict=True))
        self.part.drain()
        return Took(*(seconds / segment.steps for seconds in (loop, wall, waited, core, offering, taking)))

    def _seen(self) -> tuple[float, float, float]:
        """What the transport has seen so far: waiting, and the core's time for offering and for taking."""
        if self._watched is None:
            return 0.0, 0.0, 0.0
        return self._watched.waited_s, self._watched.offer_core_s, self._watched.take_core_s

    def rounds(self, request: Rounds) -> tuple[float, ...]:
        """What the round of each step took from this rank's offer to the result, in seconds."""
        assert self._watched is not None
        took = []
        for _ in range(request.steps):
            self._step(request.forward_s)
            took.append(self._watched.round_s)
        return tuple(took)

    def _step(self, forward_s: float) -> tuple[float, float]:
        """One pass of the scheduler: work is found, the agreement makes its step, the forward runs."""
        step = self._clock.step = self._clock.step + 1
        for lane in self._lanes:
            self.part.enqueue(lane, Ack(step, Transfer(self._clock, step + next(self._durations))))
        wall, core = time.perf_counter(), time.thread_time()
        self.part.step()
        core, wall = time.thread_time() - core, time.perf_counter() - wall
        if forward_s:
            time.sleep(forward_s)
        return wall, core


def serve(channel: Channel) -> None:
    """Carries out requests, one after the other, until the other end is gone; an error is the reply, in one line."""
    loops: dict[str, Loop] = {}
    while True:
        try:
            request = channel.receive()
        except EOFError:
            return
        try:
            match request:
                case Opening():
                    loops = {kind: _loop(kind, request) for kind in request.kinds}
                    reply: object = None
                case Segment():
                    reply = loops[request.kind].run(request)
                case Rounds():
                    reply = loops["blocking"].rounds(request)
                case _:
                    raise TypeError(f"a rank of a measurement cannot do {request!r}")
        except Exception as error:
            reply = error_line(error)
        channel.send(reply)


def error_line(error: Exception) -> str:
    """An error as the reply of a rank."""
    return f"{type(error).__name__}: {error}"


def _loop(kind: str, opening: Opening) -> Loop:
    lanes = tuple(f"lane{number}" for number in range(opening.lanes))
    kinds: dict[str, LaneKind] = dict.fromkeys(lanes, "aligned")
    seed = f"{opening.seed} {opening.rank} {opening.world}"  # every kind is given the same work
    if kind == "alone":
        return Loop(Alone(kinds), None, lanes, seed)
    lag = LAGS[kind]
    store = PrefixStore(kind, FileStore(opening.store_file, opening.world))
    group = gloo_group(opening.rank, opening.world, store, opening.timeout, lag)
    gloo = GlooTransport(group)
    transport = WatchedTransport(DelayedTransport(gloo, opening.delay_s) if opening.delay_s else gloo)
    opened = OF_ITS_OWN.get(kind, partial(AckSync, lag=lag, cumulative=lag > 1))
    return Loop(opened(transport, kinds), transport, lanes, seed)
