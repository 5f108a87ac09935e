"""How the cost of a step grows: with ranks and lanes on real processes, and with the acks that wait in a lane."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from rankproof.benchmarks.echo import EchoTransport
from rankproof.benchmarks.estimates import Estimate, of_median
from rankproof.benchmarks.frame import Case, Effort, Item, Samples
from rankproof.benchmarks.interleaved import FEWEST_TURNS, Setting, in_turn
from rankproof.benchmarks.results import Measured, Results
from rankproof.benchmarks.scheduler import Clock, Transfer
from rankproof.benchmarks.turns import middle, over_turns, turns
from rankproof.conformance.launcher import Launcher
from rankproof.impl.acks import Ack
from rankproof.impl.sync import PipelinedAckSync

KINDS = ("blocking", "pipelined")
RANKS = (2, 3, 4, 8)
LANES = (2, 8, 64)
WAITING = (1, 10, 100, 1_000, 10_000, 100_000)
FINISHING = 3
"""How many acks at the head of a lane finish in each step where popping is measured."""

SECONDS = 8.0
WAITING_SECONDS = 2.0
STEPS = 100
"""Of one sample of a lane in which acks wait."""

LANE = "lane"
NEVER = 1 << 62
"""A step that does not come."""


def cases(effort: Effort) -> Sequence[Case]:
    """First ranks, then lanes at 2 ranks, then acks waiting on one rank alone."""
    numbers = (effort.ranks or RANKS)[: 2 if effort.quick else None]
    lanes = LANES[: 2 if effort.quick else None]
    waiting = WAITING[:: 2 if effort.quick else 1]
    seconds = SECONDS / 4 if effort.quick else SECONDS * effort.repeat
    waiting_seconds = WAITING_SECONDS / 4 if effort.quick else WAITING_SECONDS * effort.repeat
    return [
        *(_on_ranks("ranks", number, 2, seconds, effort.seed) for number in numbers),
        *(_on_ranks("lanes", 2, number, seconds, effort.seed) for number in lanes),
        *(
            Case(
                f"{number:,} acks waiting",
                {"over": "waiting", "waiting": number},
                waiting_seconds,
                partial(_behind, waiting=number, seconds=waiting_seconds),
            )
            for number in waiting
        ),
    ]


def _on_ranks(over: str, ranks: int, lanes: int, seconds: float, seed: int) -> Case:
    """Back to back, with no forward in between: the cost of a step is then all that there is."""
    setting = Setting(ranks, forward_s=0.0, lanes=lanes, seed=seed)
    return Case(
        f"over {over}: {ranks} ranks, {lanes} lanes",
        {"over": over, "ranks": ranks, "lanes": lanes},
        seconds,
        partial(in_turn, kinds=KINDS, setting=setting, seconds=seconds),
    )


ITEM = Item("growth", "how the cost of a step grows with ranks, lanes, and acks waiting", cases)


class Waiting:
    """One rank alone, with a lane in which that many acks wait, of which some finish in each step or none does.

    `asked` is how often an event was asked whether it has finished.
    """

    def __init__(self, waiting: int, finishing: int) -> None:
        """`finishing` of them finish in each step, and as many come in behind."""
        self.asked = 0
        self._finishing = finishing
        self._clock = Clock()
        self._sync = PipelinedAckSync(EchoTransport(), {LANE: "prefix"})
        self._enqueued = 0
        for _ in range(waiting):
            self._enqueue()

    def step(self) -> tuple[int, float]:
        """How many acks one step has popped, and what it took of the core, in seconds."""
        self._clock.step += 1
        for _ in range(self._finishing):
            self._enqueue()
        began = time.thread_time()
        result = self._sync.step()
        return len(result.popped[LANE]), time.thread_time() - began

    @property
    def left(self) -> int:
        """How many acks are in the lane now."""
        return len(self._sync.waiting(LANE))

    def _enqueue(self) -> None:
        due = self._enqueued // self._finishing + 1 if self._finishing else NEVER
        self._sync.enqueue(LANE, Ack(self._enqueued, _Asked(self, self._clock, due)))
        self._enqueued += 1


class _Asked(Transfer):
    """Counts how often it is asked."""

    __slots__ = ("_waiting",)

    def __init__(self, waiting: Waiting, clock: Clock, due: int) -> None:
        super().__init__(clock, due)
        self._waiting = waiting

    def query(self) -> bool:
        self._waiting.asked += 1
        return super().query()


def _behind(_: Launcher, waiting: int, seconds: float) -> Samples:
    """A sample has what a step takes where nothing at the head has finished, and where some is popped in each."""
    until = time.monotonic() + seconds
    counting, popping = Waiting(waiting, finishing=0), Waiting(waiting, finishing=FINISHING)
    turn = 0
    while turn < FEWEST_TURNS or time.monotonic() < until:
        counted = sum(counting.step()[1] for _ in range(STEPS)) / STEPS
        popped = sum(popping.step()[1] for _ in range(STEPS)) / STEPS
        yield {"turn": turn, "steps": STEPS, "counting_s": counted, "popping_s": popped}
        turn += 1


@dataclass(frozen=True, slots=True)
class Point:
    """What a step costs at one place of one axis, in seconds.

    over   what grows: ranks, lanes, or acks waiting
    costs  wall time of the step by kind; over acks waiting, time of the core where it counts, and where it pops too
    core   time of the core in the rank's own thread, by kind; empty over acks waiting
    """

    over: str
    place: int
    costs: dict[str, Estimate]
    core: dict[str, Estimate]


def points(results: Results, over: str) -> list[Point]:
    """Every point that was measured along one axis, in order."""
    found = [_point(measured, over) for measured in results.of("growth") if measured.parameters["over"] == over]
    return sorted(found, key=lambda point: point.place)


def _point(measured: Measured, over: str) -> Point:
    place = int(measured.parameters[over])
    if over == "waiting":
        both = {kind: [float(sample[f"{kind}_s"]) for sample in measured.samples] for kind in ("counting", "popping")}
        return Point(over, place, {kind: of_median(values) for kind, values in both.items()}, {})
    several = turns(measured, KINDS)
    return Point(
        over,
        place,
        {kind: over_turns(several, partial(middle, kind=kind, what="step_s")) for kind in KINDS},
        {kind: over_turns(several, partial(middle, kind=kind, what="core_s")) for kind in KINDS},
    )
