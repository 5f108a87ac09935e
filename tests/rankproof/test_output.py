"""Where a report goes: one form at a time, plain where it must be, and whole files or none."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankproof import files, progress
from rankproof.model.errors import BadInput
from rankproof.model.verdict import Verdict
from rankproof.output import STICKY, Form, Output, OutputClosed


class Clock:
    """A clock that goes on by one second each time it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


class Closed(io.StringIO):
    """A stream that nobody reads any more."""

    def write(self, _: str) -> int:
        raise BrokenPipeError


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text() | st.tuples(st.text(), st.sampled_from(["holds", "title", "quiet", ""])), max_size=4))
def test_a_line_that_goes_to_no_terminal_is_what_the_terminal_s_way_would_write_there(
    parts: list[str | tuple[str, str]],
) -> None:
    written = []
    for is_plain in (True, False):
        stream = io.StringIO()
        output = Output(stream=stream)
        assert output._is_plain
        output._is_plain = is_plain
        output.say(*parts)
        written.append(stream.getvalue())
    assert written[0] == written[1]


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """What the command writes, both streams, when both are a terminal."""
    ours, theirs = pty.openpty()
    command = [str(Path(sys.executable).with_name("rankproof")), *arguments]
    hidden = ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS")
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=kept | {"TERM": "xterm"} | environment
    ) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # how Linux says that the other side has closed
                break
            if not piece:
                break
            written += piece
        process.wait(timeout=60)
    os.close(ours)
    return written.decode()


def test_a_text_report_writes_lines_and_no_document() -> None:
    stream = io.StringIO()
    output = Output(Form.TEXT, stream)
    output.say("one ", ("holds", "holds"))
    output.document("prove", Verdict.HOLDS, {})
    assert stream.getvalue() == "one holds\n"


def test_a_json_report_writes_one_document_and_no_lines() -> None:
    stream = io.StringIO()
    output = Output(Form.JSON, stream)
    output.say("one")
    output.document("prove", Verdict.HOLDS, {"proofs": []})
    document = json.loads(stream.getvalue())
    assert {name: document[name] for name in ("format", "version", "verb", "verdict", "proofs")} == {
        "format": "rankproof report",
        "version": 1,
        "verb": "prove",
        "verdict": "holds",
        "proofs": [],
    }


def test_square_brackets_are_text_and_long_lines_stay_whole() -> None:
    stream = io.StringIO()
    Output(Form.TEXT, stream).say("[bold]" + "x" * 200)
    assert stream.getvalue() == "[bold]" + "x" * 200 + "\n"


def test_a_paragraph_is_wrapped_and_breaks_neither_names_nor_references() -> None:
    stream = io.StringIO()
    Output(Form.TEXT, stream).paragraph("word " * 14 + f"finished-before-pop sglang{STICKY}#1", indent=2, hang=2)
    assert stream.getvalue() == "  " + " ".join(["word"] * 14) + "\n    finished-before-pop sglang #1\n"


def test_a_stream_in_ascii_gets_the_picture_in_ascii() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Output(Form.TEXT, stream).say("├ ✗ é")
    stream.flush()
    assert raw.getvalue() == b"+ x ?\n"


def test_a_closed_reader_is_said_so_by_every_way_of_writing() -> None:
    with pytest.raises(OutputClosed):
        Output(Form.TEXT, Closed()).say("words")
    with pytest.raises(OutputClosed):
        Output(Form.JSON, Closed()).document("prove", Verdict.HOLDS, {})
    with pytest.raises(OutputClosed):
        Output(Form.TEXT, Closed()).verbatim("<svg/>")


def test_a_terminal_gets_colours_and_a_live_line_that_does_not_stay() -> None:
    written = on_a_terminal("prove")
    assert "\x1b[32mholds" in written
    assert re.search(r"prove: \d+ obligations", written), "which of them a live line shows depends on the time"
    assert written.rpartition("prove: 10 obligations")[2].endswith("\x1b[2K")  # the last thing is that it is wiped


def test_no_color_leaves_a_terminal_without_colours() -> None:
    written = on_a_terminal("prove", NO_COLOR="1")
    assert [code for code in ("\x1b[1m", "\x1b[2m", "\x1b[3", "\x1b[0m") if code in written] == []
    assert "holds" in written


def test_a_dumb_terminal_gets_plain_progress() -> None:
    assert re.search(r"^prove: .* \(\d+ s\)", on_a_terminal("prove", TERM="dumb"), re.MULTILINE)


def test_plain_progress_has_a_line_for_each_stage_and_one_now_and_then() -> None:
    stream = io.StringIO()
    tell = progress.plain(stream, period_s=4.0, clock=Clock())
    for count in range(6):
        tell("explore", f"{count} states")
    tell("fuzz")
    assert stream.getvalue().splitlines() == [
        "explore: 0 states (1 s)",
        "explore: 4 states (5 s)",
        "fuzz (7 s)",
    ]


def test_progress_goes_to_standard_error_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.shown(Output(Form.JSON)) as tell:
        tell("prove")
    assert capsys.readouterr() == ("", "prove (0 s)\n")


def test_a_file_is_replaced_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    files.write(path, "new")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("a.json", "new")]


def test_a_file_that_cannot_be_written_keeps_what_it_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(BadInput, match=r"a\.json: cannot write: no space left on device"):
        files.write(path, "new")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("a.json", "old")]


def test_a_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    assert files.folder_for_writing(tmp_path / "a" / "b").is_dir()


def test_a_file_where_a_folder_is_needed_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    for folder in (tmp_path / "a", tmp_path / "a" / "b"):
        with pytest.raises(BadInput, match=r"folder"):
            files.folder_for_writing(folder)
