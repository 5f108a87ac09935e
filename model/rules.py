"""The rules of the protocol, each written once, on numbers that may be ints or terms.

Counts are of one lane on one rank, cumulative since the epoch began, unless a rule says otherwise. `finished` is the
number of acks up to the end of the finished prefix, the popped ones included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rankproof.model import words
from rankproof.model.protocol import Protocol
from rankproof.model.reading import Family, Number, Rank, Reading, Truth


def ready_count(finished: Number, popped: Number) -> Number:
    """How many acks are in the finished prefix that is now in the lane."""
    return finished - popped


def offer(protocol: Protocol, finished: Number, popped: Number) -> Number:
    """What a rank puts into a round for a lane."""
    return finished if protocol.offers == "cumulative" else ready_count(finished, popped)


def agree(reading: Reading, protocol: Protocol, offers: Family) -> Number:
    """What comes out of a round for a lane, given every rank's offer."""
    return reading.minimum(offers) if protocol.reduces == "min" else reading.maximum(offers)


def allowed(protocol: Protocol, own: Number, agreed: Number, popped: Number) -> Number:
    """How many acks a rank may pop once it has waited for a round; `own` is what it offered there."""
    trusted = own if protocol.pops == "own" else agreed
    return trusted - popped if protocol.offers == "cumulative" else trusted


def taken(protocol: Protocol, after_wait: Number, own: Number, popped: Number) -> Number:
    """How many acks a rank pops; `after_wait` is what its wait allowed, `own` its offer in the round that is due.

    Read before the wait, the tensor still holds the rank's own offer: an all_reduce works in place.
    """
    return after_wait if protocol.reads == "after-wait" else allowed(protocol, own, own, popped)


def in_flight(issued: Number, consumed: Number) -> Number:
    """How many rounds a rank has issued and not yet consumed."""
    return issued - consumed


def due(protocol: Protocol, issued: Number, consumed: Number) -> Truth:
    """Whether a rank that comes to its wait has a round to consume: only when its window is full."""
    return protocol.window <= in_flight(issued, consumed)


def complete(reading: Reading, consumed: Number, issued: Family) -> Truth:
    """Whether the round after `consumed` has been issued by every rank, so that its wait can return."""
    return reading.every_rank(lambda rank: consumed + 1 <= issued(rank))


def lost(
    reading: Reading, protocol: Protocol, consumed: Number, issued: Family, alive: Callable[[Rank], Truth]
) -> Truth:
    """Whether the wait for the round after `consumed` ends in an error: a rank that is gone has not issued it."""
    if protocol.deadline == "none":
        return reading.either()
    may_come = reading.every_rank(lambda rank: reading.either(alive(rank), consumed + 1 <= issued(rank)))
    return reading.negate(may_come)


def issues(reading: Reading, protocol: Protocol, offers: Sequence[Number]) -> Truth:
    """Whether a rank that offers these counts, one a lane, takes part in the next round."""
    if protocol.issues == "when-nonempty":
        return reading.either(*(1 <= count for count in offers))
    return reading.both()


def issues_again(reading: Reading, protocol: Protocol, offers: Sequence[Number]) -> Truth:
    """Whether that rank takes part in one more round within the same step."""
    if protocol.issues == "twice-when-nonempty":
        return reading.either(*(1 <= count for count in offers))
    return reading.either()


def accepted(reading: Reading, agreed: Number, agreed_complement: Number, epoch: Number) -> Truth:
    """Whether a rank in `epoch` may pop what a round comes to; `agreed` is the MIN of the epoch words."""
    return reading.both(words.same(agreed, agreed_complement), agreed == epoch)
