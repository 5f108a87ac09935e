"""The rounds of one rank: from an offer to its vector, to the transport, and to what was agreed.

That takes a collective of torch and the Python around it, which is most of what a step costs a core, the more so after
a forward in which the core was idle and its caches went cold. None of it need be done by the thread that steps. So
where a round is in flight anyway a carrier may do it: a thread of its own, to which a step hands its offer over, and
from which a later step takes what was agreed. docs/gloo.md says what it is good for, and `rankproof bench carrier`
measures it.

A carrier takes offers in the order in which they were handed over, one after the other, so that the order of issue is
what it is without one. It needs the interpreter, which it has while the engine's thread waits for a GPU. While that
thread runs plain Python the carrier has its turns at the switch interval only, which is 5 ms, and a step waits.
"""

from __future__ import annotations

import os
import queue
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

from rankproof.impl.errors import Misuse, StepFailed, StepTimeout
from rankproof.impl.guards import Agreement, Offer, agreement
from rankproof.impl.ledger import Ledger
from rankproof.impl.transport import Transport

DEADLINES = 2
"""How many of the transport's deadlines a step waits for its carrier at most: where a round waits once, as on gloo, an
error of the transport's own comes before that."""

NAME = "rankproof carrier"
"""What the thread of each carrier is called."""

_LOOK = 0.2
"""Seconds between two looks of an idle carrier at whether its process ends: nothing else would tell it."""


class Rounds:
    """Carries rounds in the thread of the caller."""

    def __init__(self, transport: Transport, ledger: Ledger) -> None:
        """Takes over the transport."""
        self.timeout: Final = transport.timeout
        self._transport = transport
        self._ledger = ledger
        self.note: Final[Callable[[Offer], None]] = ledger.note
        """The digests of the offer are of what has happened to the lanes by now, and of no more."""

    def begin(self, offer: Offer) -> None:
        """Issues the round of the offer. Raises as `Transport.offer` does."""
        self.note(offer)
        self.send(offer)

    def send(self, offer: Offer) -> None:
        """Issues the round of an offer that was noted; see `begin`."""
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


class CarriedRounds:
    """Has rounds carried by a thread of its own; the calls are those of `Rounds`, and come from one thread.

    What a round raises in the carrier, also while it is sent, is raised where it is waited for.
    """

    def __init__(self, inline: Rounds, window: int) -> None:
        """Takes over what carries rounds in the caller's thread; a step leaves `window` in flight, 1 or more.

        Raises StepFailed where the system gives no thread.
        """
        self._inline = inline
        self._window = window
        self._limit = DEADLINES * inline.timeout
        self._begun = self._asked = self._taken = 0  # rounds; asked: that the carrier was asked to wait for
        self._carrier = Carrier(inline)
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._carrier.run, name=NAME)  # which does not hold this object
        try:
            self._thread.start()
        except RuntimeError as error:
            inline.close()
            raise StepFailed(f"there is no thread to be had for a carrier of rounds: {error}") from error
        weakref.finalize(self, self._carrier.tasks.put, None).atexit = False  # at exit it has seen that for itself

    def begin(self, offer: Offer) -> None:
        """Hands the offer over; raises nothing. The carrier then waits for the round that the next step asks for."""
        self._inline.note(offer)
        self._begun += 1
        full = self._begun - self._asked == self._window
        self._asked += full
        self._carrier.tasks.put((offer, full))

    def agreed(self, offer: Offer) -> Agreement:
        """As `Rounds.agreed`; raises also what sending raised, and StepTimeout where nothing comes from the carrier.

        Raises Misuse in the child of a fork, which has no carrier.
        """
        if self._asked == self._taken:
            self._asked += 1
            self._carrier.tasks.put((None, True))
        self._taken += 1
        outcomes = self._carrier.outcomes
        if outcomes.empty() and not self._thread.is_alive():
            self._stand_in()
        try:
            outcome = outcomes.get(True, self._limit)
        except queue.Empty:
            late = f"round {offer.round}: nothing from this rank's own carrier of rounds in {self._limit:g} s"
            raise StepTimeout(late, offer.round) from None
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def in_this_thread(self) -> Rounds:
        """Ends the carrier, and gives what carries rounds from now on. Nothing may be in flight."""
        self._end()
        return self._inline

    def close(self) -> None:
        """Ends the carrier, which may wait for a round up to the deadline, and lets go of the transport."""
        try:
            self._end()
        finally:  # also where an interrupt ends the wait for the carrier
            self._inline.close()

    def _end(self) -> None:
        self._carrier.tasks.put(None)
        self._thread.join(self._limit)

    def _stand_in(self) -> None:
        """Does what was handed over, once the process ends and the carrier has ended before: at exit, say."""
        if os.getpid() != self._process:
            raise Misuse("this part was opened before a fork, and the child has no carrier of its rounds")
        self._carrier.tasks.put(None)
        self._carrier.run()


class Carrier:
    """Sends offers and waits for what is agreed, a task at a time; one that fails is what all later ones come to."""

    def __init__(self, rounds: Rounds) -> None:
        self.tasks: queue.SimpleQueue[_Task] = queue.SimpleQueue()
        self.outcomes: queue.SimpleQueue[Agreement | Exception] = queue.SimpleQueue()
        """One for each task that waits for a round, in order."""
        self._rounds = rounds
        self._in_flight: deque[Offer] = deque()
        self._failure: Exception | None = None

    def run(self) -> None:
        """Does every task that comes, until one says that it was the last, or the process ends."""
        while (task := self._next()) is not None:
            self._do(*task)

    def _do(self, offer: Offer | None, waits: bool) -> None:
        try:
            if offer is not None and self._failure is None:
                self._rounds.send(offer)
                self._in_flight.append(offer)
            if waits and self._failure is None:
                self.outcomes.put(self._rounds.agreed(self._in_flight.popleft()))
                return
        except Exception as error:  # it is raised in the thread that steps
            self._failure = error
        if waits and self._failure is not None:
            self.outcomes.put(self._failure)

    def _next(self) -> _Task:
        while True:
            try:
                return self.tasks.get(timeout=_LOOK)
            except queue.Empty:
                if not any(thread.is_alive() for thread in threading.enumerate() if _is_waited_for(thread)):
                    return None


def _is_waited_for(thread: threading.Thread) -> bool:
    """Whether the process goes on while that thread does, carriers apart."""
    return not thread.daemon and thread.name != NAME
