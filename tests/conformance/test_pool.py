"""The pool turns every end of a command into an outcome, and sets fresh subjects up on fresh groups."""

from __future__ import annotations

import re
import signal
import time
from dataclasses import replace
from typing import Any

import pytest

from rankproof.conformance.launcher import Launcher
from rankproof.conformance.outcome import Died, Hung, Ok, Raised
from rankproof.conformance.pool import RankPool
from rankproof.conformance.rank_process import RankProcess
from rankproof.conformance.subject import Observation
from rankproof.model.errors import BadInput
from tests.conformance.pool_marks import ECHO, minima, value

SOON = 0.05
"""Enough to see that no reply comes from a rank that cannot reply."""

pytestmark = pytest.mark.processes


# Outcomes


def test_each_rank_answers_for_itself(pool: RankPool) -> None:
    for rank in range(2):
        assert pool.call(rank, "enqueue", 1, 40 + rank) == Ok()
    steps = [pool.call(rank, "step") for rank in range(2)]
    assert steps == [Ok(Observation(popped=((), (40 + rank,)), left=((), ()))) for rank in range(2)]


def test_setup_tells_each_rank_its_place(launcher: Launcher) -> None:
    with RankPool(2, factory=ECHO, lanes=("write",), timeout=3, launcher=launcher) as pool:
        configs = [value(pool.call(rank, "config_seen")) for rank in range(2)]
    assert [(c.rank, c.world, c.lanes, c.timeout) for c in configs] == [(0, 2, ("write",), 3), (1, 2, ("write",), 3)]  # type: ignore[attr-defined]


class Living:
    """A process that has not ended."""

    def wait(self, within: float) -> bool:
        assert within == 0, "nobody waits to see whether a rank is idle"
        return False


@pytest.mark.parametrize("busy", [{"stopped": True}, {"owes": "step"}, {"died": Died(1)}])
def test_only_a_rank_that_lives_runs_and_owes_nothing_is_asked_for_more(busy: dict[str, Any]) -> None:
    idle = RankProcess(Living())  # type: ignore[arg-type]
    assert idle.is_idle
    assert not replace(idle, **busy).is_idle


def test_what_became_of_a_close_that_was_a_command_is_told_when_fresh_subjects_are_made(pool: RankPool) -> None:
    assert [pool.call(rank, "close") for rank in range(2)] == [Ok(), Ok()]
    assert pool.renew() == (Ok(), Ok())


def test_what_was_raised_aside_is_the_outcome_of_the_command_under_way_and_of_no_other(pool: RankPool) -> None:
    pool.aside(0, "throw", "aside")
    assert pool.call(0, "echo", 1) == Raised("ValueError", "aside")
    assert [pool.call(rank, "echo", 2) for rank in range(2)] == [Ok(2), Ok(2)]


@pytest.mark.parametrize("kind", ["observation", "trap", "module"])
def test_a_value_of_the_subjects_own_making_is_told_from_a_plain_one_and_never_read(
    launcher: Launcher, kind: str
) -> None:
    with RankPool(1, factory="pool_subjects:ReturnsItsOwnTypes", launcher=launcher) as pool:
        outcome = pool.call(0, "give", kind)
        assert isinstance(outcome, Raised)
        assert outcome.message.startswith("give() returned ")
        assert pool.call(0, "raise_without_words") == Raised("ValueError", "\\ud800")


def test_a_pool_of_more_ranks_than_a_machine_holds_is_bad_input() -> None:
    with pytest.raises(BadInput, match="a pool has 1 to 64 ranks"):
        RankPool(500, factory=ECHO)


def test_an_exception_is_an_outcome_with_its_kind_and_message(pool: RankPool) -> None:
    assert pool.call(0, "throw", "boo") == Raised("ValueError", "boo")
    assert "in throw" in pool.last_words(0)
    assert pool.call(0, "echo", 1) == Ok(1)


def test_an_answer_that_cannot_be_sent_is_an_outcome(pool: RankPool) -> None:
    outcome = pool.call(0, "give_a_lambda")
    assert isinstance(outcome, Raised)
    assert "give_a_lambda() returned" in outcome.message
    assert pool.call(0, "echo", 1) == Ok(1)


@pytest.mark.parametrize(
    ("method", "arguments", "died", "shown"),
    [
        ("exit", (7,), Died(7), "died: exit code 7"),
        ("exit_at_once", (0,), Died(0), "died: exit code 0"),
        ("abort", (), Died(-signal.SIGABRT), "died: SIGABRT"),
    ],
)
def test_a_process_that_ends_is_an_outcome_with_its_code(
    pool: RankPool, method: str, arguments: tuple[int, ...], died: Died, shown: str
) -> None:
    outcome = pool.call(1, method, *arguments)
    assert outcome == died
    assert str(outcome) == shown
    assert pool.call(1, "echo", 1) == died, "a dead rank stays dead"
    assert pool.call(0, "echo", 1) == Ok(1), "the other rank lives on"


def test_a_death_is_seen_although_a_child_keeps_the_channel_open(pool: RankPool) -> None:
    outcome = pool.call(1, "leave_a_child_and_exit", within=SOON)
    patience = time.monotonic() + 20
    while isinstance(outcome, Hung) and time.monotonic() < patience:
        outcome = pool.receive(1, within=SOON)
    assert outcome == Died(9)


