"""Pipeline stages: the first stage agrees, and sends what it agreed on down a chain that the others follow."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

import torch
from torch._C._distributed_c10d import ProcessGroupGloo, Work

from rankproof.impl.changes import Change
from rankproof.impl.errors import Misuse
from rankproof.impl.frame import StepResult
from rankproof.impl.guards import Agreement, Offer, instruction
from rankproof.impl.sync import BlockingAckSync
from rankproof.impl.transport import Transport, gloo_failure

OUTSTANDING = 4
"""Sends that a stage may have on the way before it waits for the oldest to be received: how far it may run ahead."""


class _Sent(NamedTuple):
    """A send on its way. It holds the tensor, which gloo reads until the wait is over."""

    round: int
    tensor: torch.Tensor
    work: Work


class ChainTransport:
    """One rank's column of stages, point to point; see `Transport` for the calls.

    The rank of the first stage offers to the ranks beside it and sends on what comes out. Every other receives from the
    stage before it and sends on. A send holds a tensor of its own, and at most OUTSTANDING are on the way.
    """

    def __init__(self, column: ProcessGroupGloo, beside: Transport | None, rank: int, world: int) -> None:
        """Takes the group of the column, in which a rank's number is its stage, and takes over the transport `beside`.

        beside  joins the ranks of the first stage; None in every other stage, and where the first has one rank
        rank, world  of all stages together
        """
        self._column: ProcessGroupGloo | None = column
        self._stage = column.rank()
        self._stages = column.size()
        self._beside = beside
        self.rank: Final = rank
        self.world: Final = world
        self.timeout: Final = float(column.options._timeout.total_seconds())
        self._own: tuple[int, ...] = ()
        self._sent: deque[_Sent] = deque()

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        """Offers beside; a rank that follows, or stands alone, only keeps the vector."""
        self._own = tuple(vector)
        if self._beside is not None:
            self._beside.offer(round_number, vector)

    def agreed(self, round_number: int) -> tuple[int, ...]:
        """What the first stage agreed on, once it is sent on."""
        column = self._open_column()
        if self._stage > 0:
            vector = self._receive(column, round_number)
        else:
            vector = self._own if self._beside is None else self._beside.agreed(round_number)
        if self._stage + 1 < self._stages:
            self._send(column, round_number, vector)
        return vector

    def close(self) -> None:
        """Waits until the next stage has what was sent, and drops the groups also where it is gone.

        Raises StepTimeout and PeerLost, as the next stage then lacks what this one has popped.
        """
        try:
            self._wait_for_sends(left=0)
        finally:
            self._sent.clear()
            self._column = None
            if self._beside is not None:
                self._beside.close()

    def _open_column(self) -> ProcessGroupGloo:
        if self._column is None:
            raise Misuse("the transport is closed")
        return self._column

    def _receive(self, column: ProcessGroupGloo, round_number: int) -> tuple[int, ...]:
        tensor = torch.empty(len(self._own), dtype=torch.int64)
        try:
            column.recv([tensor], self._stage - 1, 0).wait()  # type: ignore[attr-defined]
        except RuntimeError as error:
            doing = f"stage {self._stage} waited for the counts of stage {self._stage - 1}"
            raise gloo_failure(error, round_number, doing, self.timeout) from error
        return tuple(tensor.tolist())

    def _send(self, column: ProcessGroupGloo, round_number: int, vector: tuple[int, ...]) -> None:
        self._wait_for_sends(left=OUTSTANDING - 1)
        tensor = torch.tensor(vector, dtype=torch.int64)
        try:
            work = column.send([tensor], self._stage + 1, 0)  # type: ignore[attr-defined]
        except RuntimeError as error:
            doing = f"stage {self._stage} could not send to stage {self._stage + 1}"
            raise gloo_failure(error, round_number, doing, self.timeout) from error
        self._sent.append(_Sent(round_number, tensor, work))

    def _wait_for_sends(self, left: int) -> None:
        while len(self._sent) > left:
            sent = self._sent.popleft()
            try:
                sent.work.wait()
            except RuntimeError as error:
                doing = f"stage {self._stage} waited for stage {self._stage + 1} to take its counts"
                raise gloo_failure(error, sent.round, doing, self.timeout) from error


class StageAckSync(BlockingAckSync):
    """A rank of any stage, of which only the first has a part in the MIN.

    So a change of lanes or mode is refused, as no round can tell that the ranks of every stage ask for it; the stages
    reset between the same steps, as a rank whose epoch is not that of the first stage raises RankDivergence; and `idle`
    is that of the first stage.
    """

    def _ask(self, call: str, change: Change) -> None:
        raise Misuse(
            f"{call}() in a pipeline: the stages that follow have no part in the MIN and cannot ask to {change}; close "
            f"every rank, and open anew with the lanes and the mode that are wanted"
        )


class FollowerAckSync(StageAckSync):
    """A rank of a later stage: it pops what the first stage agreed on, and waits for its own acks before it does.

    It has no part in the MIN, and so the first stage does not learn of a difference here before this rank leaves.
    """

    def _wait(self, offer: Offer) -> Agreement:
        vector = self._transport.agreed(offer.round)
        return instruction(list(self.lanes), offer, vector)

    def _pop(self, agreed: Agreement, result: StepResult) -> None:
        """Pops when each of the acks is there and finished on this rank. Raises StepTimeout for one that is not."""
        for lane, count in self._lanes.to_pop(agreed.counts).items():
            self._lanes[lane].wait_for(count, self._transport.timeout)
        super()._pop(agreed, result)
