"""A process group whose ranks share one process: collectives meet on a board, and a wait suspends only its rank.

What plain engines use of torch.distributed works on it as on gloo: all_reduce, broadcast, barrier, all_gather, send and
recv, asynchronous or not. Collectives match by the order in which each rank issues them, as on gloo. Three things are
stricter here, so that what gloo does in silence, or sometimes, is an error each time:

- a result lands in the caller's tensor as late as it may: at the wait, or when `is_completed` first says so;
- a tensor that its rank wrote between the issue and the wait is an error at the wait;
- collectives that meet and differ, in operation, length, type or root, are an error on every rank that waits for them.
"""

from __future__ import annotations

import datetime
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import ReduceOp, Work

from rankproof.conformance.memory_board import Board, Kind, Patience
from rankproof.conformance.subject import SubjectConfig

Tensors = Sequence[torch.Tensor]
Combine = Callable[[list[list[torch.Tensor]]], list[torch.Tensor]]
"""Gives what lands on a rank, from what each rank put in."""

_REDUCED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "MIN": lambda parts: parts.amin(0),
    "MAX": lambda parts: parts.amax(0),
    "SUM": lambda parts: parts.sum(0, dtype=parts.dtype),
    "PRODUCT": lambda parts: parts.prod(0, dtype=parts.dtype),
}
_NAMES: dict[int, str] = {member.value: name for name, member in ReduceOp.RedOpType.__members__.items()}
"""The name of each operation by its number: to ask the member itself for its name takes as long as the reduce."""


class Unsupported(RuntimeError):
    """The subject asked the in-memory group for something that only real processes have."""


class MemoryWork(Work):
    """One collective or message on one rank, until its wait."""

    def __init__(self, group: MemoryGroup, what: object, ready: Callable[[], bool], land: Callable[[], None]) -> None:
        super().__init__()
        self._group = group
        self._what = what
        self._ready = ready
        self._land = land
        self._landed = False
        self._failed: Exception | None = None

    def wait(self, timeout: datetime.timedelta = datetime.timedelta(0)) -> bool:
        """Returns once it is complete and has landed here; RuntimeError at the deadline, or where the group is lost.

        One that could not land raises the same error each time.
        """
        limit = timeout.total_seconds() if timeout else self._group.timeout
        board = self._group.board
        if not self._group.patience(self._ends, limit):
            late = f"Timed out waiting {limit * 1000:.0f}ms for {self._what}"
            if limit >= self._group.timeout:
                board.lose(f"{late} on rank {self._group.rank()}, and the group is lost")
            raise RuntimeError(late)
        if not self._ready():
            raise RuntimeError(board.lost)
        self._group.arrive(self)
        return True

    def is_completed(self) -> bool:
        """Whether it is complete; if so it has landed."""
        if not self._landed and self._ready():
            self._group.arrive(self)
        return self._landed

    def is_success(self) -> bool:
        """Whether it is complete."""
        return self.is_completed()

    def synchronize(self) -> None:
        """As `wait`."""
        self.wait()

    def _ends(self) -> bool:
        """Whether a wait for it is over, well or not."""
        return self._ready() or bool(self._group.board.lost)

    def land_if_ready(self) -> bool:
        """Lets a complete one land, once; whether it has."""
        if self._failed is not None:
            raise self._failed
        if not self._landed and self._ready():
            try:
                self._land()
            except Exception as error:
                self._failed = error
                raise
            self._landed = True
        return self._landed


@dataclass(frozen=True, slots=True)
class _Options:
    """What an implementation may read of the options of a backend."""

    _timeout: datetime.timedelta


