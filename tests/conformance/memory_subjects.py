"""Subjects of one command each, for the in-memory ranks: `step` does to the group what a test is about."""

from __future__ import annotations

import datetime
import os
import sys
import threading
import time
from collections.abc import Callable

import torch
import torch.distributed as dist

from rankproof.conformance.rendezvous import join
from rankproof.conformance.subject import Observation, SubjectConfig

Act = Callable[[dist.ProcessGroup, int], object]


class Doing:
    """A subject whose `step` gives what `act` does with the group and the rank; `reset` does a second thing."""

    def __init__(self, act: Act, then: Act | None = None) -> None:
        self.act, self.then = act, then or act

    def setup(self, config: SubjectConfig) -> None:
        self.rank, self.group = config.rank, join(config)

    def step(self) -> object:
        return self.act(self.group, self.rank)

    def reset(self) -> object:
        return self.then(self.group, self.rank)

    def enqueue(self, lane: int, ack: int) -> None:
        """Nothing."""

    def finish(self, lane: int, ack: int) -> None:
        """Nothing."""

    def flush(self) -> Observation:
        return Observation((), ())

    def evict(self, lane: int) -> Observation:
        return Observation((), (), in_flight=lane)

    def reconfigure(self, key: str, value: object) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


def minimum(group: dist.ProcessGroup, rank: int) -> tuple[int, ...]:
    tensor = torch.tensor([rank, 5 - rank])
    dist.all_reduce(tensor, op=dist.ReduceOp.MIN, group=group)
    return tuple(tensor.tolist())


def two_rounds(group: dist.ProcessGroup, rank: int) -> tuple[int, ...]:
    return minimum(group, rank) + minimum(group, rank + 1)


def summed(group: dist.ProcessGroup, rank: int) -> tuple[int, ...]:
    tensor = torch.tensor([rank, 5 - rank])
    dist.all_reduce(tensor, group=group)
    return tuple(tensor.tolist())


def summed_with_nan(group: dist.ProcessGroup, rank: int) -> tuple[str, ...]:
    tensor = torch.tensor([float("nan"), rank + 1.0])
    dist.all_reduce(tensor, group=group)
    return tuple(map(str, tensor.tolist()))


def first_from_each(group: dist.ProcessGroup, rank: int) -> tuple[int, ...]:
    every = [torch.zeros(2, dtype=torch.int64) for _ in range(group.size())]
    dist.all_gather(every, torch.tensor([rank, 7]), group=group)
    root = torch.tensor([10 + rank])
    dist.broadcast(root, group_src=1, group=group)
    dist.barrier(group=group)
    return (*(int(row[0]) for row in every), int(root))


def one_from_each(group: dist.ProcessGroup, rank: int) -> tuple[int, ...]:
    got = torch.zeros(group.size(), 2, dtype=torch.int64)
    given = torch.tensor([[rank, peer] for peer in range(group.size())])
    dist.all_to_all_single(got, given, group=group)
    return tuple(map(int, got.flatten()))


def pieces_of_given_sizes(group: dist.ProcessGroup, _rank: int) -> None:
    dist.all_to_all_single(torch.zeros(2), torch.zeros(2), [1, 1], [1, 1], group=group)


def one_too_many(group: dist.ProcessGroup, _rank: int) -> None:
    dist.all_to_all_single(torch.zeros(3), torch.zeros(3), group=group)


def neighbour(group: dist.ProcessGroup, rank: int) -> int:
    to, source = (rank + 1) % group.size(), (rank - 1) % group.size()
    got = torch.zeros(1, dtype=torch.int64)
    dist.isend(torch.tensor([rank]), group_dst=to, group=group)
    dist.recv(got, group_src=source, group=group)
    return int(got)


def by_default(_group: dist.ProcessGroup, rank: int) -> tuple[int, ...]:
    tensor = torch.tensor([rank + 1])
    dist.all_reduce(tensor, op=dist.ReduceOp.MIN)
    return int(tensor), dist.get_rank(), dist.get_world_size()


def other_length(group: dist.ProcessGroup, rank: int) -> None:
    dist.all_reduce(torch.zeros(2 + rank), op=dist.ReduceOp.MIN, group=group)


def other_type(group: dist.ProcessGroup, rank: int) -> None:
    dist.all_reduce(torch.zeros(2, dtype=torch.int64 if rank else torch.int32), op=dist.ReduceOp.MIN, group=group)


def other_operation(group: dist.ProcessGroup, rank: int) -> None:
    dist.all_reduce(torch.zeros(2), op=dist.ReduceOp.MIN if rank else dist.ReduceOp.MAX, group=group)


