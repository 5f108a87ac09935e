"""Real processes, one per rank, that carry out one command at a time, and whose every end is an outcome."""

from __future__ import annotations

import os
import signal
import time
import uuid
import weakref
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Self

from rankproof.conformance.channel import readable
from rankproof.conformance.launcher import Launcher, Process
from rankproof.conformance.outcome import Hung, Ok, Outcome, Raised, said_with_place
from rankproof.conformance.rank_process import LOOK_EVERY, RankProcess
from rankproof.conformance.subject import SubjectConfig
from rankproof.conformance.worker import LEAVE, LOAD, Command, Factory, check_factory, factory_name
from rankproof.model.errors import BadInput

_WORKER = "rankproof.conformance.worker:serve"
MOST_RANKS = 64
LOAD_WITHIN = 120.0
"""Seconds for the ranks to make their subjects: they may import torch or an engine, on a busy machine."""

SETUP_WITHIN = 60.0
"""Seconds for the ranks to be set up, and so how soon a setup that hangs is told."""


class RankPool:
    """A subject on each of `ranks` ranks, each in a process of its own, joined by what `factory` makes.

    `factory` is "package.module:callable", or a callable that other processes can import; it takes nothing and gives a
    new `Subject`. `lanes` and `timeout` (seconds) go into the `SubjectConfig`. `reply_within` (seconds) limits each
    reply unless `receive` is given another limit, and `setup_within` the setups, unless a reply may take longer. A
    `launcher` that is given is used and left open, so that a later pool starts in some milliseconds; otherwise the
    pool has its own.

    Use it in a `with`: entering starts the processes and sets the subjects up, leaving ends every process, after
    `close` of each subject if the block ended without an exception. Not for use by several threads.
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
        launcher: Launcher | None = None,
    ) -> None:
        if not 1 <= ranks <= MOST_RANKS:
            raise BadInput(f"a pool has 1 to {MOST_RANKS} ranks, each a process on this machine, not {ranks}")
        check_factory(factory)
        self._world = ranks
        self._factory = factory
        self._lanes = lanes
        self._timeout = timeout
        self._reply_within = reply_within
        self._setup_within = setup_within
        self._launcher = launcher or Launcher()
        self._owns_launcher = launcher is None
        self._name = uuid.uuid4().hex
        self._groups = 0
        self._ranks: list[RankProcess] = []
        self._processes: list[Process] = []  # those of the ranks, for the finalizer, which must not know the pool
        self._finalizer = weakref.finalize(
            self, _end, self._processes, self._launcher if self._owns_launcher else None, os.getpid()
        )

    def __enter__(self) -> Self:
        if not self._finalizer.alive:
            raise RuntimeError("a pool is entered once; make another one")
        try:
            self._ranks = [RankProcess(self._start(_WORKER)) for _ in range(self._world)]
            self.regroup()
        except BaseException:
            self._finalizer()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._close_subjects()
        finally:
            self._finalizer()

    @property
    def world(self) -> int:
        """The number of ranks."""
        return self._world

    @property
    def pids(self) -> tuple[int, ...]:
        """The pid of each rank's process, dead ones included."""
        return tuple(state.process.pid for state in self._ranks)

    def send(self, rank: int, method: str, *arguments: object) -> None:
        """Let `rank` begin to call `method` of its subject; a rank that died takes the command and stays dead.

        Raises RuntimeError when the rank still owes the reply to an earlier command.
        """
        state = self._ranks[rank]
        if state.owes is not None:
            raise RuntimeError(f"rank {rank} still owes the reply to {state.owes}; cannot send {method}")
        state.send(method, arguments)

    def receive(self, rank: int, within: float | None = None) -> Outcome:
        """What became of the command last sent to `rank`; waits `within` seconds, or the pool's `reply_within`.

        After `Hung` the reply is still owed: receive again to wait longer, or `regroup` to replace the process.
        After `Died` every command gives the same `Died`. Raises RuntimeError when no reply is owed.
        """
        state = self._ranks[rank]
        if state.owes is None:
            raise RuntimeError(f"rank {rank} owes no reply")
        return state.receive(self._reply_within if within is None else within)

    def aside(self, rank: int, method: str, *arguments: object) -> None:
        """Let `rank` call a short method of its subject at once, also within another command; there is no reply."""
        with suppress(EOFError):
            self._ranks[rank].process.channel.send(Command(0, method, arguments, aside=True))

    def call(self, rank: int, method: str, *arguments: object, within: float | None = None) -> Outcome:
        """`send`, then `receive`."""
        self.send(rank, method, *arguments)
        return self.receive(rank, within)

    def kill(self, rank: int, signum: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to a rank's process; SIGKILL, SIGSTOP and SIGCONT have taken effect on return."""
        state = self._ranks[rank]
        state.process.signal(signum)
        if signum in (signal.SIGSTOP, signal.SIGCONT):
            state.stopped = signum is signal.SIGSTOP

    def last_words(self, rank: int) -> str:
        """The last lines that `rank` wrote to stdout and stderr since the last regroup: tracebacks, gloo's warnings."""
        return self._ranks[rank].process.last_words()

    def regroup(
        self,
        *,
        factory: Factory | None = None,
        lanes: tuple[str, ...] | None = None,
        timeout: float | None = None,
        reply_within: float | None = None,
    ) -> tuple[Outcome | None, ...]:
        """Close the subjects and set fresh ones up, on a fresh group; what is given replaces what the pool had.

        Living ranks keep their process. One that died, is stopped, hangs, or does not close its subject or leave the
        old group within `reply_within` gets a fresh one. Gives what became of `close` on each rank, None where it was
        not called.

        Raises BadInput, in one line, when a factory cannot be used or when a setup raises, hangs or dies; then the
        pool is to be left, or regrouped with another factory.
        """
        if factory is not None:
            check_factory(factory)
        self._factory = self._factory if factory is None else factory
        self._lanes = self._lanes if lanes is None else lanes
        self._timeout = self._timeout if timeout is None else timeout
        self._reply_within = self._reply_within if reply_within is None else reply_within
        closed = self._close_subjects()
        self._on_ranks([rank for rank, state in enumerate(self._ranks) if state.is_idle], LEAVE)
        for rank, state in enumerate(self._ranks):
            if not state.is_idle:
                state.process.end()
                self._processes.remove(state.process)
                self._ranks[rank] = RankProcess(self._start(_WORKER))
        self._set_up()
        return closed

    def renew(self) -> tuple[Outcome | None, ...]:
        """Like `regroup`, but on the same group, and so ten times as fast; only for ranks that agree.

        Use it when every rank has consumed every round that it issued. A round left in flight on one rank would meet
        the first of its new subject's on another. Where a rank died, hangs, or did not close well, this is `regroup`.
        """
        closed = self._close_subjects()
        if all(isinstance(outcome, Ok) for outcome in closed):
            self._set_up()
        else:
            self.regroup()
        return closed

    def _set_up(self) -> None:
        for state in self._ranks:
            state.process.clear_log()
        self._groups += 1
        store_file = os.path.join(self._launcher.directory, f"{self._name}-{self._groups}")
        self._require_ok(LOAD, [(self._factory,)] * self._world, LOAD_WITHIN)
        for state in self._ranks:
            state.has_subject, state.closed = True, None
        configs = [
            SubjectConfig(rank, self._world, self._lanes, self._timeout, store_file) for rank in range(self._world)
        ]
        self._require_ok("setup", [(config,) for config in configs], max(self._setup_within, self._reply_within))

    def _start(self, target: str) -> Process:
        process = self._launcher.start(target)
        self._processes.append(process)
        return process

    def _close_subjects(self) -> tuple[Outcome | None, ...]:
        closing = [
            rank
            for rank, state in enumerate(self._ranks)
            if state.has_subject and state.owes is None and not state.stopped
        ]
        for rank, outcome in self._on_ranks(closing, "close").items():
            self._ranks[rank].closed = outcome
        return tuple(state.closed for state in self._ranks)

    def _on_ranks(self, ranks: list[int], method: str) -> dict[int, Outcome]:
        for rank in ranks:
            self.send(rank, method)
        return dict(self._receive_each(ranks, self._reply_within))

    def _require_ok(self, method: str, arguments: list[tuple[object, ...]], within: float) -> None:
        for rank, given in enumerate(arguments):
            self.send(rank, method, *given)
        for rank, outcome in self._receive_each(range(self._world), within):
            match outcome:
                case Ok():
                    continue
                case Raised("BadInput", message):
                    raise BadInput(message)
            reason = said_with_place(outcome)
            raise BadInput(f"factory {factory_name(self._factory)}: {method} on rank {rank} {reason}")

    def _receive_each(self, ranks: Iterable[int], within: float) -> Iterator[tuple[int, Outcome]]:
        """The outcome of each of `ranks`, those that come first first, all within `within` seconds together."""
        waiting = {self._ranks[rank].process.channel: rank for rank in ranks}
        deadline = time.monotonic() + within
        while waiting:
            left = max(0.0, deadline - time.monotonic())
            heard = readable(waiting, min(left, LOOK_EVERY))
            if not heard and left > LOOK_EVERY:
                heard = [channel for channel, rank in waiting.items() if self._ranks[rank].process.wait(0)]
            elif not heard:
                heard = list(waiting)
            for channel in heard:
                rank = waiting.pop(channel)
                outcome = self.receive(rank, max(0.0, deadline - time.monotonic()))
                yield rank, replace(outcome, seconds=within) if isinstance(outcome, Hung) else outcome


def _end(processes: list[Process], launcher: Launcher | None, owner: int) -> None:
    if os.getpid() != owner:  # a fork of the owner holds a copy, and must not end what is not its own
        return
    try:
        for process in processes:
            process.kill()
        for process in processes:
            process.end()
    finally:
        if launcher is not None:
            launcher.close()
