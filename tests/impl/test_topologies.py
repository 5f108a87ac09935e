"""Every topology on real gloo groups, with all ranks in one process, each in a thread of its own."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
from torch._C._distributed_c10d import HashStore, PrefixStore

from rankproof.impl.acks import FINISHED, Ack, LaneKind
from rankproof.impl.chain import OUTSTANDING, FollowerAckSync
from rankproof.impl.errors import Misuse, PeerLost, RankDivergence, StepTimeout
from rankproof.impl.frame import StepResult
from rankproof.impl.opening import open_ack_sync
from rankproof.impl.plan import Plan, Topology, plan_for
from rankproof.impl.sync import AckSync
from tests.impl.conftest import Group, MemoryNetwork, names

LANES: dict[str, LaneKind] = {"write": "aligned", "load": "prefix", "backup": "size"}
Open = Callable[..., Group]


@pytest.fixture
def open_group() -> Iterator[Open]:
    """Opens all ranks of a topology, and closes what is left of them in the end."""
    opened: list[Group] = []
    store, number = HashStore(), count()

    def open_ranks(topology: Topology, depth: int = 1, timeout: float = 10.0) -> Group:
        plan = plan_for(topology, depth, {})
        ranks = together([plan] * topology.world, PrefixStore(str(next(number)), store), timeout)
        opened.append(Group(ranks, MemoryNetwork()))
        return opened[-1]

    yield open_ranks
    for group in opened:
        group.results(AckSync.close)


def together(plans: list[Plan], store: PrefixStore, timeout: float) -> list[AckSync]:
    with ThreadPoolExecutor(len(plans)) as pool:
        opening = [pool.submit(open_ack_sync, rank, plan, store, LANES, timeout) for rank, plan in enumerate(plans)]
        return [each.result() for each in opening]


def steps(rank: AckSync, number: int) -> None:
    for _ in range(number):
        rank.step()


TOPOLOGIES = [
    (Topology(tp=2), 1),
    (Topology(cp=2), 1),
    (Topology(tp=4), 1),
    (Topology(tp=2), 2),
    (Topology(tp=2), 4),
    (Topology(tp=2, cp=2), 1),
    (Topology(pp=2), 1),
    (Topology(pp=3), 1),
    (Topology(tp=2, pp=2), 1),
    (Topology(tp=2, cp=2, pp=2), 1),
]


@pytest.mark.parametrize(("topology", "depth"), TOPOLOGIES, ids=str)
def test_every_rank_pops_the_same_and_only_what_the_agreeing_ranks_have_finished(
    open_group: Open, topology: Topology, depth: int
) -> None:
    group = open_group(topology, depth)
    lag = group.ranks[0]._lag
    assert lag == (depth if topology.pp == 1 and 1 in (topology.tp, topology.cp) else 0)
    leaders = range(topology.tp * topology.cp)
    group.enqueue("a", "b", "c")
    group.finish("a")
    group.finish("b", on=leaders[:-1])
    group.finish("b", on=range(len(leaders), topology.world))
    popped = [group.step() for _ in range(lag + 1)]
    assert popped == [[]] * lag + [["a"]]
    group.finish("b")
    assert [group.step() for _ in range(lag + 1)] == [[]] * lag + [["b"]]
    assert all(rank.waiting("write") == ("c",) for rank in group.ranks)


@pytest.mark.parametrize("topology", [Topology(tp=2), Topology(tp=2, cp=2), Topology(tp=2, pp=2)], ids=str)
def test_reset_evict_and_close_work_in_every_topology(open_group: Open, topology: Topology) -> None:
    group = open_group(topology)
    group.enqueue("a", "b")
    group.finish("a")
    group.step()
    group.results(AckSync.reset)
    group.enqueue("c")
    group.finish("c")
    evicted = group.results(lambda rank: rank.evict("write"))
    assert [names(result) for result in evicted if isinstance(result, StepResult)] == [["c"]] * topology.world
    assert [rank.epoch for rank in group.ranks] == [1] * topology.world
    assert all(isinstance(result, StepResult) for result in group.results(AckSync.close))


@pytest.mark.parametrize("topology", [Topology(tp=2), Topology(tp=2, cp=2)], ids=str)
def test_lanes_are_attached_in_every_topology_in_which_all_ranks_have_a_part_in_the_min(
    open_group: Open, topology: Topology
) -> None:
    group = open_group(topology)
    for rank in group.ranks:
        rank.attach({"hits": "size"})
    group.step(), group.step()
    for rank in group.ranks:
        rank.enqueue("hits", Ack("x", FINISHED))
    assert group.step("hits") + group.step("hits") == ["x"]
    assert [rank.epoch for rank in group.ranks] == [1] * topology.world


@pytest.mark.parametrize(
    "change",
    [lambda rank: rank.attach({"hits": "size"}), lambda rank: rank.detach("load"), AckSync.fall_back],
    ids=["attach", "detach", "fall_back"],
)
def test_a_pipeline_refuses_a_change_on_every_rank_and_goes_on(
    open_group: Open, change: Callable[[AckSync], None]
) -> None:
    group = open_group(Topology(pp=2))
    for rank in group.ranks:
        before = rank.state()
        with pytest.raises(Misuse, match=r"\(\) in a pipeline: .*; close every rank, and open anew with"):
            change(rank)
        assert rank.state() == before
    group.enqueue("a")
    group.finish("a")
    assert group.step() == ["a"]


def test_in_a_pipeline_idle_is_that_of_the_first_stage_and_all_read_it_after_the_same_round(open_group: Open) -> None:
    group = open_group(Topology(pp=2))
    group.ranks[1].enqueue("backup", Ack("late", FINISHED))
    group.step()
    assert [rank.idle for rank in group.ranks] == [True, True]
    assert group.ranks[1].waiting("backup") == ("late",)


@pytest.mark.parametrize("topology", [Topology(tp=2, cp=2), Topology(tp=4)], ids=str)
def test_a_difference_on_one_rank_of_a_grid_is_raised_on_every_rank(open_group: Open, topology: Topology) -> None:
    group = open_group(topology)
    for rank, order in zip(group.ranks, ("ab", "ab", "ab", "ba"), strict=True):
        for identity in order:
            rank.enqueue("write", Ack(identity, FINISHED))
    group.results()
    causes = [error.__cause__ or error for error in group.results() if isinstance(error, RankDivergence)]
    seen = [(cause.word, cause.round) for cause in causes if isinstance(cause, RankDivergence)]
    assert seen == [("digest of lane write", 1)] * topology.world


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


def test_a_leader_runs_ahead_of_its_follower_by_a_bounded_number_of_rounds(open_group: Open) -> None:
    leader, follower = open_group(Topology(pp=2), timeout=0.5).ranks
    for _ in range(OUTSTANDING):
        leader.step()
    with pytest.raises(StepTimeout, match="round 1: stage 0 waited for stage 1 to take its counts"):
        leader.step()
    with pytest.raises((PeerLost, StepTimeout), match="stage 1 waited for the counts of stage 0"):
        steps(follower, OUTSTANDING + 1)


def test_a_follower_with_other_acks_is_found_before_it_pops(open_group: Open) -> None:
    leader, follower = open_group(Topology(pp=2), timeout=1.0).ranks
    leader.enqueue("write", Ack("a", FINISHED))
    follower.enqueue("write", Ack("b", FINISHED))
    leader.step()
    with pytest.raises(RankDivergence, match="round 1: the ranks differ in digest of lane write"):
        follower.step()
    assert follower.waiting("write") == ("b",)
    words = "; rank 1 left: round 1: the ranks differ in digest of lane write: lowest "
    with pytest.raises((PeerLost, StepTimeout), match=words):
        steps(leader, OUTSTANDING + 1)


def test_a_follower_that_did_not_reset_with_the_first_stage_is_found(open_group: Open) -> None:
    leader, follower = open_group(Topology(pp=2), timeout=1.0).ranks
    leader.reset()
    leader.step()
    with pytest.raises(RankDivergence, match="differ in epoch: lowest 1, highest 1, this rank 0"):
        follower.step()


def test_ranks_that_are_laid_out_differently_are_told_so_before_any_group_is_made() -> None:
    plans = [plan_for(Topology(tp=4)), plan_for(Topology(tp=2, cp=2))] + [plan_for(Topology(tp=4))] * 2
    with pytest.raises(RankDivergence, match=r"rank 1 is laid out as tp 2, cp 2, pp 1: grid, .* this rank 0 as tp 4"):
        together(plans, PrefixStore("other", HashStore()), 2.0)


@pytest.mark.parametrize("kinds", [{"write": "newest"}, {}], ids=str)
def test_lanes_that_cannot_be_are_refused_before_any_other_rank_is_waited_for(kinds: dict[str, LaneKind]) -> None:
    with pytest.raises(Misuse):
        open_ack_sync(0, plan_for(Topology(tp=2)), HashStore(), kinds, 2.0)


def test_ranks_of_which_one_is_made_blocking_differ_in_the_first_round() -> None:
    plans = [plan_for(Topology(tp=2), environment={"RANKPROOF_ASYNC": switch}) for switch in "01"]
    group = Group(together(plans, PrefixStore("mode", HashStore()), 5.0), MemoryNetwork())
    group.results()
    for error in group.results():
        assert isinstance(error, RankDivergence)
        assert "round 1: the ranks differ in mode" in str(error)


def test_several_instances_side_by_side_do_not_meet(open_group: Open) -> None:
    groups = [open_group(Topology(tp=2)), open_group(Topology(tp=2), 4), open_group(Topology(tp=2, pp=2))]
    for number, group in enumerate(groups):
        group.enqueue(f"{number}")
        group.finish(f"{number}")
    popped: list[list[str]] = [[], [], []]
    for _ in range(5):
        for number in (2, 0, 1):
            popped[number] += groups[number].step()
    assert popped == [["0"], ["1"], ["2"]]


@pytest.mark.parametrize(("rank", "timeout"), [(2, 1.0), (0, 0.0)])
def test_opening_with_impossible_numbers_is_refused(rank: int, timeout: float) -> None:
    with pytest.raises(Misuse):
        open_ack_sync(rank, plan_for(Topology(tp=2)), HashStore(), LANES, timeout)
