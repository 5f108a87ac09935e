"""A pipeline on real gloo groups: what later stages ask for and find is heard by every rank, in a bounded time."""

import threading
import time

import pytest

from rankproof.impl.acks import FINISHED, Ack
from rankproof.impl.answers import Finding
from rankproof.impl.chain import OUTSTANDING, FollowerAckSync
from rankproof.impl.errors import Misuse, PeerLost, RankDivergence, StepTimeout, SyncError
from rankproof.impl.frame import StepResult
from rankproof.impl.plan import Topology
from rankproof.impl.sync import AckSync
from tests.impl.conftest import DEADLINE, Group, Open, names

PIPELINES = [Topology(pp=2), Topology(pp=3), Topology(tp=2, pp=2), Topology(tp=2, cp=2, pp=2)]
pipelines = pytest.mark.parametrize("topology", PIPELINES, ids=str)


def steps(rank: AckSync, number: int) -> None:
    for _ in range(number):
        rank.step()


def changes(group: Group, number: int) -> list[str]:
    """What changed in each of some steps, the same on every rank."""
    seen: list[str] = []
    for _ in range(number):
        here = {result.changed for result in group.results() if isinstance(result, StepResult)}
        assert len(here) == 1
        seen += here
    return seen


def until_they_fail(group: Group, most: int) -> list[tuple[int, SyncError]]:
    """For each rank, how many steps it ended, and what the next one raised; all of them step at once."""
    ended: dict[AckSync, tuple[int, SyncError]] = {}

    def run(rank: AckSync) -> StepResult:
        for done in range(most):
            try:
                rank.step()
            except SyncError as error:
                ended[rank] = (done, error)
                break
        return StepResult()

    assert all(isinstance(result, StepResult) for result in group.results(run))
    return [ended[rank] for rank in group.ranks]


@pipelines
def test_lanes_come_and_go_on_every_stage_before_the_same_round(open_group: Open, topology: Topology) -> None:
    group = open_group(topology)
    on_the_way = OUTSTANDING * (topology.pp - 1)
    for rank in group.ranks:
        rank.attach({"hits": "size"})
    assert changes(group, on_the_way + 2) == [""] * (on_the_way + 1) + ["attach hits (size)"]
    for rank in group.ranks:
        rank.enqueue("hits", Ack("x", FINISHED))
    assert group.step("hits") == ["x"]
    for rank in group.ranks:
        rank.enqueue("hits", Ack("y", FINISHED))
        rank.detach("hits")
    assert changes(group, on_the_way + 2) == [""] * (on_the_way + 1) + ["detach hits"]
    assert [(rank.epoch, list(rank.lanes)) for rank in group.ranks] == [(2, ["write", "load", "backup"])] * len(
        group.ranks
    )


@pytest.mark.parametrize("last", range(4))
def test_a_change_is_made_when_the_last_rank_has_asked_whichever_that_is(open_group: Open, last: int) -> None:
    group = open_group(Topology(tp=2, pp=2))
    for number, rank in enumerate(group.ranks):
        if number != last:
            rank.detach("load")
    assert changes(group, OUTSTANDING + 3) == [""] * (OUTSTANDING + 3)
    group.ranks[last].detach("load")
    wait = OUTSTANDING + 1 if last >= 2 else 1
    assert changes(group, wait + 1) == [""] * wait + ["detach load"]


def test_what_waits_in_a_detached_lane_is_handed_back_on_every_stage(open_group: Open) -> None:
    group = open_group(Topology(pp=2))
    group.enqueue("a", lane="load")
    for rank in group.ranks:
        rank.detach("load")
    changes(group, OUTSTANDING + 1)
    handed = [result.detached["load"] for result in group.results() if isinstance(result, StepResult)]
    assert [[ack.identity for ack in acks] for acks in handed] == [["a"], ["a"]]


def test_a_request_of_before_a_change_counts_for_nothing_after_it(open_group: Open) -> None:
    group = open_group(Topology(pp=2))
    leader, follower = group.ranks
    for rank in group.ranks:
        rank.attach({"hits": "size"})
    changes(group, OUTSTANDING + 2)
    leader.detach("hits")
    assert changes(group, OUTSTANDING + 2) == [""] * (OUTSTANDING + 2)
    follower.detach("hits")
    assert changes(group, OUTSTANDING + 2)[-1] == "detach hits"


def test_stages_that_ask_for_different_changes_are_told_so_in_the_same_round(open_group: Open) -> None:
    group = open_group(Topology(tp=2, pp=2))
    for rank in group.ranks[:3]:
        rank.attach({"hits": "size"})
    group.ranks[3].detach("load")
    failed = until_they_fail(group, OUTSTANDING + 1)
    for done, error in failed:
        assert isinstance(error, RankDivergence)
        assert (done, error.round, error.word) == (OUTSTANDING, OUTSTANDING + 1, "request")


