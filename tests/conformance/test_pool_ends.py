"""No process is left behind, however a pool, a launcher or the tool that uses them ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from rankproof.conformance.launcher import Launcher, Method
from rankproof.conformance.outcome import Died, Ok
from rankproof.conformance.pool import RankPool
from rankproof.model.errors import BadInput
from tests.conformance.pool_marks import ECHO, HERE, MARK, SHARED, alive, appears, comes_down_to, minima, value

pytestmark = pytest.mark.processes


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


def test_what_a_rank_left_in_a_session_of_its_own_ends_with_the_launcher(mark: str) -> None:
    reply_within = 60.0
    with Launcher() as launcher, RankPool(1, factory=ECHO, reply_within=reply_within, launcher=launcher) as pool:
        left = value(pool.call(0, "leave_a_daemon"))
        pool.kill(0)
        assert set(alive(mark)) == {launcher.pid, left}
        killed = time.monotonic()
    assert time.monotonic() - killed < reply_within, "what it left holds its channel open, and is not waited for"
    assert comes_down_to(set(), mark)


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


IMPORTS_FOR_A_MINUTE = """
import pathlib, time
pathlib.Path(__file__).with_suffix(".begun").touch()
time.sleep(60)
"""

HOLDS_A_LAUNCHER = """
import time
from rankproof.conformance.launcher import Launcher
with Launcher(preload=("slow",)):
    time.sleep(60)
"""


def test_a_supervisor_that_still_imports_ends_with_a_tool_that_is_killed(mark: str, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(IMPORTS_FOR_A_MINUTE)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS_A_LAUNCHER], env={**os.environ, "PYTHONPATH": str(tmp_path)}
    ) as tool:
        try:
            assert appears(tmp_path / "slow.begun")
            assert len(alive(mark)) == 2, "the tool and the supervisor"
        finally:
            tool.kill()
    assert comes_down_to(set(), mark, within=20)


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
