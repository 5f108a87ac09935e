"""Where ranks differ, each raises the same error in the same round, naming the word; else none raises."""

from collections.abc import Callable, Sequence

import pytest

from rankproof.impl.acks import FINISHED, Ack, Lane, LaneKind
from rankproof.impl.changes import Change
from rankproof.impl.errors import RankDivergence
from rankproof.impl.frame import StepResult
from rankproof.impl.guards import NO_STEP_NUMBER, VOID_LIMIT, Offer, agreement
from rankproof.impl.sync import AckSync, BlockingAckSync, PipelinedAckSync
from tests.impl.conftest import DEADLINE, Group, MemoryNetwork

LANES: dict[str, LaneKind] = {"write": "aligned", "load": "prefix", "backup": "size"}


def group_of(*ranks: Callable[..., AckSync], lanes: Sequence[dict[str, LaneKind]] = (LANES, LANES, LANES)) -> Group:
    """Ranks of these kinds, with lanes of their own."""
    network = MemoryNetwork(len(ranks), DEADLINE)
    ends = zip(ranks, network.transports, lanes, strict=False)
    return Group([kind(end, given) for kind, end, given in ends], network)


@pytest.fixture
def three() -> Group:
    return group_of(*[PipelinedAckSync] * 3)


def fill(group: Group, lane: str, *orders: str) -> None:
    """Enqueues finished acks, in an order of its own on each rank."""
    for rank, order in zip(group.ranks, orders, strict=True):
        for identity in order:
            rank.enqueue(lane, Ack(identity, FINISHED))


def difference_in(group: Group, steps: int = 4) -> RankDivergence:
    """What every rank comes to when all keep stepping; it must be the same on each but for its own value."""

    def until_it_raises(rank: AckSync) -> StepResult:
        for _ in range(steps):
            result = rank.step()
        return result

    errors = [error for error in group.results(until_it_raises) if isinstance(error, RankDivergence)]
    assert len(errors) == len(group.ranks)
    assert len({(error.word, error.round, error.lowest, error.highest) for error in errors}) == 1
    assert {error.own for error in errors} >= {errors[0].lowest, errors[0].highest}
    return errors[0]


def test_another_order_in_an_aligned_lane_shows_before_anything_is_popped(three: Group) -> None:
    fill(three, "write", "ab", "ab", "ba")
    difference = difference_in(three)
    assert (difference.word, difference.round) == ("digest of lane write", 1)
    assert [rank.waiting("write") for rank in three.ranks] == [("a", "b"), ("a", "b"), ("b", "a")]


def test_an_ack_that_one_rank_lost_shows_in_an_aligned_lane_before_anything_is_popped(three: Group) -> None:
    fill(three, "write", "ab", "b", "ab")
    assert difference_in(three).word == "digest of lane write"
    assert three.ranks[1].waiting("write") == ("b",)


def test_pops_without_a_round_at_other_places_show_in_an_aligned_lane(three: Group) -> None:
    fill(three, "write", "ab", "ab", "ab")
    three.ranks[0].evict("write")
    assert difference_in(three).word == "digest of lane write"


@pytest.mark.parametrize("lane", ["load", "backup"])
def test_another_order_in_a_lane_filled_at_any_time_shows_a_round_after_the_pop(three: Group, lane: str) -> None:
    fill(three, lane, "ab", "ab", "ba")
    difference = difference_in(three)
    assert (difference.word, difference.round) == (f"digest of lane {lane}", 2)


@pytest.mark.parametrize("lane", ["load", "backup"])
def test_a_lane_filled_at_other_times_on_other_ranks_is_no_difference(three: Group, lane: str) -> None:
    popped = []
    for filled in (["abc", "a", ""], ["", "bc", "ab"], ["d", "", "cd"], ["", "d", ""], ["", "", ""]):
        fill(three, lane, *filled)
        popped += three.step(lane)
    assert popped == ["a", "b", "c", "d"]


def test_acks_that_differ_only_in_being_an_int_or_a_str_differ(three: Group) -> None:
    identities: tuple[int | str, ...] = (1, 1, "1")
    for rank, identity in zip(three.ranks, identities, strict=True):
        rank.enqueue("write", Ack(identity, FINISHED))
    assert difference_in(three).word == "digest of lane write"


def test_a_rank_in_another_mode_is_found_in_the_first_round() -> None:
    difference = difference_in(group_of(PipelinedAckSync, BlockingAckSync))
    assert (difference.word, difference.round, difference.lowest, difference.highest) == ("mode", 1, 0, 1)
    assert "lowest 0 (blocking), highest 1 (pipelined), this rank 1 (pipelined)" in str(difference)


@pytest.mark.parametrize(
    "other",
    [
        {"write": "aligned", "load": "prefix", "restore": "size"},
        {"load": "prefix", "write": "aligned", "backup": "size"},
        {"write": "prefix", "load": "prefix", "backup": "size"},
    ],
)
def test_lanes_of_another_name_order_or_kind_are_found_in_the_first_round(other: dict[str, LaneKind]) -> None:
    difference = difference_in(group_of(PipelinedAckSync, PipelinedAckSync, lanes=[LANES, other]))
    assert (difference.word, difference.round) == ("layout", 1)


