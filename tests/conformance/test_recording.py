"""A rank that cannot record what it sees says so in one line, and leaves nothing half written."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rankproof.conformance.outcome import Ok
from rankproof.conformance.recorded import main
from rankproof.conformance.recorded_file import Entry, Recorder, path_of
from rankproof.conformance.recorded_schedule import Plan
from rankproof.model.errors import BadInput

REFERENCE = "rankproof.conformance.reference:"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "RANK is not set; start it as torchrun --nproc-per-node N -m rankproof.conformance.recorded ..."),
        (("--steps", "1000"), "--steps: 1000 is not 1 to 100"),
        (("--lag", "-1"), "--lag must be 0 or more, not -1"),
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
    monkeypatch.syspath_prepend(Path(__file__).parent)
    if arguments:
        monkeypatch.setenv("RANK", "0")
        monkeypatch.setenv("WORLD_SIZE", "2")
    code = main(["--out", str(tmp_path / "run"), "--subject", f"{REFERENCE}pipelined", *arguments])
    errors = capsys.readouterr().err
    assert errors.startswith(f"rankproof: {line}")
    assert (code, errors.count("\n"), (tmp_path / "run").exists()) == (2, 1, False)


def test_ranks_that_do_not_come_together_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    code = main(["--out", str(tmp_path / "run"), "--subject", f"{REFERENCE}pipelined"])
    errors = capsys.readouterr().err
    assert errors.startswith("rankproof: the ranks did not come together within 10 s: ")
    assert (code, errors.count("\n")) == (2, 1)


@pytest.mark.parametrize(("remote", "is_told"), [("127.0.1.1", True), ("::1", True), ("10.99.0.2", False)])
def test_a_rank_that_was_looked_for_on_the_wrong_host_is_told_how_to_say_which_network(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    remote: str,
    is_told: bool,
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise RuntimeError(f"timed out connecting: SO_ERROR: Connection refused, remote=[{remote}]:13194$0\nmore")

    monkeypatch.setattr("torch.distributed.init_process_group", refused)
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1"}.items():
        monkeypatch.setenv(name, value)
    code = main(["--out", str(tmp_path / "run"), "--subject", f"{REFERENCE}pipelined"])
    errors = capsys.readouterr().err
    assert ("set GLOO_SOCKET_IFNAME, on each host, to its network" in errors) is is_told
    assert (code, errors.count("\n")) == (2, 1)


def test_a_disk_that_is_full_is_named_and_a_record_without_its_head_is_not_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    recorder = Recorder(tmp_path / "one", 0, Plan("m:f", 2))
    entry = Entry(0, 0, "setup", (), Ok())
    says = r"rank-0000\.ndjson: cannot write the record: no space left on device"
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(BadInput, match=says), recorder:
            recorder.add(entry)
        with pytest.raises(BadInput, match=says):
            Recorder(tmp_path / "two", 0, Plan("m:f", 2))
    assert not path_of(tmp_path / "two", 0).exists()


HANGS_WHERE_NOTHING_CAN_BE_WRITTEN = """
import time
from rankproof.conformance.outcome import Ok
from rankproof.conformance.recorded import _Watched
from rankproof.conformance.recorded_file import Entry
from rankproof.model.errors import BadInput

class Full:
    def add(self, entry):
        raise BadInput("there is no space left")

class Hanging:
    def step(self):
        time.sleep(600)

_Watched(Full(), 0.1).call(Entry(0, 1, "step", (), Ok()), Hanging(), ())
"""


@pytest.mark.processes
def test_a_call_that_hangs_is_given_up_also_where_that_cannot_be_written() -> None:
    command = [sys.executable, "-c", HANGS_WHERE_NOTHING_CAN_BE_WRITTEN]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stderr) == (2, "rankproof: there is no space left\n")
