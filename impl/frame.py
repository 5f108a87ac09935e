"""The frame of every call of an `AckSync`: one at a time, all or nothing, and broken by the first failure."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from rankproof.impl.acks import Ack
from rankproof.impl.board import Board
from rankproof.impl.errors import Misuse, PeerLost, StepFailed, StepTimeout, SyncError
from rankproof.impl.lanes import Lanes
from rankproof.impl.transport import Transport


@dataclass(slots=True)
class StepResult:
    """What one call did; the caller now owns the acks in it.

    popped    the acks that left each lane, head first
    consumed  the rounds that were waited for, and `agreed` what they agreed on: how many acks of each lane
    issued    the round that was started, or None
    changed   the change of lanes or mode that took effect before that round, in words, or ""
    detached  the acks that waited, unpopped, in the lanes that went with it
    """

    popped: dict[str, list[Ack]] = field(default_factory=dict)
    consumed: list[int] = field(default_factory=list)
    agreed: dict[str, int] = field(default_factory=dict)
    issued: int | None = None
    changed: str = ""
    detached: dict[str, list[Ack]] = field(default_factory=dict)


class Frame:
    """Lets one call at a time in, none after `close` or a failure, and leaves the group on either."""

    def __init__(self, lanes: Lanes, transport: Transport, state: Callable[[], str], board: Board | None) -> None:
        self._lanes = lanes
        self._transport = transport
        self._state = state
        self._board = board
        self._turn = threading.Lock()
        self._first_cause: SyncError | None = None
        self.closed = False

    @property
    def broken(self) -> bool:
        """Whether a call has failed."""
        return self._first_cause is not None

    def admit(self, call: str) -> None:
        """Raises the first cause for a broken object, and Misuse for a closed one."""
        if self._first_cause is not None:
            raise self._first_cause.again(call) from self._first_cause
        if self.closed:
            raise Misuse(f"{call}() after close()")

    @contextmanager
    def turn(self, call: str) -> Iterator[None]:
        """Keeps every other call out. Raises Misuse where one is under way, and as `admit` does."""
        if not self._turn.acquire(blocking=False):
            raise Misuse(f"{call}() within another call; make all calls from one thread, one after the other")
        try:
            self.admit(call)
            yield
        finally:
            self._turn.release()

    @contextmanager
    def call(self, name: str) -> Iterator[StepResult]:
        """A turn with a result that is handed out only where nothing is raised; what is raised breaks the object."""
        with self.turn(name):
            result = StepResult(popped={lane.name: [] for lane in self._lanes})
            before = self._lanes.snapshot()
            try:
                yield result
            except SyncError as error:
                self._lanes.restore(before, result.detached, result.popped)
                self._break(error)
                raise
            except BaseException as error:
                failed = StepFailed(f"{name}(): {type(error).__name__}: {error}")
                self._lanes.restore(before, result.detached, result.popped)
                self._break(failed)
                if not isinstance(error, Exception):
                    raise
                raise failed from error

    def leave(self, why: str) -> None:
        """Closes: leaves the group, and word for the others."""
        if self._board:
            self._board.leave(why)
        self._transport.close()
        self.closed = True

    def _break(self, cause: SyncError) -> None:
        cause.state = self._state()
        self._first_cause = cause
        if self._board:
            self._board.leave(str(cause))
        with suppress(SyncError):  # a loss that shows only now is no first cause
            self._transport.close()
        of_a_round = cause.round is not None and isinstance(cause, PeerLost | StepTimeout)
        if self._board and of_a_round:  # not where this rank's own ack was late
            cause.peers = self._board.others()
