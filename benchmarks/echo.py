"""A transport without a network: a rank alone, whose peers always offer what it does."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence


class EchoTransport:
    """A group in which every other rank offers what this one does, so that a round costs next to nothing."""

    rank = 0
    world = 2
    timeout = 1.0

    def __init__(self) -> None:
        self._offered: deque[tuple[int, ...]] = deque()
        self._offers = 0

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        """Keeps it; raises ValueError where it is not that round's turn."""
        if round_number != self._offers + 1:
            raise ValueError(f"round {round_number} offered after round {self._offers}")
        self._offers = round_number
        self._offered.append(tuple(vector))

    def agreed(self, round_number: int) -> tuple[int, ...]:
        """What was offered in that round; raises ValueError where it is not the oldest in flight."""
        if round_number != self._offers - len(self._offered) + 1:
            raise ValueError(f"round {round_number} is not the oldest in flight")
        return self._offered.popleft()

    def close(self) -> None:
        """There is nothing to let go of."""
