"""The lanes of one rank as a whole: what it offers for them in a round, and what a round's result takes from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from operator import add, attrgetter

from rankproof.impl.acks import Ack, Lane, LaneKind
from rankproof.impl.digests import EMPTY
from rankproof.impl.errors import Misuse
from rankproof.model.words import settled

_POPPED_COUNT, _POPPED_DIGEST = attrgetter("popped_count"), attrgetter("popped_digest")


class Lanes:
    """The lanes in the order in which their counts stand in the vector; `cumulative` says what is counted.

    Remaining counts are what is ready now. Cumulative ones add what was popped in this generation, so that a count that
    is older than a pop allows nothing twice: several rounds can then be in flight.

    Digests of popped acks are compared as they stood after the round that every rank has surely consumed when it issues
    the next (`rankproof.model.words.settled`): a rank that was drained in between has popped more, and is not at fault.
    """

    def __init__(self, kinds: Mapping[str, LaneKind], cumulative: bool) -> None:
        """Raises Misuse where there is no lane, or a name or a kind cannot be."""
        if not hasattr(kinds, "items"):
            raise Misuse(f"lanes are given as a mapping from each name to its kind, not as {kinds!r}")
        if not kinds:
            raise Misuse("there is nothing to agree on; give at least one lane")
        self._cumulative = cumulative
        self._hold({name: Lane(name, kind) for name, kind in kinds.items()})
        self._popped_by: dict[int, tuple[int, ...]] = {}
        """The digest of what was popped by the end of each round, a word for each lane that was there before it."""

    def __getitem__(self, name: str) -> Lane:
        """Raises Misuse for an unknown lane."""
        try:
            return self._lanes[name]
        except (KeyError, TypeError):
            raise Misuse(f"there is no lane {name!r}; lanes are {', '.join(self._lanes)}") from None

    def __iter__(self) -> Iterator[Lane]:
        return iter(self._each)

    @property
    def kinds(self) -> dict[str, LaneKind]:
        """The kind of each lane, by name and in order."""
        return {lane.name: lane.kind for lane in self}

    @property
    def empty(self) -> bool:
        """Whether nothing waits in any lane."""
        return not any(map(len, self._each))

    def counts(self) -> tuple[int, ...]:
        """What this rank offers for each lane."""
        ready = tuple(map(Lane.ready_count, self._each))
        if self._cumulative:
            return tuple(map(add, ready, map(_POPPED_COUNT, self._each)))
        return ready

    def digests(self, round_number: int, window: int) -> tuple[int, ...]:
        """What this rank lets the others compare in the round, a word a lane; `window` rounds may be in flight."""
        last = settled(round_number, window)
        self._popped_by.pop(last - 1, None)
        popped = chain(self._popped_by.get(last, ()), repeat(EMPTY))  # a lane that came later has popped nothing
        return tuple(map(Lane.digest, self._each, popped))

    def to_pop(self, agreed: Sequence[int]) -> Iterable[tuple[Lane, int]]:
        """How many acks an agreement takes from each lane."""
        counts = zip(self._each, agreed)  # noqa: B905 # of each lane there is one, see `agreement`
        if self._cumulative:
            return [(lane, max(0, count - lane.popped_count)) for lane, count in counts]
        return counts

    def consumed(self, round_number: int) -> None:
        """Remembers what was popped by the end of the round."""
        self._popped_by[round_number] = tuple(map(_POPPED_DIGEST, self._each))

    def clear(self) -> None:
        """Forgets every ack."""
        for lane in self:
            lane.clear()
        self._popped_by.clear()

    def replace(self, attach: Mapping[str, LaneKind], detach: Sequence[str]) -> dict[str, list[Ack]]:
        """Adds lanes at the end and takes lanes away; gives what waited in those."""
        gone = {name: self._lanes[name] for name in detach}
        stay = {name: lane for name, lane in self._lanes.items() if name not in gone}
        places = [place for place, name in enumerate(self._lanes) if name in stay]
        self._popped_by = {past: tuple([words[place] for place in places]) for past, words in self._popped_by.items()}
        self._hold(stay | {name: Lane(name, kind) for name, kind in attach.items()})
        return {name: lane.shut() for name, lane in gone.items()}

    def snapshot(self) -> dict[str, Lane]:
        """The lanes as they are, for `restore`."""
        return self._lanes

    def restore(self, lanes: dict[str, Lane], *taken: Mapping[str, Sequence[Ack]]) -> None:
        """Brings the lanes of a snapshot back and puts back what was taken since, what was taken last first."""
        self._hold(lanes)
        for acks_of in taken:
            for name, acks in acks_of.items():
                if name in lanes:
                    lanes[name].put_back(acks)

    def _hold(self, lanes: dict[str, Lane]) -> None:
        self._lanes = lanes
        self._each = tuple(lanes.values())
        self.names = tuple(lanes)
        """The name of each lane, in order."""

    def __str__(self) -> str:
        return "; ".join(_contents(lane) for lane in self)


def _contents(lane: Lane) -> str:
    waiting = lane.waiting
    return f"{lane.name} holds {len(waiting)}" + (f", head {waiting[0]!r}" if waiting else "")
