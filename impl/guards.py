"""The vector of a round: the counts, and the guard words that show on every rank whether all ranks run the same thing.

    counts    one a lane                                                                          MIN is what to pop
    idle      1 where nothing waits on this rank and it asks for no change                        MIN: all are idle
    request   the change of lanes or mode that this rank asks for, or 0                           x and ~x
    round     the number of the round, which gloo does not carry                                  x and ~x
    mode      the lag: 0 blocking, 1 pipelined, k depth k                                         x and ~x
    layout    names, order and kinds of the lanes, and the plan                                   x and ~x
    step      the caller's own number of the step, where it gives one                             x and ~x
    epoch     the generation of the lanes                                                         x and ~x
    digests   one a lane, of acks (see `Ledger.digests`)                                          x and ~x

The MIN of x is the lowest value over ranks, and the MIN of ~x the complement of the highest; so one reduce tells every
rank whether all hold the same value. How that is read, and what a difference in each word means, is the model's text
(`rankproof.model.words`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rankproof.impl.acks import Lane
from rankproof.impl.errors import RankDivergence
from rankproof.model.words import complement, first_error, highest, is_void, same

VOID_LIMIT = 256
"""Rounds in a row that ranks in different epochs may make void; a rank that has not followed by then never will."""

GUARDS = ("request", "round", "mode", "layout", "step", "epoch")
"""The words in front of the digests."""

NO_STEP_NUMBER = -1
"""The step word of a rank whose caller does not number its steps."""


class Offer:
    """What one rank puts into a round; see the table above.

    lanes   those of its counts and digests
    guards  the guard words, digests and all, each of them, and then their complements, once it is `sealed`

    It is made in each step, where a dataclass would be felt; `sealed` where its round is sent, which may be in another
    thread. Nothing else of it changes.
    """

    __slots__ = ("counts", "epoch", "guards", "idle", "lanes", "layout", "mode", "request", "round", "step")

    def __init__(
        self,
        counts: tuple[int, ...],
        idle: bool,
        request: int,
        round: int,  # noqa: A002 # the word of the design
        mode: int,
        layout: int,
        step: int,
        epoch: int,
        lanes: tuple[Lane, ...],
    ) -> None:
        self.counts = counts
        self.idle = idle
        self.request = request
        self.round = round
        self.mode = mode
        self.layout = layout
        self.step = step
        self.epoch = epoch
        self.lanes = lanes
        self.guards: tuple[int, ...] = ()

    @property
    def window(self) -> int:
        """How many rounds may be in flight in its mode."""
        return max(self.mode, 1)

    def sealed(self, digests: Sequence[int]) -> tuple[int, ...]:
        """The words as they are reduced, in that order: with L lanes, 3 L + 13 of them. `digests` has one a lane."""
        held = (self.request, self.round, self.mode, self.layout, self.step, self.epoch, *digests)
        self.guards = (*held, *map(complement, held))
        return (*self.counts, int(self.idle), *self.guards)

    def words(self) -> tuple[int, ...]:
        """The guard words, in the order of GUARDS, and the digests."""
        return self.guards[: len(self.guards) // 2]

    def names(self) -> tuple[str, ...]:
        """What each lane is called."""
        return tuple([lane.name for lane in self.lanes])


class Spread(NamedTuple):
    """A guard word over ranks: the MIN of it and of its complements, and what this rank put in."""

    lowest: int
    complement: int
    own: int

    @property
    def highest(self) -> int:
        """The highest value of the word."""
        return int(highest(self.complement))

    @property
    def shared(self) -> bool:
        """Whether every rank that has a part in the MIN holds the same value."""
        return bool(same(self.lowest, self.complement))

    @property
    def agree(self) -> bool:
        """Whether every rank holds the same value, and this one too."""
        return self.shared and self.lowest == self.own


@dataclass(slots=True)
class Agreement:
    """What came out of a round; the same on every rank but for its own epoch.

    epochs   the generation of the lanes, over ranks, or None where every rank is in that of this one
    request  the change that all ranks ask for, or 0 while some do not
    """

    counts: tuple[int, ...]
    idle: bool
    epochs: Spread | None
    request: int

    @property
    def void(self) -> bool:
        """Whether ranks were in different epochs, so that the counts are of different lanes and say nothing."""
        return self.epochs is not None and not self.epochs.shared and is_void(("epoch",))


def agreement(offer: Offer, vector: Sequence[int], *, follows: bool = False) -> Agreement:
    """Reads the agreed vector of a round in which this rank offered `offer`.

    follows  whether this rank follows what others agreed on, so that its own counts had no part in the MIN

    Raises RankDivergence naming the first word in which ranks differ; on this rank alone where it follows. Where their
    epochs differ the round is void, and neither counts nor digests are looked at: they speak of lanes of different
    generations.
    """
    lowest, own = tuple(vector), len(offer.counts)
    counts, idle, guards = lowest[:own], lowest[own] == 1, lowest[own + 1 :]
    # The one comparison of a step: the MIN of words and complements is this rank's own where all ranks hold the same.
    if guards == offer.guards:
        agreed = Agreement(counts, idle, None, offer.request)
    else:
        agreed = _differing(offer, Agreement(counts, idle, None, 0), guards)
    if not follows:
        for place, mine in enumerate(offer.counts):
            if not 0 <= counts[place] <= mine and not agreed.void:
                raise _no_min(offer.round, offer.lanes[place].name, counts[place], mine)
    return agreed


def _differing(offer: Offer, agreed: Agreement, guards: Sequence[int]) -> Agreement:
    """What is agreed where ranks do not hold the same words: it names the first that matters, or leaves the counts."""
    lanes = offer.names()
    spread = _spread(lanes, offer, guards)
    agreed.request, epochs = spread["request"].lowest, spread["epoch"]
    digests = dict.fromkeys(map(_digest_of, lanes), "popped")  # there is no digest without the popped prefix
    differing = {name: digests.get(name, name) for name, each in spread.items() if not each.agree}
    if error := first_error(differing.values(), agreed.request):
        name = next(name for name, word in differing.items() if word == error)
        raise _divergence(offer.round, name, spread[name])
    agreed.epochs = epochs
    if not epochs.agree and not agreed.void:  # a rank without a part in the MIN, whose epoch is not that of the others
        raise _divergence(offer.round, "epoch", epochs)
    return agreed


def _spread(lanes: Sequence[str], offer: Offer, guards: Sequence[int]) -> dict[str, Spread]:
    held = offer.words()
    lowest, complements = guards[: len(held)], guards[len(held) :]
    names = (*GUARDS, *map(_digest_of, lanes))
    return {name: Spread(*each) for name, *each in zip(names, lowest, complements, held, strict=True)}


def _digest_of(lane: str) -> str:
    return f"digest of lane {lane}"


def _divergence(round_number: int, name: str, spread: Spread) -> RankDivergence:
    values = (spread.lowest, spread.highest, spread.own)
    low, high, own = (_shown(name, value) for value in values)
    return RankDivergence(
        f"round {round_number}: the ranks differ in {name}: lowest {low}, highest {high}, this rank {own}",
        round_number,
        name,
        *values,
    )


def _no_min(round_number: int, lane: str, least: int, mine: int) -> RankDivergence:
    return RankDivergence(
        f"round {round_number}, lane {lane!r}: agreed on {least} where this rank offered {mine}, which no MIN gives: "
        f"some rank runs another reduce",
        round_number,
        f"count of lane {lane}",
        least,
        least,
        mine,
    )


def require_epochs_to_meet(round_number: int, voids: int, epochs: Spread | None) -> None:
    """Raises RankDivergence where more than VOID_LIMIT rounds in a row, `voids` of them, found ranks in two epochs."""
    if voids > VOID_LIMIT and epochs is not None:
        values = (epochs.lowest, epochs.highest, epochs.own)
        low, high, own = values
        raise RankDivergence(
            f"round {round_number}: ranks have been in different epochs for {voids} rounds, now {low} to {high}, "
            f"this rank in {own}: some rank was not reset with the others",
            round_number,
            "epoch",
            *values,
        )


def mode_name(lag: int) -> str:
    """The mode word in words."""
    return {0: "blocking", 1: "pipelined"}.get(lag, f"depth {lag}")


def _shown(name: str, value: int) -> str:
    if name == "mode":
        return f"{value} ({mode_name(value)})"
    if name in ("request", "layout") or name.startswith("digest"):
        return f"{value & (1 << 64) - 1:016x}"
    if name == "step" and value == NO_STEP_NUMBER:
        return "no number"
    return str(value)


def word_names(lanes: Sequence[str]) -> tuple[str, ...]:
    """What each guard word is called in an error, in the order of `Offer.words`."""
    return (*GUARDS, *map(_digest_of, lanes))


def found_below(round_number: int, found_in: int, rank: int, name: str, agreed: int, other: int) -> RankDivergence:
    """What a rank raises in a round because `rank`, of a later stage, found in an earlier one that it differs.

    agreed, other  the value of the word that this rank and the first stage held then, and that of the other
    """
    values = (min(agreed, other), max(agreed, other), agreed)
    low, high, own = (_shown(name, value) for value in values)
    return RankDivergence(
        f"round {round_number}: rank {rank}, of a later stage, found in round {found_in} that the ranks differ in "
        f"{name}: lowest {low}, highest {high}, this rank {own}",
        round_number,
        name,
        *values,
    )
