"""The frame of every call of an `AckSync`: one at a time, all or nothing, and broken by the first failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from rankproof.impl.acks import Ack
from rankproof.impl.board import Board
from rankproof.impl.errors import Misuse, PeerLost, StepFailed, StepTimeout, SyncError
from rankproof.impl.lanes import Lanes


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


_NOTHING = StepResult()
"""What a frame holds between two calls; it is never handed out."""


class Frame:
    """Lets one call at a time in, none after `close` or a failure, and leaves the group on either.

    It is the context of the call that is under way: one object for all calls, as there is never more than one.
    """

    def __init__(self, lanes: Lanes, close: Callable[[], None], state: Callable[[], str], board: Board | None) -> None:
        """`close` leaves the group, and `state` says where this rank is."""
        self.lanes = lanes
        self._close = close
        self._state = state
        self._board = board
        self._turn = [None]
        """The turn, which a call takes out and puts back: that is atomic, and costs less than a lock does."""
        self._first_cause: SyncError | None = None
        self._next = self._call = ""
        self._before = lanes.by_name
        self._result = _NOTHING
        self.closed = False
        self.over = False
        """Whether it is closed or broken."""

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
        self.begin(call)
        try:
            yield
        finally:
            self.end()

    def call(self, name: str) -> Frame:
        """A turn with a result that is handed out only where nothing is raised; what is raised breaks the object."""
        self._next = name
        return self

    def __enter__(self) -> StepResult:
        """Takes the turn here and not in `call`: an interrupt between the two would lose it for ever."""
        self.begin(self._next)
        try:
            self._call = self._next
            self._before = self.lanes.by_name
            popped: dict[str, list[Ack]] = {}
            for lane in self._before:
                popped[lane] = []
            self._result = result = StepResult(popped, [], {}, None, "", {})
        except BaseException:  # an interrupt: nothing is done yet, and the next call finds the turn free
            self._turn.append(None)
            raise
        return result

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            if error is not None:
                self._fail(error)
        finally:
            self._result = _NOTHING  # the acks are the caller's now: what their events hold is not held here
            self._turn.append(None)

    def _fail(self, error: BaseException) -> None:
        """Puts everything back, and breaks the object; an error that is not of ours becomes StepFailed."""
        self.lanes.restore(self._before, self._result.detached, self._result.popped)
        if isinstance(error, SyncError):
            self.break_with(error)
            return
        failed = StepFailed(f"{self._call}(): {type(error).__name__}: {error}")
        self.break_with(failed)
        if isinstance(error, Exception):
            raise failed from error

    def begin(self, call: str) -> None:
        """Begins a turn; see `turn`."""
        try:
            self._turn.pop()
        except IndexError:
            raise Misuse(f"{call}() within another call; make all calls from one thread, one after the other") from None
        if self.over:
            self._turn.append(None)
            self.admit(call)

    def end(self) -> None:
        """Ends the turn."""
        self._turn.append(None)

    def leave(self, why: str) -> None:
        """Closes: leaves the group, and word for the others."""
        if self._board:
            self._board.leave(why)
        self._close()
        self.closed = self.over = True

    def break_with(self, cause: SyncError) -> None:
        """Leaves the group because of `cause`, which every later call raises again."""
        cause.state = self._state()
        self._first_cause, self.over = cause, True
        if self._board:
            self._board.leave(str(cause))
        with suppress(SyncError):  # a loss that shows only now is no first cause
            self._close()
        of_a_round = cause.round is not None and isinstance(cause, PeerLost | StepTimeout)
        if self._board and of_a_round:  # not where this rank's own ack was late
            cause.peers = self._board.others()