class MemoryBackend:
    """The backend of a `MemoryGroup`, for an implementation that calls it directly as it would gloo's."""

    def __init__(self, group: MemoryGroup) -> None:
        self.rank, self.size = group.rank, group.size
        self.allreduce = group.allreduce
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
        self.patience = patience
        self._issued = 0
        self._pending: deque[MemoryWork] = deque()
        self._received: dict[tuple[int, int], int] = {}

    def getBackendName(self) -> str:  # noqa: N802 # torch's name for it
        """The name that torch shows."""
        return "memory"

    def _get_backend(self, device: torch.device) -> Any:
        assert device.type == "cpu"
        return MemoryBackend(self)

    def arrive(self, work: MemoryWork) -> None:
        """Lets a work land, and before it what this rank issued earlier and is complete, as the one queue of gloo."""
        while self._pending:
            first = self._pending[0]
            if not first.land_if_ready() and first is not work:
                break
            self._pending.popleft()
            if first is work:
                return
        work.land_if_ready()

    def allreduce(self, tensors: Any, opts: Any = None, *_: Any, **__: Any) -> Work:  # type: ignore[override] # overloads
        """The reduce of a tensor over ranks, element by element; `opts` holds MIN, MAX, SUM or PRODUCT, or is it."""
        given = _listed(tensors)
        op = getattr(opts, "reduceOp", opts) or ReduceOp.SUM
        name = _NAMES[getattr(op, "op", op).value]
        if name not in _REDUCED:
            self._refuse(f"all_reduce with {name}")
        reduce = _REDUCED[name]

        def combine(parts: list[list[torch.Tensor]]) -> list[torch.Tensor]:
            return [reduce(torch.stack(column)) for column in zip(*parts, strict=True)]

        return self._collective(f"all_reduce {name}", given, given, combine)

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

    def send(self, tensors: Any, target: int, tag: int = 0) -> Work:
        """A message; complete at once."""
        (tensor,) = _listed(tensors)
        self.board.post(self._rank, target, tag, tensor.clone())
        return MemoryWork(self, f"send to rank {target}", lambda: True, lambda: None)

    def recv(self, tensors: Any, source: int, tag: int = 0) -> Work:
        """The next message from a rank."""
        (into,) = _listed(tensors)
        place = self._received.get((source, tag), 0)
        self._received[source, tag] = place + 1
        letters = self.board.letters(source, self._rank, tag)

        def land() -> None:
            if (sent := _kind("", [letters[place]])) != (wanted := _kind("", [into])):
                self._fail(f"rank {self._rank} receives {wanted} where rank {source} sent {sent}")
            into.copy_(letters[place])

        return MemoryWork(self, f"recv from rank {source}", lambda: len(letters) > place, land)

    reduce = _refusing("reduce")
    gather = _refusing("gather")
    scatter = _refusing("scatter")
    alltoall = _refusing("all_to_all")
    alltoall_base = _refusing("all_to_all_single")
    reduce_scatter = _refusing("reduce_scatter")
    _reduce_scatter_base = _refusing("reduce_scatter_tensor")
    _allgather_base = _refusing("all_gather_into_tensor")
    recv_anysource = _refusing("recv from any rank")

    def _collective(
        self, name: str, given: list[torch.Tensor], into: list[torch.Tensor], combine: Combine, needs: int | None = None
    ) -> Work:
        number, self._issued = self._issued, self._issued + 1
        kind, kept = _kind(name, given), [tensor.clone() for tensor in given]
        meeting = self.board.issue(number, self._rank, kind, kept)
        world = self.board.world

        def ready() -> bool:
            return len(meeting.given) == world or needs in meeting.given or bool(meeting.differs)

        def land() -> None:
            if meeting.differs:
                self._fail(f"collective {number + 1} of the group: {meeting.differs}")
            if not all(map(_same_bytes, given, kept)):
                self._fail(f"rank {self._rank} wrote into the tensor of its {kind} between the issue and the wait")
            if meeting.result is None:
                meeting.result = combine([meeting.given.get(rank, []) for rank in range(world)])
            for tensor, result in zip(into, meeting.result, strict=True):
                tensor.copy_(result)

        work = MemoryWork(self, kind, ready, land)
        self._pending.append(work)
        return work

    def _refuse(self, what: str) -> NoReturn:
        self.board.unsupported = f"the in-memory group has no {what}"
        raise Unsupported(self.board.unsupported)

    def _fail(self, why: str) -> NoReturn:
        self.board.lose(why)
        raise RuntimeError(why)


@dataclass(frozen=True)
class MemoryConfig(SubjectConfig):
    """What `setup` is told where all ranks share a process; `join` gives `group`."""

    group: MemoryGroup


def _listed(tensors: Any) -> list[torch.Tensor]:
    return [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)


def _same_bytes(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether nothing was written; values of floats do not tell, for NaN equals nothing, and 0.0 equals -0.0."""
    if one.is_floating_point() or one.is_complex():
        one, other = _bytes(one), _bytes(other)
    return torch.equal(one, other)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone(memory_format=torch.contiguous_format).flatten().view(torch.uint8)


def _kind(name: str, tensors: Tensors) -> Kind:
    return Kind(name, tuple((tensor.dtype, tensor.shape) for tensor in tensors))
