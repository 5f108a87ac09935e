"""A process group whose ranks share one process: collectives meet on a board, and a wait suspends only its rank.

What plain engines use of torch.distributed works on it as on gloo: all_reduce, broadcast, barrier, all_gather,
all_to_all_single in equal pieces, send and recv, asynchronous or not. Collectives match by the order in which each rank
issues them, as on gloo. Three things are stricter here, so that what gloo does in silence, or sometimes, is an error
each time:

- a result lands in the caller's tensor as late as it may: at the wait, or when `is_completed` first says so;
- a tensor that its rank wrote between the issue and the wait is an error at the wait;
- collectives that meet and differ, in operation, length, type or root, are an error on every rank that waits for them.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import ReduceOp, Work

from rankproof.conformance.memory_board import Board, Patience
from rankproof.conformance.memory_work import CollectiveWork, Combine, Line, MemoryWork, Parts, Receipt, kind_of
from rankproof.conformance.subject import SubjectConfig

_REDUCED: dict[str, Callable[[list[torch.Tensor]], torch.Tensor]] = {
    "MIN": lambda column: reduce(torch.minimum, column),
    "MAX": lambda column: reduce(torch.maximum, column),
    "SUM": lambda column: torch.stack(column).sum(0, dtype=column[0].dtype),
    "PRODUCT": lambda column: torch.stack(column).prod(0, dtype=column[0].dtype),
}
"""What comes out of one tensor of each rank. For the few ranks there are, two at a time is the least for a MIN."""


def _combining(operation: str) -> Combine:
    reduced = _REDUCED[operation]

    def combine(parts: Parts) -> list[torch.Tensor]:
        return [reduced(list(column)) for column in zip(*parts, strict=True)]

    return combine


def _traded(parts: Parts) -> list[torch.Tensor]:
    """What each rank gets, where every rank has a piece of its tensor for each."""
    given = torch.stack([tensor for (tensor,) in parts])
    world, whole = given.shape[0], given.shape[1:]
    pieces = given.view(world, world, whole[0] // world, *whole[1:])
    return list(pieces.transpose(0, 1).reshape(world, *whole).unbind())


_COMBINE: dict[int, tuple[str, Combine]] = {
    member.value: (f"all_reduce {name}", _combining(name))
    for name, member in ReduceOp.RedOpType.__members__.items()
    if name in _REDUCED
}
"""Each operation's name and meaning, by its number: to ask it for its name takes as long as the reduce."""


class Unsupported(RuntimeError):
    """The subject asked the in-memory group for something that only real processes have."""


@dataclass(frozen=True, slots=True)
class _Options:
    """What an implementation may read of the options of a backend."""

    _timeout: datetime.timedelta


class MemoryBackend:
    """The backend of a `MemoryGroup`, for an implementation that calls it directly as it would gloo's."""

    def __init__(self, group: MemoryGroup) -> None:
        self.rank, self.size = group.rank, group.size
        self.allreduce = group.allreduce
        self.alltoall_base = group.alltoall_base
        self.options = _Options(datetime.timedelta(seconds=group.timeout))


def _refusing(name: str) -> Callable[..., Work]:
    def refuse(self: MemoryGroup, *_: object, **__: object) -> Work:
        self._refuse(name)

    return refuse


