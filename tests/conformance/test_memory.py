"""Ranks in one process: collectives mean what gloo's mean, and no end of a rank is an end of the harness."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rankproof.conformance.memory import MemoryRanks
from rankproof.conformance.outcome import Died, Hung, Ok, Outcome, Raised
from rankproof.model.errors import BadInput


@pytest.fixture(autouse=True)
def _subjects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


def ranks_of(subject: str, ranks: int = 2, timeout: float = 5.0, reply_within: float = 20.0) -> MemoryRanks:
    return MemoryRanks(ranks, factory=f"memory_subjects:{subject}", timeout=timeout, reply_within=reply_within)


def all_of(ranks: MemoryRanks, method: str = "step") -> list[Outcome]:
    for rank in range(ranks.world):
        ranks.send(rank, method)
    return [ranks.receive(rank) for rank in range(ranks.world)]


def said(outcomes: list[Outcome]) -> Iterator[str]:
    for outcome in outcomes:
        assert isinstance(outcome, Raised)
        yield outcome.message


@pytest.mark.parametrize(
    ("subject", "results"),
    [
        ("meets", [(0, 3), (0, 3), (0, 3)]),
        ("sums", [(3, 12), (3, 12), (3, 12)]),
        ("gathers", [(0, 1, 2, 11), (0, 1, 2, 11), (0, 1, 2, 11)]),
        ("trades", [(0, 0, 1, 0, 2, 0), (0, 1, 1, 1, 2, 1), (0, 2, 1, 2, 2, 2)]),
        ("passes_on", [2, 0, 1]),
        ("meets_twice", [(0, 3, 1, 2), (0, 3, 1, 2), (0, 3, 1, 2)]),
        ("meets_by_default", [(1, 0, 3), (1, 1, 3), (1, 2, 3)]),
        ("meets_in_a_thread", [(0, 3), (0, 3), (0, 3)]),
    ],
)
def test_collectives_mean_what_they_mean_on_gloo(subject: str, results: list[object]) -> None:
    with ranks_of(subject, ranks=3) as ranks:
        assert all_of(ranks) == [Ok(result) for result in results]
        assert all_of(ranks) == [Ok(result) for result in results]


def test_a_rank_that_waits_for_a_peer_is_suspended_and_goes_on_once_the_peer_has_come() -> None:
    with ranks_of("meets") as ranks:
        ranks.send(0, "step")
        assert ranks.receive(0, within=0.01) == Hung(0.01)
        ranks.send(1, "step")
        assert ranks.receive(1) == Ok((0, 4))
        assert ranks.receive(0) == Ok((0, 4))


def test_ranks_take_each_other_through_several_rounds_of_one_command() -> None:
    with ranks_of("meets_twice") as ranks:
        ranks.send(1, "step")
        ranks.send(0, "step")
        assert ranks.receive(1) == Ok((0, 4, 1, 3))


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (
            "differs_in_length",
            "rank 1 issued all_reduce MIN of float32[3] where rank 0 issued all_reduce MIN of float32[2]",
        ),
        ("differs_in_type", "rank 1 issued all_reduce MIN of int64[2] where rank 0 issued all_reduce MIN of int32[2]"),
        ("differs_in_operation", "rank 1 issued all_reduce MIN of float32[2] where rank 0 issued all_reduce MAX of"),
        ("differs_in_kind", "rank 1 issued barrier where rank 0 issued all_reduce SUM of float32[2]"),
    ],
)
def test_collectives_that_meet_and_differ_are_an_error_on_every_rank_and_the_end_of_the_group(
    subject: str, words: str
) -> None:
    with ranks_of(subject) as ranks:
        assert all(words in message for message in said(all_of(ranks)))
        ranks.send(0, "reset")
        assert words in next(said([ranks.receive(0)]))


def test_the_deadline_of_a_wait_that_cannot_end_comes_at_once_and_is_the_end_of_the_group() -> None:
    began = time.monotonic()
    with ranks_of("meets", timeout=30.0, reply_within=90.0) as ranks:
        assert list(said([ranks.call(1, "step")])) == ["Timed out waiting 30000ms for all_reduce MIN of int64[2]"]
        ranks.call(0, "step")
        assert "on rank 1, and the group is lost" in next(said([ranks.call(0, "step")]))
    assert time.monotonic() - began < 10


def test_a_short_wait_that_runs_out_leaves_the_group_usable() -> None:
    with ranks_of("waits_a_little") as ranks:
        assert ranks.call(0, "step") == Ok()
        assert list(said([ranks.call(0, "reset")])) == ["Timed out waiting 500ms for all_reduce MIN of int64[1]"]
        assert ranks.call(1, "step") == Ok()
        assert [ranks.call(rank, "reset") for rank in (0, 1)] == [Ok(), Ok()]
        ranks.call(1, "step")
        ranks.send(1, "reset")
        ranks.call(0, "step")
        assert ranks.receive(1) == Ok()


def test_a_result_is_not_there_before_the_wait_even_if_every_rank_has_issued() -> None:
    with ranks_of("looks_early") as ranks:
        all_of(ranks)
        assert all_of(ranks, "reset") == [Ok((1, 1, True)), Ok((2, 1, True))]


def test_a_rank_that_polls_sees_the_result_when_it_is_told_that_the_work_is_complete() -> None:
    with ranks_of("polls") as ranks:
        ranks.call(1, "step")
        assert ranks.call(1, "reset") == Ok((False, 2))
        ranks.call(0, "step")
        assert ranks.call(1, "reset") == Ok((True, 1))


def test_writing_into_a_tensor_in_flight_is_an_error_at_the_wait() -> None:
    with ranks_of("writes_early") as ranks:
        all_of(ranks)
        assert "wrote into the tensor of its all_reduce MIN" in next(said([ranks.call(0, "reset")]))


def test_a_collective_that_could_not_land_has_not_landed_at_the_next_wait_either() -> None:
    with ranks_of("writes_early_and_waits_twice") as ranks:
        all_of(ranks)
        outcome = ranks.call(0, "reset")
    assert isinstance(outcome, Ok)
    assert isinstance(outcome.value, list)
    assert ["wrote into the tensor of its all_reduce MIN" in each for each in outcome.value] == [True] * 3


def test_a_tensor_that_holds_what_equals_nothing_was_not_written() -> None:
    with ranks_of("sums_what_is_no_number") as ranks:
        assert all_of(ranks) == [Ok(("nan", "3.0"))] * 2


@pytest.mark.parametrize(
    ("subject", "what"),
    [("reduces_to_one", "reduce"), ("trades_given_sizes", "all_to_all_single in pieces of given sizes")],
)
def test_what_only_processes_have_is_refused_and_remembered(subject: str, what: str) -> None:
    with ranks_of(subject) as ranks:
        assert ranks.call(0, "step") == Raised("Unsupported", f"the in-memory group has no {what}")
        assert ranks.unsupported == f"the in-memory group has no {what}"
        ranks.renew()
        assert ranks.unsupported == f"the in-memory group has no {what}"


def test_what_a_rank_gave_stays_as_it_was_also_where_it_goes_on_to_change_it() -> None:
    with ranks_of("keeps_what_it_gave") as ranks:
        first, second = ranks.call(1, "step"), ranks.call(1, "step")
        assert (first, second) == (Ok([1]), Ok([1, 1]))


def test_an_exchange_that_cannot_be_cut_into_equal_pieces_is_refused_where_it_is_issued() -> None:
    with ranks_of("trades_what_cannot_be_cut") as ranks:
        assert ranks.call(0, "step") == Raised("ValueError", "[3] into [3] in 2 equal pieces: it cannot be cut")


def test_a_rank_that_blocks_in_something_else_hung_and_the_others_and_the_next_group_go_on() -> None:
    with ranks_of("sleeps", reply_within=0.3) as ranks:
        hung = ranks.call(1, "step")
        assert hung == Hung(0.3)
        assert isinstance(hung, Hung)
        assert "in asleep\n    time.sleep(3600 if rank else 0)" in hung.last_words
        assert ranks.call(0, "step") == Ok()
        with pytest.raises(RuntimeError, match="rank 1 still owes the reply to step"):
            ranks.send(1, "flush")
        assert ranks.regroup() == (Ok(), None)
        assert ranks.call(1, "evict", 4).__str__().endswith("in_flight=4, error=None)")


def test_a_rank_that_leaves_has_died_and_its_peers_lose_it() -> None:
    with ranks_of("exits") as ranks:
        assert ranks.call(1, "step") == Died(3)
        assert ranks.call(1, "step") == Died(3)
        assert list(said([ranks.call(0, "reset")])) == ["Connection closed by peer: rank 1 has ended"]
        ranks.renew()
        assert all_of(ranks, "reset") == [Ok((0, 4)), Ok((0, 4))]


def test_a_rank_that_is_killed_within_a_wait_is_lost_to_its_peers() -> None:
    with ranks_of("meets") as ranks:
        ranks.send(0, "step")
        ranks.kill(0)
        assert ranks.call(1, "step") == Ok((0, 4)), "what it issued before counts"
        assert list(said([ranks.call(1, "step")])) == ["Connection closed by peer: rank 0 has ended"]
        assert ranks.receive(0) == Died(-9)


def test_a_setup_that_hangs_on_every_rank_is_told_after_the_limit_of_one() -> None:
    began, limit = time.monotonic(), 2.0
    ranks = MemoryRanks(8, factory="pool_subjects:HangsInSetup", timeout=0.1, reply_within=0.3, setup_within=limit)
    with pytest.raises(BadInput, match=r"setup on rank 0 hung: no reply within 2 s"), ranks:
        pass
    assert time.monotonic() - began < 4 * limit


def test_a_factory_that_cannot_be_used_is_bad_input_in_one_line() -> None:
    with pytest.raises(BadInput, match="cannot import 'nowhere'"), MemoryRanks(2, factory="nowhere:x"):
        pass
    with pytest.raises(BadInput, match="there is at least 1 rank, not 0"):
        MemoryRanks(0, factory="nowhere:x")


def test_a_wait_in_a_thread_of_the_subjects_own_ends_when_its_peers_have_come_and_not_at_its_deadline() -> None:
    began = time.monotonic()
    with ranks_of("meets_in_a_thread", timeout=20.0) as ranks:
        assert all_of(ranks) == [Ok((0, 4)), Ok((0, 4))]
    assert time.monotonic() - began < 10


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a thread where it may run")
def test_threads_that_take_turns_share_a_core_as_a_batch_and_what_comes_after_does_not() -> None:
    os.sched_setaffinity(0, range(os.cpu_count() or 1))  # or what an earlier test has left would do as well
    allowed = os.sched_getaffinity(0)
    with MemoryRanks(2, factory="rankproof.conformance.reference:pipelined", timeout=3.0) as ranks:
        (here,) = os.sched_getaffinity(0)
        threads = [seat._thread.native_id or 0 for seat in ranks._seats]
        assert [os.sched_getaffinity(thread) for thread in threads] == [{here}] * 2
        assert {os.sched_getscheduler(thread) for thread in (0, *threads)} == {os.SCHED_BATCH}
    assert os.sched_getaffinity(0) == allowed
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a thread where it may run")
def test_where_a_thread_may_ask_for_no_core_ranks_run_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setaffinity", refused)
    monkeypatch.setattr(os, "sched_setscheduler", refused)
    with ranks_of("meets") as ranks:
        assert all_of(ranks) == [Ok((0, 4)), Ok((0, 4))]
