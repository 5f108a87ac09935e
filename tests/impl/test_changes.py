"""Resets and changes of lanes or mode: all ranks come to the same vector in the same round, whenever each asked."""

import pytest

from rankproof.impl.acks import FINISHED, Ack, LaneKind
from rankproof.impl.errors import Misuse, RankDivergence, StepFailed
from rankproof.impl.frame import StepResult
from rankproof.impl.sync import AckSync, PipelinedAckSync
from tests.impl.conftest import DEADLINE, Group, MemoryNetwork, ThrowingEvent, names

LANES: dict[str, LaneKind] = {"write": "aligned", "load": "prefix"}
MORE: dict[str, LaneKind] = {"backup": "size", "hits": "size"}


def group_of(lag: int = 1, world: int = 3) -> Group:
    network = MemoryNetwork(world, DEADLINE)
    return Group([AckSync(end, LANES, lag, cumulative=lag > 1) for end in network.transports], network)


@pytest.fixture
def three() -> Group:
    return group_of()


def changes(group: Group, steps: int) -> list[str]:
    """What changed in each of some steps, the same on every rank."""
    seen = []
    for _ in range(steps):
        results = group.results()
        assert all(isinstance(result, StepResult) for result in results), results
        here = {result.changed for result in results if isinstance(result, StepResult)}
        assert len(here) == 1
        seen.append(here.pop())
    return seen


def lengths(group: Group) -> list[int]:
    """The length of the vector in each round, the same on every rank."""
    of_ranks = [[len(offer) for offer in offers] for offers in group.network.offers]
    assert all(mine == of_ranks[0] for mine in of_ranks)
    return of_ranks[0]


def test_lanes_are_attached_after_the_round_in_which_every_rank_has_asked(three: Group) -> None:
    seen = []
    for rank in three.ranks:
        rank.attach(MORE)
        seen += changes(three, 1)
    assert seen == ["", "", ""]
    assert changes(three, 2) == ["attach backup (size), attach hits (size)", ""]
    assert lengths(three) == [19, 19, 19, 25, 25]
    assert all(rank.lanes == LANES | MORE and rank.epoch == 1 for rank in three.ranks)


@pytest.mark.parametrize("lag", [0, 1, 2, 4])
def test_a_change_takes_effect_as_many_rounds_after_it_was_agreed_on_as_may_be_in_flight(lag: int) -> None:
    group = group_of(lag)
    changes(group, 6)
    for rank in group.ranks:
        rank.attach(MORE)
    wait = max(lag, 1)
    assert [bool(change) for change in changes(group, wait + 2)] == [False] * wait + [True, False]


def test_a_rank_that_drains_early_changes_in_the_same_round_as_the_others() -> None:
    group = group_of(lag=4)
    for rank in group.ranks:
        rank.attach(MORE)
    changes(group, 2)
    group.ranks[0].drain()
    assert [bool(change) for change in changes(group, 4)] == [False, False, True, False]
    assert len(set(lengths(group))) == 2


def test_an_attached_lane_is_agreed_on_like_the_others(three: Group) -> None:
    for rank in three.ranks:
        rank.attach(MORE)
    changes(three, 2)
    for rank in three.ranks:
        rank.enqueue("backup", Ack("x", FINISHED))
    assert [three.step("backup"), three.step("backup")] == [[], ["x"]]


def test_a_lane_is_not_there_before_every_rank_has_asked(three: Group) -> None:
    three.ranks[0].attach(MORE)
    changes(three, 3)
    with pytest.raises(Misuse, match="no lane 'backup'; lanes are write, load"):
        three.ranks[0].enqueue("backup", Ack("x", FINISHED))
    assert "; asks to attach backup (size), attach hits (size)" in three.ranks[0].state()


def test_what_waits_in_a_detached_lane_is_handed_back(three: Group) -> None:
    three.enqueue("a", "b", lane="load")
    three.finish("a")
    for rank in three.ranks:
        rank.detach("load")
    first, second = three.results(), three.results()
    assert [names(result, "load") for result in second if isinstance(result, StepResult)] == [["a"]] * 3
    handed = [result.detached["load"] for result in second if isinstance(result, StepResult)]
    assert [[ack.identity for ack in acks] for acks in handed] == [["b"]] * 3
    assert not any(result.detached for result in first if isinstance(result, StepResult))
    assert lengths(three) == [19, 16]
    assert three.step("write") == []


def test_a_detached_lane_that_comes_again_is_new(three: Group) -> None:
    three.enqueue("a", lane="load")
    for rank in three.ranks:
        rank.detach("load")
    changes(three, 2)
    for rank in three.ranks:
        rank.attach({"load": "prefix"})
    changes(three, 2)
    assert [rank.waiting("load") for rank in three.ranks] == [()] * 3
    assert changes(three, 3) == [""] * 3


def test_acks_of_the_lanes_that_stay_are_popped_across_a_change(three: Group) -> None:
    three.enqueue("a", "b")
    three.finish("a")
    for rank in three.ranks:
        rank.attach(MORE)
    assert three.step() == []
    three.finish("b")
    assert [three.step(), three.step()] == [["a"], ["b"]]


