"""The rules on ints: each choice of the protocol does what its name says, and only that."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof.model import rules, words
from rankproof.model.protocol import BLOCKING, PIPELINED, Phase, Protocol, depth
from rankproof.model.reading import Ints

COUNTS = st.integers(0, 20)
OWN = replace(PIPELINED, pops="own")
EARLY = replace(PIPELINED, reads="before-wait")


@given(popped=COUNTS, ready=COUNTS)
def test_a_remaining_offer_is_the_finished_prefix_that_is_left_in_the_lane(popped: int, ready: int) -> None:
    assert rules.offer(PIPELINED, popped + ready, popped) == ready


@given(popped=COUNTS, ready=COUNTS)
def test_a_cumulative_offer_is_all_that_ever_finished(popped: int, ready: int) -> None:
    assert rules.offer(depth(2), popped + ready, popped) == popped + ready


@given(st.lists(COUNTS, min_size=1))
def test_what_is_agreed_is_the_least_offer_and_with_the_fault_the_greatest(offers: list[int]) -> None:
    reading = Ints(len(offers))
    assert rules.agree(reading, PIPELINED, offers.__getitem__) == min(offers)
    assert rules.agree(reading, replace(PIPELINED, reduces="max"), offers.__getitem__) == max(offers)


@given(own=COUNTS, agreed=COUNTS, popped=COUNTS)
def test_a_rank_pops_what_is_agreed_and_with_the_fault_what_it_offered(own: int, agreed: int, popped: int) -> None:
    assert rules.allowed(PIPELINED, own, agreed, popped) == agreed
    assert rules.allowed(OWN, own, agreed, popped) == own
    assert rules.allowed(depth(2), own, popped + agreed, popped) == agreed


@given(after_wait=COUNTS, own=COUNTS, popped=COUNTS)
def test_read_before_the_wait_the_tensor_holds_the_ranks_own_offer(after_wait: int, own: int, popped: int) -> None:
    assert rules.taken(PIPELINED, after_wait, own, popped) == after_wait
    assert rules.taken(EARLY, after_wait, own, popped) == own


@pytest.mark.parametrize(("protocol", "window"), [(BLOCKING, 1), (PIPELINED, 1), (depth(2), 2), (depth(4), 4)])
def test_a_round_is_due_exactly_when_the_window_is_full(protocol: Protocol, window: int) -> None:
    assert [rules.due(protocol, 7 + flying, 7) for flying in range(window + 2)] == [False] * window + [True] * 2


@given(st.lists(COUNTS, min_size=1), COUNTS)
def test_a_round_is_complete_when_the_slowest_rank_has_issued_it(issued: list[int], consumed: int) -> None:
    assert rules.complete(Ints(len(issued)), consumed, issued.__getitem__) == (min(issued) > consumed)


@given(st.lists(st.tuples(COUNTS, st.booleans()), min_size=1), COUNTS)
def test_a_wait_is_lost_when_a_rank_that_is_gone_has_not_issued_its_round(
    ranks: list[tuple[int, bool]], consumed: int
) -> None:
    reading = Ints(len(ranks))

    def lost(protocol: Protocol) -> bool:
        return bool(rules.lost(reading, protocol, consumed, lambda rank: ranks[rank][0], lambda rank: ranks[rank][1]))

    assert lost(PIPELINED) == any(issued <= consumed and not alive for issued, alive in ranks)
    assert not lost(replace(PIPELINED, deadline="none"))


@given(st.lists(COUNTS, min_size=1), COUNTS)
def test_a_round_is_accepted_where_all_epochs_are_one_and_the_ranks_own(epochs: list[int], own: int) -> None:
    agreed, agreed_complement = min(epochs), min(map(words.complement, epochs))
    assert rules.accepted(Ints(1), agreed, agreed_complement, own) == ({own} == set(epochs))


@given(st.lists(COUNTS, min_size=1))
def test_every_step_issues_and_with_the_fault_only_one_with_something_ready(offers: list[int]) -> None:
    reading = Ints(2)
    assert rules.issues(reading, PIPELINED, offers) is True
    assert rules.issues(reading, replace(PIPELINED, issues="when-nonempty"), offers) == any(offers)


@pytest.mark.parametrize(
    ("protocol", "order"),
    [
        (PIPELINED, "wait pop count issue"),
        (depth(3), "wait pop count issue"),
        (BLOCKING, "count issue wait pop"),
        (replace(PIPELINED, counts="before-pop"), "wait count pop issue"),
        (EARLY, "pop wait count issue"),
    ],
)
def test_the_order_of_a_step(protocol: Protocol, order: str) -> None:
    assert protocol.phases == tuple(Phase(word) for word in order.split())


def test_a_negative_lag_is_refused() -> None:
    with pytest.raises(ValueError, match="lag must be 0 or more, not -1"):
        Protocol(lag=-1)


@given(st.lists(COUNTS, min_size=1, max_size=4), COUNTS)
def test_the_reading_on_ints_looks_across_all_ranks_and_all_ordered_pairs(numbers: list[int], bound: int) -> None:
    reading, family = Ints(len(numbers)), numbers.__getitem__
    assert reading.every_rank(lambda rank: family(rank) <= bound) == (max(numbers) <= bound)
    assert reading.every_pair(lambda one, other: family(one) <= family(other)) == (len(set(numbers)) == 1)
    assert reading.choose(reading.negate(bound <= 3), 1, 0) == int(bound > 3)
