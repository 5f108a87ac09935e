"""A scheduler loop on the implementation, to run under torchrun on one host or on several.

    torchrun --nproc-per-node 4 -m rankproof.impl.demo

Every rank is given the same work by the same seed, and finishes each transfer at a time of its own. Each prints its
progress; the first prints a summary, in which the ranks' own records of what they popped are compared.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from torch._C._distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from rankproof.impl.acks import FINISHED, Ack, LaneKind
from rankproof.impl.digests import EMPTY, extended
from rankproof.impl.errors import Misuse, SyncError
from rankproof.impl.group import exchange
from rankproof.impl.opening import open_ack_sync
from rankproof.impl.plan import Plan, Topology, plan_for
from rankproof.impl.sync import AckSync, StepResult
from rankproof.model.errors import BadInput

LANES: dict[str, LaneKind] = {"write": "aligned", "load": "aligned", "backup": "size"}
REPORTS = 5
"""Lines of progress that a rank prints."""

STEPS_A_TRANSFER = 8
"""The most steps that a transfer takes."""


@dataclass(frozen=True)
class Transfer:
    """An event that finishes at a time, in seconds of the monotonic clock, which each rank draws for itself."""

    due: float

    def query(self) -> bool:
        """Whether it has finished."""
        return time.monotonic() >= self.due

    def synchronize(self) -> None:
        """Returns when it has finished."""
        time.sleep(max(0.0, self.due - time.monotonic()))


@dataclass
class Engine:
    """One rank's scheduler: what it enqueues, and the record of what was popped."""

    sync: AckSync
    common: random.Random
    own: random.Random
    step_seconds: float
    enqueued: int = 0
    steps: int = 0
    popped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(LANES, 0))
    record: int = EMPTY
    waiting_seconds: float = 0.0

    def run(self, steps: int) -> None:
        """Works for that many steps, then until all ranks are idle, and consumes what is still in flight."""
        for step in range(steps):
            self._work()
            self._step()
            if (step + 1) % max(1, steps // REPORTS) == 0:
                say(f"step {step + 1} of {steps}; {self.sync.state()}")
        while not self.sync.idle:
            self._step()
        self._take(self.sync.drain())
        self.sync.close()

    def _work(self) -> None:
        for lane in ("write", "load"):
            for _ in range(self.common.choice((0, 0, 1, 2))):
                self.enqueued += 1
                due = time.monotonic() + self.own.uniform(0, STEPS_A_TRANSFER * self.step_seconds)
                self.sync.enqueue(lane, Ack(self.enqueued, Transfer(due)))

    def _step(self) -> None:
        time.sleep(self.step_seconds)
        begun = time.perf_counter()
        result = self.sync.step(self.steps)
        self.waiting_seconds += time.perf_counter() - begun
        self.steps += 1
        self._take(result)

    def _take(self, result: StepResult) -> None:
        for lane, acks in result.popped.items():
            self.popped[lane] += len(acks)
            for ack in acks:
                self.record = extended(self.record, f"{lane} {ack.identity}")
                if lane == "write":  # what is written to the host goes on to storage
                    self.sync.enqueue("backup", Ack(ack.identity, FINISHED))

    @property
    def left(self) -> int:
        """How many acks still wait in the lanes."""
        return sum(len(self.sync.waiting(lane)) for lane in LANES)

    @property
    def account(self) -> str:
        """What this rank did, in one line; the words in front of the colon must be the same on every rank."""
        popped = ", ".join(f"{count} {lane}" for lane, count in self.popped.items())
        mean = 1e6 * self.waiting_seconds / max(1, self.steps)
        record = f"{self.record & (1 << 64) - 1:016x}"
        return f"{self.steps} steps, popped {popped}, {self.left} left, record {record}: {mean:.0f} us a step"


def run(options: argparse.Namespace, store: Store, rank: int, world: int) -> bool:
    """Runs one rank; whether all ranks popped the same acks in the same order."""
    plan = plan_of(options, world)
    sync = open_ack_sync(rank, plan, PrefixStore("demo", store), LANES, options.deadline)
    if rank == 0:
        say(f"{plan.topology}; {plan.reason}")
    own = random.Random(f"{options.seed} {rank}")
    engine = Engine(sync, random.Random(options.seed), own, options.step_ms / 1000)
    engine.run(options.steps)
    accounts = exchange(store, "account", rank, world, engine.account, options.deadline)
    same = len({account.split(":")[0] for account in accounts}) == 1
    if rank == 0:
        for peer, account in enumerate(accounts):
            say(f"rank {peer}: {account} in step()")
        verdict = "the same acks in the same order" if same else "DIFFERENT ACKS"
        say(f"{world} ranks popped {verdict}; {engine.enqueued} were enqueued, {engine.left} are left")
    exchange(store, "done", rank, world, "", options.deadline)  # the store may live in the first rank
    return same


def plan_of(options: argparse.Namespace, world: int) -> Plan:
    """The plan for the ranks there are; without --tp, as many TP ranks as the other directions leave.

    Raises BadInput where the numbers do not fit.
    """
    tp = options.tp or max(1, world // max(1, options.cp * options.pp))
    topology = Topology(tp, options.cp, options.pp)
    if topology.world != world:
        raise BadInput(f"{topology} takes {topology.world} ranks, and there are {world}; see --nproc-per-node")
    return plan_for(topology, options.depth)


def say(line: str) -> None:
    """Writes one line whole, as several ranks may share the terminal."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None, environment: Mapping[str, str] = os.environ) -> int:
    """The exit code: 0, or 1 where ranks failed or differ, or 2 for bad input."""
    parser = argparse.ArgumentParser("python -m rankproof.impl.demo", description="A scheduler loop, under torchrun.")
    parser.add_argument("--steps", type=int, default=200, help="steps with work (default 200)")
    parser.add_argument("--step-ms", type=float, default=1.0, help="what a step takes beside the agreement (default 1)")
    parser.add_argument("--depth", type=int, default=1, help="rounds in flight (default 1)")
    parser.add_argument("--tp", type=int, default=0, help="TP ranks (default: what the other directions leave)")
    parser.add_argument("--cp", type=int, default=1, help="CP ranks (default 1)")
    parser.add_argument("--pp", type=int, default=1, help="pipeline stages (default 1)")
    parser.add_argument("--deadline", type=float, default=10.0, help="seconds for each wait (default 10)")
    parser.add_argument("--seed", type=int, default=0, help="of the work (default 0)")
    options = parser.parse_args(arguments)
    try:
        if "RANK" not in environment:
            raise BadInput("run it under torchrun: torchrun --nproc-per-node 2 -m rankproof.impl.demo")
        store, rank, world = next(iter(rendezvous("env://")))
        return 0 if run(options, store, rank, world) else 1
    except (BadInput, Misuse) as error:
        sys.stderr.write(f"rankproof.impl.demo: {error}\n")
        return 2
    except SyncError as error:
        sys.stderr.write(f"rankproof.impl.demo: {type(error).__name__}: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
