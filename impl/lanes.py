"""The lanes of one rank as a whole: what it offers for them in a round, and what a round's result takes from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import add, attrgetter

from rankproof.impl.acks import Ack, Lane, LaneKind
from rankproof.impl.errors import Misuse
from rankproof.impl.ledger import Ledger

_POPPED_COUNT = attrgetter("popped_count")


class Lanes:
    """The lanes in the order in which their counts stand in the vector; `cumulative` says what is counted.

    Remaining counts are what is ready now. Cumulative ones add what was popped in this generation, so that a count that
    is older than a pop allows nothing twice: several rounds can then be in flight.
    """

    def __init__(self, kinds: Mapping[str, LaneKind], cumulative: bool, ledger: Ledger | None = None) -> None:
        """`ledger` keeps their digests. Raises Misuse where there is no lane, or a name or a kind cannot be."""
        if not hasattr(kinds, "items"):
            raise Misuse(f"lanes are given as a mapping from each name to its kind, not as {kinds!r}")
        if not kinds:
            raise Misuse("there is nothing to agree on; give at least one lane")
        self._cumulative = cumulative
        self.ledger = ledger or Ledger()
        """What the digests of their rounds come from."""
        self._hold({name: Lane(name, kind, self.ledger.note) for name, kind in kinds.items()})

    def __getitem__(self, name: str) -> Lane:
        """Raises Misuse for an unknown lane."""
        try:
            return self.by_name[name]
        except (KeyError, TypeError):
            raise Misuse(f"there is no lane {name!r}; lanes are {', '.join(self.by_name)}") from None

    def __iter__(self) -> Iterator[Lane]:
        return iter(self.each)

    @property
    def kinds(self) -> dict[str, LaneKind]:
        """The kind of each lane, by name and in order."""
        return {lane.name: lane.kind for lane in self}

    @property
    def empty(self) -> bool:
        """Whether nothing waits in any lane."""
        for lane in self.each:  # noqa: SIM110 # asked in each step
            if lane._acks:
                return False
        return True

    def counts(self) -> tuple[int, ...]:
        """What this rank offers for each lane."""
        ready = tuple(map(Lane.ready_count, self.each))
        if self._cumulative:
            return tuple(map(add, ready, map(_POPPED_COUNT, self.each)))
        return ready

    def to_pop(self, agreed: Sequence[int]) -> Iterable[tuple[Lane, int]]:
        """How many acks an agreement takes from each lane."""
        counts = zip(self.each, agreed)  # noqa: B905 # of each lane there is one, see `agreement`
        if self._cumulative:
            return [(lane, max(0, count - lane.popped_count)) for lane, count in counts]
        return counts

    def consumed(self, round_number: int) -> None:
        """What has been popped now is what was popped by the end of that round."""
        self.ledger.note(("consumed", "", round_number))

    def clear(self) -> None:
        """Forgets every ack."""
        for lane in self:
            lane.clear()

    def replace(self, attach: Mapping[str, LaneKind], detach: Sequence[str]) -> dict[str, list[Ack]]:
        """Adds lanes at the end and takes lanes away; gives what waited in those."""
        gone = {name: self.by_name[name] for name in detach}
        stay = {name: lane for name, lane in self.by_name.items() if name not in gone}
        self._hold(stay | {name: Lane(name, kind, self.ledger.note) for name, kind in attach.items()})
        return {name: lane.shut() for name, lane in gone.items()}

    def restore(self, lanes: dict[str, Lane], *taken: Mapping[str, Sequence[Ack]]) -> None:
        """Brings lanes back that were held before, and puts back what was taken since, what was taken last first."""
        self._hold(lanes)
        for acks_of in taken:
            for name, acks in acks_of.items():
                if name in lanes:
                    lanes[name].put_back(acks)

    def _hold(self, lanes: dict[str, Lane]) -> None:
        self.by_name = lanes
        """The lanes that are held now, in a dict that never changes: a change of lanes makes another."""
        self.each = tuple(lanes.values())
        """Each lane, in order."""

    def __str__(self) -> str:
        return "; ".join(_contents(lane) for lane in self)


def _contents(lane: Lane) -> str:
    waiting = lane.waiting
    return f"{lane.name} holds {len(waiting)}" + (f", head {waiting[0]!r}" if waiting else "")
