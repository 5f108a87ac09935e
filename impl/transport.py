"""How the vectors of a round travel between ranks: a transport is two calls, and gloo is one transport.

The numbers of rounds are explicit because gloo's are not: it matches collectives by the order of issue, so that a
round asked for out of turn would silently give another round's result.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from struct import error as StructError  # noqa: N812 # it is a class
from typing import Final, NamedTuple, Protocol, cast

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import (
    AllreduceOptions,
    AllToAllOptions,
    ProcessGroup,
    ProcessGroupGloo,
    ReduceOp,
    Work,
)
from torch._C._distributed_c10d import Backend as TorchBackend

from rankproof.impl.errors import Misuse, PeerLost, StepTimeout
from rankproof.impl.rows import Row, Rows


class Transport(Protocol):
    """Carries one vector of int64 a round from each rank, and gives back the MIN over ranks, element by element.

    Rounds are counted from 1, and offered and asked for in order, each once. Every rank offers the same length.
    """

    @property
    def rank(self) -> int:
        """This rank, from 0."""
        ...

    @property
    def world(self) -> int:
        """How many ranks agree, 2 or more."""
        ...

    @property
    def timeout(self) -> float:
        """Seconds from a rank's offer within which every rank must have offered: the deadline of each wait."""
        ...

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        """Puts this rank's vector into the round and returns at once.

        Raises Misuse where it is not that round's turn, PeerLost where the group is known to be gone.
        """
        ...

    def agreed(self, round_number: int) -> tuple[int, ...]:
        """Waits until every rank has offered its vector for the round, and gives the MIN.

        Raises Misuse where the round is not the oldest in flight, StepTimeout at the deadline, and PeerLost where the
        group is gone.
        """
        ...

    def close(self) -> None:
        """Lets go of the group, so that a peer that still waits for this rank learns of it. May be called again.

        Raises StepTimeout or PeerLost where something that was sent cannot be known to have arrived.
        """
        ...


def check_transport(transport: Transport) -> None:
    """Raises Misuse for what is no transport, and for one that joins fewer than two ranks."""
    if not all(hasattr(transport, call) for call in ("offer", "agreed", "close")):
        raise Misuse(f"a transport offers, agrees and closes (see `Transport`), which {transport!r} does not")
    if transport.world < 2:
        raise Misuse("a group of one has nobody to agree with; it needs 2 ranks or more")


class Backend(Protocol):
    """The part of a torch.distributed backend that is used here, which torch's own type stubs leave out."""

    @property
    def options(self) -> TorchBackend.Options: ...

    def rank(self) -> int: ...

    def size(self) -> int: ...

    def allreduce(self, tensors: list[torch.Tensor], options: AllreduceOptions) -> Work: ...

    def alltoall_base(
        self, output: torch.Tensor, given: torch.Tensor, out: list[int], into: list[int], options: AllToAllOptions
    ) -> Work: ...


class Round(NamedTuple):
    """A round in flight. It holds the tensors, which gloo reads and writes until the wait is over.

    result  what gloo writes the result into
    given   what gloo reads, where that is another tensor
    """

    number: int
    work: Work
    result: Row
    given: Row | None = None

    @property
    def tensor(self) -> torch.Tensor:
        """What gloo writes the result into."""
        return self.result.tensor


