"""One rank of several in a process: the thread in which its subject runs, and how it is suspended and goes on."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress

from rankproof.conformance.memory_board import Board, Patience
from rankproof.conformance.outcome import Died, Ok, Outcome, Raised
from rankproof.conformance.subject import Observation
from rankproof.conformance.worker import aside, make_subject, raised, returned

LOAD = "load"
"""The command that makes a subject: of what enters its world, and of the factory."""

_GRACE = 0.05
"""Seconds after which a rank that neither ends its command nor waits for a peer is left to run beside the others."""

_LEAVES_WITHIN = 1.0

_LARGE = 1 << 63


class _Left(BaseException):
    """Ends the thread of a rank that was abandoned, from within its wait."""


class Seat:
    """One rank's thread, which runs from when it is told to go on to where it ends its command or waits for a peer."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.owes: str | None = None
        self.outcome: Outcome | None = None
        self.died: Died | None = None
        self.subject: object = None
        self.closed: Outcome | None = None
        self.running = False
        self.stopped = False
        self._begun = False
        self._failed_aside: Raised | None = None
        self.waits_for: Callable[[], bool] | None = None
        self.within = 0.0
        self.left = False
        self._arguments: tuple[object, ...] = ()
        self._go = _closed_gate()
        self._stopped = _closed_gate()
        self._thread = threading.Thread(target=self._serve, name=f"rank {rank}", daemon=True)
        self._thread.start()

    @property
    def can_go_on(self) -> bool:
        """Whether it has a command to begin, or is suspended in a wait that is over; not so while it is stopped."""
        if self.running or self.stopped:
            return False
        return self._begun or (self.waits_for is not None and self.waits_for())

    def begin(self, method: str, arguments: tuple[object, ...]) -> None:
        """Lets it begin a command, and gives it the time that one takes which blocks in nothing of its own.

        While it is stopped, the command stays to be begun.
        """
        self.owes, self.outcome, self._arguments = method, None, arguments
        self._begun = True
        if not self.stopped:
            self.run()

    def aside(self, method: str, arguments: tuple[object, ...]) -> None:
        """Calls a method of its subject beside the command under way, on the caller's thread."""
        self._failed_aside = aside(self.subject, method, arguments) or self._failed_aside

    def run(self) -> None:
        """Lets it go on; it has stopped again on return, or runs beside the others."""
        self.running, self._begun = True, False
        self._go.release()
        self.stops(_GRACE)

    def stops(self, within: float) -> bool:
        """Whether it stops within so many seconds of real time."""
        if self.running and self._stopped.acquire(timeout=max(0.0, within)):
            self.running = False
        return not self.running

    def suspend(self, ready: Callable[[], bool], within: float) -> bool:
        """Called on its own thread: stops until it is told to go on; whether that is because `ready`."""
        self.waits_for, self.within = ready, within
        self._stopped.release()
        self._go.acquire()
        self.waits_for = None
        if self.left:
            raise _Left
        return ready()

    @property
    def stands(self) -> str:
        """Where its thread is now, as a traceback shows it."""
        frame = sys._current_frames().get(self._thread.ident or 0)
        return "".join(traceback.format_stack(frame)) if frame else ""

    @property
    def is_here(self) -> bool:
        """Whether the caller runs on this seat's thread."""
        return threading.current_thread() is self._thread

    def leave(self) -> None:
        """Abandons the thread: it ends now if it is suspended or idle, and else at its next wait."""
        self.left = True
        with suppress(RuntimeError):  # it was let go already, and has not come to its gate yet
            self._go.release()
        if not self.running:
            self._thread.join(_LEAVES_WITHIN)  # the interpreter must not end while a thread frees tensors

    def _serve(self) -> None:
        try:
            while True:
                self._go.acquire()
                if self.left:
                    return
                assert self.owes is not None
                outcome = self._carry_out(self.owes)
                self.outcome, self._failed_aside = self._failed_aside or outcome, None
                self._stopped.release()
        except _Left:
            return

    def _carry_out(self, method: str) -> Outcome:
        try:
            if method == LOAD:
                enter, factory = self._arguments
                assert callable(enter)
                enter()
                self.subject, self.closed = make_subject(factory), None
                return Ok()
            value = getattr(self.subject, method)(*self._arguments)
            return Ok(value) if _is_plain(value) else returned(method, value)
        except _Left:
            raise
        except Exception as error:
            return raised(error)
        except SystemExit as leave:
            code = leave.code if isinstance(leave.code, int) else int(leave.code is not None)
            self.died = Died(code & 0xFF)
        except BaseException:
            self.died = Died(1, traceback.format_exc())
        return self.died


def _closed_gate() -> threading.Lock:
    """A lock that one thread opens and another closes behind it; a semaphore does the same in Python, and slower."""
    gate = threading.Lock()
    gate.acquire()
    return gate


def patience_of(seat: Seat, board: Board) -> Patience:
    """How a rank waits: suspended on its own thread, and in real time on a thread that its subject started itself."""

    def wait(ready: Callable[[], bool], within: float) -> bool:
        if seat.left:
            raise _Left
        if ready():
            return True
        if seat.is_here:
            return seat.suspend(ready, within)
        return board.wait_for(ready, within)

    return wait


def _is_plain(value: object) -> bool:
    """Whether it can be no other than its copy, so that the copy, which costs as much as a small step, can be saved."""
    if type(value) is Observation:
        return all(map(_is_plain, vars(value).values()))
    if type(value) is tuple:
        return not value or all(map(_is_plain, value))
    return value is None or type(value) is str or (type(value) is int and -_LARGE < value < _LARGE)
