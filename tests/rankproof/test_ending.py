"""However a verb with processes ends, in the middle of its work, no process is left and one line at most is said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.processes,
    pytest.mark.timeout(180),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds its processes by /proc"),
]

COMMAND = [str(Path(sys.executable).with_name("rankproof"))]
MARK = "RANKPROOF_TEST_MARK"
FUZZ = ("fuzz", "--examples", "100000")
MATRIX = ("refute", "--matrix")


@dataclass(frozen=True)
class Started:
    """A verb at work: its process, the mark that all of its processes inherit, and where its standard error goes."""

    process: subprocess.Popen[bytes]
    mark: str
    errors: Path

    @property
    def pids(self) -> set[int]:
        """Those of its processes that are there."""
        found = set()
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if f"{MARK}={self.mark}".encode() in (folder / "environ").read_bytes():
                    found.add(int(folder.name))
            except OSError:  # it has ended meanwhile
                continue
        return found

    def ends(self) -> int:
        """Waits for its end and that of all its processes, and gives its exit code."""
        code = self.process.wait(timeout=30)
        assert soon(lambda: not self.pids, within=15), self.pids
        return code

    def said(self) -> list[str]:
        """What it wrote to standard error, without the lines of progress."""
        lines = self.errors.read_text().splitlines()
        return [line for line in lines if not line.startswith(("fuzz", "matrix", "refute"))]


def soon(condition: Callable[[], bool], within: float) -> bool:
    """Whether the condition became true in that many seconds."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@contextmanager
def at_work(arguments: tuple[str, ...], errors: Path, files: Path | None = None) -> Iterator[Started]:
    """The verb once it has started processes, in a session of its own; `files` is its folder for short-lived files."""
    mark = str(uuid.uuid4())
    environment = {**os.environ, MARK: mark} | ({"TMPDIR": str(files)} if files else {})
    with errors.open("w") as stream:
        process = subprocess.Popen(
            [*COMMAND, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=stream, start_new_session=True
        )
    started = Started(process, mark, errors)
    try:
        # Itself and two more: workers, or a supervisor and a rank.
        assert soon(lambda: len(started.pids) >= 3 or process.poll() is not None, within=60)
        assert process.poll() is None, errors.read_text()
        yield started
    finally:
        process.kill()
        process.wait(timeout=10)


@pytest.mark.parametrize("arguments", [FUZZ, MATRIX], ids=["fuzz", "matrix"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_is_left_when_a_verb_is_ended_in_the_middle(
    how: signal.Signals, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    with at_work(arguments, tmp_path / "errors") as started:
        time.sleep(0.5)  # any moment will do, from the first import of a process to its work
        started.process.send_signal(how)
        code = started.ends()
    if how is signal.SIGINT:
        assert (code, started.said()) == (130, ["rankproof: interrupted"])
    else:
        assert (code, started.said()) == (-how, [])


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_folder_is_left_when_fuzz_is_ended_while_all_ranks_share_a_process(
    how: signal.Signals, tmp_path: Path
) -> None:
    files = tmp_path / "files"
    files.mkdir()
    with at_work(FUZZ, tmp_path / "errors", files) as started:
        assert soon(lambda: any(files.glob("rankproof-*/rankproof-*")), within=60)
        started.process.send_signal(how)
        started.ends()
    assert soon(lambda: not list(files.iterdir()), within=15), list(files.iterdir())


def test_ctrl_c_on_a_terminal_reaches_every_process_and_is_answered_once(tmp_path: Path) -> None:
    with at_work(MATRIX, tmp_path / "errors") as started:
        os.killpg(started.process.pid, signal.SIGINT)  # as a terminal does, while the workers still import
        assert started.ends() == 130
    assert started.said() == ["rankproof: interrupted"]


def test_a_lost_process_leaves_the_answer_open(tmp_path: Path) -> None:
    with at_work(MATRIX, tmp_path / "errors") as started:

        def workers() -> set[int]:
            return started.pids - {started.process.pid}

        assert soon(lambda: bool(workers()), within=30)
        os.kill(min(workers()), signal.SIGKILL)
        assert started.ends() == 3
    assert started.said() == ["rankproof: undetermined: a process that worked on a part of it ended (SIGKILL)"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("arguments", [("explain",), ("--help",), ("--version",)])
def test_a_report_that_a_full_disk_does_not_take_is_one_line_and_bad_input(arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert ran.returncode == 2
    assert ran.stderr.decode() == "rankproof: the report cannot be written: No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_report_goes_on_where_nobody_takes_the_words_of_its_progress() -> None:
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [*COMMAND, "refute", "use-before-wait"], stdout=subprocess.PIPE, stderr=full, timeout=120, check=False
        )
    assert ran.stdout.decode().splitlines()[-1].startswith("holds: ")
    assert ran.returncode == 0


@pytest.mark.parametrize(("closed", "arguments", "code"), [(">&-", "explain", 0), ("2>&-", "refute nobody", 2)])
def test_a_stream_that_was_closed_from_the_start_is_no_error(closed: str, arguments: str, code: int) -> None:
    command = f"{COMMAND[0]} {arguments} {closed}"
    answer = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)
    assert (answer.returncode, answer.stdout, answer.stderr) == (code, "", "")
