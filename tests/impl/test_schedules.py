"""Schedules at random, without a fault: no rank raises, all pop the same, and only what has finished everywhere.

All ranks enqueue into the aligned lane, step and evict in one order. Each goes at its own pace, and drains, fills its
other lanes, finishes transfers, and within some steps resets and asks for changes when it likes.
"""

import random
from collections import defaultdict
from dataclasses import dataclass, field

import pytest

from rankproof.impl.acks import Ack, LaneKind
from rankproof.impl.frame import StepResult
from rankproof.impl.sync import AckSync
from tests.impl.conftest import ManualEvent, MemoryNetwork

LANES: dict[str, LaneKind] = {"write": "aligned", "load": "prefix", "backup": "size"}
RANKS = 3


def programs(dice: random.Random) -> list[list[tuple[str, ...]]]:
    """What each rank does, in order."""
    ranks: list[list[tuple[str, ...]]] = [[] for _ in range(RANKS)]
    attached = False
    common: list[tuple[str, ...]]
    own: tuple[str, ...] | None
    for number in range(50):
        match dice.choices(["enqueue", "step", "evict", "reset", "change"], [8, 8, 1, 1, 1])[0]:
            case "enqueue":
                common, own = [("enqueue", str(number))], None
            case "evict":
                common, own = [("finish",), ("evict",)], None
            case "reset":  # within these steps, wherever each rank likes; nothing is enqueued in them
                common, own = [("step",)] * 3, ("reset",)
            case "change":
                common, own = [("step",)] * 11, ("detach" if attached else "attach",)
                attached = not attached
            case _:
                common, own = [("step",)], None
        for program in ranks:
            part = list(common)
            if own:
                part.insert(dice.randrange(len(part) // 2 + 1), own)
            if own != ("reset",):
                likes = [("drain",), ("finish",), ("fill", "load"), ("fill", "backup")]
                part = [step for one in part for step in (*dice.choices(likes, k=dice.choice([0, 0, 1, 2])), one)]
            program += part
    return [[*program, ("finish",), *[("step",)] * 12] for program in ranks]


@dataclass
class Walker:
    """One rank on its way through its program."""

    sync: AckSync
    lag: int
    program: list[tuple[str, ...]]
    at: int = 0
    generation: int = 0
    filled: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    events: list[ManualEvent] = field(default_factory=list)
    popped: dict[tuple[int, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    """By generation and lane, in order."""

    def may_go(self, network: MemoryNetwork) -> bool:
        """Whether its next action waits for no other rank, as far as is known from outside."""
        if self.at == len(self.program):
            return False
        action = self.program[self.at][0]
        if action not in ("step", "drain", "evict", "reset"):
            return True
        left = self.lag - 1 if action == "step" and "asks to" not in self.sync.state() else 0
        consuming = max(self.sync.in_flight - left, 0)
        issued = len(network.offers[self.sync._transport.rank])
        return min(map(len, network.offers)) >= issued - self.sync.in_flight + consuming

    def go(self) -> None:
        action, *names = self.program[self.at]
        self.at += 1
        match action:
            case "step":
                self.take(self.sync.step())
            case "drain":
                self.take(self.sync.drain())
            case "evict":
                self.take(self.sync.evict("write"))
            case "reset":
                self.take(self.sync.reset())
                self.generation += 1
                self.filled.clear()
            case "attach":
                self.sync.attach({"extra": "size"})
            case "detach":
                self.sync.detach("extra")
            case "enqueue":
                self.put("write", names[0])
            case "fill":
                self.filled[names[0]] += 1
                self.put(names[0], f"{self.generation}.{self.filled[names[0]]}")
            case "finish":
                for event in self.events:
                    event.finished = True

    def put(self, lane: str, identity: str) -> None:
        self.events.append(ManualEvent(lane == "backup"))
        self.sync.enqueue(lane, Ack(identity, self.events[-1]))

    def take(self, result: StepResult) -> None:
        for lane, acks in result.popped.items():
            assert all(ack.event.query() for ack in acks)
            self.popped[self.generation, lane] += [str(ack.identity) for ack in acks]


@pytest.mark.parametrize("lag", [1, 2, 4])
@pytest.mark.parametrize("seed", range(20))
def test_ranks_without_a_fault_agree_at_every_depth(seed: int, lag: int) -> None:
    dice = random.Random(f"{seed}/{lag}")
    network = MemoryNetwork(RANKS)
    ranks = [
        Walker(AckSync(end, LANES, lag, cumulative=lag > 1), lag, program)
        for end, program in zip(network.transports, programs(dice), strict=True)
    ]
    while going := [rank for rank in ranks if rank.may_go(network)]:
        dice.choice(going).go()
    assert all(rank.at == len(rank.program) for rank in ranks)
    first = ranks[0]
    assert len({rank.sync.epoch for rank in ranks}) == 1
    for key in {key for rank in ranks for key in rank.popped}:
        orders = [rank.popped[key] for rank in ranks]
        shortest = min(orders, key=len)
        assert [order[: len(shortest)] for order in orders] == [shortest] * RANKS
    assert first.popped[first.generation, "write"] == ranks[1].popped[first.generation, "write"]
    assert all(rank.sync.waiting("write") == () for rank in ranks)
