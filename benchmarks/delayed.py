"""A slower network, made out of this host's: the result of each round is there some time after it has arrived."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from rankproof.impl.errors import StepTimeout
from rankproof.impl.transport import Transport

_DEADLINES = 2
"""How many of the other transport's deadlines a wait lasts at most: an error of its own comes before that."""


@dataclass(slots=True)
class _Arriving:
    """A round that the worker waits for: what came, or the error that came in its place, and when.

    here  held until it has come
    """

    number: int
    here: threading.Lock = field(default_factory=threading.Lock)
    vector: tuple[int, ...] = ()
    error: Exception | None = None
    at: float = 0.0


class DelayedTransport:
    """Adds a latency to each round of another transport; see `Transport` for the calls.

    A round is offered to the other transport at once, by the caller's own thread: the order of issue stays what it is.
    One worker takes what arrives, first in first out, and notes when; the caller gets it `seconds` after that.
    Latencies of rounds in flight at the same time overlap, as they do on a wire.

    The worker stands in for a wire, and must not cost the caller what a wire does not: it is given a round by `watch`,
    which the caller calls while it is idle anyway. A round that is waited for before that, the caller takes by itself.
    Where a carrier calls, whose time is nobody's, the worker is given each round at once.
    """

    def __init__(self, inner: Transport, seconds: float, *, at_once: bool = False) -> None:
        """Takes over the transport `inner`."""
        self._inner = inner
        self._seconds = seconds
        self._at_once = at_once
        self._offered = 0
        self._watched = 0
        self._arriving: deque[_Arriving] = deque()
        self._expected: queue.SimpleQueue[_Arriving | None] = queue.SimpleQueue()
        self._worker = threading.Thread(target=self._take_what_arrives, name="rankproof delay", daemon=True)
        self._worker.start()

    @property
    def rank(self) -> int:
        """As the other's."""
        return self._inner.rank

    @property
    def world(self) -> int:
        """As the other's."""
        return self._inner.world

    @property
    def timeout(self) -> float:
        """As the other's: that of the arrival."""
        return self._inner.timeout

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        """Offers it to the other transport at once."""
        self._inner.offer(round_number, vector)
        self._offered = round_number
        if self._at_once:
            self.watch()

    def watch(self) -> None:
        """Lets the worker wait for what is in flight. To be called after each step, in the time of the forward."""
        for number in range(self._watched + 1, self._offered + 1):
            arriving = _Arriving(number)
            arriving.here.acquire()
            self._arriving.append(arriving)
            self._expected.put(arriving)
        self._watched = self._offered

    def agreed(self, round_number: int) -> tuple[int, ...]:
        """What the other transport gave for the round, the delay after it did.

        Raises what that raised, whatever it is, and StepTimeout where it let its own deadline pass twice.
        """
        if self._arriving and self._arriving[0].number == round_number:
            arriving = self._arriving.popleft()
            limit = _DEADLINES * self._inner.timeout
            if not arriving.here.acquire(timeout=limit):
                late = f"round {round_number}: nothing from the transport that is delayed in {limit:g} s"
                raise StepTimeout(late, round_number)
            if arriving.error is not None:
                raise arriving.error
            vector, at = arriving.vector, arriving.at
        else:
            vector, at = self._inner.agreed(round_number), time.perf_counter()
            self._watched = max(self._watched, round_number)
        left = at + self._seconds - time.perf_counter()
        if left > 0:
            time.sleep(left)
        return vector

    def close(self) -> None:
        """Ends the worker once it has what it was given, and closes the other transport."""
        self._expected.put(None)
        self._worker.join(self._inner.timeout)
        self._inner.close()

    def _take_what_arrives(self) -> None:
        while (arriving := self._expected.get()) is not None:
            try:
                arriving.vector = self._inner.agreed(arriving.number)
            except Exception as error:  # it is raised where the result is waited for
                arriving.error = error
            arriving.at = time.perf_counter()
            arriving.here.release()