class GlooTransport:
    """A MIN all_reduce a round on a gloo group that nothing else uses; see `Transport` for what it offers.

    The deadline is the group's own timeout, given when the group was made, and it runs from this rank's offer.
    """

    def __init__(self, group: ProcessGroup | ProcessGroupGloo) -> None:
        """Takes a group of `gloo_group` or of `torch.distributed.new_group(backend="gloo", timeout=...)`.

        Closing drops the reference; the group's sockets close when the caller holds none either.
        Raises Misuse for the default group, a group without gloo, a group of one, and for what is no group.
        """
        if dist.is_initialized() and group is dist.group.WORLD:
            raise Misuse("the default group carries the caller's own collectives; give a group of its own")
        backend = _gloo_of(group)
        if backend.size() < 2:
            raise Misuse("a group of one has nobody to agree with; it needs 2 ranks or more")
        self._backend: Backend | None = backend
        self.rank: Final = backend.rank()
        self.world: Final = backend.size()
        self.timeout: Final = float(backend.options._timeout.total_seconds())
        self._options = AllreduceOptions()
        self._options.reduceOp = ReduceOp(ReduceOp.MIN)
        self._rows = Rows()
        self._offered = 0
        self._in_flight: deque[Round] = deque()

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        """Issues the collective of the round, in tensors of its own; see `Transport.offer`."""
        if self._backend is None:
            raise Misuse("the transport is closed")
        if round_number != self._offered + 1:
            raise Misuse(f"round {round_number} offered out of turn; the next is round {self._offered + 1}")
        try:
            begun = self._begun(self._backend, round_number, vector)
        except StructError as error:
            raise Misuse(f"round {round_number}: a vector holds whole numbers of 64 bits, not {vector!r}") from error
        except RuntimeError as error:
            raise gloo_failure(error, round_number, "could not be issued", self.timeout) from error
        self._offered = round_number
        self._in_flight.append(begun)

    def agreed(self, round_number: int) -> tuple[int, ...]:
        """Waits for the collective of the round; see `Transport.agreed`."""
        if self._backend is None:
            raise Misuse("the transport is closed")
        if not self._in_flight or self._in_flight[0].number != round_number:
            oldest = f"the oldest in flight is round {self._in_flight[0].number}" if self._in_flight else "none is"
            raise Misuse(f"round {round_number} is not the one to wait for: {oldest}")
        begun = self._in_flight[0]
        try:
            begun.work.wait()
        except RuntimeError as error:
            doing = f"waited for the MIN over {self.world} ranks"
            raise gloo_failure(error, round_number, doing, self.timeout) from error
        self._in_flight.popleft()
        words = self._rows.read(begun.result)
        if begun.given is not None:
            self._rows.give_back(begun.given)
        return self._result(words)

    def _begun(self, backend: Backend, round_number: int, vector: Sequence[int]) -> Round:
        """Issues the collective."""
        row = self._rows.filled(vector)
        return Round(round_number, backend.allreduce([row.tensor], self._options), row)

    def _result(self, words: tuple[int, ...]) -> tuple[int, ...]:
        """The MIN, from what gloo has written."""
        return words

    def close(self) -> None:
        """Drops the group; see `Transport.close`. Blocks while a round is in flight, up to the deadline."""
        self._in_flight.clear()
        self._backend = None


def gloo_failure(error: RuntimeError, round_number: int, doing: str, timeout: float) -> PeerLost | StepTimeout:
    """The typed error for what gloo raised; gloo tells a deadline from a lost peer by its text only."""
    words = gloo_words(error)
    if re.search(r"timed? ?out", words, re.IGNORECASE):
        return StepTimeout(f"round {round_number}: {doing}, not there within {timeout:g} s ({words})", round_number)
    return PeerLost(f"round {round_number}: {doing}, and the group was lost ({words})", round_number)


def gloo_words(error: RuntimeError) -> str:
    """What gloo says in `error`, without the place in its sources and the advice."""
    first = str(error).strip().split("\n")[0]
    return re.sub(r"^\[[^]]*\]\s*", "", first).split(". This is typically")[0]


def _gloo_of(group: ProcessGroup | ProcessGroupGloo) -> Backend:
    if not hasattr(group, "allreduce"):
        raise Misuse(f"a group is one of torch.distributed or of gloo_group, not {group!r}")
    if not isinstance(group, ProcessGroup):
        return cast(Backend, group)
    try:
        return cast(Backend, group._get_backend(torch.device("cpu")))
    except RuntimeError as error:
        raise Misuse("the group has no backend for CPU tensors; make it with backend='gloo'") from error
