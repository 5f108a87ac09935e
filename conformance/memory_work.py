"""One collective or message on one rank of a group in memory, until its wait.

Here a result lands in the caller's tensor as late as it may, and a tensor that its rank wrote meanwhile is told.
"""

from __future__ import annotations

import datetime
from collections import deque
from collections.abc import Callable, Sequence
from typing import NoReturn, TypeAlias

import torch
from torch._C._distributed_c10d import Work

from rankproof.conformance.memory_board import Board, Kind, Meeting, Patience

Parts: TypeAlias = list[list[torch.Tensor]]
"""What each rank put into a collective, by rank; empty for one that has not come."""

Combine: TypeAlias = Callable[[Parts], list[torch.Tensor]]
"""Gives what lands on every rank, or one tensor for each, from what each rank put in."""

_NO_LIMIT = datetime.timedelta(0)
_WHOLE = frozenset({torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64})


class Line:
    """What one rank has issued and not waited for, in order, as in the one queue of gloo; and how it waits.

    timeout  seconds that a wait lasts at most, and after which the group is lost
    """

    def __init__(self, rank: int, board: Board, timeout: float, patience: Patience) -> None:
        self.rank = rank
        self.board = board
        self.timeout = timeout
        self.patience = patience
        self.pending: deque[MemoryWork] = deque()

    def arrive(self, work: MemoryWork) -> None:
        """Lets a complete work land, and before it what this rank issued earlier and is complete."""
        pending = self.pending
        while pending:
            first = pending[0]
            if first is work:
                work.land()
                pending.popleft()
                return
            if not first.is_ready():
                break
            first.land()
            pending.popleft()
        work.land()

    def fail(self, why: str) -> NoReturn:
        """Breaks the group for every rank."""
        self.board.lose(why)
        raise RuntimeError(why)


class MemoryWork(Work):
    """A collective or a message on one rank; this one is complete from the start, and nothing lands."""

    def __init__(self, line: Line, what: object) -> None:
        super().__init__()
        self._line = line
        self._what = what
        self._landed = False
        self._failed: Exception | None = None

    def wait(self, timeout: datetime.timedelta = _NO_LIMIT) -> bool:
        """Returns once it is complete and has landed here; RuntimeError at the deadline, or where the group is lost.

        One that could not land raises the same error each time.
        """
        line = self._line
        limit = timeout.total_seconds() if timeout else line.timeout
        if not line.patience(self._ends, limit):
            late = f"Timed out waiting {limit * 1000:.0f}ms for {self._what}"
            if limit >= line.timeout:
                line.board.lose(f"{late} on rank {line.rank}, and the group is lost")
            raise RuntimeError(late)
        if line.board.lost and not self.is_ready():
            raise RuntimeError(line.board.lost)
        line.arrive(self)
        return True

    def is_completed(self) -> bool:
        """Whether it is complete; if so it has landed."""
        if not self._landed and self.is_ready():
            self._line.arrive(self)
        return self._landed

    def is_success(self) -> bool:
        """Whether it is complete."""
        return self.is_completed()

    def synchronize(self) -> None:
        """As `wait`."""
        self.wait()

    def is_ready(self) -> bool:
        """Whether nothing is missing any more, so that it may land."""
        return True

    def land(self) -> None:
        """Lets it land, once; one that could not raises the same error each time."""
        if self._failed is not None:
            raise self._failed
        if not self._landed:
            try:
                self._land()
            except Exception as error:
                self._failed = error
                raise
            self._landed = True

    def _ends(self) -> bool:
        """Whether a wait for it is over, well or not."""
        return self.is_ready() or bool(self._line.board.lost)

    def _land(self) -> None:
        return


class CollectiveWork(MemoryWork):
    """One rank's part in a meeting.

    number  which of the rank's collectives it is, from 0
    given   the caller's tensors, and `kept` what was in them when it was issued
    into    where the result lands
    needs   the only rank that must have come, where it is not every one
    alike   whether the same lands on every rank; else `combine` gives one tensor for each rank
    """

    def __init__(
        self,
        line: Line,
        number: int,
        kind: Kind,
        given: list[torch.Tensor],
        into: list[torch.Tensor],
        combine: Combine,
        *,
        needs: int | None = None,
        alike: bool = True,
    ) -> None:
        """Issues it."""
        super().__init__(line, kind)
        self._number = number
        self._given = given
        self._kept = [tensor.clone() for tensor in given]
        self._into = into
        self._combine = combine
        self._needs = needs
        self._alike = alike
        self._meeting: Meeting = line.board.issue(number, line.rank, kind, self._kept)
        line.pending.append(self)

    def is_ready(self) -> bool:
        meeting = self._meeting
        if not meeting.missing or meeting.differs:
            return True
        return self._needs is not None and meeting.there[self._needs]

    def _land(self) -> None:
        meeting, line = self._meeting, self._line
        if meeting.differs:
            line.fail(f"collective {self._number + 1} of the group: {meeting.differs}")
        for tensor, kept in zip(self._given, self._kept, strict=True):
            if not (torch.equal(tensor, kept) if tensor.dtype in _WHOLE else _same_bytes(tensor, kept)):
                line.fail(f"rank {line.rank} wrote into the tensor of its {self._what} between the issue and the wait")
        if meeting.result is None:
            meeting.result = self._combine(meeting.given)
        results = meeting.result if self._alike else meeting.result[line.rank : line.rank + 1]
        for tensor, result in zip(self._into, results, strict=True):
            tensor.copy_(result)


class Receipt(MemoryWork):
    """The `place`-th of the letters that a rank gets from another, on its way into a tensor."""

    def __init__(self, line: Line, source: int, letters: list[torch.Tensor], place: int, into: torch.Tensor) -> None:
        super().__init__(line, f"recv from rank {source}")
        self._source = source
        self._letters = letters
        self._place = place
        self._into = into

    def is_ready(self) -> bool:
        return len(self._letters) > self._place

    def _land(self) -> None:
        letter = self._letters[self._place]
        if (sent := kind_of("", [letter])) != (wanted := kind_of("", [self._into])):
            line = self._line
            line.fail(f"rank {line.rank} receives {wanted} where rank {self._source} sent {sent}")
        self._into.copy_(letter)


def kind_of(name: str, tensors: Sequence[torch.Tensor]) -> Kind:
    """What a collective of that name on such tensors is."""
    return Kind(name, tuple([(tensor.dtype, tensor.shape) for tensor in tensors]))


def _same_bytes(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether nothing was written; values of floats do not tell, for NaN equals nothing, and 0.0 equals -0.0."""
    return torch.equal(_bytes(one), _bytes(other))


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone(memory_format=torch.contiguous_format).flatten().view(torch.uint8)
