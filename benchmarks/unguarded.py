"""The implementation without its guard words, and the same in every other part: to be measured against, not used."""

from __future__ import annotations

from rankproof.impl.frame import StepResult
from rankproof.impl.guards import Agreement, Offer
from rankproof.impl.sync import PipelinedAckSync


class UnguardedSync(PipelinedAckSync):
    """Builds, sends and compares counts alone; the lanes keep their digests of acks, which then nobody looks at."""

    def _issue(self, counts: tuple[int, ...], step: int, result: StepResult) -> None:
        number = self._issued + 1
        self._transport.offer(number, counts)
        self._issued = number
        self._in_flight.append(
            Offer(
                counts=counts,
                idle=False,
                request=0,
                round=number,
                mode=self._lag,
                layout=0,
                step=step,
                epoch=0,
                digests=(),
            )
        )
        result.issued = number

    def _wait(self, offer: Offer) -> Agreement:
        return Agreement(counts=self._transport.agreed(offer.round), idle=False, epochs=None, request=0)
