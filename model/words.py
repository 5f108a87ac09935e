"""The guard words: how one MIN shows every rank whether all hold the same word, and what it means where they do not.

Read on ints by the model, on 64-bit terms by the proofs, and by the implementation, which reads nothing else of the
model but its errors; so it stands on nothing of ours, and uses only `+ - ~ <= ==` on numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

Number: TypeAlias = Any
"""An int, a solver's integer, or its 64-bit word."""

Truth: TypeAlias = Any
"""A bool, or a solver's boolean term."""

Difference: TypeAlias = Literal["error", "void", "pending"]

DIFFERENCE: dict[str, Difference] = {
    "round": "error",
    "mode": "error",
    "layout": "error",
    "step": "error",
    "request": "pending",
    "epoch": "void",
    "enqueued": "error",
    "popped": "error",
    "ready": "error",
}
"""What it means where ranks hold different values of a word.

error    they do not run the same thing: each of them raises, in the round whose vector shows it
void     the round pops nothing, and its digests are not compared: it speaks of lanes of different generations
pending  nothing yet, while some rank holds NOTHING_ASKED, which is below all that is asked; else an error
"""

DIGESTS: frozenset[str] = frozenset({"enqueued", "popped", "ready"})
"""The words that are digests of acks, and so say something only of ranks in one epoch."""

NOTHING_ASKED = 0
"""The request of a rank that asks for no change."""


complement: Callable[[Number], Number] = operator.invert
"""What rides beside a word: `-1 - word`. (`-word` would not do, for the smallest integer is its own negative.)"""


def highest(agreed_complement: Number) -> Number:
    """The highest value of a word over ranks, from the MIN of its complements."""
    return complement(agreed_complement)


def same(agreed: Number, agreed_complement: Number) -> Truth:
    """Whether all ranks hold one value of a word, from the MIN of it and the MIN of its complements."""
    return agreed == highest(agreed_complement)


def settled(issue: Number, window: Number) -> Number:
    """The last round that every rank has surely consumed when it issues round `issue`; below 1 where there is none.

    The popped digest of round `issue` is of what had been popped by the end of that round and since the epoch began:
    a rank that was drained in between has popped more, and is not at fault.
    """
    return issue - window


def due(agreed_in: Number, window: Number) -> Number:
    """The round before which ranks make a change that all of them asked for in round `agreed_in`.

    Each has surely consumed that round when it issues this one, whatever it has drained in between.
    """
    return agreed_in + window


def heard(asked: Number, changes_then: int, changes_now: int) -> Number:
    """What counts, in a round of the first stage of a pipeline, of what a later stage asked for some rounds before.

    Nothing, where a change was made in between: what it asked for then is what was made. `changes_then` and
    `changes_now` are the changes that had been made on the two ranks.
    """
    return asked if changes_then == changes_now else NOTHING_ASKED


def is_void(differing: Iterable[str]) -> bool:
    """Whether a round in which ranks differ in these words pops nothing."""
    return any(DIFFERENCE[name] == "void" for name in differing)


def first_error(differing: Iterable[str], request: int = NOTHING_ASKED) -> str:
    """The first of these words, in which ranks differ, that is an error; empty where none is.

    The first is the first in DIFFERENCE, so that all name the same one. `request` is the lowest request word.
    """
    names = frozenset(differing)
    void = is_void(names)
    for name, means in DIFFERENCE.items():
        pending = means == "pending" and request == NOTHING_ASKED
        if name in names and means != "void" and not pending and not (void and name in DIGESTS):
            return name
    return ""