class MemoryGroup(dist.ProcessGroup):
    """One rank's end of a group in memory."""

    def __init__(self, rank: int, board: Board, timeout: float, patience: Patience) -> None:
        super().__init__(rank, board.world)  # type: ignore[call-arg] # torch's stub knows only one of its constructors
        self._rank = rank
        self.board = board
        self.timeout = timeout
        self._line = Line(rank, board, timeout, patience)
        self._issued = 0
        self._received: dict[tuple[int, int], int] = {}

    def getBackendName(self) -> str:  # noqa: N802 # torch's name for it
        """The name that torch shows."""
        return "memory"

    def _get_backend(self, device: torch.device) -> Any:
        assert device.type == "cpu"
        return MemoryBackend(self)

    def allreduce(self, tensors: Any, opts: Any = None, *_: Any, **__: Any) -> Work:  # type: ignore[override] # overloads
        """The reduce of a tensor over ranks, element by element; `opts` holds MIN, MAX, SUM or PRODUCT, or is it."""
        given = _listed(tensors)
        op = getattr(opts, "reduceOp", opts) or ReduceOp.SUM
        op = getattr(op, "op", op)
        if (known := _COMBINE.get(op.value)) is None:
            self._refuse(f"all_reduce with {op.name}")
        name, combine = known
        return self._collective(name, given, given, combine)

    def allgather(self, outputs: Any, inputs: Any, *_: Any, **__: Any) -> Work:  # type: ignore[override] # overloads
        """What each rank gives, on every rank."""
        given = _listed(inputs)
        into = [each for row in outputs for each in row]
        return self._collective("all_gather", given, into, lambda parts: [part[0] for part in parts])

    def broadcast(self, tensors: Any, opts: Any, *_: Any, **__: Any) -> Work:  # type: ignore[override] # overloads
        """What the root gives, on every rank; complete on a rank when the root has issued it."""
        given, root = _listed(tensors), int(opts.rootRank)
        return self._collective(f"broadcast from rank {root}", given, given, lambda parts: parts[root], needs=root)

    def barrier(self, *_: Any, **__: Any) -> Work:
        """Complete when every rank has issued it."""
        return self._collective("barrier", [], [], lambda _parts: [])

    def alltoall_base(  # type: ignore[override] # overloads
        self, output: torch.Tensor, given: torch.Tensor, outputs: Any, inputs: Any, *_: Any, **__: Any
    ) -> Work:
        """From each rank the piece that it has for this one, in equal pieces."""
        if outputs or inputs:
            self._refuse("all_to_all_single in pieces of given sizes")
        if given.shape[0] % self.board.world or given.shape != output.shape:
            pieces = f"{list(given.shape)} into {list(output.shape)} in {self.board.world} equal pieces"
            raise ValueError(f"{pieces}: it cannot be cut")
        return self._collective("all_to_all_single", [given], [output], _traded, alike=False)

    def send(self, tensors: Any, target: int, tag: int = 0) -> Work:
        """A message; complete at once."""
        (tensor,) = _listed(tensors)
        self.board.post(self._rank, target, tag, tensor.clone())
        return MemoryWork(self._line, f"send to rank {target}")

    def recv(self, tensors: Any, source: int, tag: int = 0) -> Work:
        """The next message from a rank."""
        (into,) = _listed(tensors)
        place = self._received.get((source, tag), 0)
        self._received[source, tag] = place + 1
        return Receipt(self._line, source, self.board.letters(source, self._rank, tag), place, into)

    reduce = _refusing("reduce")
    gather = _refusing("gather")
    scatter = _refusing("scatter")
    alltoall = _refusing("all_to_all")
    reduce_scatter = _refusing("reduce_scatter")
    _reduce_scatter_base = _refusing("reduce_scatter_tensor")
    _allgather_base = _refusing("all_gather_into_tensor")
    recv_anysource = _refusing("recv from any rank")

    def _collective(
        self,
        name: str,
        given: list[torch.Tensor],
        into: list[torch.Tensor],
        combine: Combine,
        *,
        needs: int | None = None,
        alike: bool = True,
    ) -> Work:
        number, self._issued = self._issued, self._issued + 1
        return CollectiveWork(self._line, number, kind_of(name, given), given, into, combine, needs=needs, alike=alike)

    def _refuse(self, what: str) -> NoReturn:
        self.board.unsupported = f"the in-memory group has no {what}"
        raise Unsupported(self.board.unsupported)


@dataclass(frozen=True)
class MemoryConfig(SubjectConfig):
    """What `setup` is told where all ranks share a process; `join` gives `group`."""

    group: MemoryGroup


def _listed(tensors: Any) -> list[torch.Tensor]:
    return [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
