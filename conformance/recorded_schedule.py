"""A schedule that needs no driver: from a shared seed each rank makes its own part, whatever the others do meanwhile.

What the engine does on every rank (enqueue, step, flush, reset, evict) is drawn once and comes on each rank in the same
order; when acks finish is drawn for each rank alone. In the protocol the actions of different ranks commute, so what
each rank sees is settled by this, whichever way the ranks come to stand to each other in time.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from rankproof.conformance.capabilities import PLENTY, Capabilities
from rankproof.conformance.commands import Command, Step, calls_of
from rankproof.model.actions import Attach, Detach, Enqueue, Evict, Finish, Flush, Reset
from rankproof.model.schedule import LONGEST, MOST_LANES
from rankproof.model.state import RankState

MOST_STEPS = 100
"""Steps of one example at most, so that it stays within the bounds of the model's scenario."""

MOST_LAG = 100
"""The lag at most, since so many steps more empty the lanes at the end of each example."""

LONGEST_WAIT = 3600.0
"""Seconds that a wait of the subject lasts less than."""

_FINISHES = 0.4
"""How likely an unfinished ack finishes before the next thing that the engine does."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What every rank has to know to do its part; all ranks must be given the same.

    subject   "package.module:factory"
    world     the number of ranks
    examples  schedules, one after the other, each with new subjects
    steps     scheduler steps in each, before those that empty the lanes
    timeout   seconds that a wait of the subject may last
    """

    subject: str
    world: int
    seed: int = 0
    examples: int = 20
    steps: int = 30
    timeout: float = 10.0
    capabilities: Capabilities = field(default_factory=Capabilities)

    def __post_init__(self) -> None:
        """Raises ValueError, beginning with the name, for what cannot be run: a plan also comes out of a record."""
        can = self.capabilities
        bounds = {
            "examples": (self.examples, 1, None),
            "steps": (self.steps, 1, MOST_STEPS),
            "seed": (self.seed, 0, None),
        }
        for name, (value, least, most) in (bounds | {"lag": (can.lag, 0, MOST_LAG)}).items():
            if value < least or (most is not None and value > most):
                raise ValueError(
                    f"{name}: {value} is not {f'{least} or more' if most is None else f'{least} to {most}'}"
                )
        if not 0 < self.timeout < LONGEST_WAIT:
            raise ValueError(f"timeout: {self.timeout:g} is not between 0 and {LONGEST_WAIT:g} seconds")
        if len(can.lanes) > MOST_LANES:
            raise ValueError(f"lanes: {len(can.lanes)} is not 1 to {MOST_LANES}")
        for words in (self.subject, *can.names):
            if len(words) > LONGEST or not words.isprintable():
                raise ValueError(f"subject and lanes: a name has at most {LONGEST} characters, all printable")


def commands_of(plan: Plan, example: int, rank: int) -> tuple[Command, ...]:
    """The part of one rank in one example, counted from 0: the same wherever and whenever it is made."""
    script = _script(plan, example)
    return tuple(_part(plan.capabilities, script, _Dice(f"{plan.seed}/{example}/{rank}"), rank))


