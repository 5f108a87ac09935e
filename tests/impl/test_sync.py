"""Blocking and pipelined agreement, on ranks joined in memory."""

import threading
from collections.abc import Callable

import pytest

from rankproof.impl.acks import FINISHED, Ack
from rankproof.impl.errors import Misuse, RankDivergence, StepTimeout
from rankproof.impl.frame import StepResult
from rankproof.impl.sync import AckSync, BlockingAckSync, PipelinedAckSync
from tests.impl.conftest import DEADLINE, LANES, Group, Kind, ManualEvent, MemoryNetwork, every_call, group_of, names


def history(kind: Kind) -> list[list[str]]:
    """What each of five steps pops while acks finish on three ranks at different times."""
    group = group_of(kind, world=3)
    finishing: list[dict[str, list[int]]] = [{"a": [0, 1]}, {"a": [2], "b": [0, 1, 2]}, {"c": [0, 1]}, {"c": [2]}, {}]
    group.enqueue("a", "b", "c")
    popped = []
    for finished in finishing:
        for identity, ranks in finished.items():
            group.finish(identity, on=ranks)
        popped.append(group.step())
    return popped


def test_pipelined_pops_in_each_step_what_blocking_popped_a_step_before() -> None:
    blocking = history(BlockingAckSync)
    assert blocking == [[], ["a", "b"], [], ["c"], []]
    assert history(PipelinedAckSync) == [[], *blocking[:-1]]


def test_only_what_is_finished_on_every_rank_is_popped(either: Group) -> None:
    either.enqueue("a", "b")
    either.finish("a", "b", on=[0])
    either.finish("a", on=[1])
    assert either.step() + either.step() == ["a"]
    assert either.ranks[0].waiting("write") == ("b",)


def test_what_is_finished_behind_an_unfinished_ack_is_not_popped(either: Group) -> None:
    either.enqueue("a", "b")
    either.finish("b")
    assert either.step() + either.step() == []
    assert either.ranks[0].waiting("write") == ("a", "b")


def test_lanes_are_agreed_on_separately(either: Group) -> None:
    either.enqueue("a")
    either.enqueue("x", "y", lane="load")
    either.finish("x", "y")
    assert either.step("load") + either.step("load") == ["x", "y"]
    assert either.ranks[0].waiting("write") == ("a",)


def test_a_storage_lane_is_popped_by_its_length(either: Group) -> None:
    either.ranks[0].enqueue("backup", Ack(1, FINISHED))
    either.ranks[0].enqueue("backup", Ack(2, FINISHED))
    either.ranks[1].enqueue("backup", Ack(1, FINISHED))
    assert either.step("backup") + either.step("backup") == ["1"]
    assert either.ranks[0].waiting("backup") == (2,)


def test_a_pipelined_rank_counts_what_is_left_after_its_pops(pipelined: Group) -> None:
    pipelined.enqueue("a", "b")
    pipelined.finish("a")
    pipelined.step()
    pipelined.finish("b")
    pipelined.step()
    assert pipelined.counts(0) == [(1, 0, 0), (1, 0, 0)]


def test_a_round_is_issued_in_every_step_also_when_all_lanes_are_empty(either: Group) -> None:
    either.step()
    either.step()
    assert either.counts(0) == either.counts(1) == [(0, 0, 0)] * 2


def test_a_step_says_which_rounds_it_consumed_and_issued(pipelined: Group) -> None:
    pipelined.enqueue("a")
    pipelined.finish("a")
    first, second = pipelined.ranks
    first.step(), second.step()
    result = first.step()
    assert (result.consumed, result.issued) == ([1], 2)
    assert result.agreed == {"write": 1, "load": 0, "backup": 0}
    assert names(result) == ["a"]


def test_a_pipelined_rank_may_be_one_round_ahead_and_no_more(pipelined: Group) -> None:
    pipelined.ranks[0].step()
    with pytest.raises(StepTimeout):
        pipelined.ranks[0].step()


@pytest.mark.parametrize("call", [AckSync.drain, AckSync.reset, AckSync.close])
def test_drain_reset_and_close_pop_what_is_in_flight_and_issue_nothing(
    pipelined: Group, call: Callable[[AckSync], StepResult]
) -> None:
    pipelined.enqueue("a", "b")
    pipelined.finish("a")
    pipelined.step()
    for rank in pipelined.ranks:
        assert rank.in_flight == 1
        result = call(rank)
        assert (names(result), result.consumed, result.issued, rank.in_flight) == (["a"], [1], None, 0)


