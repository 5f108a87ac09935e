"""A command that a rank has begun: which actions of the model it comes to, and what they pop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TypeAlias

from rankproof.conformance.commands import Command, Continue, Freeze, Idle, Step, Stop
from rankproof.conformance.comparing import Acks
from rankproof.model.actions import (
    Action,
    Between,
    Change,
    Count,
    Crash,
    Notice,
    Pop,
    Throw,
    Wait,
)
from rankproof.model.interleaving import Disabled, Model, apply, drained_by, next_phase
from rankproof.model.state import LaneState, State

Path: TypeAlias = list[tuple[Action, State]]
"""Actions of the model, each with the state after it."""


@dataclass(slots=True)
class Begun:
    """A command that was given to a rank and is not known to have ended.

    name    the method whose reply is awaited, or "" where the subject was told nothing
    steps   how many steps the rank had gone through
    popped  what it has popped since
    last    the last action that the model took for it
    """

    command: Command
    name: str
    steps: int
    popped: Acks
    last: Action | None = None

    def next(self, model: Model, state: State) -> Action | None:
        """What the model does next for it; None where the command has ended."""
        rank = self.command.rank
        me = state.ranks[rank]
        match self.command:
            case Step() | Throw():
                pass
            case Stop() | Continue() | Idle():
                return None
            case Freeze():
                return None if self.last else Crash(rank)
            case command:
                return None if self.last else command
        if me.error or isinstance(self.last, Throw) or (me.phase == 0 and me.steps > self.steps):
            return None
        coming = next_phase(model, state, rank)
        return Throw(rank) if isinstance(self.command, Throw) and isinstance(coming, Count) else coming

    def take(self, model: Model, before: State, action: Action, after: State) -> None:
        """Counts in what an action pops, first in the drain that it may begin with, which a reset or a change hides."""
        lanes = before.ranks[action.rank].lanes
        drained = drained_by(model, before, action)
        between = drained[-1].lanes if drained else lanes
        for parts in (_newly_popped(lanes, between), _newly_popped(between, after.ranks[action.rank].lanes)):
            self.popped = tuple(earlier + now for earlier, now in zip(self.popped, parts, strict=True))
        self.last = action


Apply: TypeAlias = Callable[[State, Action], State | Disabled]
"""The model's `apply`, which may remember what it gave."""


def path_of(model: Model, state: State, begun: Begun, apply: Apply) -> tuple[Path, bool]:
    """The model's actions for a command as far as they are enabled, and whether it ends with them.

    Raises ValueError where the next is neither enabled nor a wait, for a peer or in a pipeline for acks of its own.
    """
    path: Path = []
    ahead = replace(begun)
    while action := ahead.next(model, state):
        after = apply(state, action)
        if isinstance(after, Disabled):
            if not after.waits_for and not isinstance(action, Pop):
                raise ValueError(f"the driver took rank {action.rank} where the model cannot go on: {after.reason}")
            return path, False
        path.append((action, after))
        ahead.last, state = action, after
    return path, True


def noticed(model: Model, state: State, rank: int, path: Path) -> Path:
    """The path on which the rank learns that another is gone, where it first could; the same where none is."""
    before = list(takewhile(lambda each: not isinstance(each[0], Wait | Change | Between), path))
    before = before if len(before) < len(path) else []
    after = apply(model, before[-1][1] if before else state, Notice(rank))
    return path if isinstance(after, Disabled) else [*before, (Notice(rank), after)]


def _newly_popped(before: tuple[LaneState, ...], after: tuple[LaneState, ...]) -> Acks:
    """The acks popped from each lane between two states of it; none where it was cleared in between."""
    return tuple(
        new.popped[len(old.popped) :] if new.popped[: len(old.popped)] == old.popped else ()
        for old, new in zip(before, after, strict=True)
    )
