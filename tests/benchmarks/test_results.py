"""The results file: what goes in comes out, and what is none is refused in one line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rankproof.benchmarks.results import Measured, Results, dump, load
from rankproof.model.errors import BadInput

CASE = Measured(
    "overlap", "2 ranks", {"ranks": 2}, ({"kind": "alone", "loop_s": 0.25}, {"kind": "blocking"}), 1.5, (0.5, 1)
)
RESULTS = Results("2026-01-01T00:00:00+00:00", {"cores": 2}, {"torch": "2.13.0"}, {"quick": False}, (CASE,), True)


def written(folder: Path, text: str) -> Path:
    path = folder / "results.json"
    path.write_text(text)
    return path


def test_a_run_comes_back_as_it_was_written(tmp_path: Path) -> None:
    assert load(written(tmp_path, dump(RESULTS))) == RESULTS


def test_a_run_without_samples_comes_back_too(tmp_path: Path) -> None:
    empty = replace(RESULTS, measured=(replace(CASE, samples=(), failure="rank 1 is gone"),), whole=False)
    assert load(written(tmp_path, dump(empty))) == empty


def test_each_sample_has_a_line_of_its_own() -> None:
    lines = dump(RESULTS).splitlines()
    assert sum(line.strip().startswith('{"kind"') for line in lines) == len(CASE.samples)


def test_a_case_that_is_measured_again_takes_the_place_of_the_old() -> None:
    again = replace(CASE, seconds=9.0)
    assert RESULTS.with_measured(again).measured == (again,)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "this is no JSON"),
        ("[" * 100_000, "this is no JSON"),
        ("[]", "this is no results file"),
        ('{"format": "rankproof schedule"}', "this is no results file"),
        (json.dumps(json.loads(dump(RESULTS)) | {"version": 99}), "version 99 of a results file; this tool reads 2"),
        (json.dumps(json.loads(dump(RESULTS)) | {"measured": [{}]}), "wrong or missing part"),
        (json.dumps(json.loads(dump(RESULTS)) | {"measured": 7}), "wrong or missing part"),
        (json.dumps(json.loads(dump(RESULTS)) | {"machine": "fast"}), "wrong or missing part"),
    ],
)
def test_what_is_no_results_file_is_refused_with_its_name(tmp_path: Path, text: str, says: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(BadInput, match=says) as refused:
        load(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="No such file"):
        load(tmp_path / "none.json")
