"""Transports with one fault each: what a rank does wrong with the tensor, the operation or the wait of its reduce."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import torch
from torch._C._distributed_c10d import ProcessGroup, ProcessGroupGloo, ReduceOp

from rankproof.impl.errors import PeerLost, StepTimeout
from rankproof.impl.grid import GridTransport
from rankproof.impl.transport import GlooTransport, Transport

HALF_AN_HOUR = 1800.0
"""Seconds: the deadline that torch gives a wait by itself."""


class MaxTransport(GlooTransport):
    """The ranks agree on the largest count."""

    def __init__(self, group: ProcessGroup | ProcessGroupGloo) -> None:
        super().__init__(group)
        self._options.reduceOp = ReduceOp(ReduceOp.MAX)


class EarlyTransport(GlooTransport):
    """The result is read before the wait."""

    def agreed(self, round_number: int) -> tuple[int, ...]:
        early = tuple(self._in_flight[0].tensor.tolist())
        super().agreed(round_number)
        return early


class AskedTransport(GlooTransport):
    """Can be asked whether its oldest round is complete."""

    @property
    def complete(self) -> bool:
        """Whether a wait for the oldest round in flight would return at once."""
        return bool(self._in_flight) and self._in_flight[0].work.is_completed()


class KeptTransport(GlooTransport):
    """Its tensor is filled again while its round is in flight."""

    def fill(self, counts: Sequence[int]) -> None:
        """Writes the next counts into the tensor of the last round."""
        for round_in_flight in list(self._in_flight)[-1:]:
            round_in_flight.tensor[: len(counts)] = torch.tensor(counts, dtype=torch.int64)


class PatientTransport(GlooTransport):
    """A wait that fails is taken up again, for as long as torch waits by itself."""

    def agreed(self, round_number: int) -> tuple[int, ...]:
        try:
            return super().agreed(round_number)
        except (StepTimeout, PeerLost):
            threading.Event().wait(HALF_AN_HOUR)
            raise


class LoneTransport:
    """A group of one: what comes out of a round is what this rank put in."""

    def __init__(self, whole: Transport) -> None:
        """Takes the place of the transport of all ranks, and says that it is that."""
        self.rank, self.world, self.timeout = whole.rank, whole.world, whole.timeout
        self._offered: dict[int, tuple[int, ...]] = {}

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        """Keeps the vector."""
        self._offered[round_number] = tuple(vector)

    def agreed(self, round_number: int) -> tuple[int, ...]:
        """Gives the vector back."""
        return self._offered.pop(round_number)

    def close(self) -> None:
        """Does nothing."""


class TogetherTransport(GridTransport):
    """Both reduces of a grid are issued at once, and the second without what the first gives."""

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        """Offers in every direction."""
        for direction in self._directions:
            direction.offer(round_number, vector)

    def agreed(self, round_number: int) -> tuple[int, ...]:
        """Waits for every direction; what the last gives is what stays."""
        return [direction.agreed(round_number) for direction in self._directions][-1]
