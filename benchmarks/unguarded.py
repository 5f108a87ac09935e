"""The implementation without its guard words, and the same in every other part: to be measured against, not used."""

from __future__ import annotations

from collections.abc import Mapping

from rankproof.benchmarks.bare import CountsAlone
from rankproof.impl.acks import LaneKind
from rankproof.impl.sync import PipelinedAckSync
from rankproof.impl.transport import Transport


class UnguardedSync(PipelinedAckSync):
    """Sends counts alone; its lanes keep digests, which nobody compares."""

    def __init__(self, transport: Transport, lanes: Mapping[str, LaneKind]) -> None:
        """Takes over the transport."""
        super().__init__(transport, lanes)
        self._rounds = CountsAlone(transport, self._lanes.ledger)
