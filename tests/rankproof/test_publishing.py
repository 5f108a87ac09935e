"""What a run tells a CI system: one document on standard output, and GitHub Actions without being asked."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rankproof.model.verdict import Verdict
from rankproof.output import Form, Output
from rankproof.publishing import publish
from rankproof.results import Result

WRONG = Result("fuzz", "engine:wrong", Verdict.VIOLATED, "it differs")


@pytest.fixture(autouse=True)
def outside_of_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the job summary, in GitHub Actions; another step has written into it before."""
    file = tmp_path / "summary.md"
    file.write_text("before\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(file))
    return file


@pytest.mark.parametrize("form", [Form.TEXT, Form.JSON])
def test_elsewhere_a_report_stays_as_it_is(form: Form, capsys: pytest.CaptureFixture[str]) -> None:
    publish(Output(form), "fuzz", [WRONG])
    assert capsys.readouterr() == ("", "")


def test_in_actions_a_text_report_comes_with_annotations_and_a_summary(
    summary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(Output(Form.TEXT), "fuzz", [WRONG])
    assert capsys.readouterr() == ("", "::error title=rankproof violated%3A engine%3Awrong::it differs\n")
    assert summary.read_text().startswith("before\n## ❌ rankproof fuzz: violated\n")


def test_in_actions_a_document_stays_whole(summary: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish(Output(Form.JUNIT), "fuzz", [WRONG])
    out, errors = capsys.readouterr()
    assert ElementTree.fromstring(out).tag == "testsuites"
    assert errors.startswith("::error ")
    assert "violated" in summary.read_text()


def test_annotations_that_are_asked_for_come_once(summary: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish(Output(Form.GITHUB), "fuzz", [WRONG])
    out, errors = capsys.readouterr()
    assert (out.count("::error "), errors) == (1, "")
    assert "violated" in summary.read_text()


def test_a_summary_that_cannot_be_written_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "folder"))
    publish(Output(Form.GITHUB), "fuzz", [WRONG])
    assert capsys.readouterr().err == (
        "rankproof: GITHUB_STEP_SUMMARY: cannot write the job summary: No such file or directory\n"
    )


def test_in_actions_without_a_standard_error_the_summary_is_written_all_the_same(
    summary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    publish(Output(Form.TEXT), "fuzz", [WRONG])
    assert "violated" in summary.read_text()


class Unread(io.StringIO):
    """A stream that nobody reads any more."""

    def write(self, text: str) -> int:
        raise BrokenPipeError(f"nobody reads {text!r}")


def test_in_actions_with_a_standard_error_that_nobody_reads_the_summary_is_written_all_the_same(
    summary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", Unread())
    publish(Output(Form.TEXT), "fuzz", [WRONG])
    assert "violated" in summary.read_text()
