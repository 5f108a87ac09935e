"""A grid of ranks has two reduces a round, of which the second needs what the first gives."""

from dataclasses import replace

import pytest

from rankproof.model.actions import Action, Count, Enqueue, Finish, Issue, Pop, Wait
from rankproof.model.interleaving import Disabled, Model, apply
from rankproof.model.protocol import PIPELINED, Protocol
from rankproof.model.scenario import Scenario
from rankproof.model.state import State

GRID = Scenario(ranks=4, acks=1, topology="grid")
"""Ranks 0 and 1 are a row, and so are 2 and 3; ranks 0 and 2 are a column, and so are 1 and 3."""

TOGETHER = replace(PIPELINED, joins="together")


def played(protocol: Protocol, *ranks: int) -> State:
    """The state after a step of each of these ranks, in which those of the first column have a finished ack."""
    state = Model(protocol, GRID).start
    for rank in ranks:
        acks: list[Action] = [Enqueue(rank, 0, 0), Finish(rank, 0, 0)] if rank in GRID.column(0) else []
        for action in (*acks, Wait(rank), Pop(rank), Count(rank), Issue(rank)):
            after = apply(Model(protocol, GRID), state, action)
            assert isinstance(after, State)
            state = after
    return state


def test_rows_and_columns_meet_in_one_rank() -> None:
    assert [list(GRID.row(rank)) for rank in range(4)] == [[0, 1], [0, 1], [2, 3], [2, 3]]
    assert [list(GRID.column(rank)) for rank in range(4)] == [[0, 2], [1, 3], [0, 2], [1, 3]]


def test_in_turn_a_round_takes_every_rank_and_comes_to_what_all_have() -> None:
    model = Model(PIPELINED, GRID)
    outcome = apply(model, played(PIPELINED, 0, 1, 2), Wait(0))
    assert isinstance(outcome, Disabled)
    assert outcome.waits_for == (3,)
    waited = apply(model, played(PIPELINED, 0, 1, 2, 3), Wait(0))
    assert isinstance(waited, State)
    assert waited.ranks[0].allowed == (0,)


def test_together_it_takes_a_row_and_a_column_and_comes_to_what_the_column_has() -> None:
    model = Model(TOGETHER, GRID)
    waited = apply(model, played(TOGETHER, 0, 1, 2), Wait(0))
    assert isinstance(waited, State)
    assert waited.ranks[0].allowed == (1,)
    late = apply(model, played(TOGETHER, 0, 2, 3), Wait(0))
    assert isinstance(late, Disabled)
    assert late.waits_for == (1,)


def test_an_odd_number_of_ranks_makes_no_grid() -> None:
    with pytest.raises(ValueError, match="two rows of as many ranks, which 3 ranks do not make"):
        Scenario(ranks=3, topology="grid")
