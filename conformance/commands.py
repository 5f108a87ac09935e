"""What a driver can tell one rank to do, and the calls to its subject that this comes to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from rankproof.conformance.capabilities import Capabilities
from rankproof.model.actions import (
    Attach,
    Close,
    Crash,
    Decline,
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
    Withdraw,
)
from rankproof.model.state import RankState, State
from rankproof.model.system import Model


@dataclass(frozen=True, slots=True)
class Step:
    """The command to run one step of the scheduler on `rank`: all four phases, where an action is one of them."""

    rank: int


@dataclass(frozen=True, slots=True)
class Stop:
    """The command to stop `rank` as SIGSTOP does, wherever it stands, until it is told to continue.

    The others go on as far as their waits. To the model it is nothing: a rank may always take its time.
    """

    rank: int


@dataclass(frozen=True, slots=True)
class Continue:
    """The command to let a stopped `rank` go on, as SIGCONT does; then what ranks were told meanwhile is compared."""

    rank: int


@dataclass(frozen=True, slots=True)
class Freeze:
    """The command to stop `rank` for good. To its peers, and so to the model, it is as dead as after a crash."""

    rank: int


@dataclass(frozen=True, slots=True)
class Idle:
    """The command that no further step comes, given on `rank`: each rank takes only those that another has taken.

    To the model it is nothing. What is in flight then is for a flush, an eviction, a reset or a close to consume.
    """

    rank: int


TIMING: Mapping[str, type[Stop | Continue | Idle]] = {"stop": Stop, "continue": Continue, "idle": Idle}
"""The commands that only change when things happen, by the name of their kind; to the model they are nothing."""


Fault: TypeAlias = Lose | Swap | Withdraw | Stall | Decline | Throw | Crash | Freeze
"""What goes wrong on one rank: an enqueue fails, acks trade places, a transfer posts no ack, a step throws, a kill.

`Throw` is the command for a step in which an event raises; its model has that as the last action of the step.
"""

Timing: TypeAlias = Stop | Continue | Idle
"""What is done to ranks that changes nothing of what they are to do."""

Command: TypeAlias = Step | Enqueue | Finish | Reset | Evict | Flush | Attach | Detach | Close | Fault | Timing
"""What a driver can tell one rank to do."""

Call: TypeAlias = tuple[str, tuple[object, ...]]
"""A method of the subject, and its arguments."""

STORAGE = "storage"
"""The setting by which a subject is told to attach its storage lanes (True) or to detach them (False)."""


def calls_of(command: Command, me: RankState, capabilities: Capabilities | None = None) -> tuple[Call, ...]:
    """The calls that carry a command out on a rank that is in state `me`, in order; the last gives the reply.

    There are none where the subject is told nothing: an enqueue that fails, a transfer that will never finish, and in
    a lane that is counted by its size an ack that has not finished. What is done to a rank's process is no call either.
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
        case Withdraw(_, lane, ack):
            return (("withdraw", (lane, ack)),)
        case Step() | Reset() | Flush() | Close() | Decline():
            return ((type(command).__name__.lower(), ()),)
        case Lose() | Stall() | Crash() | Freeze() | Stop() | Continue() | Idle():
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


def kinds(model: Model) -> list[str]:
    """The kinds of command, by the lower-case names of their classes, of which the model's scenario allows any.

    Those that are nothing to the model (see `Timing`) are not among them.
    """
    scenario = model.scenario
    bounded = {
        "flush": scenario.flushes,
        "reset": scenario.resets,
        "evict": scenario.evicts,
        "attach": scenario.attaches,
        "detach": scenario.attaches,
        "close": scenario.closes,
        "lose": scenario.losses,
        "swap": scenario.swaps,
        "withdraw": scenario.withdrawals,
        "stall": scenario.stalls,
        "decline": scenario.declines,
        "throw": scenario.throws,
        "crash": scenario.crashes,
        "freeze": scenario.crashes,
    }
    return [kind for kind in (*_OF_RANK, *_OF_LANE) if bounded.get(kind, 1)]


def candidates(kind: str, state: State, rank: int) -> Iterator[Command]:
    """Every command of a kind that may be possible for `rank` in a state; no other is."""
    if kind in _OF_RANK:
        yield _OF_RANK[kind](rank)
        return
    for lane, content in enumerate(state.ranks[rank].lanes):
        match kind:
            case "withdraw":
                yield from (Withdraw(rank, lane, ack) for ack in content.waiting)
            case "finish" | "stall":
                for ack in content.waiting:
                    if ack not in content.finished:
                        yield Finish(rank, lane, ack) if kind == "finish" else Stall(rank, lane, ack)
            case _:
                yield _OF_LANE[kind](rank, lane, content.next)


_OF_RANK: Mapping[str, Callable[[int], Command]] = {
    each.__name__.lower(): each for each in (Step, Flush, Reset, Attach, Detach, Close, Decline, Throw, Crash, Freeze)
}
_OF_LANE: Mapping[str, Callable[[int, int, int], Command]] = {
    "enqueue": Enqueue,
    "lose": Lose,
    "swap": Swap,
    "finish": Finish,
    "stall": Stall,
    "withdraw": Withdraw,
    "evict": lambda rank, lane, _: Evict(rank, lane),
}
