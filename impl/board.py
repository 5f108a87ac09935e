"""Where a rank leaves word why it left the group, so that the others can name the one that is missing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from torch._C._distributed_c10d import Store

GRACE = 0.4
"""Seconds that a rank whose group failed waits for the word of the others, which notice at about the same time."""


class Board:
    """One key a rank in the store that the group was made in; touched when a rank leaves, and never in a step.

    A store may be lost or held up together with a rank, so that each call ends after `GRACE` seconds, with or without
    an answer, and raises nothing. A rank that breaks makes both calls, which delay its error by twice that at most.
    """

    def __init__(self, store: Store, rank: int, world: int) -> None:
        self._store = store
        self._rank = rank
        self._keys = [f"left/{peer}" for peer in range(world)]

    def leave(self, why: str) -> None:
        """Lets the others know why this rank left, in one line."""
        _within(GRACE, lambda: self._store.set(self._keys[self._rank], why))

    def others(self) -> tuple[str, ...]:
        """One line for each other rank: why it left, or that nothing was heard of it within `GRACE` seconds."""
        heard: dict[int, str] = {}
        _within(GRACE, lambda: self._listen(heard))
        return tuple(
            f"rank {peer} left: {heard[peer]}" if peer in heard else f"nothing heard of rank {peer}"
            for peer in range(len(self._keys))
            if peer != self._rank
        )

    def _listen(self, heard: dict[int, str]) -> None:
        pause = GRACE / 20
        last = time.monotonic() + GRACE - pause
        while True:
            for peer, key in enumerate(self._keys):
                if peer != self._rank and peer not in heard and self._store.check([key]):
                    heard[peer] = self._store.get(key).decode()
            if len(heard) == len(self._keys) - 1 or time.monotonic() > last:
                return
            time.sleep(pause)


def _within(seconds: float, call: Callable[[], None]) -> None:
    """Lets the call go on for that long and no longer: a store has no deadline that can be relied on."""

    def ask() -> None:
        with suppress(RuntimeError):
            call()

    thread = threading.Thread(target=ask, name="rankproof board", daemon=True)
    thread.start()
    thread.join(seconds)
