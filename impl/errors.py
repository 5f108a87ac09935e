"""What can go wrong in the implementation, as types that a caller can tell apart."""

from __future__ import annotations

from copy import copy
from typing import Self


class SyncError(Exception):
    """Any error of the implementation; its text is one line.

    round  the round in which it was seen, counted from 1, or None outside a round
    state  one line about the rank that saw it, taken when its `AckSync` broke, or "" where none broke
    peers  what became of each other rank, as far as could be known when it broke, one line a rank (see `Board`)
    """

    def __init__(self, text: str, round_number: int | None = None) -> None:
        super().__init__(text)
        self.round = round_number
        self.state = ""
        self.peers: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The text, with the state of the rank and what is known of the others."""
        text = super().__str__()
        known = f"; {'; '.join(self.peers)}" if self.peers else ""
        return f"{text} [{self.state}]{known}" if self.state else text

    def again(self, call: str) -> Self:
        """The same error with all that it carries, for a later call on the object that it broke."""
        later = copy(self)
        later.args = (f"{call}() on a broken object; the first cause: {self.args[0]}",)
        return later


class Misuse(SyncError, ValueError):
    """A call that cannot be served as it stands; nothing was changed by it."""


class PeerLost(SyncError):
    """Another rank is gone, or has left the group: no round can be agreed on any more."""


class StepTimeout(SyncError, TimeoutError):
    """Another rank did not take part in time: a wait ended at its deadline."""


class RankDivergence(SyncError):
    """The ranks are not running the same protocol on the same acks; every rank raises it in the same round.

    Ranks that open with other plans or lanes raise it outside a round, before any group is made.

    word             the guard word in which they differ, or the lane whose count no MIN gives
    lowest, highest  the values of that word over ranks, and `own` this rank's; a digest is a number of 64 bits
    """

    def __init__(
        self,
        text: str,
        round_number: int | None = None,
        word: str = "",
        lowest: int = 0,
        highest: int = 0,
        own: int = 0,
    ) -> None:
        super().__init__(text, round_number)
        self.word = word
        self.lowest = lowest
        self.highest = highest
        self.own = own


class StepFailed(SyncError):
    """Something that this rank was given, such as an event, raised in the middle of a call."""
