"""Files that a person names: text is read, and everything else is one line and no wait."""

import os
from pathlib import Path

import pytest

from rankproof.model.errors import BadInput
from rankproof.model.textfile import read_text


def refused(path: Path, largest: int = 100) -> str:
    with pytest.raises(BadInput) as error:
        read_text(path, "schedule", largest)
    return str(error.value).removeprefix(f"{path}: ")


def test_a_byte_order_mark_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "marked.json"
    file.write_bytes("{}".encode("utf-8-sig"))
    assert read_text(file, "schedule", 100) == "{}"


def test_what_cannot_be_read_as_text_is_named(tmp_path: Path) -> None:
    file = tmp_path / "bytes.json"
    assert refused(file) == "cannot read the schedule: No such file or directory"
    file.write_bytes(b"\xff\xfe")
    assert refused(file) == "cannot read the schedule: it is not UTF-8 text"
    assert refused(tmp_path) == "cannot read the schedule: Is a directory"


def test_a_file_may_have_so_many_bytes_and_not_one_more(tmp_path: Path) -> None:
    file = tmp_path / "long.json"
    file.write_bytes(b"x" * (1 << 20))
    assert len(read_text(file, "schedule", 1 << 20)) == 1 << 20
    file.write_bytes(b"x" * ((1 << 20) + 1))
    assert refused(file, 1 << 20) == "the file has more than 1 MiB; it is no schedule"


@pytest.mark.timeout(20)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_not_waited_for_and_a_device_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    assert refused(tmp_path / "pipe.json") == "cannot read the schedule: it is a pipe or a device, and no file"
    (tmp_path / "link.json").symlink_to(os.devnull)
    assert refused(tmp_path / "link.json") == "cannot read the schedule: it is a pipe or a device, and no file"
