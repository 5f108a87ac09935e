"""The pool turns every end of a command into an outcome, and leaves no process behind in any path."""

from __future__ import annotations

import importlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rankproof.conformance.launcher import Launcher, Method
from rankproof.conformance.outcome import Died, Hung, Ok, Outcome, Raised
from rankproof.conformance.pool import RankPool
from rankproof.conformance.subject import Observation
from rankproof.model.errors import BadInput

HERE = Path(__file__).parent
ECHO = "pool_subjects:Echo"
MARK = "RANKPROOF_TEST_MARK"
SHARED = os.urandom(8).hex()  # the mark of the launcher that most tests share
SOON = 0.05  # enough to see that no reply comes from a rank that cannot reply

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE))
        patch.setenv(MARK, SHARED)
        launcher = Launcher()
    with launcher:
        yield launcher


@pytest.fixture
def pool(launcher: Launcher) -> Iterator[RankPool]:
    with RankPool(2, factory=ECHO, launcher=launcher) as pool:
        yield pool


def value(outcome: Outcome) -> object:
    assert isinstance(outcome, Ok), outcome
    return outcome.value


def minima(pool: RankPool) -> list[Outcome]:
    """What each rank says is the MIN of what all offer."""
    for rank in range(pool.world):
        pool.send(rank, "minimum")
    return [pool.receive(rank) for rank in range(pool.world)]


def alive(mark: str) -> list[int]:
    """The pids of the processes, zombies apart, that have `mark` in their environment."""
    entry = f"{MARK}={mark}".encode()
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and entry in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def comes_down_to(expected: set[int], mark: str, within: float = 30) -> bool:
    """Whether only the processes `expected` are left alive, soon: what a rank started is killed, but not waited for."""
    deadline = time.monotonic() + within
    while set(alive(mark)) != expected:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


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
        assert closed == (Died(1), None, Died(-signal.SIGKILL), Hung(2), Ok())
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


# Bad input


@pytest.mark.parametrize(
    ("factory", "line"),
    [
        ("pool_subjects", "factory 'pool_subjects' does not read package.module:callable"),
        ("a b:c", "factory 'a b:c' does not read package.module:callable"),
        ("nowhere:f", "factory 'nowhere:f': cannot import 'nowhere': ModuleNotFoundError: No module named 'nowhere'"),
        (
            "pool_subjects:make_eco",
            "factory 'pool_subjects:make_eco': unknown name 'make_eco'; did you mean 'make_echo'?",
        ),
        ("pool_subjects:number", "factory 'pool_subjects:number' is not callable, but of type 'int'"),
        (
            "pool_subjects:fails_to_make",
            "factory 'pool_subjects:fails_to_make' raised OSError: weights not found",
        ),
        (
            "pool_subjects:NoSteps",
            "factory 'pool_subjects:NoSteps' made an object of type 'NoSteps', which is no subject: "
            "it has no enqueue, finish, step, flush, reset, evict, reconfigure",
        ),
        (
            "pool_subjects:RaisesInSetupOnRankOne",
            "factory 'pool_subjects:RaisesInSetupOnRankOne': setup on rank 1 raised ValueError: no such device",
        ),
        (
            "pool_subjects:DiesInSetup",
            re.compile(r"factory 'pool_subjects:DiesInSetup': setup on rank \d died: exit code 3 \(last words\)"),
        ),
        (
            lambda: None,
            re.compile(r"factory 'tests\.conformance\.test_pool:<lambda>' cannot be sent to a rank \(.*\); define .*"),
        ),
    ],
)
def test_a_factory_that_cannot_be_used_is_one_line_that_names_it(
    launcher: Launcher, factory: str, line: str | re.Pattern[str]
) -> None:
    with pytest.raises(BadInput) as caught, RankPool(2, factory=factory, launcher=launcher):
        pass
    text = str(caught.value)
    assert "\n" not in text
    assert line == text if isinstance(line, str) else line.fullmatch(text), text


