"""Every topology on real gloo groups, with all ranks in one process, each in a thread of its own."""

import pytest
from torch._C._distributed_c10d import HashStore, PrefixStore

from rankproof.impl.acks import FINISHED, Ack, LaneKind
from rankproof.impl.errors import Misuse, RankDivergence
from rankproof.impl.frame import StepResult
from rankproof.impl.opening import open_ack_sync
from rankproof.impl.plan import Topology, plan_for
from rankproof.impl.sync import AckSync
from tests.impl.conftest import KINDS, Group, MemoryNetwork, Open, names, opened_together

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


def test_ranks_that_are_laid_out_differently_are_told_so_before_any_group_is_made() -> None:
    plans = [plan_for(Topology(tp=4)), plan_for(Topology(tp=2, cp=2))] + [plan_for(Topology(tp=4))] * 2
    with pytest.raises(RankDivergence, match=r"rank 1 is laid out as tp 2, cp 2, pp 1: grid, .* this rank 0 as tp 4"):
        opened_together(plans, PrefixStore("other", HashStore()), 2.0)


@pytest.mark.parametrize("kinds", [{"write": "newest"}, {}], ids=str)
def test_lanes_that_cannot_be_are_refused_before_any_other_rank_is_waited_for(kinds: dict[str, LaneKind]) -> None:
    with pytest.raises(Misuse):
        open_ack_sync(0, plan_for(Topology(tp=2)), HashStore(), kinds, 2.0)


def test_ranks_of_which_one_is_made_blocking_differ_in_the_first_round() -> None:
    plans = [plan_for(Topology(tp=2), environment={"RANKPROOF_ASYNC": switch}) for switch in "01"]
    group = Group(opened_together(plans, PrefixStore("mode", HashStore()), 5.0), MemoryNetwork())
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
        open_ack_sync(rank, plan_for(Topology(tp=2)), HashStore(), KINDS, timeout)
