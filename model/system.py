"""What is explored and replayed, and how it says no: a protocol in a scenario, and a reason."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rankproof.model.protocol import PIPELINED, Protocol
from rankproof.model.scenario import Scenario
from rankproof.model.state import State, initial


@dataclass(frozen=True, slots=True)
class Model:
    """A protocol in a scenario."""

    protocol: Protocol = PIPELINED
    scenario: Scenario = Scenario()

    @property
    def start(self) -> State:
        """The state in which every schedule begins."""
        return initial(self.scenario.ranks, len(self.scenario.lanes))

    def protocol_of(self, rank: int) -> Protocol:
        """The protocol that one rank runs."""
        mixed = rank >= self.scenario.ranks - self.scenario.blocking_ranks
        return replace(self.protocol, lag=0) if mixed else self.protocol


@dataclass(frozen=True, slots=True)
class Disabled:
    """Why an action cannot be taken in a state.

    waits_for  the ranks that must issue a round first, where that is the reason
    for_good   whether it is to wait for an ack of its own that will never finish
    """

    reason: str
    waits_for: tuple[int, ...] = ()
    for_good: bool = False
