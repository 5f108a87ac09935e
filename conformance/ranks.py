"""Where the subjects of a run are: one rank each, which is given one command at a time."""

from __future__ import annotations

import signal
from typing import Protocol, runtime_checkable

from rankproof.conformance.outcome import Outcome


class Ranks(Protocol):
    """Carries out one command on one rank at a time, as `RankPool` does with real processes."""

    def send(self, rank: int, method: str, *arguments: object) -> None:
        """Lets a rank begin to call a method of its subject."""

    def receive(self, rank: int) -> Outcome:
        """What became of it, by a deadline."""


@runtime_checkable
class Unruly(Ranks, Protocol):
    """Ranks to which something can also be done while they are in a command, as a follower and a crash need it."""

    def receive(self, rank: int, within: float | None = None) -> Outcome:
        """As `Ranks.receive`; after `within` seconds it gives `Hung`, and the reply is still to come."""

    def aside(self, rank: int, method: str, *arguments: object) -> None:
        """Calls a method of a subject that is within another call, without a reply."""

    def kill(self, rank: int, signum: signal.Signals = signal.SIGKILL) -> None:
        """Ends a rank's process, stops it (SIGSTOP), or lets it go on (SIGCONT)."""


class Pool(Ranks, Protocol):
    """Ranks that can be used for one run after the other."""

    def renew(self) -> object:
        """Sets fresh subjects up, on the same group where every one of the old closed well."""

    def regroup(self) -> object:
        """Sets fresh subjects up, on a fresh group, whatever became of the old."""