def test_ranks_that_ask_for_different_changes_are_told_so(three: Group) -> None:
    three.ranks[0].attach(MORE)
    three.ranks[1].detach("load")
    changes(three, 3)
    three.ranks[2].attach(MORE)
    changes(three, 1)
    errors = three.results()
    assert {(error.word, error.round) for error in errors if isinstance(error, RankDivergence)} == {("request", 4)}
    assert all(isinstance(error, RankDivergence) for error in errors)


@pytest.mark.parametrize("lag", [1, 4])
def test_after_a_fall_back_acks_are_popped_in_the_step_that_counts_them(lag: int) -> None:
    group = group_of(lag)
    for rank in group.ranks:
        rank.fall_back()
    assert changes(group, lag + 1) == [""] * lag + ["fall back to blocking"]
    assert [(rank.mode, rank.in_flight) for rank in group.ranks] == [("blocking", 0)] * 3
    group.enqueue("a")
    group.finish("a")
    assert group.step() == ["a"]


def test_a_failure_in_the_step_of_a_change_hands_nothing_out(three: Group) -> None:
    three.enqueue("a", "b", lane="load")
    three.finish("a")
    for rank in three.ranks:
        rank.detach("load")
    three.step()

    three.ranks[0].enqueue("write", Ack("bad", ThrowingEvent(RuntimeError("device lost"))))
    with pytest.raises(StepFailed, match="device lost"):
        three.ranks[0].step()
    assert three.ranks[0].waiting("load") == ("a", "b")


@pytest.mark.parametrize("lag", [1, 2, 4])
def test_ranks_that_reset_in_different_steps_pop_nothing_until_all_have(lag: int) -> None:
    group = group_of(lag)
    group.enqueue("a", "b")
    group.finish("a", "b")
    popped = []
    for rank in group.ranks:
        rank.reset()
        popped += group.step()
    assert popped == []
    group.enqueue("c")
    group.finish("c")
    popped = [name for _ in range(lag + 1) for name in group.step()]
    assert popped == ["c"]
    assert [rank.epoch for rank in group.ranks] == [1, 1, 1]


@pytest.mark.parametrize(("lane", "popped_before"), [("write", 0), ("load", 1)])
def test_an_ack_enqueued_between_an_early_reset_and_a_late_one_is_a_difference(lane: str, popped_before: int) -> None:
    group = group_of(world=2)
    early, late = group.ranks
    early.reset()
    group.enqueue("between", lane=lane)
    late.reset()
    group.enqueue("after", lane=lane)
    group.finish("between", "after")
    assert [rank.waiting(lane) for rank in group.ranks] == [("between", "after"), ("after",)]
    for _ in range(1 + popped_before):
        assert all(isinstance(result, StepResult) for result in group.results())
    for rank, error in zip(group.ranks, group.results(), strict=True):
        assert isinstance(error, RankDivergence)
        assert error.word == f"digest of lane {lane}"
        assert rank._lanes[lane].popped_count == popped_before


def test_a_reset_on_one_rank_gives_no_ack_of_another_epoch_to_anyone() -> None:
    group = group_of(world=2)
    group.enqueue("a", lane="load")
    group.finish("a")
    group.step()
    group.ranks[0].reset()
    for number, rank in enumerate(group.ranks):
        rank.enqueue("load", Ack(f"new{number}", FINISHED))
    assert names(group.ranks[1].drain(), "load") == ["a"]
    assert [group.step("load") for _ in range(3)] == [[], [], []]


def test_all_ranks_read_that_they_are_idle_from_the_same_round(three: Group) -> None:
    three.enqueue("a")
    three.finish("a", on=[0, 1])
    seen = []
    for step in range(5):
        if step == 1:
            three.finish("a", on=[2])
        three.step()
        seen.append([rank.idle for rank in three.ranks])
    assert seen == [[False] * 3, [False] * 3, [False] * 3, [True] * 3, [True] * 3]


def test_a_rank_that_asks_for_a_change_is_not_idle(three: Group) -> None:
    three.ranks[0].attach(MORE)
    changes(three, 3)
    assert not any(rank.idle for rank in three.ranks)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda rank: rank.attach({"write": "size"}), "lane 'write' is there already"),
        (lambda rank: rank.attach({"more": "newest"}), "of kind aligned or prefix or size"),
        (lambda rank: rank.attach({}), "at least one lane"),
        (lambda rank: rank.detach("wirte"), "no lane 'wirte'; lanes are write, load"),
        (lambda rank: rank.detach(), "name at least one lane, and leave at least one"),
        (lambda rank: rank.detach("write", "load"), "name at least one lane, and leave at least one"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused_and_changes_nothing(three: Group, call: object, words: str) -> None:
    before = three.ranks[0].state()
    with pytest.raises(Misuse, match=words):
        call(three.ranks[0])  # type: ignore[operator]
    assert three.ranks[0].state() == before


def test_one_change_is_asked_for_at_a_time(three: Group) -> None:
    three.ranks[0].attach(MORE)
    with pytest.raises(Misuse, match=r"fall_back\(\) while this rank asks to attach backup \(size\), attach hits"):
        three.ranks[0].fall_back()


def test_a_lag_that_cannot_be_is_refused() -> None:
    end = MemoryNetwork().transports[0]
    for lag, cumulative in ((-1, False), (2, False), (1.0, True), (True, True)):
        with pytest.raises(Misuse, match="cannot be"):
            AckSync(end, LANES, lag, cumulative=cumulative)  # type: ignore[arg-type]
    assert PipelinedAckSync(end, LANES).mode == "pipelined"
