"""Starts processes through a supervisor, which ends them all in whatever way this process ends."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from types import TracebackType
from typing import IO, Literal, Self

from rankproof.conformance.channel import Channel
from rankproof.conformance.supervisor import Look, Start, State, kill_group, python_command
from rankproof.model.errors import BadInput

Method = Literal["forkserver", "spawn"]
PRELOAD = ("torch", "torch.distributed", "rankproof.conformance.worker", "rankproof.conformance.rendezvous")
_START_WITHIN = 120.0  # importing torch from a cold disk on a busy machine
_END_WITHIN = 5.0
_LOOK_WITHIN = 5.0
_LOST = (EOFError, TimeoutError, OSError)


def default_method() -> Method:
    """The faster method that is safe here: only on Linux may a process that has loaded torch be forked."""
    return "forkserver" if sys.platform == "linux" else "spawn"


class Launcher:
    """A supervisor, started in the background at once, and the processes that it starts for us.

    With "forkserver" it loads `preload` once and forks each process in some milliseconds; with "spawn" each process
    is a fresh interpreter. Several pools may share one launcher, one after another or at once, but only one thread
    may use it. `directory` is for short-lived files, and goes when the launcher does. Close it, or use it in a `with`;
    otherwise it ends with its last reference, or with this process.
    """

    def __init__(self, method: Method | None = None, *, preload: tuple[str, ...] = PRELOAD) -> None:
        if not (hasattr(os, "fork") and hasattr(os, "killpg")):
            raise BadInput(f"rank processes cannot be started on {sys.platform!r}; use Linux or macOS")
        self.method: Method = method or default_method()
        self._log = _new_log()
        self.directory = tempfile.mkdtemp(prefix="rankproof-")
        self._control, there = Channel.pair()
        with there:
            statement = (
                "from rankproof.conformance.supervisor import main; "
                f"main({there.fileno()}, {os.getpid()}, {self.directory!r}, "
                f"{preload if self.method == 'forkserver' else None!r})"
            )
            self._supervisor = subprocess.Popen(
                python_command(statement, sys.path),
                pass_fds=[there.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                start_new_session=True,
                env={"OMP_NUM_THREADS": "1", **os.environ},  # ranks outnumber cores: one thread each
            )
        self._ready = False
        self._finalizer = weakref.finalize(
            self, _end_supervisor, self._supervisor, self._control, self._log, self.directory, os.getpid()
        )

    def start(self, target: str) -> Process:
        """A new process that runs `target`, "module:function", with its end of a channel.

        Raises BadInput when the supervisor cannot run, in one line that says why.
        """
        self._wait_until_ready()
        channel, there = Channel.pair()
        log = _new_log()
        try:
            with there:
                self._control.send(Start(target))
                self._control.send_files([there.fileno(), log.fileno()])
                pid = self._control.receive(_START_WITHIN)
        except BaseException as error:
            channel.close()
            log.close()
            if isinstance(error, _LOST):
                raise self._lost(error) from None
            self._give_up()  # an answer that is still to come would be taken for that of the next request
            raise
        assert isinstance(pid, int)
        return Process(pid, channel, log, self)

    def look(self, pid: int) -> State | None:
        """The state of process `pid`; None when the supervisor is gone, and where the kernel can, the process too."""
        try:
            self._control.send(Look(pid))
            state = self._control.receive(_LOOK_WITHIN)
        except _LOST:
            self._give_up()
            return None
        except BaseException:
            self._give_up()  # as in `start`
            raise
        assert isinstance(state, State)
        return state

    @property
    def pid(self) -> int:
        """The supervisor's pid."""
        return self._supervisor.pid

    def close(self) -> None:
        """End the supervisor and all its processes; returns when they are gone."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _wait_until_ready(self) -> None:
        if self._ready:
            return
        try:
            problem = self._control.receive(_START_WITHIN)
        except _LOST as error:
            raise self._lost(error) from None
        if problem is not None:
            raise BadInput(f"rank processes cannot start: {problem}")
        self._ready = True

    def _lost(self, error: BaseException) -> BadInput:
        self._give_up()
        why = _tail(self._log, 1) or error
        return BadInput(f"the supervisor of the rank processes is gone ({why}); start another launcher")

    def _give_up(self) -> None:
        """End a supervisor that is gone or silent: an answer that came late would be taken for the next one."""
        self._supervisor.kill()
        self._control.close()


class Process:
    """A process that a launcher started: its pid, its channel, and what it writes to stdout and stderr."""

    def __init__(self, pid: int, channel: Channel, log: IO[bytes], launcher: Launcher) -> None:
        self.pid = pid
        self.channel = channel
        self._log = log
        self._launcher = launcher
        self._ended = False
        self.code: int | None = None

    def wait(self, within: float) -> bool:
        """Wait for its end; True when it has ended, with `code` then known unless the supervisor is lost."""
        self._wait_for(within, stopped=None)
        return self._ended

    def signal(self, signum: signal.Signals) -> None:
        """Send a signal; SIGKILL, SIGSTOP and SIGCONT have taken effect when this returns."""
        if self.wait(0):
            return
        os.kill(self.pid, signum)
        match signum:
            case signal.SIGKILL:
                self.wait(_END_WITHIN)
            case signal.SIGSTOP | signal.SIGCONT:
                self._wait_for(_END_WITHIN, stopped=signum == signal.SIGSTOP)

    def kill(self) -> None:
        """Kill it and what it started, without waiting for the end."""
        if not self._ended:
            kill_group(self.pid)

    def end(self) -> None:
        """Kill it and what it started, wait until it is gone, and free what we hold of it."""
        self.kill()
        self.wait(_END_WITHIN)
        self.channel.close()
        self._log.close()

    def clear_log(self) -> None:
        """Forget what it wrote until now."""
        self._log.truncate(0)

    def last_words(self, lines: int = 20) -> str:
        """The last lines that it wrote to stdout and stderr."""
        return _tail(self._log, lines)

    def _wait_for(self, within: float, stopped: bool | None) -> None:
        """Wait until it has ended, or until it is stopped or running as `stopped` says."""
        deadline = time.monotonic() + within
        pause = 0.0001
        while not self._ended:
            state = self._launcher.look(self.pid)
            if state is None or state.code is not None:
                self._ended = True
                self.code = None if state is None else state.code
            elif state.stopped is stopped or time.monotonic() >= deadline:
                return
            else:
                time.sleep(pause)
                pause = min(2 * pause, 0.01)


def _new_log() -> IO[bytes]:
    """A file without a name, so that nothing is left whatever happens, whose writers always append."""
    with tempfile.NamedTemporaryFile() as named:
        return open(named.name, "a+b", buffering=0)


def _tail(log: IO[bytes], lines: int, most: int = 16_384) -> str:
    size = os.fstat(log.fileno()).st_size
    text = os.pread(log.fileno(), most, max(0, size - most)).decode(errors="replace")
    return "\n".join(text.splitlines()[-lines:])


def _end_supervisor(
    supervisor: subprocess.Popen[bytes], control: Channel, log: IO[bytes], directory: str, owner: int
) -> None:
    control.close()
    log.close()
    if os.getpid() != owner:  # a fork of the owner holds a copy, and must not end what is not its own
        return
    try:
        supervisor.wait(2 * _END_WITHIN)
    except subprocess.TimeoutExpired:
        supervisor.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):  # only the kernel can hold a killed process back
            supervisor.wait(_END_WITHIN)
    shutil.rmtree(directory, ignore_errors=True)  # for a supervisor that was killed
