"""A depth that is a term: watermarks with any number of rounds in flight, as a protocol and as a place in lockstep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from rankproof.model.protocol import Protocol
from rankproof.model.reading import Number, Truth
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.obligation import Goals, Hypotheses, Obligation


@dataclass(frozen=True, slots=True)
class Window:
    """The offers of one rank in the rounds `first` to `last`, which are terms: what `rounds` needs of them.

    With `last` below `first` it is empty; whoever takes the oldest offer has to know that it is not.
    """

    reading: EveryRank
    offer: Callable[[Number], Number]
    first: Number
    last: Number

    def __getitem__(self, place: int | slice[int, None, None]) -> Any:
        """The offer of the oldest round at place 0, and the window on all later ones from place 1."""
        if place == 0:
            return self.offer(self.first)
        if place == slice(1, None):
            return replace(self, first=self.first + 1)
        raise IndexError(f"a window of any length has no place {place}")

    def __add__(self, offers: tuple[Number]) -> Window:
        """The window with one round more, in which this was offered."""
        (offer,), number = offers, self.last + 1
        return replace(
            self, offer=lambda each: self.reading.choose(each == number, offer, self.offer(each)), last=number
        )

    def has(self, number: Number) -> Truth:
        """Whether a round is among those in flight."""
        return self.reading.both(self.first <= number, number <= self.last)


@dataclass(frozen=True)
class AnyDepth(Protocol):
    """A protocol with `depth` rounds in flight, a term; obligations at any depth read no more of it than this."""

    reading: Any = None
    depth: Any = None

    @property
    def window(self) -> Number:
        return self.depth

    def filled(self, offer: Number) -> Window:
        return Window(self.reading, lambda number: offer, 1, self.depth)


def at_any_depth(obligation: Obligation) -> Obligation:
    """The same obligation, of watermarks and of whatever number of rounds in flight."""

    def state(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
        choices: dict[str, Any] = {each.name: getattr(protocol, each.name) for each in fields(Protocol)}
        depth = reading.number("depth")
        watermarks = AnyDepth(**(choices | {"offers": "cumulative"}), reading=reading, depth=depth)
        hypotheses, goals = obligation.state(reading, watermarks)
        return hypotheses | {"depth": 1 <= depth}, goals

    return replace(
        obligation,
        name=f"{obligation.name}-at-any-depth",
        says=f"{obligation.says}; with watermarks and any number of rounds in flight",
        state=state,
        applies=lambda protocol: protocol.lag == 1,
    )
