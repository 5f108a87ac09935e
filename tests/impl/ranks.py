"""Real ranks of one group, one process each, told what to do over pipes; every answer is waited for with a deadline."""

import multiprocessing
import runpy
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeAlias

PROGRAM = Path(__file__).with_name("rank_program.py")
DEADLINE = 30.0
"""Seconds for one answer; most of it is for the import of torch on a busy machine."""

Answer: TypeAlias = tuple[Any, ...]
"""("ok", value), ("raised", name of the type, text, seconds of the call), or DIED."""
DIED: Answer = ("died",)


class Ranks:
    """The processes, and the conversation with each."""

    def __init__(
        self, store: Path, timeout: float, switch: str, depth: int, topology: dict[str, int], *, carrier: bool
    ) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["torch.distributed"])
        self.pipes: list[Connection] = []
        self.processes: list[BaseProcess] = []
        world = topology.get("tp", 1) * topology.get("cp", 1) * topology.get("pp", 1)
        settings = {"timeout": timeout, "switch": switch, "depth": depth, "topology": topology, "carrier": carrier}
        for rank in range(world):
            mine, its = context.Pipe()
            start = {"RANK": (its, (rank, world, str(store), settings))}
            process = context.Process(target=runpy.run_path, args=(str(PROGRAM), start, "__rank__"), daemon=True)
            self.pipes.append(mine)
            self.processes.append(process)
            process.start()
            its.close()

    @property
    def world(self) -> int:
        return len(self.pipes)

    def tell(self, rank: int, *command: str) -> None:
        with suppress(ConnectionResetError, BrokenPipeError):  # it died: `hear` says so
            self.pipes[rank].send(command)

    def hear(self, rank: int) -> Answer:
        assert self.pipes[rank].poll(DEADLINE), f"rank {rank} hangs"
        try:
            answer: Answer = self.pipes[rank].recv()
        except (EOFError, ConnectionResetError):
            return DIED
        return answer

    def ask(self, rank: int, *command: str) -> Answer:
        self.tell(rank, *command)
        return self.hear(rank)

    def all(self, *command: str) -> list[Answer]:
        for rank in range(self.world):
            self.tell(rank, *command)
        return [self.hear(rank) for rank in range(self.world)]

    def each(self, *command: str) -> Any:
        """The value that every rank answers with, the same on each."""
        answers = self.all(*command)
        assert answers == [("ok", answers[0][-1])] * len(answers)
        return answers[0][-1]

    def until_they_fail(self, *ranks: int, steps: int = 6) -> dict[int, Answer]:
        """What each of those ranks raises, or that it died, when all of them keep stepping."""
        failed: dict[int, Answer] = {}
        for _ in range(steps):
            still = [rank for rank in ranks if rank not in failed]
            for rank in still:
                self.tell(rank, "step")
            for rank in still:
                answer = self.hear(rank)
                if answer[0] != "ok":
                    failed[rank] = answer
        return failed

    def end(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.join(DEADLINE)
        for pipe in self.pipes:
            pipe.close()


Start: TypeAlias = Callable[..., Ranks]
