"""The rank processes of a measurement: each is told the same thing at once, and every reply has a deadline."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rankproof.benchmarks.frame import Lost
from rankproof.benchmarks.scheduler import Opening, Rounds, Segment, Took
from rankproof.conformance.launcher import Launcher, Process

TARGET = "rankproof.benchmarks.scheduler:serve"

TIMEOUT_S = 20.0
"""The deadline of a wait between ranks: a measurement that comes near it says nothing anyway."""

OPEN_WITHIN_S = 60.0
"""For processes to start and to join their groups, on a busy machine."""

PATIENCE = 10.0
"""How many times as long as it should take a segment may last before it is given up."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """Some processes in which a scheduler loop waits for requests."""

    processes: tuple[Process, ...]

    def run(self, segment: Segment, about_s: float) -> Took:
        """One segment on every rank; what a step took is the mean over ranks. Raises Lost."""
        within = 2 * TIMEOUT_S + PATIENCE * about_s
        took = [reply for reply in self.ask([segment] * len(self.processes), within) if isinstance(reply, Took)]
        return Took(*(_mean([getattr(each, name) for each in took]) for name in Took.__dataclass_fields__))

    def rounds(self, request: Rounds) -> tuple[float, ...]:
        """What each round took, in seconds, on the rank that came last to it. Raises Lost."""
        replies = self.ask(
            [request] * len(self.processes), 2 * TIMEOUT_S + PATIENCE * request.steps * request.forward_s
        )
        by_rank = [reply for reply in replies if isinstance(reply, tuple)]
        return tuple(min(of_round) for of_round in zip(*by_rank, strict=True))

    def ask(self, requests: Sequence[object], within: float) -> list[object]:
        """Each rank's reply to its request. Raises Lost where one fails, or is not there within so many seconds."""
        deadline = time.monotonic() + within
        for rank, request in enumerate(requests):
            self._talk(rank, lambda process, request=request: process.channel.send(request))  # type: ignore[misc] # bound now
        replies = [
            self._talk(rank, lambda process: process.channel.receive(max(0.0, deadline - time.monotonic())))
            for rank in range(len(requests))
        ]
        for rank, reply in enumerate(replies):
            if isinstance(reply, str):
                raise Lost(f"rank {rank}: {reply}")
        return replies

    def _talk(self, rank: int, say: Callable[[Process], object]) -> object:
        process = self.processes[rank]
        try:
            return say(process)
        except TimeoutError as error:
            raise Lost(f"rank {rank} gave no reply: {error}") from error
        except EOFError as error:
            words = process.last_words(1)
            raise Lost(f"rank {rank} is gone{f' ({words})' if words else ''}") from error


@contextmanager
def ranks(
    launcher: Launcher,
    world: int,
    kinds: tuple[str, ...],
    *,
    lanes: int = 2,
    delay_s: float = 0.0,
    seed: int = 0,
) -> Iterator[Ranks]:
    """`world` processes with a part of each kind; they end with the block. Raises Lost where they cannot be made."""
    processes: list[Process] = []
    store_file = os.path.join(launcher.directory, uuid.uuid4().hex)
    try:
        for _ in range(world):
            processes.append(launcher.start(TARGET))  # noqa: PERF401 - those that started are ended whatever comes
        group = Ranks(tuple(processes))
        group.ask(
            [Opening(rank, world, kinds, lanes, delay_s, TIMEOUT_S, store_file, seed) for rank in range(world)],
            OPEN_WITHIN_S,
        )
        yield group
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.end()


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
