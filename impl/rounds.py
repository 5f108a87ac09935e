"""The rounds of one rank: from an offer to its vector, to the transport, and to what was agreed.

That takes a collective of torch and the Python around it, which is most of what a step costs a core, the more so after
a forward in which the core was idle and its caches went cold. None of it must be done by the thread that steps. So
where a round is in flight anyway a carrier may do it: a thread of its own, to which a step hands its offer over, and
from which a later step takes what was agreed (docs/gloo.md has the figures).

A carrier takes offers in the order in which they were handed over, one after the other, so that the order of issue is
what it is without one. It works while the engine's thread waits for a GPU or is within torch, which both let go of the
interpreter; while that thread runs plain Python the carrier has its turns at the switch interval, which is 5 ms.
"""

from __future__ import annotations

import queue
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

from rankproof.impl.errors import StepTimeout
from rankproof.impl.guards import Agreement, Offer, agreement
from rankproof.impl.ledger import Ledger
from rankproof.impl.transport import Transport

DEADLINES = 2
"""How many of the transport's deadlines a step waits for its carrier at most: an error of the transport's own, which
its deadline ends, comes before that."""

_LOOK = 0.2
"""Seconds between two looks of an idle carrier at whether its process ends: nothing else would tell it."""


class Rounds:
    """Carries rounds in the thread of the caller."""

    def __init__(self, transport: Transport, ledger: Ledger) -> None:
        """Takes over the transport."""
        self.timeout: Final = transport.timeout
        self._transport = transport
        self._ledger = ledger
        self.take: Final[Callable[[Offer], None]] = ledger.note
        """The digests of the offer are of what has happened to the lanes by now, and of no more."""

    def begin(self, offer: Offer) -> None:
        """Issues the round of the offer. Raises as `Transport.offer` does."""
        self.take(offer)
        self.send(offer)

    def send(self, offer: Offer) -> None:
        """Issues the round of an offer that was taken; see `begin`."""
        self._transport.offer(offer.round, offer.sealed(self._ledger.digests(offer)))

    def agreed(self, offer: Offer) -> Agreement:
        """What came out of the round of the oldest offer in flight; waits for it.

        Raises as `Transport.agreed` does, and RankDivergence where ranks differ.
        """
        return agreement(offer, self._transport.agreed(offer.round))

    def in_this_thread(self) -> Rounds:
        """What carries rounds in the thread of the caller from now on. Nothing may be in flight."""
        return self

    def close(self) -> None:
        """Lets go of the transport; see `Transport.close`."""
        self._transport.close()


_Task: TypeAlias = tuple[Offer | None, bool] | None
"""An offer to send, and whether the oldest in flight is to be waited for then; None where nothing more will come."""

_Outcome: TypeAlias = Agreement | Exception


class CarriedRounds:
    """Has rounds carried by a thread of its own; the calls are those of `Rounds`, and come from one thread.

    What a round raises in the carrier, also while it is sent, is raised where it is waited for. After `fork` the child
    has no carrier, and a wait there ends at its deadline.
    """

    def __init__(self, inline: Rounds, window: int) -> None:
        """Takes over what carries rounds otherwise; a step leaves `window` of them in flight, 1 or more."""
        self._inline = inline
        self._window = window
        self._limit = DEADLINES * inline.timeout
        self._begun = self._told = self._taken = 0  # rounds; told: that the carrier was told to wait for
        self._tasks: queue.SimpleQueue[_Task] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[_Outcome] = queue.SimpleQueue()
        what = (inline, self._tasks, self._outcomes)  # and not this object, which could then never go
        self._carrier = threading.Thread(target=_carry, args=what, name="rankproof carrier")
        self._carrier.start()
        weakref.finalize(self, self._tasks.put, None).atexit = False  # by then the carrier has seen it for itself

    def begin(self, offer: Offer) -> None:
        """Hands the offer over; raises nothing. The carrier then waits for the round that the next step asks for."""
        self._inline.take(offer)
        self._begun += 1
        full = self._begun - self._told == self._window
        self._told += full
        self._tasks.put((offer, full))

    def agreed(self, offer: Offer) -> Agreement:
        """As `Rounds.agreed`; raises also what sending raised, and StepTimeout where nothing comes from the carrier."""
        if self._told == self._taken:
            self._told += 1
            self._tasks.put((None, True))
        self._taken += 1
        try:
            outcome = self._outcomes.get(True, self._limit)
        except queue.Empty:
            late = f"round {offer.round}: nothing from this rank's own carrier of rounds in {self._limit:g} s"
            raise StepTimeout(late, offer.round) from None
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def in_this_thread(self) -> Rounds:
        """Ends the carrier, and gives what carries rounds otherwise. Nothing may be in flight."""
        self._end()
        return self._inline

    def close(self) -> None:
        """Ends the carrier, which may wait for a round up to the deadline, and lets go of the transport."""
        self._end()
        self._inline.close()

    def _end(self) -> None:
        self._tasks.put(None)
        self._carrier.join(self._limit)


def _carry(rounds: Rounds, tasks: queue.SimpleQueue[_Task], outcomes: queue.SimpleQueue[_Outcome]) -> None:
    """Does one task after the other; once one has failed, its error is the outcome of each round that is waited for."""
    in_flight: deque[Offer] = deque()
    failure: Exception | None = None
    while (task := _next(tasks)) is not None:
        offer, waits = task
        try:
            if offer is not None and failure is None:
                rounds.send(offer)
                in_flight.append(offer)
            if waits and failure is None:
                outcomes.put(rounds.agreed(in_flight.popleft()))
                continue
        except Exception as error:  # it is raised in the thread that steps
            failure = error
        if waits and failure is not None:
            outcomes.put(failure)


def _next(tasks: queue.SimpleQueue[_Task]) -> _Task:
    while True:
        try:
            return tasks.get(timeout=_LOOK)
        except queue.Empty:
            if not threading.main_thread().is_alive():
                return None
