"""The moves of a random schedule: one command, or one on each of several ranks, of those that are possible now."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

from rankproof.conformance.commands import TIMING, Command, candidates
from rankproof.conformance.driver import Driver
from rankproof.model.actions import Enqueue, Evict, Finish

# How often each kind of move is drawn where it is possible. Single commands alone seldom bring an ack to its pop,
# which takes an enqueue, a finish and two steps on every rank; so there are moves of all ranks too.
WEIGHTS = {
    "step": 3,
    "all step": 4,
    "enqueue": 1,
    "all enqueue": 2,
    "finish": 2,
    "all finish": 3,
    "flush": 1,
    "reset": 1,
    "evict": 2,
    "attach": 1,
    "all attach": 2,
    "detach": 1,
    "all detach": 2,
    "lose": 1,
    "swap": 1,
    "stall": 1,
    "withdraw": 1,
    "decline": 1,
    "throw": 1,
    "crash": 1,
    "freeze": 1,
    "stop": 1,
    "continue": 4,
    "idle": 0.2,
}

FURTHER_BACK = 1 / 4
"""How often an ack that finishes on every rank may be another than the first that has not."""

BURST = 1 / 3
"""How often several acks of a lane are enqueued, or finish, on every rank in one move: one at a time, a round seldom
has more than two of them to pop, and who goes wrong only with more is not found."""

_BURST_OF = range(2, 6)


def move(driver: Driver, kinds: Iterable[str], draw: random.Random) -> list[Command]:
    """A move of one of these kinds, which is drawn first, so that the model is asked about commands of that kind alone.

    Nothing where none is possible. Of several commands one may make a later one impossible.
    """
    lots = [(draw.random() ** (1 / WEIGHTS[kind]), kind) for kind in kinds]
    for _, kind in sorted(lots, reverse=True):
        if kind.startswith("all "):
            commands = together(driver, kind.removeprefix("all "), draw)
        else:
            commands = alone(driver, kind, draw)
        if commands:
            return commands
    return []


def alone(driver: Driver, kind: str, draw: random.Random) -> list[Command]:
    """A command of this kind, on any rank where one is possible; an eviction rather of a lane that holds something.

    The first that is possible, of all in any order, is as likely to be each of them as one drawn from these would be,
    and the model need not be asked about the others.
    """
    ranks = range(driver.model.scenario.ranks)
    if kind in TIMING:
        order: list[Command] = [TIMING[kind](rank) for rank in ranks]
    else:
        order = [command for rank in ranks for command in candidates(kind, driver.state, rank)]
    draw.shuffle(order)
    order.sort(key=lambda command: isinstance(command, Evict) and not _waiting(driver, command))
    return next(([command] for command in order if driver.why_not(command) is None), [])


def together(driver: Driver, kind: str, draw: random.Random) -> list[Command]:
    """A command of this kind, in one lane where it has one, on each rank where one is possible: the first there.

    But of an ack to finish it is sometimes one further back, or a rank that pops what is finished wherever it stands
    would seldom be given anything else than it would have popped from the head. And sometimes there are several acks.
    """
    by_lane: dict[int, list[Command]] = {}
    for rank in range(driver.model.scenario.ranks):
        for command in candidates(kind, driver.state, rank):
            by_lane.setdefault(command.lane if isinstance(command, (Enqueue, Finish)) else 0, []).append(command)
    lanes = list(by_lane)
    draw.shuffle(lanes)
    if draw.random() < FURTHER_BACK:
        for commands in by_lane.values():
            acks = sorted({command.ack for command in commands if isinstance(command, Finish)})
            least = draw.choice(acks) if acks else 0
            commands[:] = [each for each in commands if not isinstance(each, Finish) or each.ack >= least]
    for lane in lanes:
        first: dict[int, Command] = {}
        for command in by_lane[lane]:
            if command.rank not in first and driver.why_not(command) is None:
                first[command.rank] = command
        if commands := list(first.values()):
            draw.shuffle(commands)
            return _burst(driver, commands, draw) if draw.random() < BURST else commands
    return []


def _burst(driver: Driver, commands: list[Command], draw: random.Random) -> list[Command]:
    """The commands, and behind each the same of the acks that follow: some to enqueue, or all that can finish there."""
    number = draw.choice(_BURST_OF)
    several: list[Command] = []
    for command in commands:
        match command:
            case Enqueue():
                several += [replace(command, ack=command.ack + more) for more in range(number)]
            case Finish(rank, lane, ack):
                content = driver.state.ranks[rank].lanes[lane]
                later = [each for each in content.waiting if each >= ack and each not in content.finished]
                several += [replace(command, ack=each) for each in later]
            case _:
                several.append(command)
    return several


def _waiting(driver: Driver, command: Evict) -> tuple[int, ...]:
    return driver.state.ranks[command.rank].lanes[command.lane].waiting