@pytest.mark.parametrize("last", [0, 1, 2, 3])
def test_ranks_that_leave_one_after_the_other_wait_for_no_answer_that_does_not_come(
    open_group: Open, last: int
) -> None:
    group = open_group(Topology(tp=2, pp=2))
    for _ in range(OUTSTANDING + 1):
        group.results()
    order = [rank for number, rank in enumerate(group.ranks) if number != last] + [group.ranks[last]]
    for rank in order:
        rank.close()


def test_a_first_stage_that_closes_waits_for_the_steps_of_the_next(open_group: Open) -> None:
    leader, follower = open_group(Topology(pp=2)).ranks
    steps(leader, OUTSTANDING)
    closing = threading.Thread(target=leader.close, daemon=True)
    closing.start()
    steps(follower, OUTSTANDING)
    closing.join(DEADLINE)
    assert not closing.is_alive()
    follower.close()


def test_fall_back_is_refused_as_a_pipeline_is_blocking_and_it_goes_on(open_group: Open) -> None:
    group = open_group(Topology(pp=2))
    for rank in group.ranks:
        before = rank.state()
        with pytest.raises(Misuse, match=r"fall_back\(\) in a pipeline: it is blocking already"):
            rank.fall_back()
        assert (rank.state(), rank.mode) == (before, "blocking")
    group.enqueue("a")
    group.finish("a")
    assert group.step() == ["a"]


@pipelines
def test_all_stages_are_idle_after_the_same_round_and_none_while_one_holds_an_ack(
    open_group: Open, topology: Topology
) -> None:
    group = open_group(topology)
    group.ranks[-1].enqueue("backup", Ack("late", FINISHED))
    on_the_way = OUTSTANDING * (topology.pp - 1)
    for _ in range(on_the_way + 2):
        group.step()
        assert not any(rank.idle for rank in group.ranks)
    for rank in group.ranks[:-1]:
        rank.enqueue("backup", Ack("late", FINISHED))
    assert group.step("backup") == ["late"]
    seen = []
    for _ in range(on_the_way + 1):
        group.step()
        seen.append({rank.idle for rank in group.ranks})
    assert seen == [{False}] * on_the_way + [{True}]


def test_a_follower_waits_for_its_own_acks_before_it_pops(open_group: Open) -> None:
    group = open_group(Topology(pp=2))
    leader, follower = group.ranks
    assert isinstance(follower, FollowerAckSync)
    group.enqueue("a")
    group.finish("a", on=[0])
    assert names(leader.step()) == ["a"]
    results: list[StepResult] = []
    thread = threading.Thread(target=lambda: results.append(follower.step()), daemon=True)
    thread.start()
    thread.join(0.1)
    assert thread.is_alive()
    assert results == []
    group.finish("a", on=[1])
    thread.join(5)
    assert names(results[0]) == ["a"]


def test_a_follower_whose_ack_never_finishes_raises_at_the_deadline_and_pops_nothing(open_group: Open) -> None:
    group = open_group(Topology(pp=2), timeout=0.5)
    leader, follower = group.ranks
    group.enqueue("a", "b")
    group.finish("a", "b", on=[0])
    group.finish("a", on=[1])
    leader.step()
    with pytest.raises(StepTimeout, match=r"lane 'write': waited 0\.5 s for ack 'b' to finish on this rank") as caught:
        follower.step()
    assert caught.value.peers == ()
    assert follower.waiting("write") == ("a", "b")
    with pytest.raises((PeerLost, StepTimeout), match="; rank 1 left: lane 'write': waited"):
        steps(leader, OUTSTANDING + 1)


def test_a_follower_has_one_deadline_for_the_acks_of_all_lanes(open_group: Open) -> None:
    group = open_group(Topology(pp=2), timeout=2.0)
    leader, follower = group.ranks
    for lane in ("write", "load"):
        group.enqueue(lane, lane=lane)
        group.finish(lane, on=[0])
    leader.step()
    late = threading.Timer(1.5, lambda: group.finish("write", on=[1]))
    begun = time.monotonic()
    late.start()
    with pytest.raises(StepTimeout, match="for ack 'load' to finish on this rank"):
        follower.step()
    late.join()
    assert time.monotonic() - begun < 1.5 + 2.0  # a deadline a lane would be over only then


def test_a_leader_runs_ahead_of_its_follower_by_a_bounded_number_of_rounds(open_group: Open) -> None:
    leader, follower = open_group(Topology(pp=2), timeout=0.5).ranks
    steps(leader, OUTSTANDING)
    with pytest.raises(StepTimeout, match="round 1: stage 0 waited for the answer of stage 1 to round 1"):
        leader.step()
    with pytest.raises((PeerLost, StepTimeout), match="stage 1 waited for the counts of stage 0"):
        steps(follower, OUTSTANDING + 1)


