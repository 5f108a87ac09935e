"""What a rank sees of the others when it acts, and what its action leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rankproof.model.state import Event, RankState, Vector
from rankproof.model.system import Disabled
from rankproof.model.words import NOTHING_ASKED


@dataclass(frozen=True, slots=True)
class Result:
    """What comes out of a round, one number a lane.

    agreed   the agreed counts
    backed   what was finished on every rank when it was counted, cumulative; no rank sees this, the properties do
    differs  the guard word in which ranks differ, where that is an error, or empty
    epoch    the MIN of the epoch words and of their complements, or None where no rank compares them
    request  the lowest request word, or nothing asked
    lost     whether it never comes, because a rank that has not issued it is gone
    """

    agreed: Vector = ()
    backed: Vector = ()
    differs: str = ""
    epoch: tuple[int, int] | None = None
    request: int = NOTHING_ASKED
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Sight:
    """What a rank sees of the others.

    script   the events of the engine that it must go through next, in order
    mishaps  what has gone wrong on any rank, by the names of the scenario
    lead     how many steps it is ahead of the slowest
    outcome  what a round that it has in flight comes to, by its number, or why that is not there yet
    enqueued how many acks each lane has been given on each rank
    later    the ranks of the later stages of a pipeline
    """

    script: tuple[Event, ...]
    mishaps: tuple[str, ...]
    lead: int
    outcome: Callable[[int], Result | Disabled]
    enqueued: Callable[[], Sequence[Vector]]
    later: Callable[[], Sequence[RankState]]


@dataclass(frozen=True, slots=True)
class Moved:
    """A rank after an action.

    event    the event of the engine's script that it is the first to go through, or None
    drained  the rank after each wait and each pop of the rounds that the action consumed first, in order
    """

    rank: RankState
    event: Event | None = None
    drained: tuple[RankState, ...] = ()
