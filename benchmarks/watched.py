"""A transport that tells how long its caller has waited, and how long rounds took."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence

from rankproof.impl.transport import Transport


class WatchedTransport:
    """Passes every call on to another transport, and adds up the wall time of the waits; see `Transport`."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.waited_s = 0.0
        """Seconds spent in `agreed` so far."""
        self.round_s = 0.0
        """Seconds from the offer of the round last waited for to the end of that wait."""
        self.offer_core_s = 0.0
        self.take_core_s = 0.0
        """Seconds of the core that the caller's thread has spent in `offer`, and in `agreed`."""
        self._offered: deque[float] = deque()

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
        """As the other's."""
        return self._inner.timeout

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        """As the other's, and timed."""
        self._offered.append(time.perf_counter())
        core = time.thread_time()
        self._inner.offer(round_number, vector)
        self.offer_core_s += time.thread_time() - core

    def agreed(self, round_number: int) -> tuple[int, ...]:
        """As the other's, and timed."""
        began, core = time.perf_counter(), time.thread_time()
        vector = self._inner.agreed(round_number)
        self.take_core_s += time.thread_time() - core
        ended = time.perf_counter()
        self.waited_s += ended - began
        self.round_s = ended - self._offered.popleft()
        return vector

    def close(self) -> None:
        """As the other's."""
        self._inner.close()
