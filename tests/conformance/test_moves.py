"""The moves of a random schedule: which acks come, and finish, on every rank at once."""

from __future__ import annotations

import random

import pytest

from rankproof.conformance import moves
from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.driver import Command, Driver, Step
from rankproof.conformance.outcome import Ok
from rankproof.model.actions import Enqueue, Finish


class Nobody:
    """Ranks that say of everything that it is done."""

    def send(self, rank: int, method: str, *arguments: object) -> None: ...

    def receive(self, _: int) -> Ok:
        return Ok()


def drawn(kind: str, times: int = 90) -> list[list[Command]]:
    """Moves of all ranks, each where lane 0 of both holds three acks of which none has finished."""
    driver = Driver(Capabilities().model(2), Nobody(), Capabilities(), checked=())
    for command in (Enqueue(rank, 0, ack) for rank in range(2) for ack in range(3)):
        driver.give(command)
    return [moves.together(driver, kind, random.Random(seed)) for seed in range(times)]


def acks_by_rank(commands: list[Command], lane: int = 0) -> list[tuple[int, ...]]:
    chosen = [each for each in commands if isinstance(each, Enqueue | Finish) and each.lane == lane]
    return [tuple(each.ack for each in chosen if each.rank == rank) for rank in range(2)]


def test_an_ack_that_finishes_on_every_rank_is_not_always_the_first_that_has_not() -> None:
    finished = [acks_by_rank(commands) for commands in drawn("finish")]
    assert all(one == other for one, other in finished), "the same acks on both ranks"
    single = [one for one, _ in finished if len(one) == 1]
    assert single.count((0,)) > single.count((1,)) + single.count((2,))
    assert single.count((1,)) > 0
    assert single.count((2,)) > 0


def test_sometimes_all_acks_of_a_lane_finish_on_every_rank_at_once() -> None:
    finished = [acks_by_rank(commands) for commands in drawn("finish")]
    assert {one for one, _ in finished if len(one) > 1} == {(0, 1, 2), (1, 2)}
    assert 10 < finished.count([(0, 1, 2), (0, 1, 2)]) < 45


def test_sometimes_several_acks_come_on_every_rank_at_once_in_their_order() -> None:
    came = [acks_by_rank(commands) for commands in drawn("enqueue")]
    assert {one for one, other in came if one and one == other} == {tuple(range(3, 3 + n)) for n in (1, 2, 3, 4, 5)}


def test_a_move_that_is_of_no_ack_is_one_command_on_each_rank() -> None:
    assert {frozenset(commands) for commands in drawn("step")} == {frozenset({Step(0), Step(1)})}
    assert {len(commands) for commands in drawn("step")} == {2}


@pytest.mark.parametrize("kinds", [[], ["attach"], ["all attach", "continue"]])
def test_where_no_kind_is_possible_there_is_no_move(kinds: list[str]) -> None:
    driver = Driver(Capabilities().model(2), Nobody(), Capabilities(), checked=())
    assert moves.move(driver, kinds, random.Random(1)) == []
