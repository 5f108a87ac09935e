"""The state of every rank between two actions: immutable, hashable, and reducible to a canonical form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from rankproof.model.copying import replace

T = TypeVar("T")

Vector: TypeAlias = tuple[int, ...]
"""One count a lane."""

Words: TypeAlias = tuple[int, ...]
"""The guard words of a round, in the order of the protocol; a digest is a number that no other acks have."""

LOST, THREW, DEAD, CLOSED = "peer lost", "threw", "dead", "closed"


@dataclass(frozen=True)
class LaneState:
    """One lane on one rank. Acks are numbered from 0 in the order in which the engine enqueues them.

    waiting   the acks in the lane, head first
    finished  those of them that are finished
    popped    the acks popped in this epoch, in order
    next      the number of the ack that is enqueued next
    stalled   those that wait and will never finish
    """

    waiting: tuple[int, ...] = ()
    finished: frozenset[int] = frozenset()
    popped: tuple[int, ...] = ()
    next: int = 0
    stalled: frozenset[int] = frozenset()

    def without(self, acks: tuple[int, ...], *, popped: tuple[int, ...] | None = None) -> LaneState:
        """The lane after these acks have left it; `popped` is what has been popped then, if they were."""
        return replace(
            self,
            waiting=tuple(ack for ack in self.waiting if ack not in acks),
            finished=self.finished.difference(acks),
            stalled=self.stalled.difference(acks),
            popped=self.popped if popped is None else popped,
        )

    @property
    def finished_prefix(self) -> int:
        """How many acks at the head are finished, up to the first that is not."""
        for length, ack in enumerate(self.waiting):
            if ack not in self.finished:
                return length
        return len(self.waiting)


@dataclass(frozen=True)
class RankState:
    """One rank.

    phase     index into `Protocol.phases` of what it takes next; 0 between two steps
    issued, consumed   rounds, counted from the first
    offers    the vectors that it issued, oldest first; the last one is of round `issued`
    backing   for each of them what was finished when it was counted, cumulative, one count a lane
    words     for each of them its guard words
    counted   what it counted in this step and has not issued yet
    backed    what was finished then, cumulative
    allowed   what its wait allowed it to pop and it has not popped yet
    owed      what it must have popped after that, cumulative: all that was finished on every rank at the count
    missing   acks that it was to pop and that were not in the lane
    calls     one entry a step, oldest first: the length of the vector of each round that it issued in it
    declined  steps that it issued no round in, where the guard words tell
    steps     steps that it has issued, or declined to issue, in
    epoch     how many resets it has gone through
    evictions, flushes   how many of each it has gone through
    layout    how often it has attached or detached storage, which is attached where that is odd
    asks      the layout that it asks for, or 0
    due       the round before which it takes that on, as every rank asked for it; or 0
    asked     in a later stage of a pipeline: in how many rounds it has asked for it, as far as that still matters
    mishaps   what went wrong on it, by the names of the scenario
    error     why it does nothing more: the guard word that differed, LOST, THREW, DEAD or CLOSED; else empty
    events    how many events of the engine's common script it has gone through
    marks     where the popped digest is a guard word, and for each of the last `window` rounds that it consumed: how
              much it had popped by the end of that round in this epoch; nothing popped is not kept
    """

    lanes: tuple[LaneState, ...]
    phase: int = 0
    issued: int = 0
    consumed: int = 0
    offers: tuple[Vector, ...] = ()
    backing: tuple[Vector, ...] = ()
    words: tuple[Words, ...] = ()
    counted: Vector = ()
    backed: Vector = ()
    allowed: Vector = ()
    owed: Vector = ()
    missing: int = 0
    calls: tuple[Vector, ...] = ()
    declined: int = 0
    steps: int = 0
    epoch: int = 0
    evictions: int = 0
    flushes: int = 0
    layout: int = 0
    mishaps: tuple[str, ...] = ()
    error: str = ""
    events: int = 0
    marks: tuple[Vector, ...] = ()
    asks: int = 0
    due: int = 0
    asked: int = 0

    def offer_of(self, round_number: int) -> Vector:
        """What this rank offered in a round, by its number from 1. Raises IndexError for one that it does not hold."""
        return self._of(self.offers, round_number)

    def backing_of(self, round_number: int) -> Vector:
        """What was finished here when a round was counted. Raises IndexError for one that it does not hold."""
        return self._of(self.backing, round_number)

    def words_of(self, round_number: int) -> Words:
        """The guard words that this rank put into a round. Raises IndexError for one that it does not hold."""
        return self._of(self.words, round_number)

    def _of(self, items: tuple[T, ...], round_number: int) -> T:
        back = self.issued - round_number
        if not 0 <= back < len(items):
            raise IndexError(f"no round {round_number} is held")
        return items[-1 - back]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that the engine does on every rank at the same place between steps.

    kind      "step", "reset", "evict", "attach", "detach" or "close"
    lane      the lane of an eviction, else None
    enqueued  how many acks each lane had been given by then, where the scenario demands that ranks agree on it
    """

    kind: str
    lane: int | None = None
    enqueued: Vector | None = None


@dataclass(frozen=True)
class State:
    """All ranks, and the script of events that some rank has gone through and another has still before it.

    `script` ends where the rank that is furthest stands; `length` is how many events it has gone through in all.
    """

    ranks: tuple[RankState, ...]
    script: tuple[Event, ...] = ()
    length: int = 0

    def ahead_of(self, rank: int) -> tuple[Event, ...]:
        """The events that `rank` must go through next, in order; none where it is the furthest and may choose."""
        return _last(self.script, self.length - self.ranks[rank].events)


def initial(ranks: int, lanes: int) -> State:
    """Nothing enqueued, nothing issued."""
    return State((RankState(lanes=(LaneState(),) * lanes),) * ranks)


def canonical(state: State) -> State:
    """The same state with all that no rank can still see taken off, so that equal futures are equal states.

    Rounds consumed by every rank, steps taken by every rank and events passed by every rank are forgotten, and counted
    from there; so is how many acks were missing, of which only the increase is looked at.
    """
    consumed = min(rank.consumed for rank in state.ranks)
    steps = min(rank.steps for rank in state.ranks)
    events = min(rank.events for rank in state.ranks)
    ranks = tuple(forget(rank, consumed, steps, events) for rank in state.ranks)
    return State(ranks, _last(state.script, state.length - events), state.length - events)


def forget(rank: RankState, consumed: int, steps: int, events: int) -> RankState:
    """The rank without the first so many rounds, steps and events, which every rank has left behind."""
    return replace(
        rank,
        issued=rank.issued - consumed,
        consumed=rank.consumed - consumed,
        offers=_last(rank.offers, rank.issued - consumed),
        backing=_last(rank.backing, rank.issued - consumed),
        words=_last(rank.words, rank.issued - consumed),
        missing=0,
        calls=_last(rank.calls, rank.steps - steps),
        steps=rank.steps - steps,
        events=rank.events - events,
        due=rank.due - consumed if rank.due else 0,
    )


def _last(items: tuple[T, ...], count: int) -> tuple[T, ...]:
    return items[-count:] if count > 0 else ()