def test_a_rank_that_closes_its_channel_and_goes_on_is_killed_and_counts_as_dead_by_that(
    pool: RankPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankproof.conformance.rank_process._DEATH_WITHIN", 0.2)
    assert pool.call(1, "close_the_channel_and_go_on") == Died(-signal.SIGKILL)


def test_a_crash_in_native_code_names_the_python_line(pool: RankPool) -> None:
    outcome = pool.call(0, "abort")
    assert isinstance(outcome, Died)
    assert re.search(r'pool_subjects.py", line \d+ in abort', outcome.last_words)


def test_a_rank_that_died_between_two_commands_is_dead_at_the_next(pool: RankPool) -> None:
    pool.kill(0)
    assert pool.call(0, "echo", 1) == Died(-signal.SIGKILL)


def test_a_rank_that_does_not_reply_hangs_and_cannot_be_sent_another_command(pool: RankPool) -> None:
    assert pool.call(0, "hang", within=SOON) == Hung(SOON)
    with pytest.raises(RuntimeError, match="rank 0 still owes the reply to hang"):
        pool.send(0, "echo", 1)
    assert pool.call(1, "echo", 1) == Ok(1)


def test_a_late_reply_belongs_to_its_own_command(pool: RankPool) -> None:
    pool.kill(0, signal.SIGSTOP)
    assert pool.call(0, "echo", "late", within=SOON) == Hung(SOON)
    pool.kill(0, signal.SIGCONT)
    assert pool.receive(0) == Ok("late")
    assert pool.call(0, "echo", "next") == Ok("next")


def test_a_reply_to_an_older_command_is_not_taken_for_this_ones(pool: RankPool) -> None:
    assert pool.call(0, "answer_an_old_command_too") == Ok("new")
    assert pool.call(0, "echo", "next") == Ok("next")


def test_receiving_what_was_not_asked_for_is_an_error(pool: RankPool) -> None:
    with pytest.raises(RuntimeError, match="rank 0 owes no reply"):
        pool.receive(0)


def test_what_a_rank_writes_stays_off_the_terminal(pool: RankPool, capfd: pytest.CaptureFixture[str]) -> None:
    assert pool.call(0, "say", "noise") == Ok()
    assert pool.last_words(0).splitlines() == ["noise", "noise"]
    assert capfd.readouterr() == ("", "")


# Fresh groups


def test_regrouping_keeps_the_living_processes_with_fresh_subjects(pool: RankPool) -> None:
    before = pool.pids
    pool.call(0, "enqueue", 0, 1)
    assert pool.regroup() == (Ok(), Ok())
    assert pool.pids == before
    assert pool.call(0, "step") == Ok(Observation(popped=((), ()), left=((), ())))


def test_regrouping_replaces_only_the_ranks_that_are_dead_hung_or_stopped(launcher: Launcher) -> None:
    with RankPool(5, factory=ECHO, reply_within=2, launcher=launcher) as pool:
        before = pool.pids
        assert isinstance(pool.call(0, "exit", 1), Died)
        assert pool.call(1, "hang", within=SOON) == Hung(SOON)
        pool.kill(2)
        pool.kill(3, signal.SIGSTOP)
        closed = pool.regroup()
        assert closed == (Died(1), None, Died(-signal.SIGKILL), None, Ok())
        assert [old == new for old, new in zip(before, pool.pids, strict=True)] == [False] * 4 + [True]
        assert [pool.call(rank, "echo", rank) for rank in range(5)] == [Ok(rank) for rank in range(5)]


def test_a_subject_that_hangs_in_close_costs_its_process_and_no_more(launcher: Launcher) -> None:
    with RankPool(2, factory="pool_subjects:HangsInCloseOnRankOne", reply_within=1, launcher=launcher) as pool:
        kept, replaced = pool.pids
        assert pool.regroup(factory=ECHO) == (Ok(), Hung(1))
        assert pool.pids[0] == kept
        assert pool.pids[1] != replaced


def test_every_group_meets_in_a_file_of_its_own(launcher: Launcher) -> None:
    files = set()
    for _ in range(2):
        with RankPool(1, factory=ECHO, launcher=launcher) as pool:
            for _ in range(2):
                files.add(value(pool.call(0, "config_seen")).store_file)  # type: ignore[attr-defined]
                pool.regroup()
    assert len(files) == 4


def test_a_gloo_group_agrees_breaks_with_a_dead_rank_and_is_made_anew(launcher: Launcher) -> None:
    with RankPool(2, factory="pool_subjects:Minimum", timeout=30, launcher=launcher) as pool:
        for _ in range(3):
            assert minima(pool) == [Ok(10), Ok(10)]
            pool.send(0, "minimum")
            pool.kill(1)
            assert isinstance(pool.receive(0), Raised)
            pool.regroup()


def test_renewing_gives_fresh_subjects_on_the_same_group(launcher: Launcher) -> None:
    with RankPool(2, factory="pool_subjects:Minimum", launcher=launcher) as pool:
        pool.call(0, "enqueue", 0, 1)
        assert pool.renew() == (Ok(), Ok())
        assert pool.call(0, "step") == Ok(Observation(popped=((), ()), left=((), ())))
        assert minima(pool) == [Ok(10), Ok(10)]
        assert [pool.call(rank, "groups_seen") for rank in range(2)] == [Ok(1), Ok(1)]


def test_renewing_after_a_death_makes_a_fresh_group(launcher: Launcher) -> None:
    with RankPool(2, factory="pool_subjects:Minimum", launcher=launcher) as pool:
        pool.kill(1)
        assert pool.renew() == (Ok(), Died(-signal.SIGKILL))
        assert minima(pool) == [Ok(10), Ok(10)]
        assert [pool.call(rank, "groups_seen") for rank in range(2)] == [Ok(2), Ok(1)]
