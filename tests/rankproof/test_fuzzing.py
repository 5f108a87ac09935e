"""`rankproof fuzz` and `replay --real`: what ran on real processes, what went wrong, and nothing left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankproof.model.faults import FAULTS
from rankproof.model.schedule import Schedule, load

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]

COMMAND = [str(Path(sys.executable).with_name("rankproof"))]
MARK = "RANKPROOF_TEST_MARK"
WRONG = "rankproof.conformance.reference:pipelined"  # held against the blocking protocol, it is wrong at once


def marked(mark: str) -> set[int]:
    """The processes that inherited the mark of one test."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                found.add(int(folder.name))
        except OSError:  # it has ended meanwhile
            continue
    return found


def wait_until(condition: Callable[[], bool], within: float) -> bool:
    """Whether the condition became true in that many seconds."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_the_reference_does_what_the_model_does(rankproof: Callable[..., Any]) -> None:
    answer = rankproof("fuzz", "--examples", 3)
    last = answer.out.splitlines()[-1]
    assert last.startswith("holds: ")
    assert last.endswith("every reply was the model's")
    assert " on 2 processes in " in last
    assert answer.code == 0


def test_a_subject_that_goes_wrong_is_shown_by_a_schedule_and_a_line_to_run_it_again(
    rankproof: Callable[..., Any], tmp_path: Path
) -> None:
    answer = rankproof("fuzz", "--lag", 0, "--subject", WRONG, "--examples", 5, "--seed", 4, "--out", tmp_path)
    assert "subject differs from the model" in answer.out
    assert (
        f"  again: rankproof fuzz --subject {WRONG} --lag 0 --ranks 2 --examples 5 --seed 4" in answer.out.splitlines()
    )
    assert "rank 0  " in answer.out
    assert answer.out.splitlines()[-1].startswith("violated: ")
    assert answer.code == 1
    assert load(tmp_path / "fuzz.json").model.protocol.lag == 0


def test_the_json_document_counts_what_ran_and_stands_alone_on_standard_output(
    rankproof: Callable[..., Any],
) -> None:
    answer = rankproof("fuzz", "--lag", 0, "--subject", WRONG, "--examples", 2, "--format", "json")
    document = json.loads(answer.out)
    assert (document["verb"], document["verdict"], document["lag"], document["seed"]) == ("fuzz", "violated", 0, 0)
    assert document["examples"] > 0
    assert document["taken"]["issue"] > 0
    assert "subject differs from the model" in document["failure"]
    assert document["schedule"]["format"] == "rankproof schedule"


def test_a_schedule_of_a_fault_does_no_harm_to_the_reference(
    rankproof: Callable[..., Any], file: Callable[[Schedule], Path], own_count: Schedule
) -> None:
    answer = rankproof("replay", file(own_count), "--real")
    assert answer.out.splitlines()[1].split() == ["1", "rank", "0", "step"]
    last = answer.out.splitlines()[-1]
    assert re.fullmatch(r"holds: \d replies on 2 processes in \d+ s; every reply was the model's", last)
    assert answer.code == 0


def test_a_schedule_on_a_wrong_subject_is_violated(
    rankproof: Callable[..., Any], file: Callable[[Schedule], Path], own_count: Schedule
) -> None:
    subject = "rankproof.conformance.reference:blocking"
    answer = rankproof("replay", file(own_count), "--real", "--subject", subject, "--format", "json")
    document = json.loads(answer.out)
    assert (document["verdict"], document["subject"], answer.code) == ("violated", subject, 1)
    assert document["failure"].startswith("rank 0, step: the subject raised StepTimeout: ")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--real", "--format", "svg"), "--real writes text or json, not svg"),
        (("--subject", WRONG), "--subject is what runs on real processes; give --real as well"),
        (("--real", "--subject", "nowhere:f"), "factory 'nowhere:f': cannot import 'nowhere': "),
    ],
)
def test_what_cannot_be_run_is_one_line(
    rankproof: Callable[..., Any],
    file: Callable[[Schedule], Path],
    own_count: Schedule,
    arguments: tuple[str, ...],
    line: str,
) -> None:
    answer = rankproof("replay", file(own_count), *arguments)
    assert answer.err.splitlines()[-1].startswith(f"rankproof: {line}")
    assert (answer.code, answer.out) == (2, "")


def test_a_schedule_without_actions_is_not_run(rankproof: Callable[..., Any], file: Callable[[Schedule], Path]) -> None:
    answer = rankproof("replay", file(Schedule(FAULTS["pop-own-count"].model, ())), "--real")
    assert answer.code == 2
    assert answer.err.splitlines()[-1] == "rankproof: the schedule has no actions, so there is nothing to run"


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds its processes by /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_is_left_when_it_is_ended_in_the_middle(how: signal.Signals, tmp_path: Path) -> None:
    mark = str(uuid.uuid4())
    errors = tmp_path / "errors"
    with errors.open("w") as stream:
        process = subprocess.Popen(
            [*COMMAND, "fuzz", "--examples", "100000"],
            env={**os.environ, MARK: mark},
            stdout=subprocess.DEVNULL,
            stderr=stream,
        )
    try:
        # The command, the supervisor of its processes, and two ranks.
        assert wait_until(lambda: len(marked(mark)) >= 4 or process.poll() is not None, within=60)
        assert process.poll() is None, errors.read_text()
        process.send_signal(how)
        code = process.wait(timeout=30)
        assert wait_until(lambda: not marked(mark), within=15), marked(mark)
    finally:
        process.kill()
        process.wait(timeout=10)
    if how is signal.SIGINT:
        assert (code, errors.read_text().splitlines()[-1]) == (130, "rankproof: interrupted")
        assert "Traceback" not in errors.read_text()
    else:
        assert code == -how