class _Dice:
    """Choices from a seed. Of all that `random` offers, only `random()` is promised to stay the same."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def below(self, count: int) -> int:
        return int(self._random.random() * count)

    def happens(self, chance: float) -> bool:
        return self._random.random() < chance


def _script(plan: Plan, example: int) -> list[tuple[str, int]]:
    """What the engine does on every rank: kinds of events, each with its lane (0 where it has none)."""
    can, dice = plan.capabilities, _Dice(f"{plan.seed}/{example}")
    evictable = [lane for lane, each in enumerate(can.lanes) if each.evicts] if "evict" in can.supports else []
    kinds = ["step"] * 6 + ["enqueue"] * 5 + ["evict"] * bool(evictable)
    kinds += [kind for kind in ("flush", "reset") if kind in can.supports] + ["storage"] * bool(can.storage)
    given = [0] * len(can.lanes)
    storage = _Storage(can)
    script: list[tuple[str, int]] = []
    while sum(kind == "step" for kind, _ in script) < plan.steps:
        kind = kinds[dice.below(len(kinds))]
        lane = evictable[dice.below(len(evictable))] if kind == "evict" else dice.below(len(can.lanes))
        if storage.refuses(kind, lane):
            continue
        if kind == "enqueue":
            if given[lane] == PLENTY:
                continue
            given[lane] += 1
        script.append((storage.told(kind), lane))
    return script


class _Storage:
    """Whether storage is attached, and how many steps a change that all ranks have asked for still takes.

    Each rank asks in the round that it issues next, and makes the change before the round a window later. Until then
    nothing but steps and other enqueues comes.
    """

    def __init__(self, capabilities: Capabilities) -> None:
        self._capabilities = capabilities
        self._takes = 0 if capabilities.attaches == "at-once" else capabilities.protocol.window + 1
        self._attached = False
        self._left = 0

    def refuses(self, kind: str, lane: int) -> bool:
        """Whether an event cannot come now."""
        there = self._attached and not self._left
        if kind in ("enqueue", "evict") and lane >= len(self._capabilities.lanes) - self._capabilities.storage:
            return not there
        return bool(self._left) and kind not in ("enqueue", "step")

    def told(self, kind: str) -> str:
        """The event by its full name, now that it comes."""
        if kind == "step":
            self._left = max(0, self._left - 1)
        if kind == "storage":
            self._attached, self._left = not self._attached, self._takes
            return "attach" if self._attached else "detach"
        return kind


def _part(can: Capabilities, script: list[tuple[str, int]], dice: _Dice, rank: int) -> Iterator[Command]:
    unfinished: list[list[int]] = [[] for _ in can.lanes]
    given = [0] * len(can.lanes)
    for kind, lane in script:
        yield from _finish_some(can, unfinished, dice, rank)
        match kind:
            case "enqueue":
                unfinished[lane].append(given[lane])
                yield Enqueue(rank, lane, given[lane])
                given[lane] += 1
            case "evict":  # which waits for all that is in the lane
                yield from _finish_all(unfinished, rank, lane)
                yield Evict(rank, lane)
            case "reset":
                unfinished = [[] for _ in can.lanes]
                yield Reset(rank)
            case "flush":
                yield Flush(rank)
            case "attach":
                yield Attach(rank)
            case "detach":  # what waits there goes with the lanes, at once or later: so it is finished first
                for storage in range(len(can.lanes) - can.storage, len(can.lanes)):
                    yield from _finish_all(unfinished, rank, storage)
                yield Detach(rank)
            case _:
                yield Step(rank)
    for lane in range(len(can.lanes)):
        yield from _finish_all(unfinished, rank, lane)
    yield from [Step(rank)] * (can.lag + 2)
    if "flush" in can.supports:
        yield Flush(rank)


def _finish_some(can: Capabilities, unfinished: list[list[int]], dice: _Dice, rank: int) -> Iterator[Command]:
    for lane, acks in enumerate(unfinished):
        for ack in tuple(acks):
            if dice.happens(_FINISHES):
                acks.remove(ack)
                yield Finish(rank, lane, ack)
            elif can.lanes[lane].counts == "size":
                break  # what arrives in such a lane arrives in one order


def _finish_all(unfinished: list[list[int]], rank: int, lane: int) -> Iterator[Command]:
    for ack in unfinished[lane]:
        yield Finish(rank, lane, ack)
    unfinished[lane] = []


def call_of(command: Command, can: Capabilities) -> tuple[str, tuple[object, ...]]:
    """The method of the subject that carries a command out, and its arguments; no method where it is told nothing."""
    calls = calls_of(command, RankState(lanes=()), can)  # none of these commands depends on the state of its rank
    return calls[0] if calls else ("", ())


def recorded(arguments: tuple[object, ...]) -> tuple[int, ...]:
    """The arguments of a call as a record has them: its numbers, and 0 or 1 for a setting that is off or on."""
    return tuple(int(each) for each in arguments if isinstance(each, int))