@pytest.mark.parametrize(
    ("topology", "differs"),
    [(Topology(pp=2), 1), (Topology(pp=3), 1), (Topology(pp=3), 2), (Topology(tp=2, pp=2), 3)],
    ids=str,
)
def test_a_follower_with_other_acks_pops_none_and_every_other_rank_raises_the_same_within_the_bound(
    open_group: Open, topology: Topology, differs: int
) -> None:
    group = open_group(topology)
    for number, rank in enumerate(group.ranks):
        rank.enqueue("write", Ack("b" if number == differs else "a", FINISHED))
    failed = until_they_fail(group, 3 * OUTSTANDING)
    stage = topology.place(differs).pp
    heard = 1 + stage * OUTSTANDING
    for number, (_, error) in enumerate(failed):
        assert isinstance(error, RankDivergence), (number, error)
        assert error.word == "digest of lane write"
        below = topology.pp > 2 and stage < topology.place(number).pp
        assert error.round == (1 if number == differs or below else heard), (number, error)
    follower, leader = failed[differs][1], failed[0][1]
    assert isinstance(follower, RankDivergence)
    assert isinstance(leader, RankDivergence)
    assert group.ranks[differs].waiting("write") == ("b",)
    assert {leader.lowest, leader.highest} == {follower.lowest, follower.own}
    assert leader.own == follower.lowest
    found = f"rank {differs}, of a later stage, found in round 1 that the ranks differ in digest of lane write: lowest "
    assert found in str(leader)


def test_several_followers_that_differ_are_one_error(open_group: Open) -> None:
    group = open_group(Topology(tp=2, pp=2))
    group.ranks[2].enqueue("write", Ack("x", FINISHED))
    group.ranks[3].reset()
    failed = [error for _, error in until_they_fail(group, 3 * OUTSTANDING)]
    assert all(isinstance(error, RankDivergence) for error in failed)
    assert str(failed[0]).split(" [")[0] == str(failed[1]).split(" [")[0]
    assert "rank 3, of a later stage, found in round 1 that the ranks differ in epoch: lowest 0, highest 1" in str(
        failed[0]
    )


def test_a_follower_that_did_not_reset_with_the_first_stage_is_found(open_group: Open) -> None:
    group = open_group(Topology(pp=2))
    group.ranks[0].reset()
    (_, leader), (_, follower) = until_they_fail(group, 2 * OUTSTANDING)
    assert "differ in epoch: lowest 1, highest 1, this rank 0" in str(follower)
    assert f"round {1 + OUTSTANDING}: rank 1, of a later stage, found in round 1 that the ranks differ in epoch" in str(
        leader
    )


def test_a_difference_found_in_the_last_round_is_raised_by_close(open_group: Open) -> None:
    leader, follower = open_group(Topology(pp=2)).ranks
    leader.enqueue("write", Ack("a", FINISHED))
    leader.step()
    with pytest.raises(RankDivergence):
        follower.step()
    with pytest.raises(RankDivergence, match=r"rank 1, of a later stage, found in round 1 .* digest of lane write"):
        leader.close()


def test_a_lane_that_has_gone_meanwhile_is_named_as_it_was(open_group: Open) -> None:
    group = open_group(Topology(pp=2))
    leader, follower = group.ranks
    for rank in group.ranks:
        rank.detach("write")
    changes(group, OUTSTANDING)
    leader.enqueue("write", Ack("a", FINISHED))  # in the round before the change
    (_, first), (_, second) = until_they_fail(group, 2 * OUTSTANDING)
    assert isinstance(first, RankDivergence)
    assert isinstance(second, RankDivergence)
    assert (first.word, second.word) == ("digest of lane write",) * 2
    assert "write" not in leader.lanes
    assert "write" in follower.lanes


@pytest.mark.parametrize("agreed", [0, 7, -1, -(2**63), 2**63 - 1, -(2**40) - 5])
@pytest.mark.parametrize("number", [1, 9, 2**32 - 1, 2**32, 2**40 + 3])
def test_a_finding_comes_back_as_it_was_said(agreed: int, number: int) -> None:
    finding = Finding(word=8, rank=65535, round=number, agreed=agreed, own=~agreed)
    slots = finding.slots()
    assert all(0 <= slot < 2**63 for slot in slots)
    assert Finding.read(slots, number + OUTSTANDING) == finding


def test_the_min_of_two_findings_is_one_of_them() -> None:
    one, other = Finding(6, 3, 12, -5, 2**60), Finding(6, 2, 11, 2**62, -9)
    mixed = tuple(map(min, one.slots(), other.slots()))
    assert Finding.read(mixed, 14) == other


def test_a_follower_that_left_is_lost_with_its_reason(open_group: Open) -> None:
    leader, follower = open_group(Topology(pp=2)).ranks
    follower.close()
    with pytest.raises(PeerLost, match="; rank 1 left: closed after round 0"):
        steps(leader, OUTSTANDING + 1)
