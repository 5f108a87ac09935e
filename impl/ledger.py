"""What the digests of a round are made of: what happened to the lanes, in order, and the running hashes of it.

What happens to a lane is noted, which costs one append; whoever makes the vector of a round reads the notes, and does
the hashing. So the thread that steps does not hash where another one carries its rounds (see `rounds`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from rankproof.impl.acks import Note
from rankproof.impl.digests import EMPTY, folded, identity_word
from rankproof.impl.guards import Offer
from rankproof.model.words import settled


class Ledger:
    """The digests of one rank's lanes, by name: of what was enqueued, and of what was popped by the end of each round.

    Digests of popped acks are compared as they stood after the round that every rank has surely consumed when it issues
    the next (`rankproof.model.words.settled`): a rank that was drained in between has popped more, and is not at fault.
    """

    def __init__(self) -> None:
        self._notes: deque[Note | Offer] = deque()
        self.note: Callable[[Note | Offer], None] = self._notes.append
        """Keeps what happened for the next reader, in one append that no other thread comes between. An offer is noted
        where it is made: its digests are of what was noted before."""
        self._enqueued: dict[str, int] = {}
        self._popped: dict[str, int] = {}
        self._popped_by: dict[int, dict[str, int]] = {}

    def digests(self, offer: Offer) -> tuple[int, ...]:
        """What this rank lets the others compare in the round of an offer that was noted: a word for each of its lanes.

        Of what was popped, and in an `aligned` lane also of all that was ever enqueued. One reader at a time, and
        offers in the order in which they were noted.
        """
        while (note := self._notes.popleft()) is not offer:
            self._enter(note)
        last = settled(offer.round, offer.window)
        popped_by = self._popped_by
        while popped_by and next(iter(popped_by)) < last:  # rounds stand in it in their order
            del popped_by[next(iter(popped_by))]
        popped, enqueued = popped_by.get(last, _NOTHING), self._enqueued
        digests = []
        for lane in offer.lanes:
            digest = popped.get(lane.name, EMPTY)  # a lane that came later has popped nothing
            if lane.kind == "aligned":
                digest = folded(enqueued.get(lane.name, EMPTY), digest)
            digests.append(digest)
        return tuple(digests)

    def read(self) -> None:
        """Reads all notes. No offer may be among them: nothing is in flight."""
        while self._notes:
            self._enter(self._notes.popleft())

    def _enter(self, note: Note | Offer) -> None:
        if isinstance(note, Offer):
            raise AssertionError(f"round {note.round} was noted before the offer that is read")
        what, name, of = note
        if what == "enqueued":
            self._enqueued[name] = folded(self._enqueued.get(name, EMPTY), identity_word(of))
        elif what == "popped":
            digest = self._popped.get(name, EMPTY)
            for identity in of:
                digest = folded(digest, identity_word(identity))
            self._popped[name] = digest
        elif what == "consumed":
            self._popped_by[of] = self._popped.copy()
        else:  # forgotten; what comes by that name later starts anew
            for digests in (self._enqueued, self._popped, *self._popped_by.values()):
                digests.pop(name, None)


_NOTHING: dict[str, int] = {}
