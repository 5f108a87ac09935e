"""Work on several cores: results in order, errors as they are, and no process left in whatever way it ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import getoutput

import pytest

from rankproof.parallel import each

COMMAND = [str(Path(sys.executable).with_name("rankproof"))]


def children() -> list[int]:
    return [child.pid or 0 for child in multiprocessing.active_children()]


def children_of(pid: int) -> set[int]:
    """The processes that a process has started and that are still there."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid and fields[0] != "Z":
                found.add(int(folder.name))
        except OSError:  # it has ended meanwhile
            continue
    return found


def wait_until(condition: Callable[[], bool], within: float) -> bool:
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_results_come_in_the_order_of_the_items_from_other_processes() -> None:
    results = list(each(getoutput, ["sleep 0.5; echo 1 $PPID", "sleep 0.2; echo 2 $PPID", "echo 3 $PPID"]))
    assert [line.split()[0] for line in results] == ["1", "2", "3"]
    assert str(os.getpid()) not in {line.split()[1] for line in results}
    assert children() == []


def test_one_item_needs_no_process() -> None:
    assert list(each(getoutput, ["echo $PPID"])) == [str(os.getpid())]


def test_nothing_gives_nothing() -> None:
    assert list(each(getoutput, [])) == []


def test_an_error_is_raised_here_and_leaves_no_process() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        list(each(int, ["1", "x"]))
    assert children() == []


def test_work_that_is_left_half_way_is_ended() -> None:
    results = each(time.sleep, [0, 60, 60, 60])
    assert next(results) is None
    began = time.monotonic()
    results.close()
    assert time.monotonic() - began < 20
    assert children() == []


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes by /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_is_left_when_the_matrix_is_ended_in_the_middle(how: signal.Signals, tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    with errors.open("w") as stream:
        process = subprocess.Popen([*COMMAND, "refute", "--matrix"], stdout=subprocess.DEVNULL, stderr=stream)
    started: set[int] = set()
    try:
        # Two workers at least, or one and the tracker of their semaphores where there is one core.
        assert wait_until(lambda: len(children_of(process.pid)) >= 2 or process.poll() is not None, within=60)
        time.sleep(0.5)  # any moment will do, from a worker's first import to its work
        assert process.poll() is None, errors.read_text()
        started = children_of(process.pid)
        process.send_signal(how)
        code = process.wait(timeout=30)
        assert wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started), within=15), started
    finally:
        process.kill()
        process.wait(timeout=10)
    if how is signal.SIGINT:
        assert (code, errors.read_text().splitlines()[-1]) == (130, "rankproof: interrupted")
        assert "Traceback" not in errors.read_text()
    else:
        assert code == -how


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes by /proc")
def test_ctrl_c_on_a_terminal_reaches_every_process_and_is_answered_once(tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    with errors.open("w") as stream:
        process = subprocess.Popen(
            [*COMMAND, "refute", "--matrix"], stdout=subprocess.DEVNULL, stderr=stream, start_new_session=True
        )
    try:
        assert wait_until(lambda: len(children_of(process.pid)) >= 2 or process.poll() is not None, within=60)
        assert process.poll() is None, errors.read_text()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does, while the workers still import
        assert process.wait(timeout=30) == 130
    finally:
        process.kill()
        process.wait(timeout=10)
    assert [line for line in errors.read_text().splitlines() if not line.startswith("matrix")] == [
        "rankproof: interrupted"
    ]
