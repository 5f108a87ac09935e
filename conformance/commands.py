"""What a driver can tell one rank to do, and the calls to its subject that this comes to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from rankproof.conformance.capabilities import Capabilities
from rankproof.model.actions import (
    Attach,
    Close,
    Crash,
    Detach,
    Enqueue,
    Evict,
    Finish,
    Flush,
    Lose,
    Reset,
    Stall,
    Swap,
    Throw,
)
from rankproof.model.state import RankState, State
from rankproof.model.system import Model


@dataclass(frozen=True, slots=True)
class Step:
    """The command to run one step of the scheduler on `rank`: all four phases, where an action is one of them."""

    rank: int


Fault: TypeAlias = Lose | Swap | Stall | Throw | Crash
"""What goes wrong on one rank: an enqueue fails, acks trade places, a transfer posts no ack, a step throws, a kill.

`Throw` is the command for a step in which an event raises; its model has that as the last action of the step.
"""

Command: TypeAlias = Step | Enqueue | Finish | Reset | Evict | Flush | Attach | Detach | Close | Fault
"""What a driver can tell one rank to do."""

Call: TypeAlias = tuple[str, tuple[object, ...]]
"""A method of the subject, and its arguments."""

STORAGE = "storage"
"""The setting by which a subject is told to attach its storage lanes (True) or to detach them (False)."""


def calls_of(command: Command, me: RankState, capabilities: Capabilities | None = None) -> tuple[Call, ...]:
    """The calls that carry a command out on a rank that is in state `me`, in order; the last gives the reply.

    None where the subject is told nothing: an enqueue that fails, a transfer that will never finish, and in a lane that
    is counted by its size an ack that has not finished. A crash is no call either.
    """
    match command:
        case Enqueue(_, lane, ack):
            return () if is_by_size(lane, capabilities) else (("enqueue", (lane, ack)),)
        case Swap(_, lane, ack):
            return (("enqueue", (lane, ack + 1)), ("enqueue", (lane, ack)))
        case Finish(_, lane, ack):
            return (("enqueue" if is_by_size(lane, capabilities) else "finish", (lane, ack)),)
        case Evict(_, lane):
            return (("evict", (lane,)),)
        case Attach() | Detach():
            return (("reconfigure", (STORAGE, isinstance(command, Attach))),)
        case Throw():
            lane, ack = first_unfinished(me) or (0, 0)
            return (("spoil", (lane, ack)), ("step", ()))
        case Step() | Reset() | Flush() | Close():
            return ((type(command).__name__.lower(), ()),)
        case Lose() | Stall() | Crash():
            return ()


def is_by_size(lane: int, capabilities: Capabilities | None) -> bool:
    """Whether the subject counts a lane by its length, and so is given only what has finished."""
    return capabilities is not None and capabilities.lanes[lane].counts == "size"


def first_unfinished(me: RankState) -> tuple[int, int] | None:
    """The lane and the ack of an event that the next count asks, whatever is popped before; None where none is."""
    for lane, content in enumerate(me.lanes):
        for ack in content.waiting:
            if ack not in content.finished:
                return lane, ack
    return None


def candidates(model: Model, state: State) -> Iterator[Command]:
    """Every command that may be possible in a state; no other is."""
    scenario = model.scenario
    for rank, me in enumerate(state.ranks):
        yield from (Step(rank), Flush(rank), Reset(rank), Attach(rank), Detach(rank), Close(rank))
        if scenario.throws:
            yield Throw(rank)
        if scenario.crashes:
            yield Crash(rank)
        for lane, content in enumerate(me.lanes):
            yield from (Enqueue(rank, lane, content.next), Evict(rank, lane))
            if scenario.losses:
                yield Lose(rank, lane, content.next)
            if scenario.swaps:
                yield Swap(rank, lane, content.next)
            for ack in content.waiting:
                if ack not in content.finished:
                    yield Finish(rank, lane, ack)
                    if scenario.stalls:
                        yield Stall(rank, lane, ack)
