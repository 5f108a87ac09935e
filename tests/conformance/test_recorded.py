"""Ranks without a driver record what they see, and the records are judged by the model alone."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankproof.conformance.recorded_check import Judgement, check
from rankproof.conformance.recorded_file import path_of
from rankproof.model.errors import BadInput
from rankproof.model.verdict import Verdict

REFERENCE = "rankproof.conformance.reference:"
TORCHRUN = str(Path(sys.executable).with_name("torchrun"))


def torchrun(processes: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Records a run of so many processes on this machine."""
    command = [TORCHRUN, "--standalone", "--nproc-per-node", str(processes)]
    return subprocess.run(
        [*command, "-m", "rankproof.conformance.recorded", *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two ranks of the reference implementation recorded."""
    folder = tmp_path_factory.mktemp("recorded") / "run"
    done = torchrun(2, "--subject", f"{REFERENCE}pipelined", "--examples", "2", "--steps", "8", "--out", str(folder))
    assert done.returncode == 0, done.stderr
    assert [f"written: {path_of(folder, rank)}; " in done.stdout for rank in range(2)] == [True, True]
    return folder


@pytest.fixture
def run(recorded: Path, tmp_path: Path) -> Path:
    """A copy of that, to be changed."""
    return Path(shutil.copytree(recorded, tmp_path / "run"))


Change = Callable[[list[dict[str, Any]]], None]


def changed(folder: Path, rank: int, change: Change) -> Judgement:
    """The judgement after the lines of one rank's record were changed."""
    path = path_of(folder, rank)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    change(lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return check(folder)


def last_of(lines: list[dict[str, Any]], call: str) -> int:
    """The place in a record of the last call of that name."""
    return max(place for place, line in enumerate(lines) if line.get("call") == call)


def last_step(lines: list[dict[str, Any]]) -> int:
    """The place in a record of its last step."""
    return last_of(lines, "step")


def fails(lines: list[dict[str, Any]]) -> None:
    """The last step raises, and the record ends there."""
    place = last_step(lines)
    failed = {name: lines[place][name] for name in ("example", "place", "call", "arguments")}
    lines[place:] = [failed | {"outcome": "raised", "kind": "StepTimeout", "message": "round 9"}, {"end": True}]


def is_cut(lines: list[dict[str, Any]]) -> None:
    """Nothing is there from the last step on."""
    del lines[last_step(lines) :]


def has_no_end(lines: list[dict[str, Any]]) -> None:
    """The process was ended after its last call."""
    lines.pop()


@pytest.mark.processes
def test_records_of_the_reference_on_two_processes_hold(recorded: Path) -> None:
    judged = check(recorded)
    assert (judged.verdict, judged.failure, judged.examples) == (Verdict.HOLDS, "", 2)
    assert judged.steps == 2 * 2 * (8 + 3), "two examples on two ranks, each with the steps that empty the lanes"
    assert judged.popped > 0
    assert judged.coverage.taken["issue"] == judged.steps
    assert judged.coverage.taken["close"] == 2 * 2, "two examples on two ranks"
    assert [end.partition(":")[0] for end in judged.ends] == ["whole", "whole"]


@pytest.mark.processes
def test_records_of_four_processes_hold(tmp_path: Path) -> None:
    done = torchrun(
        4,
        *("--subject", f"{REFERENCE}blocking", "--lag", "0"),
        *("--examples", "1", "--steps", "5", "--out", str(tmp_path / "run")),
    )
    assert done.returncode == 0, done.stderr
    judged = check(tmp_path / "run")
    assert (judged.verdict, len(judged.ends), judged.plan.capabilities.lag) == (Verdict.HOLDS, 4, 0)


@pytest.mark.processes
def test_records_of_a_subject_whose_storage_comes_and_goes_hold(tmp_path: Path) -> None:
    done = torchrun(2, "--subject", "recorded_subjects:storing", "--examples", "3", "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    judged = check(tmp_path / "run")
    assert (judged.failure, judged.verdict) == ("", Verdict.HOLDS)
    told = path_of(tmp_path / "run", 0).read_text()
    assert '"call": "reconfigure", "arguments": [1]' in told
    assert '"call": "reconfigure", "arguments": [0]' in told


def launcher_of_host(host: int, port: int, folder: Path) -> subprocess.Popen[str]:
    """The torchrun of one of two hosts of two ranks each, which know each other by address and port alone."""
    where = ["--nnodes", "2", "--node-rank", str(host), "--nproc-per-node", "2", "--local-addr", f"127.0.0.{host + 1}"]
    first = ["--master-addr", "127.0.0.1", "--master-port", str(port)]
    what = ["--subject", f"{REFERENCE}pipelined", "--examples", "2", "--steps", "6", "--timeout", "60"]
    return subprocess.Popen(
        [TORCHRUN, *where, *first, "-m", "rankproof.conformance.recorded", *what, "--out", str(folder)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.processes
def test_records_of_two_hosts_are_judged_once_they_are_in_one_folder(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    hosts = [launcher_of_host(host, port, tmp_path / f"host-{host}") for host in range(2)]
    try:
        errors = [host.communicate(timeout=300)[1] for host in hosts]
    finally:
        for host in hosts:
            host.kill()
    assert [host.returncode for host in hosts] == [0, 0], errors
    together = tmp_path / "together"
    together.mkdir()
    for rank in range(4):
        shutil.copy(path_of(tmp_path / f"host-{rank // 2}", rank), together)
    judged = check(together)
    assert (judged.failure, judged.verdict, judged.plan.world) == ("", Verdict.HOLDS, 4)
    assert check(tmp_path / "host-0").verdict is Verdict.UNDETERMINED, "two of the four records are missing"


def cut_after(call: str) -> Change:
    """Leaves out what comes after a call of that name, but for the end line."""

    def change(lines: list[dict[str, Any]]) -> None:
        del lines[last_of(lines, call) + 1 : -1]

    return change


@pytest.mark.processes
def test_records_that_end_early_at_the_same_place_on_every_rank_are_undetermined(run: Path) -> None:
    changed(run, 0, cut_after("step"))
    judged = changed(run, 1, cut_after("step"))
    assert judged.verdict is Verdict.UNDETERMINED
    assert [end.partition(":")[0] for end in judged.ends] == ["ends early"] * 2
    assert "the record of rank 0 and rank 1 is missing, short, or ends early" in judged.failure


@pytest.mark.processes
def test_an_example_that_ends_early_before_another_is_named(run: Path) -> None:
    def closes_the_last_alone(lines: list[dict[str, Any]]) -> None:
        del lines[next(place for place, line in enumerate(lines) if line.get("call") == "close")]

    with pytest.raises(BadInput, match=r"rank-0000\.ndjson: example 0 ends with flush, and not with close"):
        changed(run, 0, closes_the_last_alone)


def test_a_record_that_is_no_file_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rank-0000.ndjson")
    with pytest.raises(BadInput, match=r"rank-0000\.ndjson: is no regular file; a record is one"):
        check(tmp_path)


@pytest.mark.processes
def test_a_rank_that_hangs_is_recorded_and_so_is_the_rank_that_waits_for_it(tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    done = torchrun(2, "--subject", "recorded_subjects:hanging", "--timeout", "3", "--out", folder)
    assert done.returncode == 0, done.stderr
    judged = check(tmp_path / "run")
    assert judged.verdict is Verdict.VIOLATED
    assert judged.schedule is not None
    assert judged.ends[0].startswith("stopped after ")
    assert "StepTimeout" in judged.ends[0]
    assert judged.ends[1].endswith("in example 0, step hung: no reply within 9 s")


@pytest.mark.processes
def test_another_observation_is_violated_also_where_another_record_is_short(run: Path) -> None:
    def pops(lines: list[dict[str, Any]]) -> None:
        step = next(line for line in lines if line.get("call") == "step")
        step["observation"]["popped"] = [[7], []]

    judged = changed(run, 1, pops)
    assert judged.verdict is Verdict.VIOLATED
    assert "rank 1, step: the subject differs from the model" in judged.failure
    assert judged.breaks == "finished-before-pop"
    assert changed(run, 0, is_cut).verdict is Verdict.VIOLATED


@pytest.mark.processes
def test_a_step_that_fails_is_violated_where_every_record_is_whole(run: Path) -> None:
    judged = changed(run, 0, fails)
    assert judged.verdict is Verdict.VIOLATED
    assert "rank 0, step: the subject raised StepTimeout: round 9" in judged.failure
    assert "stopped after" in judged.ends[0]


@pytest.mark.processes
def test_a_step_that_fails_is_undetermined_where_another_record_is_short(run: Path) -> None:
    changed(run, 0, fails)
    judged = changed(run, 1, has_no_end)
    assert judged.verdict is Verdict.UNDETERMINED
    assert judged.failure.startswith("the record of rank 1 is missing, short, or ends early")


def close_fails(lines: list[dict[str, Any]]) -> None:
    """The last call, which closes, raises."""
    lines[-2] |= {"outcome": "raised", "kind": "OSError", "message": "gone"}


@pytest.mark.processes
def test_a_close_that_fails_is_violated_where_every_record_is_whole(run: Path) -> None:
    judged = changed(run, 0, close_fails)
    assert (judged.verdict, judged.examples) == (Verdict.VIOLATED, 2)
    assert judged.failure == "rank 0, example 1, close: the subject raised OSError: gone"
    assert judged.schedule is None
    judged = changed(run, 1, has_no_end)
    assert judged.verdict is Verdict.UNDETERMINED
    assert judged.failure.endswith("close: the subject raised OSError: gone")


@pytest.mark.processes
def test_examples_that_no_record_tells_of_are_not_gone_through(run: Path) -> None:
    def many(lines: list[dict[str, Any]]) -> None:
        lines[0]["plan"]["examples"] = 10**9

    with pytest.raises(BadInput, match="this is of another run"):
        changed(run, 0, many)
    judged = changed(run, 1, many)
    assert (judged.verdict, judged.examples) == (Verdict.UNDETERMINED, 2)
    assert judged.failure.startswith("the record of rank 0 and rank 1 is missing, short, or ends early: ")


@pytest.mark.processes
@pytest.mark.parametrize("change", [is_cut, has_no_end, list.clear])
def test_a_short_record_is_undetermined(run: Path, change: Change) -> None:
    judged = changed(run, 0, change)
    assert judged.verdict is Verdict.UNDETERMINED
    assert "the record of rank 0 is missing, short, or ends early" in judged.failure


@pytest.mark.processes
def test_a_missing_record_is_undetermined(run: Path) -> None:
    path_of(run, 1).unlink()
    judged = check(run)
    assert (judged.verdict, judged.ends[1]) == (Verdict.UNDETERMINED, "missing")


@pytest.mark.processes
def test_a_last_line_that_is_not_whole_is_left_out(run: Path) -> None:
    path = path_of(run, 0)
    path.write_text(path.read_text()[:-5])
    assert check(run).verdict is Verdict.UNDETERMINED


def _seed(lines: list[dict[str, Any]]) -> None:
    lines[0]["plan"]["seed"] = 9


def _rank(lines: list[dict[str, Any]]) -> None:
    lines[0]["rank"] = 1


def _call(lines: list[dict[str, Any]]) -> None:
    lines[2]["call"] = "shout"


def _field(lines: list[dict[str, Any]]) -> None:
    lines[1]["extra"] = 1


def _steps(lines: list[dict[str, Any]]) -> None:
    lines[0]["plan"]["steps"] = 10**9


def _examples(lines: list[dict[str, Any]]) -> None:
    lines[-2]["example"] = 2


def _twice(lines: list[dict[str, Any]]) -> None:
    lines.insert(2, lines[1])


def _last(lines: list[dict[str, Any]]) -> None:
    lines[-2]["place"] += 1


def _setup(lines: list[dict[str, Any]]) -> None:
    lines[1] |= {"outcome": "raised", "kind": "ValueError", "message": "no"}


def _died(lines: list[dict[str, Any]]) -> None:
    lines[1]["outcome"] = "died"


def _no_setup(lines: list[dict[str, Any]]) -> None:
    del lines[1]


def _other_setup(lines: list[dict[str, Any]]) -> None:
    lines[1] |= {"call": "step", "arguments": [9]}


def _before(lines: list[dict[str, Any]]) -> None:
    lines.insert(1, lines[1] | {"place": -5, "call": "rm"})


def _hung(lines: list[dict[str, Any]]) -> None:
    lines[-2]["outcome"] = "hung"


def _gave(lines: list[dict[str, Any]]) -> None:
    lines[last_step(lines)] |= {"outcome": "raised", "kind": "ValueError"}


@pytest.mark.processes
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_seed, r"this is of another run than rank-0000\.ndjson"),
        (_rank, r"this is no record of a run of 2 ranks under that name"),
        (_call, r"example 0, place 1: the schedule of seed 0 has .* here; judge with the version that recorded it"),
        (_field, r"rank-000\d\.ndjson:2: extra: "),
        (_steps, r"rank-000\d\.ndjson:1: plan: steps: 1000000000 is not 1 to 100"),
        (_examples, r"there are calls of another example than the 2 of its plan"),
        (_twice, r"rank-000\d\.ndjson:3: a call of example 0 that comes too late, or twice"),
        (_last, r"example 1, place \d+: the schedule of seed 0 has close\(\) here"),
        (_no_setup, r"example 0, place 0: the schedule of seed 0 has setup\(\) here"),
        (_other_setup, r"example 0, place 0: the schedule of seed 0 has setup\(\) here"),
        (_before, r"rank-000\d\.ndjson:2: place: "),
        (_hung, r"rank-000\d\.ndjson:\d+: seconds: a call that hung was given up after some"),
        (_gave, r"rank-000\d\.ndjson:\d+: a call that raised gave nothing"),
        (_died, r"rank-000\d\.ndjson:2: code: a process that died has an exit code, or minus the signal that ended it"),
        (_setup, r"example 0: setup raised ValueError: no"),
    ],
)
def test_records_that_cannot_be_judged_are_named(run: Path, change: Change, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        changed(run, 0 if change is _rank else 1, change)


def test_a_folder_without_records_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there are no records of ranks in it"):
        check(tmp_path)
    with pytest.raises(BadInput, match="there is no such folder"):
        check(tmp_path / "nowhere")
