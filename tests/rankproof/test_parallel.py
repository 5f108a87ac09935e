"""Work on several cores: results in order, errors as they are, and no process left in whatever way it ends."""

from __future__ import annotations

import gc
import multiprocessing
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from subprocess import getoutput
from textwrap import dedent
from typing import Any

import pytest

from rankproof import parallel
from rankproof.conformance.one_core import cores
from rankproof.parallel import WorkLost, each


def children() -> list[int]:
    return [child.pid or 0 for child in multiprocessing.active_children()]


def is_alive(process: int) -> bool:
    """Whether a process still runs; one that nobody has waited for yet does not."""
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2]
    except FileNotFoundError:
        return False


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def said_by(program: str) -> str:
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=20)
    return answer.stdout.strip()


def test_results_come_in_the_order_of_the_items_from_other_processes() -> None:
    results = list(each(getoutput, ["sleep 0.5; echo 1 $PPID", "sleep 0.2; echo 2 $PPID", "echo 3 $PPID"]))
    assert [line.split()[0] for line in results] == ["1", "2", "3"]
    assert str(os.getpid()) not in {line.split()[1] for line in results}
    assert children() == []


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_end_with_the_one_that_started_them_even_by_a_kill(method: str, tmp_path: Path) -> None:
    folder = tmp_path / "workers"
    folder.mkdir()
    lines = f"""
        import os, time
        from pathlib import Path
        from rankproof import parallel
        parallel.start_method = lambda: {method!r}
        def work(place):
            Path({str(folder)!r}, str(os.getpid())).touch()
            time.sleep(60)
        if __name__ == "__main__":
            list(parallel.each(work, range(2)))
    """
    program = tmp_path / "program.py"
    program.write_text(dedent(lines))
    with subprocess.Popen([sys.executable, program]) as parent:
        wait_until(lambda: len(list(folder.iterdir())) == min(2, cores()))
        parent.kill()
    workers = [int(path.name) for path in folder.iterdir()]
    wait_until(lambda: not any(is_alive(worker) for worker in workers))


def test_a_process_is_a_copy_only_of_one_that_has_no_other_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = "from rankproof.parallel import start_method; print(start_method())"
    beside = f"import threading; threading.Thread(target=threading.Event().wait, daemon=True).start(); {alone}"
    expected = "fork" if Path("/proc/self/task").is_dir() else "spawn"
    assert said_by(alone) == expected
    assert said_by(beside) == "spawn"
    monkeypatch.setattr(parallel, "_THREADS", "/there/is/none")
    assert parallel.start_method() == "spawn"


def test_the_largest_items_are_begun_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "MOST", 1)
    small, large, middle = map(int, each(getoutput, ["date +%s%N", "date +%s%N   ", "date +%s%N  "], size=len))
    assert large < middle < small


def test_a_process_leaves_alone_what_was_there_and_looks_for_garbage_seldom() -> None:
    lines = """
        import gc
        from rankproof.parallel import each
        def kept(_):
            return gc.get_threshold()[0], gc.get_freeze_count() > 0
        print(list(each(kept, range(2))))
    """
    assert said_by(dedent(lines)) == str([(parallel._GARBAGE, True)] * 2)
    assert parallel._GARBAGE > 100 * gc.get_threshold()[0]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is told to keep memory")
def test_a_process_keeps_large_pieces_of_memory_for_what_comes_next() -> None:
    lines = """
        import ctypes, resource
        from rankproof.parallel import each
        def pages_got_anew(_):
            library = ctypes.CDLL(None)
            library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
            library.free.argtypes = [ctypes.c_void_p]
            for _again in range(2):
                before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
                piece = library.malloc(20 << 20)
                ctypes.memset(piece, 1, 20 << 20)
                library.free(piece)
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        print(max(each(pages_got_anew, range(2))))
    """
    assert int(said_by(dedent(lines))) < 100


@pytest.mark.parametrize(
    ("receiving", "sending"),
    [
        ("raise EOFError", "raise AssertionError"),
        ("raise ConnectionResetError", "raise AssertionError"),
        ("return 1", "raise BrokenPipeError"),
        ("return 1", "raise ConnectionResetError"),
    ],
)
def test_a_process_whose_starter_is_gone_ends_without_a_word(receiving: str, sending: str) -> None:
    lines = f"""
        from multiprocessing import Pipe
        from rankproof import parallel
        class Gone:
            def recv(self): {receiving}
            def send(self, outcome): {sending}
        watched, held = Pipe(duplex=False)
        parallel._work(str, Gone(), watched, [])
        print("ended")
    """
    assert said_by(dedent(lines)) == "ended"


def test_as_many_processes_are_started_as_there_are_cores_to_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: 1)
    assert len(set(each(getoutput, ["echo $PPID"] * 4))) == 1


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


def test_an_error_that_cannot_be_sent_comes_in_words() -> None:
    source = "class Local(Exception): ...\nraise Local('its class is known there alone')"
    with pytest.raises(RuntimeError, match=r"^Local: its class is known there alone$"):
        list(each(exec, [source, source]))


def test_a_process_that_is_lost_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WorkLost, match=r"a process that worked on a part of it ended \(SIGKILL\)"):
        list(each(signal.raise_signal, [signal.SIGKILL, signal.SIGKILL]))
    assert children() == []
    monkeypatch.setattr(parallel, "DEADLINE_S", 0.2)
    with pytest.raises(WorkLost, match="no result came within 0 s"):
        list(each(time.sleep, [30, 30]))
    assert children() == []


def test_a_process_that_is_lost_before_it_has_its_work_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    start = parallel._start

    def lost(function: Callable[[Any], Any], watched: Connection, ours: Sequence[Connection]) -> parallel._Worker:
        worker = start(function, watched, ours)
        worker.process.kill()
        worker.process.join()
        return worker

    monkeypatch.setattr(parallel, "_start", lost)
    with pytest.raises(WorkLost, match=r"a process that worked on a part of it ended \(SIGKILL\)"):
        list(each(time.sleep, [0, 0]))
    assert children() == []
