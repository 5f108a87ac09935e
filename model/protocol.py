"""The choices that make up the protocol: the defaults are right, and each fault replaces exactly one of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar, Literal, TypeAlias


class Phase(StrEnum):
    """A quarter of a step; a rank takes the four in the order that `Protocol.phases` gives."""

    WAIT = "wait"
    POP = "pop"
    COUNT = "count"
    ISSUE = "issue"


Word: TypeAlias = Literal["request", "round", "epoch", "mode", "layout", "enqueued", "popped", "ready"]
"""A guard word: what ranks compare in the same round as the counts. The last three are digests of acks."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """Every choice of the step-pipelined MIN agreement; `Protocol()` is the pipelined protocol, done right.

    lag      steps between a count and the pop that it allows: 0 blocking, 1 pipelined, k for depth k
    counts   whether a pipelined step counts after it has popped, or before
    reads    whether the result is read after the wait; before it, the tensor still holds the rank's own offer
    reduces  the operation that makes the agreed counts
    pops     whether a rank pops the agreed counts, or the ones it offered itself
    issues   whether every step issues one round; or only one in which some count of this rank is not zero; or that
             one issues two
    offers   the acks that remain, or all that ever finished in this epoch (a watermark)
    resets   whether a reset first consumes what is in flight
    evicts   whether a blocking eviction first consumes what is in flight
    attaches whether attaching or detaching storage first consumes what is in flight; or is asked for in each round,
             and made by every rank before the same one
    vector   whether a round's vector has one length, or grows once a rank has storage attached
    buffers  whether each round has a fresh tensor, or one is kept and filled again before the wait
    bounds   whether a rank with a full window waits, or issues a further round when the oldest is not complete
    joins    whether the second of the two reduces of a grid, which needs what the first gives, is issued once that has
             come out, or together with it
    follows  whether a rank of a pipeline that is told to pop waits for its own acks to finish
    throws   whether a rank whose pop throws is broken from then on, or carries on with the next step
    deadline whether a wait for a rank that is gone ends in an error, or never
    idles    whether ranks that have nothing left to do keep stepping
    guards   the guard words that ride in the vector
    compares whether the guard words are compared when a round is consumed
    """

    lag: int = 1
    counts: Literal["after-pop", "before-pop"] = "after-pop"
    reads: Literal["after-wait", "before-wait"] = "after-wait"
    reduces: Literal["min", "max"] = "min"
    pops: Literal["agreed", "own"] = "agreed"
    issues: Literal["always", "when-nonempty", "twice-when-nonempty"] = "always"
    offers: Literal["remaining", "cumulative"] = "remaining"
    resets: Literal["drained", "in-flight"] = "drained"
    evicts: Literal["drained", "in-flight"] = "drained"
    attaches: Literal["drained", "in-flight", "agreed"] = "drained"
    vector: Literal["fixed", "by-layout"] = "fixed"
    buffers: Literal["fresh", "kept"] = "fresh"
    bounds: Literal["window", "none"] = "window"
    joins: Literal["in-turn", "together"] = "in-turn"
    follows: Literal["waits", "at-once"] = "waits"
    throws: Literal["broken", "carries-on"] = "broken"
    deadline: Literal["set", "none"] = "set"
    idles: Literal["stepping", "stopped"] = "stepping"
    guards: tuple[Word, ...] = ()
    compares: Literal["words", "nothing"] = "words"

    # A schedule file is read into this class; a field that it does not know is an error there.
    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid", "strict": True}

    def __post_init__(self) -> None:
        """Raises ValueError for a negative lag, and for changes that are agreed on without a word to ask by."""
        if self.lag < 0:
            raise ValueError(f"lag must be 0 or more, not {self.lag}")
        if self.attaches == "agreed" and "request" not in self.guards:
            raise ValueError("attaches cannot be agreed without the guard word request, by which ranks ask")

    @property
    def window(self) -> int:
        """The most rounds that a rank may have in flight; the blocking protocol has one within its step."""
        return max(self.lag, 1)

    def filled(self, offer: Any) -> Any:
        """The offers that a rank has in flight between two steps in lockstep, oldest first, if each of them is this."""
        return (offer,) * self.lag

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The order of one step. The blocking protocol counts, reduces and pops in the same step."""
        consuming = (Phase.WAIT, Phase.POP) if self.reads == "after-wait" else (Phase.POP, Phase.WAIT)
        if self.lag == 0:
            return (Phase.COUNT, Phase.ISSUE, *consuming)
        if self.buffers == "kept":
            return (Phase.COUNT, *consuming, Phase.ISSUE)
        if self.counts == "before-pop" and self.reads == "after-wait":
            return (Phase.WAIT, Phase.COUNT, Phase.POP, Phase.ISSUE)
        return (*consuming, Phase.COUNT, Phase.ISSUE)


PIPELINED = Protocol()
BLOCKING = replace(PIPELINED, lag=0)

GUARDED = replace(PIPELINED, guards=("round", "epoch", "mode", "layout", "popped"))
"""The pipelined protocol with guard words that raise no false alarm, whoever fills the lanes."""


UNCOMPARED = replace(GUARDED, compares="nothing")
"""The pipelined protocol to its ranks, with words that only a check of the model reads."""


def depth(lag: int) -> Protocol:
    """The pipelined protocol with `lag` rounds in flight: cumulative counts, which are safe at any depth."""
    return replace(PIPELINED, lag=lag, offers="cumulative")