def test_a_callable_that_ranks_can_import_is_a_factory(launcher: Launcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    factory = importlib.import_module("pool_subjects").make_echo
    with RankPool(1, factory=factory, launcher=launcher) as pool:
        assert pool.call(0, "echo", 1) == Ok(1)


def test_a_pool_goes_on_after_a_factory_that_failed(pool: RankPool) -> None:
    with pytest.raises(BadInput, match="no such device"):
        pool.regroup(factory="pool_subjects:RaisesInSetupOnRankOne")
    pool.regroup(factory=ECHO)
    assert pool.call(0, "echo", 1) == Ok(1)


def test_an_interface_that_is_not_there_is_named(launcher: Launcher) -> None:
    pool = RankPool(1, factory="pool_subjects:MinimumOnNoInterface", launcher=launcher)
    with pytest.raises(BadInput, match=r"^GLOO_SOCKET_IFNAME names the interface 'nosuch0', which is not here; .*$"):
        pool.__enter__()


def test_a_module_that_cannot_be_preloaded_is_named() -> None:
    with Launcher("forkserver", preload=("nowhere",)) as launcher, pytest.raises(BadInput, match="import 'nowhere'"):
        launcher.start("rankproof.conformance.worker:serve")


# Ends


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A text in the environment of every process that the test starts, directly or not."""
    text = os.urandom(8).hex()
    monkeypatch.setenv(MARK, text)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)  # read TMPDIR again
    monkeypatch.syspath_prepend(str(HERE))
    return text


def use_and_leave(pool: RankPool) -> None:
    with pool:
        assert [pool.call(rank, "echo", rank) for rank in range(2)] == [Ok(0), Ok(1)]
        assert set(pool.pids) < set(alive(SHARED))
    assert not set(pool.pids) & set(alive(SHARED)), "the ranks themselves are gone when the block is left"


def use_and_fail_with_ranks_in_every_state(pool: RankPool) -> None:
    with pool:
        pool.send(0, "hang")
        pool.kill(1, signal.SIGSTOP)
        assert isinstance(pool.call(2, "exit", 1), Died)
        child = value(pool.call(3, "start_a_child"))
        assert {pool.pids[0], pool.pids[1], pool.pids[3], child} < set(alive(SHARED))
        raise ZeroDivisionError


def enter_and_drop(pool: RankPool) -> None:
    pool.__enter__()
    assert set(pool.pids) < set(alive(SHARED))


def test_nothing_is_left_after_a_block_that_ends_well(launcher: Launcher) -> None:
    use_and_leave(RankPool(2, factory=ECHO, launcher=launcher))
    assert comes_down_to({launcher.pid}, SHARED)


def test_nothing_is_left_after_an_exception_with_ranks_in_every_state(launcher: Launcher) -> None:
    with pytest.raises(ZeroDivisionError):
        use_and_fail_with_ranks_in_every_state(RankPool(4, factory="pool_subjects:HangsInClose", launcher=launcher))
    assert comes_down_to({launcher.pid}, SHARED)


def test_nothing_is_left_after_subjects_that_hang_in_close(launcher: Launcher) -> None:
    use_and_leave(RankPool(2, factory="pool_subjects:HangsInClose", reply_within=0.5, launcher=launcher))
    assert comes_down_to({launcher.pid}, SHARED)


def test_nothing_is_left_after_a_setup_that_fails(launcher: Launcher) -> None:
    with pytest.raises(BadInput) as kept:
        RankPool(2, factory="pool_subjects:RaisesInSetupOnRankOne", launcher=launcher).__enter__()
    assert comes_down_to({launcher.pid}, SHARED)
    assert kept.tb is not None, "what keeps the pool from being collected"


def test_a_pool_that_is_dropped_takes_its_processes_with_it(launcher: Launcher) -> None:
    enter_and_drop(RankPool(2, factory=ECHO, launcher=launcher))
    assert comes_down_to({launcher.pid}, SHARED)


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_a_launcher_leaves_nothing_with_either_method(mark: str, tmp_path: Path, method: Method) -> None:
    with Launcher(method) as launcher, RankPool(2, factory="pool_subjects:Minimum", launcher=launcher) as pool:
        assert minima(pool) == [Ok(10), Ok(10)]
        assert {launcher.pid, *pool.pids} == set(alive(mark))
    assert alive(mark) == []
    assert list(tmp_path.iterdir()) == []


def test_a_pool_ends_what_is_its_own_and_leaves_the_launcher_to_others(launcher: Launcher) -> None:
    with RankPool(1, factory=ECHO, launcher=launcher) as lasting:
        with RankPool(1, factory=ECHO, launcher=launcher):
            pass
        assert lasting.call(0, "echo", 1) == Ok(1)


def test_ranks_die_with_a_supervisor_that_is_killed(mark: str, tmp_path: Path) -> None:
    with Launcher() as launcher, RankPool(2, factory=ECHO, launcher=launcher) as pool:
        pool.kill(1, signal.SIGSTOP)
        os.kill(launcher.pid, signal.SIGKILL)
        assert comes_down_to(set(), mark)
        assert [pool.call(rank, "echo", 1) for rank in range(2)] == [Died(None), Died(None)]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_when_the_tool_is_ended_by_a_signal(mark: str, tmp_path: Path, signum: signal.Signals) -> None:
    tool = subprocess.Popen(
        [sys.executable, str(HERE / "pool_parent.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with tool:
        try:
            assert tool.stdout is not None
            assert tool.stdout.readline() == "ready\n"
            assert len(alive(mark)) == 6, "the tool, the supervisor, three ranks and a child of one"
            os.killpg(tool.pid, signum)  # to its whole group, as a terminal does
            _, errors = tool.communicate(timeout=60)
        finally:
            tool.kill()
    assert tool.returncode == -signum
    assert comes_down_to(set(), mark)
    assert list(tmp_path.iterdir()) == []
    assert errors.count("Traceback") == (signum == signal.SIGINT), "only the tool's own"
