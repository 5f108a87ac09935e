"""A scheduler loop on one rank: what runs in the processes of the measurements of overlap, guard words and growth."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import cycle
from typing import Literal, Protocol, TypeAlias, get_args

import torch
from torch._C._distributed_c10d import FileStore, PrefixStore

from rankproof.benchmarks.bare import Alone, BareCarried, BareSync
from rankproof.benchmarks.delayed import DelayedTransport
from rankproof.benchmarks.unguarded import UnguardedSync
from rankproof.conformance.channel import Channel
from rankproof.impl.acks import Ack, LaneKind
from rankproof.impl.exchange import ExchangeTransport
from rankproof.impl.group import gloo_group
from rankproof.impl.sync import AckSync
from rankproof.impl.transport import GlooTransport, Transport


class Part(Protocol):
    """One rank's part in an agreement, of whatever kind."""

    def enqueue(self, lane: str, ack: Ack) -> None: ...

    def step(self) -> object: ...

    def drain(self) -> object: ...

    def close(self) -> object: ...


LAGS: Mapping[str, int] = {
    "blocking": 0,
    "pipelined": 1,
    "depth 2": 2,
    "depth 4": 4,
    "carried": 1,
    "unguarded": 1,
    "bare": 1,
    "bare carried": 1,
    "reduced": 1,
}
"""Each way to agree, by its name, and its lag.

`alone` is no agreement, `carried` is `pipelined` with a carrier of its rounds, and `reduced` is it by an all_reduce.
"""

OF_ITS_OWN: Mapping[str, Callable[[Transport, Mapping[str, LaneKind]], Part]] = {
    "unguarded": UnguardedSync,
    "bare": BareSync,
    "bare carried": BareCarried,
}
"""What opens a part that the implementation does not have."""

Forward: TypeAlias = Literal["idle", "torch", "python"]
"""What the thread that steps does in the time of a forward.

idle    nothing: its core is idle, as it is while a GPU works
torch   short operations of torch, one after the other, each of which lets go of the interpreter
python  plain Python, which does not, but for the interpreter's own switch interval
"""

FORWARDS: tuple[Forward, ...] = get_args(Forward)

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

    forward_s  how long the forward of a step takes, and `forward` what it does
    """

    kind: str
    warm: int
    steps: int
    forward_s: float
    forward: Forward = "idle"


@dataclass(frozen=True)
class Rounds:
    """Request: so many steps with the blocking part; the reply holds how long each waited for its round, in seconds."""

    steps: int
    forward_s: float


@dataclass(frozen=True)
class Took:
    """What a step took on this rank, the mean over a segment.

    loop_s  wall time, forward and all
    step_s  wall time of the agreement alone
    core_s  of that, time of the core in this thread; for the rest it waits, for a round or for a core
    all_s   time of the cores in all threads of the process, forward and all

    The clocks are read outside the agreement, so that they cost it nothing, and as often where there is none.
    """

    loop_s: float
    step_s: float
    core_s: float
    all_s: float


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

    def __init__(self, part: Part, watch: Callable[[], None] | None, lanes: tuple[str, ...], seed: str) -> None:
        """`watch` is called between a step and the forward."""
        draw = random.Random(seed)
        self.part = part
        self._watch = watch
        self._lanes = lanes
        self._clock = Clock()
        self._durations = cycle([draw.randint(0, SLOWEST) for _ in range(997)])

    def run(self, segment: Segment) -> Took:
        """The measured steps begin with as many rounds in flight as they end with."""
        for _ in range(segment.warm):
            self._step(segment.forward_s, segment.forward)
        began, everywhere = time.perf_counter(), time.process_time()
        wall = core = 0.0
        for _ in range(segment.steps):
            step_wall, step_core = self._step(segment.forward_s, segment.forward)
            wall += step_wall
            core += step_core
        loop, everywhere = time.perf_counter() - began, time.process_time() - everywhere
        self.part.drain()
        return Took(*(seconds / segment.steps for seconds in (loop, wall, core, everywhere)))

    def rounds(self, request: Rounds) -> tuple[float, ...]:
        """How long each step was off the core, in seconds: from the issue of its round to the result."""
        took = (self._step(request.forward_s, "idle") for _ in range(request.steps))
        return tuple(wall - core for wall, core in took)

    def _step(self, forward_s: float, forward: Forward) -> tuple[float, float]:
        """One pass of the scheduler: work is found, the agreement makes its step, the forward runs."""
        step = self._clock.step = self._clock.step + 1
        for lane in self._lanes:
            self.part.enqueue(lane, Ack(step, Transfer(self._clock, step + next(self._durations))))
        began, core = time.perf_counter(), time.thread_time()
        self.part.step()
        core, ended = time.thread_time() - core, time.perf_counter()
        if self._watch:
            self._watch()
        if forward != "idle":
            _OPERATIONS[forward](round(forward_s * _rate(forward)))
        elif forward_s:
            time.sleep(max(0.0, ended + forward_s - time.perf_counter()))
        return ended - began, core


def _torch(operations: int) -> None:
    tensor = torch.ones(64)
    for _ in range(operations):
        tensor = tensor * 1.0


def _python(operations: int) -> None:
    for _ in range(operations):
        pass


_OPERATIONS: Mapping[Forward, Callable[[int], None]] = {"torch": _torch, "python": _python}


@cache
def _rate(forward: Forward) -> float:
    """How many operations a second a busy forward makes here, in the best of several looks.

    A forward is so many operations and not so much time: what a carrier takes from it then shows.
    """
    operations, least = 10_000, math.inf
    for _ in range(5):
        began = time.perf_counter()
        _OPERATIONS[forward](operations)
        least = min(least, time.perf_counter() - began)
    return operations / least


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
    gloo = GlooTransport(group) if kind == "reduced" else ExchangeTransport(group)
    carried = kind.endswith("carried")
    delayed = DelayedTransport(gloo, opening.delay_s, at_once=carried) if opening.delay_s else None
    opened = OF_ITS_OWN.get(kind, partial(AckSync, lag=lag, cumulative=lag > 1, carrier=carried))
    watch = delayed.watch if delayed and not carried else None  # where there is a carrier, that is the one who offers
    return Loop(opened(delayed or gloo, kinds), watch, lanes, seed)
