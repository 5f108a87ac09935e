"""What a later stage of a pipeline answers up its column, and how the first stage counts it into the MIN of a round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rankproof.impl.guards import GUARDS
from rankproof.model.words import NOTHING_ASKED, complement, heard, highest

_HALF, _LOW = 32, (1 << 32) - 1
_MOST_RANKS = 1 << 16

NOTHING_FOUND: tuple[int, ...] = ((1 << 63) - 1,) * 5
"""In the place of a finding where there is none: in a MIN it gives way to any."""


class Finding(NamedTuple):
    """A difference that a rank of a later stage found: the first stage cannot see it, since that rank has no offer.

    word    the place of the word in which it differs (see `guards.word_names`)
    rank    the rank that found it, and `round` the round in which it did
    agreed  the value that came down to it, and `own` the one that it holds
    """

    word: int
    rank: int
    round: int
    agreed: int
    own: int

    def slots(self) -> tuple[int, ...]:
        """Five words, each headed by the word and the rank, so that their MIN over findings is one finding, unmixed."""
        head = (self.word * _MOST_RANKS + self.rank) << _HALF
        halves = (self.round, self.agreed >> _HALF, self.agreed, self.own >> _HALF, self.own)
        return tuple(head | half & _LOW for half in halves)

    @staticmethod
    def read(slots: Sequence[int], round_number: int) -> Finding | None:
        """What `slots` gave, in a round no earlier than that of the finding; None for NOTHING_FOUND."""
        if tuple(slots) == NOTHING_FOUND:
            return None
        word, rank = divmod(slots[0] >> _HALF, _MOST_RANKS)
        earlier, *halves = (slot & _LOW for slot in slots)
        found_in = round_number - (round_number - earlier & _LOW)
        return Finding(word, rank, found_in, _signed(halves[0], halves[1]), _signed(halves[2], halves[3]))


class Answer(NamedTuple):
    """What the ranks of a column from one stage down say about a round, of which they have no part in the MIN.

    idle     1 where nothing waits on any of them and none asks for a change
    request  the lowest request word, and `complement` the lowest of its complements
    changes  how many changes of lanes had been made
    finding  the slots of a difference, or NOTHING_FOUND
    """

    idle: int
    request: int
    complement: int
    changes: int
    finding: tuple[int, ...] = NOTHING_FOUND

    def vector(self) -> tuple[int, ...]:
        """The words in the order in which they are sent."""
        return (*self[:4], *self.finding)

    @staticmethod
    def read(vector: Sequence[int]) -> Answer:
        """What was sent."""
        idle, request, complement_of, changes, *finding = vector
        return Answer(idle, request, complement_of, changes, tuple(finding))

    def with_that_of(self, below: Answer) -> Answer:
        """This stage's answer and that of the stage below, in one."""
        later = below.as_heard(self.changes)
        return Answer(
            min(self.idle, later.idle),
            min(self.request, later.request),
            min(self.complement, later.complement),
            self.changes,
            tuple(map(min, self.finding, later.finding)),
        )

    def as_heard(self, changes: int) -> Answer:
        """What of it counts on a rank that has made that many changes (see `rankproof.model.words.heard`)."""
        request = heard(self.request, self.changes, changes)
        most = heard(highest(self.complement), self.changes, changes)
        return self._replace(request=request, complement=complement(most), changes=changes)


SILENCE = Answer(0, NOTHING_ASKED, complement(NOTHING_ASKED), 0)
"""In the place of an answer before the first can be there: asks for nothing, and is not known to be idle."""

LENGTH = len(SILENCE.vector())
"""Words in an answer."""


def counted_in(vector: Sequence[int], answer: Answer, changes: int) -> tuple[int, ...]:
    """The vector of a rank of the first stage, which has made that many changes, with an answer counted in by MIN.

    A finding rides behind the words of the rank (`Offer.sealed`), and its slots are there in any case.
    """
    lanes = (len(vector) - 1 - 2 * len(GUARDS)) // 3
    idle, request = lanes, lanes + 1
    complement_of = request + len(GUARDS) + lanes
    later, mixed = answer.as_heard(changes), list(vector)
    mixed[idle] = min(mixed[idle], later.idle)
    mixed[request] = min(mixed[request], later.request)
    mixed[complement_of] = min(mixed[complement_of], later.complement)
    return (*mixed, *later.finding)


def _signed(high: int, low: int) -> int:
    return (high << _HALF | low) - ((high >> _HALF - 1) << 2 * _HALF)
