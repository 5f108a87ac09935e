"""Ranks in one process: each subject runs in a thread of its own, and only the one that was told to go runs.

A wait for a peer suspends a rank, and the driver sees it as busy, exactly as it sees a process. Time in the group is
not real: where a reply is asked for and no rank can go on, the deadline of the wait has come, at once. Only a subject
that blocks in something else, or never returns, is waited for in real time; then its rank hung, and is abandoned.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack
from functools import partial
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from rankproof.conformance.memory_board import Board
from rankproof.conformance.memory_group import MemoryConfig, MemoryGroup
from rankproof.conformance.memory_seat import LOAD, Seat, patience_of
from rankproof.conformance.memory_world import worlds_apart
from rankproof.conformance.one_core import on_one_core
from rankproof.conformance.outcome import Died, Hung, Ok, Outcome, Raised, said_with_place
from rankproof.conformance.pool import LOAD_WITHIN, SETUP_WITHIN
from rankproof.conformance.worker import Factory, check_factory, factory_name
from rankproof.model.errors import BadInput


class MemoryRanks:
    """A subject on each of `ranks` ranks, all in this process; the surface of `RankPool`, and its arguments.

    The factory is looked up in this process, so that what it imports stays, and what its subjects keep in module
    globals all ranks share. A subject that ends the process, as by `os._exit`, ends it.
    Use it in a `with`. Not for use by several threads.
    """

    def __init__(
        self,
        ranks: int,
        *,
        factory: Factory,
        lanes: tuple[str, ...] = ("write", "load"),
        timeout: float = 10.0,
        reply_within: float = 30.0,
        setup_within: float = SETUP_WITHIN,
        directory: str | None = None,
    ) -> None:
        if ranks < 1:
            raise BadInput(f"there is at least 1 rank, not {ranks}")
        check_factory(factory)
        self.world = ranks
        """The number of ranks."""
        self._factory = factory
        self._lanes = lanes
        self._timeout = timeout
        self._reply_within = reply_within
        self._parent = directory
        self._setup_within = max(setup_within, reply_within)
        self._seats: list[Seat] = []
        self._board = Board(ranks)
        self._unsupported = ""
        self._groups = 0

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            self._worlds = undo.enter_context(worlds_apart())
            files = TemporaryDirectory(prefix="rankproof-", dir=self._parent, ignore_cleanup_errors=True)
            self._directory = undo.enter_context(files)
            undo.enter_context(on_one_core())
            self._seats = [Seat(rank) for rank in range(self.world)]
            undo.callback(self._leave)
            self._set_up()
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._undo:
            if kind is None:
                self._close_subjects()

    @property
    def unsupported(self) -> str:
        """What a subject has asked of a group that only real processes have, or empty."""
        return self._unsupported or self._board.unsupported

    def send(self, rank: int, method: str, *arguments: object) -> None:
        """Lets a rank begin to call `method` of its subject, and takes it as far as it gets without its peers.

        Raises RuntimeError when the rank still owes the reply to an earlier command.
        """
        seat = self._seats[rank]
        if seat.owes is not None:
            raise RuntimeError(f"rank {rank} still owes the reply to {seat.owes}; cannot send {method}")
        if seat.died:
            seat.owes = method
        else:
            seat.begin(method, arguments)

    def receive(self, rank: int, within: float | None = None) -> Outcome:
        """What became of the command last sent to `rank`, as `RankPool.receive`; takes the others on as it needs them.

        Raises RuntimeError when no reply is owed.
        """
        seat = self._seats[rank]
        if seat.owes is None:
            raise RuntimeError(f"rank {rank} owes no reply")
        limit = self._reply_within if within is None else within
        deadline = time.monotonic() + limit
        while seat.died is None and (seat.running or seat.outcome is None):
            if time.monotonic() > deadline or not self._get_further(seat, limit, deadline):
                return Hung(limit, seat.stands)
        outcome = seat.died or seat.outcome
        assert outcome is not None
        if seat.owes == "close":
            seat.closed, seat.subject = outcome, None
        if isinstance(outcome, Died):
            self._board.lose(f"Connection closed by peer: rank {rank} has ended")
        seat.owes = None
        return outcome

    def call(self, rank: int, method: str, *arguments: object, within: float | None = None) -> Outcome:
        """`send`, then `receive`."""
        self.send(rank, method, *arguments)
        return self.receive(rank, within)

    def aside(self, rank: int, method: str, *arguments: object) -> None:
        """Calls `method` of a subject that is within another call, at once and without a reply."""
        self._seats[rank].aside(method, arguments)

    def kill(self, rank: int, signum: signal.Signals = signal.SIGKILL) -> None:
        """Ends a rank as SIGKILL does, so that its peers lose it, or stops it, or lets it go on (SIGSTOP, SIGCONT).

        One that runs when it is stopped comes to the end of its command, or to its next wait. Raises ValueError for
        another signal.
        """
        seat = self._seats[rank]
        if signum in (signal.SIGSTOP, signal.SIGCONT):
            seat.stopped = signum is signal.SIGSTOP
            return
        if signum is not signal.SIGKILL:
            raise ValueError(f"a rank in memory can be killed, stopped and continued, but not be sent {signum.name}")
        seat.died = seat.died or Died(-signum)
        seat.leave()
        self._board.lose(f"Connection closed by peer: rank {rank} has ended")

    def regroup(self) -> tuple[Outcome | None, ...]:
        """Closes the subjects and sets fresh ones up, on a fresh group; a rank that cannot go on gets a fresh thread.

        Gives what became of `close` on each rank, None where it was not called. Raises BadInput as `RankPool` does.
        """
        closed = self._close_subjects()
        for rank, seat in enumerate(self._seats):
            seat.subject = None
            if seat.died or seat.owes is not None or seat.stopped:
                seat.leave()
                self._seats[rank] = Seat(rank)
        self._set_up()
        return closed

    def renew(self) -> tuple[Outcome | None, ...]:
        """As `regroup`, which costs no more here."""
        return self.regroup()

    def _get_further(self, seat: Seat, limit: float, deadline: float) -> bool:
        """Takes some rank further that `seat` may need for its reply; False where the limit of the reply came first."""
        if seat.running:
            return seat.stops(deadline - time.monotonic())
        if seat.can_go_on:
            seat.run()
            return True
        for other in self._seats:
            if other.can_go_on:
                other.run()
                return True
        free = [other for other in self._seats if other.running]
        real = min(deadline, time.monotonic() + seat.within) - time.monotonic()
        if any(other.stops(real / len(free)) for other in free) or seat.can_go_on:
            return True
        if seat.stopped or limit < seat.within:
            return False  # it does nothing, or the reply is given up before the wait is
        seat.run()  # nobody can move: time passes, and the deadline of the wait has come
        return True

    def _set_up(self) -> None:
        self._unsupported = self.unsupported
        self._board = board = Board(len(self._seats))
        groups = [MemoryGroup(seat.rank, board, self._timeout, patience_of(seat, board)) for seat in self._seats]
        self._groups += 1
        store_file = os.path.join(self._directory, str(self._groups))
        self._require_ok(LOAD, [(partial(self._worlds.enter, group), self._factory) for group in groups], LOAD_WITHIN)
        self._require_ok(
            "setup",
            [
                (MemoryConfig(rank, board.world, self._lanes, self._timeout, store_file, group),)
                for rank, group in enumerate(groups)
            ],
            self._setup_within,
        )

    def _require_ok(self, method: str, arguments: list[tuple[object, ...]], within: float) -> None:
        for rank, given in enumerate(arguments):
            self.send(rank, method, *given)
        for rank in range(len(self._seats)):
            outcome = self.receive(rank, within)  # the first that is not well ends it: others may hang as long
            if isinstance(outcome, Raised) and outcome.kind == "BadInput":
                raise BadInput(outcome.message)
            if not isinstance(outcome, Ok):
                reason = said_with_place(outcome)
                raise BadInput(f"factory {factory_name(self._factory)}: {method} on rank {rank} {reason}")

    def _close_subjects(self) -> tuple[Outcome | None, ...]:
        closing = [
            seat.rank for seat in self._seats if seat.subject is not None and seat.owes is None and not seat.stopped
        ]
        for rank in closing:
            self.send(rank, "close")
        for rank in closing:
            self.receive(rank)
        return tuple(seat.closed for seat in self._seats)

    def _leave(self) -> None:
        for seat in self._seats:
            seat.leave()
