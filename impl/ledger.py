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
        for past in [number for number in self._popped_by if number < last]:
            del self._popped_by[past]
        popped = self._popped_by.get(last, {})
        digests = []
        for lane in offer.lanes:
            digest = popped.get(lane.name, EMPTY)  # a lane that came later has popped nothing
            if lane.kind == "aligned":
                digest = folded(self._enqueued.get(lane.name, EMPTY), digest)
            digests.append(digest)
        return tuple(digests)

    def read(self) -> None:
        """Reads all notes. No offer may be among them: nothing is in flight."""
        while self._notes:
            self._enter(self._notes.popleft())

    def _enter(self, note: Note | Offer) -> None:
        match note:
            case ("enqueued", lane, identity):
                self._enqueued[lane] = folded(self._enqueued.get(lane, EMPTY), identity_word(identity))
            case ("popped", lane, identities):
                digest = self._popped.get(lane, EMPTY)
                for identity in identities:
                    digest = folded(digest, identity_word(identity))
                self._popped[lane] = digest
            case ("consumed", round_number):
                self._popped_by[round_number] = self._popped.copy()
            case ("forgotten", lane):  # what comes by that name later starts anew
                for digests in (self._enqueued, self._popped, *self._popped_by.values()):
                    digests.pop(lane, None)
            case _:
                raise AssertionError(f"{note!r} was noted before the offer that is read")