def test_after_a_reset_no_result_of_before_pops_an_ack_of_after(pipelined: Group) -> None:
    pipelined.enqueue("a", "b")
    pipelined.finish("a", "b")
    pipelined.step()
    for rank in pipelined.ranks:
        rank.reset()
        assert rank.waiting("write") == ()
    pipelined.enqueue("c", "d")
    assert pipelined.step() + pipelined.step() == []
    assert pipelined.ranks[0].waiting("write") == ("c", "d")


def test_an_eviction_first_consumes_the_round_in_flight_then_waits_for_each_ack(pipelined: Group) -> None:
    pipelined.enqueue("a", "b")
    pipelined.enqueue("x", "y", lane="load")
    pipelined.finish("a", "x")
    pipelined.step()
    pipelined.finish("b")
    for rank, events in zip(pipelined.ranks, pipelined.events, strict=True):
        result = rank.evict("write")
        assert (names(result, "write"), names(result, "load"), result.consumed) == (["a", "b"], ["x"], [1])
        assert (rank.waiting("write"), rank.waiting("load"), rank.in_flight) == ((), ("y",), 0)
        assert [events[ack].synchronized for ack in "aby"] == [False, True, False]


def test_closing_lets_go_of_the_transport_once(pipelined: Group) -> None:
    rank, transport = pipelined.ranks[0], pipelined.network.transports[0]
    rank.close()
    assert transport.closed
    rank.close()
    for call in every_call(rank):
        with pytest.raises(Misuse, match=r"after close\(\)"):
            call()


def test_a_result_above_this_ranks_offer_is_a_divergence_and_pops_nothing() -> None:
    group = group_of(PipelinedAckSync, combine=max)
    group.enqueue("a", "b")
    group.finish("a", on=[0, 1])
    group.finish("b", on=[1])
    group.ranks[0].step(), group.ranks[1].step()
    with pytest.raises(RankDivergence, match="round 1, lane 'write': agreed on 2 where this rank offered 1"):
        group.ranks[0].step()
    assert group.ranks[0].waiting("write") == ("a", "b")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda rank: rank.enqueue("wirte", Ack("b", FINISHED)), "no lane 'wirte'; lanes are write, load, backup"),
        (lambda rank: rank.enqueue("write", Ack("a", FINISHED)), "ack 'a' waits here already"),
        (lambda rank: rank.evict("wirte"), "no lane 'wirte'"),
        (lambda rank: rank.waiting("wirte"), "no lane 'wirte'"),
        (lambda rank: rank.waiting(["write"]), r"no lane \['write'\]"),
        (lambda rank: rank.step(-1), "whole number of 0 or more that fits in 64 bits, not -1"),
        (lambda rank: rank.step(1.5), "whole number of 0 or more that fits in 64 bits, not 1.5"),
        (lambda rank: rank.step(1 << 63), "that fits in 64 bits"),
    ],
)
def test_misuse_changes_nothing(pipelined: Group, call: Callable[[AckSync], object], words: str) -> None:
    pipelined.enqueue("a")
    pipelined.finish("a")
    pipelined.step()
    before = pipelined.ranks[0].state()
    with pytest.raises(Misuse, match=words):
        call(pipelined.ranks[0])
    assert pipelined.ranks[0].state() == before
    assert pipelined.step() == ["a"]


def test_a_call_within_a_call_is_refused(pipelined: Group) -> None:
    rank = pipelined.ranks[0]
    refused = []

    class Nested(ManualEvent):
        def query(self) -> bool:
            with pytest.raises(Misuse, match="within another call") as caught:
                rank.step()
            refused.append(caught.value)
            return True

    rank.enqueue("write", Ack("a", Nested()))
    rank.step()
    assert (len(refused), rank.in_flight) == (1, 1)


def test_a_call_from_another_thread_is_refused_while_one_waits() -> None:
    network = MemoryNetwork(timeout=DEADLINE)
    rank, other = (BlockingAckSync(end, LANES) for end in network.transports)
    thread = threading.Thread(target=rank.step, daemon=True)
    thread.start()
    with network.changed:
        assert network.changed.wait_for(lambda: network.offers[0], DEADLINE)
    for call in (rank.step, rank.drain, rank.reset, rank.close, rank.fall_back):
        with pytest.raises(Misuse, match="within another call; make all calls from one thread"):
            call()
    other.step()
    thread.join(DEADLINE)
    assert (rank.state(), thread.is_alive()) == (other.state().replace("rank 1", "rank 0"), False)


def test_a_group_of_one_is_refused() -> None:
    with pytest.raises(Misuse, match="2 ranks or more"):
        PipelinedAckSync(MemoryNetwork(world=1).transports[0], {"write": "prefix"})


def test_a_group_without_lanes_is_refused() -> None:
    with pytest.raises(Misuse, match="at least one lane"):
        PipelinedAckSync(MemoryNetwork().transports[0], {})
