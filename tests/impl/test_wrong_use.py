"""What gloo does silently when one rank uses it wrongly, done on purpose by one real rank of three.

One test for each row of the table in docs/gloo.md. Guard words give the others the name of what differs; where the bad
rank does not itself read what was agreed, it learns only that they left.
"""

from collections.abc import Callable
from typing import TypeAlias

import pytest

from tests.impl.ranks import DIED, Answer, Ranks, Start

pytestmark = pytest.mark.processes

BAD = 1
OTHERS = (0, 2)

Wrong: TypeAlias = Callable[..., Ranks]
"""Starts ranks of which one does the wrong thing that is named, at a depth."""


@pytest.fixture(params=["reduces", "exchanges", "is carried"])
def start_wrong(start: Start, request: pytest.FixtureRequest) -> Wrong:
    """Starts three ranks of which one does something wrong, with an ack that only this one has finished."""
    how = {"reduces": request.param == "reduces", "carrier": request.param == "is carried"}
    return lambda kind, depth=1: wrong(start, kind, depth, **how)


def wrong(start: Start, kind: str, depth: int = 1, *, reduces: bool = True, carrier: bool = False) -> Ranks:
    """The same, with a MIN all_reduce or with the exchange, and with a carrier of its rounds or without."""
    ranks = start(tp=3, depth=depth, timeout=1.5, carrier=carrier)
    if reduces:
        ranks.each("reduces")
    assert ranks.ask(BAD, "does_wrong", kind) == ("ok", None)
    ranks.each("enqueue", "a")
    ranks.ask(BAD, "finish", "a")
    return ranks


def name_it(failed: dict[int, Answer], words: str) -> None:
    """Every good rank raises RankDivergence with those words."""
    for rank in OTHERS:
        assert failed[rank][1] == "RankDivergence", failed
        assert words in failed[rank][2]


def test_a_result_read_before_the_wait_is_named_by_the_others_a_round_later(start: Start) -> None:
    ranks = wrong(start, "ReadsBeforeTheWait")
    assert ranks.ask(BAD, "step") == ("ok", [])
    assert ranks.ask(BAD, "step") == ("ok", ["a"])
    failed = ranks.until_they_fail(*OTHERS)
    name_it(failed, "round 2: the ranks differ in digest of lane write")


def test_an_exchange_read_before_the_wait_is_found_by_the_rank_that_does(start: Start) -> None:
    ranks = wrong(start, "ReadsBeforeTheWait", reduces=False)
    assert ranks.ask(BAD, "step") == ("ok", [])
    answer = ranks.ask(BAD, "step")
    assert answer[1] == "RankDivergence"
    failed = ranks.until_they_fail(*OTHERS)
    for rank in OTHERS:
        assert failed[rank][1] == "PeerLost"
        assert f"rank {BAD} left: " in failed[rank][2]


def test_a_buffer_written_while_in_flight_is_named_on_every_rank(start: Start) -> None:
    ranks = wrong(start, "KeepsItsBuffer")
    ranks.ask(BAD, "step")
    failed = ranks.until_they_fail(0, BAD, 2)
    name_it(failed, "round 1: the ranks differ in round: lowest 1, highest 2, this rank 1")
    assert failed[BAD][1] == "RankDivergence"


def test_a_result_that_one_rank_dropped_is_named_on_every_rank_a_round_later(start_wrong: Wrong) -> None:
    ranks = start_wrong("DropsTheWork")
    for rank in OTHERS:
        ranks.ask(rank, "finish", "a")
    failed = ranks.until_they_fail(0, BAD, 2)
    name_it(failed, "round 2: the ranks differ in digest of lane write")
    assert failed[BAD][1] == "RankDivergence"


def test_two_rounds_issued_in_another_order_are_named_on_every_rank(start_wrong: Wrong) -> None:
    failed = start_wrong("SwapsTwoRounds", 2).until_they_fail(0, BAD, 2)
    name_it(failed, "round 1: the ranks differ in round: lowest 1, highest 2, this rank 1")
    assert failed[BAD][1] == "RankDivergence"


def test_a_round_that_one_rank_skips_is_named_in_that_round(start_wrong: Wrong) -> None:
    failed = start_wrong("SkipsARound").until_they_fail(0, BAD, 2)
    name_it(failed, "round 2: the ranks differ in round: lowest 2, highest 3, this rank 2")
    assert failed[BAD][1] == "RankDivergence"


def test_sum_on_one_rank_is_named_on_every_rank(start: Start) -> None:
    failed = wrong(start, "Sums").until_they_fail(0, BAD, 2)
    assert {answer[1] for answer in failed.values()} == {"RankDivergence"}
    assert len(failed) == 3


def test_another_collective_on_one_rank_is_an_error_on_every_rank_by_the_deadline(start_wrong: Wrong) -> None:
    failed = start_wrong("RunsAnotherCollective").until_they_fail(0, BAD, 2)
    assert len(failed) == 3
    assert {answer[1] for answer in failed.values()} <= {"StepTimeout", "PeerLost"}
    assert max(answer[3] for answer in failed.values()) < 2.5


@pytest.mark.parametrize("kind", ["OffersAnotherLength", "OffersAnotherType"])
def test_another_length_or_type_on_one_rank_aborts_a_rank_and_the_others_say_so_by_the_deadline(
    start_wrong: Wrong, kind: str
) -> None:
    failed = start_wrong(kind).until_they_fail(0, BAD, 2)
    assert len(failed) == 3
    # gloo takes what is shorter than expected, so that an exchange may leave words out, which then differ
    assert {answer[1] for answer in failed.values() if answer != DIED} <= {"StepTimeout", "PeerLost", "RankDivergence"}
    assert DIED in failed.values()
    assert max(answer[3] for answer in failed.values() if answer != DIED) < 2.5


def test_ranks_that_open_with_other_lanes_are_told_so_before_any_group_is_made(start: Start) -> None:
    ranks = start(tp=2, timeout=20.0, opened=False)
    ranks.tell(0, "open", "write")
    ranks.tell(1, "open", "write", "load")
    for rank, kind, text, seconds in ((rank, *ranks.hear(rank)[1:]) for rank in range(2)):
        assert kind == "RankDivergence"
        assert f"rank {1 - rank} is laid out as tp 2, cp 1, pp 1: group, lanes " in text
        assert f"and this rank {rank} as tp 2, cp 1, pp 1: group, lanes " in text
        assert seconds < 10


def test_an_object_that_breaks_with_a_round_in_flight_is_rid_of_it_by_the_deadline(start: Start) -> None:
    ranks = start(tp=2, depth=2, timeout=1.5)
    ranks.ask(0, "enqueue", "a")
    ranks.ask(0, "step")
    assert ranks.ask(0, "in_flight") == ("ok", 1)
    ranks.ask(0, "spoil", "a")
    _, kind, text, seconds = ranks.ask(0, "step")
    assert kind == "StepFailed"
    assert "issued 1, consumed 0" in text
    assert seconds < 2.5
    assert ranks.ask(0, "in_flight") == ("ok", 0)