def test_ranks_that_agree_by_another_plan_are_found_in_the_first_round() -> None:
    group = group_of(*[lambda end, lanes, plan=plan: PipelinedAckSync(end, lanes, plan=plan) for plan in ("tp", "cp")])
    assert difference_in(group).word == "layout"


def test_a_rank_that_begins_anew_on_a_group_in_use_is_found(three: Group) -> None:
    for _ in range(3):
        three.step()
    for rank in three.ranks:
        rank.drain()

    class Restarted:
        """The transport goes on; the rank on it counts its rounds from 1 again."""

        rank, world, timeout = 2, 3, DEADLINE

        def offer(self, round_number: int, vector: Sequence[int]) -> None:
            three.network.transports[2].offer(round_number + 3, vector)

        def agreed(self, round_number: int) -> tuple[int, ...]:
            return three.network.transports[2].agreed(round_number + 3)

        def close(self) -> None:
            return None

    three.ranks[2] = PipelinedAckSync(Restarted(), LANES)
    three.step()
    for error in three.results():
        assert isinstance(error, RankDivergence)
        assert (error.word, error.lowest, error.highest) == ("round", 1, 4)


def test_a_step_that_one_rank_left_out_is_found_by_the_callers_own_numbers(three: Group) -> None:
    for rank, numbers in zip(three.ranks, ([1, 2], [1, 2], [1, 3]), strict=True):
        rank.step(numbers[0])
    for rank, numbers in zip(three.ranks, ([1, 2], [1, 2], [1, 3]), strict=True):
        rank.step(numbers[1])
    for rank in three.ranks:
        with pytest.raises(RankDivergence, match="round 2: the ranks differ in step: lowest 2, highest 3"):
            rank.step(4)


def test_a_step_number_on_one_rank_only_is_a_difference() -> None:
    group = group_of(PipelinedAckSync, PipelinedAckSync)
    group.ranks[0].step(7)
    group.ranks[1].step()
    with pytest.raises(RankDivergence, match="differ in step: lowest no number, highest 7, this rank 7"):
        group.ranks[0].drain()


def test_a_rank_that_never_resets_with_the_others_is_found_after_a_while(three: Group) -> None:
    three.ranks[0].reset()
    three.ranks[1].reset()
    for _ in range(VOID_LIMIT + 1):
        three.step()
    for own, error in zip((1, 1, 0), three.results(), strict=True):
        assert isinstance(error, RankDivergence)
        assert (error.word, error.round) == ("epoch", VOID_LIMIT + 1)
        assert (error.lowest, error.highest, error.own) == (0, 1, own)


def offer_of(own: int, epoch: int = 0) -> tuple[Offer, tuple[int, ...]]:
    """An offer and its vector; `own` is its digest."""
    offer = Offer((1,), False, 0, 1, 1, 5, NO_STEP_NUMBER, epoch, (Lane("write", "prefix"),))
    return offer, offer.sealed((own,))


SMALLEST, LARGEST = -(1 << 63), (1 << 63) - 1


@pytest.mark.parametrize(("mine", "yours"), [(SMALLEST, 0), (SMALLEST, SMALLEST + 1), (LARGEST, SMALLEST), (0, -1)])
def test_the_complement_tells_any_two_words_apart_also_the_smallest(mine: int, yours: int) -> None:
    offers = [offer_of(mine), offer_of(yours)]
    vector = list(map(min, offers[0][1], offers[1][1]))
    assert all(SMALLEST <= word <= LARGEST for word in vector)
    for offer, _ in offers:
        with pytest.raises(RankDivergence) as caught:
            agreement(offer, vector)
        assert (caught.value.lowest, caught.value.highest) == (min(mine, yours), max(mine, yours))


def test_an_agreed_word_that_this_rank_did_not_offer_is_a_difference() -> None:
    with pytest.raises(RankDivergence, match="round 1: the ranks differ in epoch: lowest 3, highest 3, this rank 0"):
        agreement(offer_of(1)[0], offer_of(1, epoch=3)[1])


@pytest.mark.parametrize("least", [2, -1])
def test_an_agreed_count_that_no_minimum_gives_is_named(least: int) -> None:
    offer, (_, *rest) = offer_of(1)
    vector = (least, *rest)
    with pytest.raises(
        RankDivergence, match=f"lane 'write': agreed on {least} where this rank offered 1, which no MIN"
    ):
        agreement(offer, vector)
    assert agreement(offer, vector, follows=True).counts == (least,)


def test_the_length_of_a_vector_is_three_words_a_lane_and_thirteen() -> None:
    assert len(offer_of(1)[1]) == 16


def test_the_word_of_a_change_is_above_that_of_no_change() -> None:
    changes = [Change(detach=(name,)) for name in "abc"] + [Change(fall_back=True), Change((("a", "size"),))]
    assert len({change.word for change in changes}) == len(changes)
    assert all(0 < change.word <= LARGEST for change in changes)
