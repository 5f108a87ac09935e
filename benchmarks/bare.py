"""The pipelined agreement with nothing beside its counts, and no agreement at all: what is measured against."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from rankproof.impl.acks import Ack, LaneKind
from rankproof.impl.guards import Agreement, Offer
from rankproof.impl.ledger import Ledger
from rankproof.impl.rounds import CarriedRounds, Rounds
from rankproof.impl.transport import Transport


class BareSync:
    """The protocol of sglang#39903 with nothing but its counts: not even the one digest that it compares.

    One round is in flight, and there is no guard word to notice a difference by. It is here to be measured against, and
    not to be used. Lanes are plain deques, so that what the implementation's lanes cost shows as well.
    """

    def __init__(self, transport: Transport, lanes: Mapping[str, LaneKind]) -> None:
        """Takes over the transport."""
        self._rounds: Rounds | CarriedRounds = CountsAlone(transport, Ledger())
        self._lanes: dict[str, deque[Ack]] = {name: deque() for name in lanes}
        self._issued = 0
        self._in_flight: Offer | None = None

    def enqueue(self, lane: str, ack: Ack) -> None:
        """Puts an ack at the end of a lane."""
        self._lanes[lane].append(ack)

    def step(self) -> None:
        """Waits for the round that is in flight, pops, counts, and issues the next."""
        self.drain()
        self._issued += 1
        counts = tuple(map(_ready, self._lanes.values()))
        self._in_flight = Offer(counts, False, 0, self._issued, 1, 0, 0, 0, ())
        self._rounds.begin(self._in_flight)

    def drain(self) -> None:
        """Waits for the round that is in flight, and pops."""
        if self._in_flight is not None:
            agreed, self._in_flight = self._rounds.agreed(self._in_flight), None
            for lane, count in zip(self._lanes.values(), agreed.counts, strict=True):
                for _ in range(count):
                    lane.popleft()

    def close(self) -> None:
        """Lets go of the transport."""
        self._rounds.close()


class BareCarried(BareSync):
    """The same, with its round carried by a thread of its own."""

    def __init__(self, transport: Transport, lanes: Mapping[str, LaneKind]) -> None:
        """Takes over the transport."""
        super().__init__(transport, lanes)
        self._rounds = CarriedRounds(CountsAlone(transport, Ledger()), 1)


class CountsAlone(Rounds):
    """Sends and reads the counts of an offer, and nothing else."""

    def send(self, offer: Offer) -> None:
        self._ledger.digests(offer)  # so that what was noted is read up, by whom it would be
        self._transport.offer(offer.round, offer.counts)

    def agreed(self, offer: Offer) -> Agreement:
        return Agreement(counts=self._transport.agreed(offer.round), idle=False, epochs=None, request=0)


class Alone:
    """A rank that agrees with nobody and pops what has finished here: the engine without the agreement.

    What the agreement is measured against; of course ranks then pop different acks.
    """

    def __init__(self, lanes: Mapping[str, LaneKind]) -> None:
        self._lanes: dict[str, deque[Ack]] = {name: deque() for name in lanes}

    def enqueue(self, lane: str, ack: Ack) -> None:
        """Puts an ack at the end of a lane."""
        self._lanes[lane].append(ack)

    def step(self) -> None:
        """Counts and pops."""
        for lane in self._lanes.values():
            for _ in range(_ready(lane)):
                lane.popleft()

    def drain(self) -> None:
        """Nothing is ever in flight."""

    def close(self) -> None:
        """There is nothing to let go of."""


def _ready(lane: deque[Ack]) -> int:
    count = 0
    for ack in lane:
        if not ack.event.query():
            break
        count += 1
    return count
