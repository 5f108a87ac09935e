"""The choices that make up the protocol: the defaults are right, and each fault replaces exactly one of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, Literal


class Phase(StrEnum):
    """A quarter of a step; a rank takes the four in the order that `Protocol.phases` gives."""

    WAIT = "wait"
    POP = "pop"
    COUNT = "count"
    ISSUE = "issue"


@dataclass(frozen=True, slots=True)
class Protocol:
    """Every choice of the step-pipelined MIN agreement; `Protocol()` is the pipelined protocol, done right.

    lag      steps between a count and the pop that it allows: 0 blocking, 1 pipelined, k for depth k
    counts   whether a pipelined step counts after it has popped, or before
    reads    whether the result is read after the wait; before it, the tensor still holds the rank's own offer
    reduces  the operation that makes the agreed counts
    pops     whether a rank pops the agreed counts, or the ones it offered itself
    issues   whether every step issues a round, or only one in which some count of this rank is not zero
    offers   the acks that remain, or all that ever finished in this epoch (a watermark)
    resets   whether a reset first consumes what is in flight
    evicts   whether a blocking eviction first consumes what is in flight
    """

    lag: int = 1
    counts: Literal["after-pop", "before-pop"] = "after-pop"
    reads: Literal["after-wait", "before-wait"] = "after-wait"
    reduces: Literal["min", "max"] = "min"
    pops: Literal["agreed", "own"] = "agreed"
    issues: Literal["always", "when-nonempty"] = "always"
    offers: Literal["remaining", "cumulative"] = "remaining"
    resets: Literal["drained", "in-flight"] = "drained"
    evicts: Literal["drained", "in-flight"] = "drained"

    # A schedule file is read into this class; a field that it does not know is an error there.
    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid", "strict": True}

    def __post_init__(self) -> None:
        """Raises ValueError for a negative lag."""
        if self.lag < 0:
            raise ValueError(f"lag must be 0 or more, not {self.lag}")

    @property
    def window(self) -> int:
        """The most rounds that a rank may have in flight; the blocking protocol has one within its step."""
        return max(self.lag, 1)

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The order of one step. The blocking protocol counts, reduces and pops in the same step."""
        consuming = (Phase.WAIT, Phase.POP) if self.reads == "after-wait" else (Phase.POP, Phase.WAIT)
        if self.lag == 0:
            return (Phase.COUNT, Phase.ISSUE, *consuming)
        if self.counts == "before-pop" and self.reads == "after-wait":
            return (Phase.WAIT, Phase.COUNT, Phase.POP, Phase.ISSUE)
        return (*consuming, Phase.COUNT, Phase.ISSUE)


PIPELINED = Protocol()
BLOCKING = replace(PIPELINED, lag=0)


def depth(lag: int) -> Protocol:
    """The pipelined protocol with `lag` rounds in flight: cumulative counts, which are safe at any depth."""
    return replace(PIPELINED, lag=lag, offers="cumulative")
