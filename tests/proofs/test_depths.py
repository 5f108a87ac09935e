"""A depth that is a term says what a depth that is a number says: on ints, a window on a table is a tuple of offers."""

from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankproof.model import rounds
from rankproof.model.protocol import BLOCKING, PIPELINED, Protocol, depth
from rankproof.model.reading import Ints
from rankproof.model.rounds import Position, Positions
from rankproof.proofs.depths import AnyDepth, Window
from rankproof.proofs.lockstep import invariant

RANKS = 3
READING: Any = Ints(RANKS)
SETTINGS = settings(max_examples=60, deadline=None)

offers = st.integers(1, 5).flatmap(
    lambda lag: st.lists(st.lists(st.integers(-2, 9), min_size=lag, max_size=lag), min_size=RANKS, max_size=RANKS)
)
numbers = st.lists(st.integers(-2, 9), min_size=RANKS, max_size=RANKS)


def window(row: list[int], first: int) -> Window:
    """The row from that number on; what the table has elsewhere is not to matter."""
    table = dict(enumerate(row, first))
    return Window(READING, lambda number: table.get(number, 99), first, first + len(row) - 1)


def plain(at: Positions) -> list[tuple[int, int, tuple[int, ...]]]:
    """Each rank's numbers, whichever way its rounds in flight are held."""

    def offered(held: Any) -> tuple[int, ...]:
        return held if isinstance(held, tuple) else tuple(map(held.offer, range(held.first, held.last + 1)))

    return [(at(rank).finished, at(rank).popped, offered(at(rank).in_flight)) for rank in range(RANKS)]


@SETTINGS
@given(offers, numbers, numbers, numbers, st.integers(-3, 3))
def test_a_step_and_a_drained_round_do_to_a_window_what_they_do_to_a_tuple(
    rows: list[list[int]], finished: list[int], popped: list[int], found: list[int], first: int
) -> None:
    protocol = depth(len(rows[0]))

    def held(rank: int, as_window: bool) -> Position:
        in_flight = window(rows[rank], first) if as_window else tuple(rows[rank])
        return Position(finished[rank], popped[rank], in_flight)

    for move in (
        partial(rounds.step, READING, protocol, finished=found.__getitem__),
        partial(rounds.consume, READING, protocol),
    ):
        of_window, of_tuple = (move(before=partial(held, as_window=each)) for each in (True, False))
        assert plain(of_window) == plain(of_tuple)


@given(st.integers(1, 5), st.integers(-2, 9))
@SETTINGS
def test_rounds_that_are_all_alike_are_as_many_as_the_depth(lag: int, offer: int) -> None:
    filled = AnyDepth(offers="cumulative", reading=READING, depth=lag).filled(offer)
    assert tuple(map(filled.offer, range(filled.first, filled.last + 1))) == depth(lag).filled(offer)
    assert AnyDepth(depth=lag).window == depth(lag).window


def test_a_window_has_the_places_that_a_step_looks_at_and_no_other() -> None:
    held = window([4, 5], 7)
    assert (held[0], held[1:][0], [number for number in range(12) if held.has(number)]) == (4, 5, [7, 8])
    for place in (1, slice(2, None), slice(None)):
        with pytest.raises(IndexError, match="no place"):
            held[place]


@pytest.mark.parametrize("protocol", [BLOCKING, PIPELINED, depth(2), depth(3)], ids=lambda each: f"lag {each.lag}")
@given(st.lists(numbers, min_size=1, max_size=7), st.sets(st.integers(0, 6)))
@SETTINGS
def test_every_state_that_is_reached_has_our_invariant(
    protocol: Protocol, new: list[list[int]], drained: set[int]
) -> None:
    """It is implied where it should be: it is not only kept by a step, but there from the start."""
    at, finished = rounds.start(protocol), [0] * RANKS
    for step, more in enumerate(new):
        finished = [before + max(0, each) for before, each in zip(finished, more, strict=True)]
        at = rounds.step(READING, protocol, at, finished.__getitem__)
        if step in drained:
            at = rounds.drain(READING, protocol, at)
        assert all(invariant(READING, protocol, at).values())
