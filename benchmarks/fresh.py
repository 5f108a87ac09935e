"""The naive way to fuzz: processes of their own for each schedule, each a fresh interpreter with a fresh group."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Self

from rankproof.conformance.launcher import Launcher
from rankproof.conformance.outcome import Outcome
from rankproof.conformance.pool import RankPool


class FreshRanks:
    """A pool that never keeps a process from one run to the next; see `rankproof.conformance.ranks.Pool`.

    Use it in a `with`.
    """

    def __init__(self, ranks: int, factory: str, lanes: tuple[str, ...], timeout: float) -> None:
        self._ranks = ranks
        self._factory = factory
        self._lanes = lanes
        self._timeout = timeout
        self._open = ExitStack()
        self._pool: RankPool | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def send(self, rank: int, method: str, *arguments: object) -> None:
        """As `RankPool.send`; starts the processes where this is the first command of a run."""
        if self._pool is None:
            launcher = self._open.enter_context(Launcher("spawn"))
            self._pool = self._open.enter_context(
                RankPool(
                    self._ranks, factory=self._factory, lanes=self._lanes, timeout=self._timeout, launcher=launcher
                )
            )
        self._pool.send(rank, method, *arguments)

    def receive(self, rank: int) -> Outcome:
        """As `RankPool.receive`."""
        assert self._pool is not None
        return self._pool.receive(rank)

    def renew(self) -> None:
        """Ends the processes; the next run begins with others."""
        self._pool = None
        self._open.close()

    def regroup(self) -> None:
        """As `renew`."""
        self.renew()
