"""What is proved of ranks that move alone or are gone, once more, for watermarks: the depth is a term, any number."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from rankproof.model.protocol import Protocol
from rankproof.model.reading import Number
from rankproof.proofs.epochs_watermarks import EPOCHS_WATERMARKS
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.failure import FAILURE
from rankproof.proofs.interleaved import INTERLEAVED
from rankproof.proofs.obligation import Goals, Hypotheses, Obligation
from rankproof.proofs.stopping import STOPPING


@dataclass(frozen=True)
class AnyDepth(Protocol):
    """A protocol with `depth` rounds in flight, a term; rules that look at ranks alone read no more of it than this."""

    depth: Any = None

    @property
    def window(self) -> Number:
        return self.depth


def _at_any_depth(obligation: Obligation) -> Obligation:
    def state(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
        choices: dict[str, Any] = {each.name: getattr(protocol, each.name) for each in fields(Protocol)}
        depth = reading.number("depth")
        hypotheses, goals = obligation.state(reading, AnyDepth(**(choices | {"offers": "cumulative"}), depth=depth))
        return hypotheses | {"depth": 1 <= depth}, goals

    return replace(
        obligation,
        name=f"{obligation.name}-at-any-depth",
        says=f"{obligation.says}; with watermarks and any number of rounds in flight",
        state=state,
        applies=lambda protocol: protocol.lag == 1,
    )


INTERLEAVED_ANY_DEPTH: tuple[Obligation, ...] = tuple(
    _at_any_depth(each) for each in (*INTERLEAVED, *FAILURE, *STOPPING[:1])
)

EPOCHS_ANY_DEPTH: tuple[Obligation, ...] = tuple(_at_any_depth(each) for each in EPOCHS_WATERMARKS)

ANY_DEPTH: tuple[Obligation, ...] = (*INTERLEAVED_ANY_DEPTH, *EPOCHS_ANY_DEPTH)
