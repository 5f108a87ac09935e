"""Work on several cores: results in order, errors as they are, and no process left in whatever way it ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from subprocess import getoutput
from typing import Any

import pytest

from rankproof import parallel
from rankproof.parallel import WorkLost, each


def children() -> list[int]:
    return [child.pid or 0 for child in multiprocessing.active_children()]


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

    def lost(function: Callable[[Any], Any], watched: Connection) -> parallel._Worker:
        worker = start(function, watched)
        worker.process.kill()
        worker.process.join()
        return worker

    monkeypatch.setattr(parallel, "_start", lost)
    with pytest.raises(WorkLost, match=r"a process that worked on a part of it ended \(SIGKILL\)"):
        list(each(time.sleep, [0, 0]))
    assert children() == []
