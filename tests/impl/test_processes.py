"""The implementation on real gloo, one process a rank: agreement, and what the others see when one rank fails."""

import os
import re
import signal
import time

import pytest

from tests.impl.ranks import DIED, Ranks, Start

pytestmark = pytest.mark.processes


def test_pipelined_pops_a_step_later_than_blocking(start: Start) -> None:
    popped = {}
    for switch in ("0", "1"):
        ranks = start(switch=switch)
        ranks.each("enqueue", "a"), ranks.each("enqueue", "b")
        ranks.each("finish", "a")
        popped[switch] = [ranks.each("step")]
        ranks.each("finish", "b")
        popped[switch] += [ranks.each("step"), ranks.each("step")]
        assert ranks.each("in_flight") == int(switch)
    assert popped == {"0": [["a"], ["b"], []], "1": [[], ["a"], ["b"]]}


def test_four_ranks_pop_only_what_each_has_finished(start: Start) -> None:
    ranks = start(tp=4)
    for identity in "abc":
        ranks.each("enqueue", identity)
    ranks.each("finish", "a")
    for rank in range(3):
        ranks.ask(rank, "finish", "b")
    assert [ranks.each("step"), ranks.each("step"), ranks.each("step")] == [[], ["a"], []]
    ranks.ask(3, "finish", "b")
    assert [ranks.each("step"), ranks.each("step")] == [[], ["b"]]


def test_a_pipelined_step_does_not_wait_for_a_slower_rank_until_the_next(start: Start) -> None:
    ranks = start()
    assert ranks.ask(0, "step") == ("ok", [])
    ranks.tell(0, "step")
    assert ranks.ask(1, "step") == ("ok", [])
    assert ranks.hear(0) == ("ok", [])


@pytest.mark.parametrize(("call", "popped"), [("drain", ["a"]), ("reset", ["a"]), ("evict", ["a", "b"])])
def test_nothing_is_left_in_flight_and_the_group_goes_on(start: Start, call: str, popped: list[str]) -> None:
    ranks = start()
    ranks.each("enqueue", "a"), ranks.each("enqueue", "b")
    ranks.each("finish", "a")
    ranks.each("step")
    if call == "evict":
        ranks.each("finish", "b")
    assert (ranks.each(call), ranks.each("in_flight")) == (popped, 0)
    ranks.each("enqueue", "c")
    ranks.each("finish", "c")
    assert [ranks.each("step"), ranks.each("step")] == [[], [] if call == "drain" else ["c"]]


def test_close_pops_what_is_in_flight_and_touches_no_default_group(start: Start) -> None:
    ranks = start()
    ranks.each("enqueue", "a")
    ranks.each("finish", "a")
    ranks.each("step")
    assert (ranks.each("close"), ranks.each("in_flight")) == (["a"], 0)
    assert ranks.each("default_group_is_free")


@pytest.mark.parametrize("switch", ["0", "1"])
@pytest.mark.parametrize(("how", "error"), [(signal.SIGKILL, "PeerLost"), (signal.SIGSTOP, "StepTimeout")])
def test_a_rank_that_is_killed_or_stopped_is_an_error_on_every_other_within_the_deadline(
    start: Start, switch: str, how: signal.Signals, error: str
) -> None:
    timeout = 1.5
    ranks = start(tp=3, timeout=timeout, switch=switch)
    ranks.each("enqueue", "a")
    ranks.each("finish", "a")
    ranks.each("step"), ranks.all("drain")  # else one rank may be lost in this round, and another in the next
    ranks.each("enqueue", "b")
    ranks.each("finish", "b")
    signal_rank(ranks, 2, how)
    failed = ranks.until_they_fail(0, 1)
    assert sorted(failed) == [0, 1]
    assert error in {answer[1] for answer in failed.values()}
    for rank, (_, kind, text, seconds) in failed.items():
        assert kind in {"PeerLost", "StepTimeout"}
        assert seconds < timeout + 1
        named = re.match(
            r"round (\d+): waited for the MIN over 3 ranks, .*?\[rank (\d) of 3, [^]]*consumed (\d+);", text
        )
        assert named is not None
        assert [int(number) for number in named.groups()] == [int(named[1]), rank, int(named[1]) - 1]
        assert "; nothing heard of rank 2" in text
        assert f"rank {1 - rank} left: round {named[1]}" in text
        assert named[1] == "2"
        assert ranks.ask(rank, "waiting") == ("ok", ("b",))
        again = ranks.ask(rank, "drain")
        assert again[:2] == ("raised", kind)
        assert text in again[2]


@pytest.mark.parametrize(
    ("topology", "how", "lost"),
    [
        ({"tp": 2, "cp": 2}, signal.SIGKILL, 3),
        ({"tp": 2, "cp": 2}, signal.SIGSTOP, 0),
        ({"tp": 2, "pp": 2}, signal.SIGKILL, 0),
        ({"tp": 2, "pp": 2}, signal.SIGSTOP, 3),
    ],
    ids=str,
)
def test_a_lost_rank_is_an_error_on_every_other_in_a_grid_and_in_a_chain(
    start: Start, topology: dict[str, int], how: signal.Signals, lost: int
) -> None:
    timeout = 4.0  # also for the making of three groups
    ranks = start(timeout=timeout, **topology)
    ranks.each("step")
    signal_rank(ranks, lost, how)
    others = [rank for rank in range(4) if rank != lost]
    failed = ranks.until_they_fail(*others, steps=10)
    assert sorted(failed) == others
    assert {answer[1] for answer in failed.values()} <= {"PeerLost", "StepTimeout"}
    assert any(f"nothing heard of rank {lost}" in answer[2] for answer in failed.values())
    assert max(answer[3] for answer in failed.values()) < timeout + 1


def test_a_rank_whose_event_throws_tells_its_peers_why_it_left(start: Start) -> None:
    ranks = start(timeout=20.0)
    ranks.each("enqueue", "a")
    ranks.each("step")
    ranks.ask(0, "spoil", "a")
    thrown, _ = ranks.all("step")
    assert thrown[:2] == ("raised", "StepFailed")
    assert "the event is spoiled" in thrown[2]
    begun = time.monotonic()
    answer = ranks.ask(1, "step")
    assert answer[:2] == ("raised", "PeerLost")
    assert "; rank 0 left: step(): RuntimeError: the event is spoiled [rank 0 of 2, pipelined" in answer[2]
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize(
    ("call", "words"),
    [("close", "rank 0 left: closed after round 1"), ("leave_without_a_word", "nothing heard of rank 0")],
)
def test_a_rank_that_leaves_early_is_lost_to_its_peer(start: Start, call: str, words: str) -> None:
    ranks = start(timeout=20.0)
    ranks.each("step")
    left = ranks.ask(0, call)
    assert left == (DIED if call == "leave_without_a_word" else ("ok", []))
    begun = time.monotonic()
    (answer,) = ranks.until_they_fail(1).values()
    assert answer[1] == "PeerLost"
    assert words in answer[2]
    assert time.monotonic() - begun < 10


def signal_rank(ranks: Ranks, rank: int, how: signal.Signals) -> None:
    pid = ranks.processes[rank].pid
    assert pid is not None
    os.kill(pid, how)
