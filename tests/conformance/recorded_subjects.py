"""Subjects for the recorded transport: one that hangs, one whose storage comes and goes."""

from __future__ import annotations

import time

from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.reference import ReferenceSubject, on_one_group
from rankproof.conformance.subject import Observation, SubjectConfig
from rankproof.impl.sync import PipelinedAckSync


class Hanging(ReferenceSubject):
    """Rank 1 does not return from its third step."""

    _taken = 0

    def setup(self, config: SubjectConfig) -> None:
        self._rank = config.rank
        super().setup(config)

    def step(self) -> Observation:
        self._taken += 1
        if self._taken == 3 and self._rank == 1:
            time.sleep(600)
        return super().step()


def hanging() -> Hanging:
    """A subject of that kind."""
    return Hanging(on_one_group(PipelinedAckSync))


class Storing(ReferenceSubject):
    """Declares a lane of storage, which it attaches and detaches when every rank has asked for it."""

    capabilities = Capabilities(
        storage=1, attaches="agreed", supports=frozenset({"flush", "reset", "evict", "reconfigure"})
    )


def storing() -> Storing:
    """A subject of that kind."""
    return Storing(on_one_group(PipelinedAckSync), storage=1)
