"""Ranks without a driver record what they see, and the records are judged by the model alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankproof.conformance.recorded import main
from rankproof.conformance.recorded_check import Judgement, check
from rankproof.conformance.recorded_file import path_of
from rankproof.model.errors import BadInput
from rankproof.model.verdict import Verdict

REFERENCE = "rankproof.conformance.reference:"


def torchrun(processes: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Records a run of so many processes on this machine."""
    command = [str(Path(sys.executable).with_name("torchrun")), "--standalone", "--nproc-per-node", str(processes)]
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


def last_step(lines: list[dict[str, Any]]) -> int:
    """The place in a record of its last step."""
    return max(place for place, line in enumerate(lines) if line.get("call") == "step")


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
def test_a_rank_that_hangs_is_recorded_and_so_is_the_rank_that_waits_for_it(tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    done = torchrun(2, "--subject", "recorded_subjects:hanging", "--timeout", "1", "--out", folder)
    assert done.returncode == 0, done.stderr
    judged = check(tmp_path / "run")
    assert judged.verdict is Verdict.VIOLATED
    assert judged.schedule is not None
    assert judged.ends[0].startswith("stopped after ")
    assert "StepTimeout" in judged.ends[0]
    assert judged.ends[1].endswith("in example 0, step hung: no reply within 3 s")


@pytest.mark.processes
def test_another_observation_is_violated_also_where_another_record_is_short(run: Path) -> None:
    def pops(lines: list[dict[str, Any]]) -> None:
        step = next(line for line in lines if line.get("call") == "step")
        step["observation"]["popped"] = [[7], []]

    judged = changed(run, 1, pops)
    assert judged.verdict is Verdict.VIOLATED
    assert "rank 1, step: the subject differs from the model" in judged.failure
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
    assert judged.failure.startswith("the record of rank 1 is missing or short")


@pytest.mark.processes
@pytest.mark.parametrize("change", [is_cut, has_no_end, list.clear])
def test_a_short_record_is_undetermined(run: Path, change: Change) -> None:
    judged = changed(run, 0, change)
    assert judged.verdict is Verdict.UNDETERMINED
    assert "the record of rank 0 is missing or short" in judged.failure


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


def _setup(lines: list[dict[str, Any]]) -> None:
    lines[1] |= {"outcome": "raised", "kind": "ValueError", "message": "no"}


@pytest.mark.processes
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_seed, r"this is of another run than rank-0000\.ndjson"),
        (_rank, r"this is no record of a run of 2 ranks under that name"),
        (_call, r"example 0, place 1: the schedule of seed 0 has .* here; judge with the version that recorded it"),
        (_field, r"rank-000\d\.ndjson:2: extra: "),
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


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "RANK is not set; start it as torchrun --nproc-per-node N -m rankproof.conformance.recorded ..."),
        (("--steps", "1000"), "--steps: 1000 is not 1 to 100"),
        (("--subject", "nothing"), "factory 'nothing' does not read package.module:callable"),
        (("--subject", "nowhere:f"), "factory 'nowhere:f': cannot import 'nowhere': "),
    ],
)
def test_what_cannot_be_recorded_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    line: str,
) -> None:
    if arguments:
        monkeypatch.setenv("RANK", "0")
        monkeypatch.setenv("WORLD_SIZE", "2")
    code = main(["--out", str(tmp_path / "run"), "--subject", f"{REFERENCE}pipelined", *arguments])
    errors = capsys.readouterr().err
    assert errors.startswith(f"rankproof: {line}")
    assert (code, errors.count("\n"), (tmp_path / "run").exists()) == (2, 1, False)