def other_collective(group: dist.ProcessGroup, rank: int) -> None:
    dist.barrier(group=group) if rank else dist.all_reduce(torch.zeros(2), group=group)


def gathered_on_one(group: dist.ProcessGroup, rank: int) -> None:
    dist.reduce(torch.zeros(2) + rank, group_dst=0, group=group)


class Early:
    """A rank that issues in its `step`, and looks at its tensor in `reset`, before and after the wait."""

    work: dist.Work

    def issue(self, group: dist.ProcessGroup, rank: int) -> None:
        self.tensor = torch.tensor([rank + 1])
        work = dist.all_reduce(self.tensor, op=dist.ReduceOp.MIN, group=group, async_op=True)
        assert work is not None
        self.work = work

    def look(self, _group: dist.ProcessGroup, _rank: int) -> tuple[object, ...]:
        before = int(self.tensor)
        self.work.wait()
        return before, int(self.tensor), self.work.is_completed()

    def poll(self, _group: dist.ProcessGroup, _rank: int) -> tuple[object, ...]:
        return self.work.is_completed(), int(self.tensor)

    def write(self, _group: dist.ProcessGroup, _rank: int) -> None:
        self.tensor += 1
        self.work.wait()

    def write_and_wait_twice(self, _group: dist.ProcessGroup, _rank: int) -> list[str]:
        self.tensor += 1
        return [self.error_of(self.work.wait), self.error_of(self.work.is_completed), self.error_of(self.work.wait)]

    @staticmethod
    def error_of(call: Callable[[], object]) -> str:
        try:
            return f"gave {call()}"
        except RuntimeError as error:
            return str(error)

    def wait_a_little(self, _group: dist.ProcessGroup, _rank: int) -> None:
        self.work.wait(datetime.timedelta(seconds=0.5))


def asleep(_group: dist.ProcessGroup, rank: int) -> None:
    time.sleep(3600 if rank else 0)


def exiting(_group: dist.ProcessGroup, rank: int) -> None:
    if rank:
        sys.exit(3)


def in_a_thread(group: dist.ProcessGroup, rank: int) -> tuple[int, ...]:
    found: list[tuple[int, ...]] = []
    thread = threading.Thread(target=lambda: found.append(minimum(group, rank)))
    thread.start()
    thread.join()
    return found[0]


def aborting(_group: dist.ProcessGroup, rank: int) -> None:
    if rank:
        os.abort()


def meets() -> Doing:
    return Doing(minimum)


def meets_twice() -> Doing:
    return Doing(two_rounds)


def meets_by_default() -> Doing:
    return Doing(by_default)


def sums() -> Doing:
    return Doing(summed)


def gathers() -> Doing:
    return Doing(first_from_each)


def keeps_what_it_gave() -> Doing:
    kept: list[int] = []

    def grow(_group: dist.ProcessGroup, rank: int) -> list[int]:
        kept.append(rank)
        return kept

    return Doing(grow, grow)


def trades() -> Doing:
    return Doing(one_from_each)


def trades_given_sizes() -> Doing:
    return Doing(pieces_of_given_sizes)


def trades_what_cannot_be_cut() -> Doing:
    return Doing(one_too_many)


def passes_on() -> Doing:
    return Doing(neighbour)


def differs_in_length() -> Doing:
    return Doing(other_length, minimum)


def differs_in_type() -> Doing:
    return Doing(other_type, minimum)


def differs_in_operation() -> Doing:
    return Doing(other_operation, minimum)


def differs_in_kind() -> Doing:
    return Doing(other_collective, minimum)


def reduces_to_one() -> Doing:
    return Doing(gathered_on_one)


def looks_early() -> Doing:
    early = Early()
    return Doing(early.issue, early.look)


def polls() -> Doing:
    early = Early()
    return Doing(early.issue, early.poll)


def writes_early() -> Doing:
    early = Early()
    return Doing(early.issue, early.write)


def writes_early_and_waits_twice() -> Doing:
    early = Early()
    return Doing(early.issue, early.write_and_wait_twice)


def sums_what_is_no_number() -> Doing:
    return Doing(summed_with_nan)


def waits_a_little() -> Doing:
    early = Early()
    return Doing(early.issue, early.wait_a_little)


def sleeps() -> Doing:
    return Doing(asleep)


def exits() -> Doing:
    return Doing(exiting, minimum)


def meets_in_a_thread() -> Doing:
    return Doing(in_a_thread)
