"""The process that starts the rank processes, sees their ends, and ends them all when the tool that uses it is gone.

It runs in its own session, so that Ctrl-C in a terminal reaches the tool alone. It is single-threaded, blocks in
nothing but a one-second wait for the next request, and is the parent of every rank process: a pid stays reserved
until the tool has asked for the exit code, so the tool never signals a stranger. When the tool closes its end of the
control channel, or ends in any way, the supervisor kills every rank with SIGKILL, which also ends a stopped process
and one that holds the interpreter's lock. Where the kernel can (Linux), the ranks die with the supervisor too, and what
a rank started in a session of its own and left behind becomes the supervisor's child, and is ended with the ranks.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import importlib
import os
import shutil
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from rankproof.conformance.channel import Channel

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # from <sys/prctl.h>
_REAP_WITHIN = 5.0


@dataclass(frozen=True)
class Start:
    """Request: start a process that runs `target`, "module:function", with its channel; two files follow.

    The files are the process's end of the channel, and the log that takes its stdout and stderr.
    The answer is its pid.
    """

    target: str


@dataclass(frozen=True)
class Look:
    """Request: the state of process `pid`, as a `State`. Once `code` is told, the pid is given up."""

    pid: int


@dataclass(frozen=True)
class State:
    """A process as its parent sees it: `stopped` by a signal or not; `code` as in `Died` once it has ended."""

    stopped: bool
    code: int | None


def python_command(statement: str, paths: list[str]) -> list[str]:
    """The command line of a Python that sees the modules of `paths` and runs `statement`; it buffers no output."""
    found = [path or os.getcwd() for path in paths]
    return [sys.executable, "-u", "-c", f"import sys; sys.path[:] = {found!r}; {statement}"]


def main(control: int, tool: int, directory: str, preload: tuple[str, ...] | None) -> None:
    """Serve the process `tool` over the socket `control` until it is gone, then remove `directory`.

    With `preload`, rank processes are forks of this one, which imports those modules first; with None each is a fresh
    interpreter. The first message sent is None, or the reason why a module could not be imported.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    # An import takes seconds, in which the channel is not looked at. Not for longer: it is the end of the *thread* that
    # started this process which the kernel tells.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    _prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM))
    channel = Channel(socket.socket(fileno=control))
    processes: dict[int, State] = {}
    try:
        if os.getppid() != tool:
            return
        channel.send(_import(preload or ()))
        _prctl(_PR_SET_PDEATHSIG, 0)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        gc.freeze()  # forked ranks then share these objects' pages with us
        while True:
            try:
                request = channel.receive(within=1.0)
            except TimeoutError:
                if os.getppid() != tool:  # a fork of the tool may hold the channel open after the tool is gone
                    return
                continue
            match request:
                case Start(target):
                    pid = _start(target, channel, fresh=preload is None)
                    processes[pid] = State(stopped=False, code=None)
                    channel.send(pid)
                case Look(pid):
                    state = _look(pid, processes.pop(pid))
                    if state.code is None:
                        processes[pid] = state
                    channel.send(state)
    except EOFError:
        return
    finally:
        _end(processes)
        shutil.rmtree(directory, ignore_errors=True)


def run(target: str, channel: int, supervisor: int) -> NoReturn:
    """Be the process that `Start` asked for: call `target`, then exit as an interpreter would."""
    _die_with(supervisor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable()  # a crash in native code then names the Python line in the log
    code = 1
    try:
        module, _, function = target.partition(":")
        body: Callable[[Channel], None] = getattr(importlib.import_module(module), function)
        body(Channel(socket.socket(fileno=channel)))
        code = 0
    except SystemExit as leave:
        code = leave.code if isinstance(leave.code, int) else int(leave.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code & 0xFF)


def _import(modules: tuple[str, ...]) -> str | None:
    """None, or which of `modules` cannot be imported and why."""
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception as error:
            return f"cannot import {module!r}: {type(error).__name__}: {error}"
    return None


def _start(target: str, control: Channel, *, fresh: bool) -> int:
    channel, log = control.receive_files(2, within=5.0)
    supervisor = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            control.close()
            os.dup2(log, 1)
            os.dup2(log, 2)
            if fresh:
                os.set_inheritable(channel, True)
                statement = f"from {__name__} import run; run({target!r}, {channel}, {supervisor})"
                command = python_command(statement, sys.path)
                os.execv(command[0], command)
            run(target, channel, supervisor)
        finally:
            os._exit(1)
    # Here too: whoever comes first, the group exists before the pid is told. It fails when the process has already done
    # so itself and gone on to another program, or has ended.
    with contextlib.suppress(PermissionError, ProcessLookupError):
        os.setpgid(pid, pid)
    os.close(channel)
    os.close(log)
    return pid


def _look(pid: int, last: State) -> State:
    """Take all changes of state that are there; an ended process takes what it started itself along."""
    stopped = last.stopped
    while True:
        changed, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
        if changed == 0:
            return State(stopped, code=None)
        if os.WIFSTOPPED(status) or os.WIFCONTINUED(status):
            stopped = os.WIFSTOPPED(status)
            continue
        kill_group(pid)
        return State(stopped=False, code=os.waitstatus_to_exitcode(status))


def kill_group(pid: int) -> None:
    """Kill process `pid`, not yet given up, and all that it started, if they are still there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # all gone; or on macOS, only zombies are left
        os.killpg(pid, signal.SIGKILL)


def _end(processes: dict[int, State]) -> None:
    for pid in processes:
        kill_group(pid)
    deadline = time.monotonic() + _REAP_WITHIN
    left = _left_behind(processes)
    while (processes or left) and time.monotonic() < deadline:
        processes = {pid: state for pid, last in processes.items() if (state := _look(pid, last)).code is None}
        for pid in left:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.001)
        left = _left_behind(processes)  # the end of one makes its own children ours


def _left_behind(processes: Iterable[int]) -> list[int]:
    """Our children that are none of these: what ranks started and left behind; none where the kernel does not say."""
    found = []
    for file in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(pid) for pid in file.read_text().split()]
    return [pid for pid in found if pid not in processes]


def _die_with(supervisor: int) -> None:
    _prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != supervisor:  # it ended before the line above
        os._exit(1)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value)
