"""An engine's source is found where it is unpacked, and every way of naming none is one clear line."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankproof.conformance.engines.source import SOURCE_VARIABLE, find_source, named_source
from rankproof.model.errors import BadInput


def package_in(folder: Path) -> Path:
    (folder / "srt" / "mem_cache").mkdir(parents=True)
    return folder


@pytest.mark.parametrize("within", ["", "sglang", "python/sglang"])
def test_the_package_is_found_as_itself_in_an_unpacked_wheel_and_in_a_checkout(tmp_path: Path, within: str) -> None:
    package = package_in(tmp_path / within)
    assert find_source(tmp_path).package == package.resolve()


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("version.py", '__version__ = "0.5.3"\n'),
        ("_version.py", "__version__: str\n__version__ = version = '0.5.3'\n"),
        ("../sglang-0.5.3.dist-info/METADATA", ""),
    ],
)
def test_the_release_is_read_where_a_release_says_it(tmp_path: Path, file: str, text: str) -> None:
    path = package_in(tmp_path / "sglang") / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    assert find_source(tmp_path).version == "0.5.3"


def test_a_release_that_says_nothing_is_unknown(tmp_path: Path) -> None:
    (package_in(tmp_path / "sglang") / "version.py").write_text("from sglang._version import __version__\n")
    assert find_source(tmp_path).version == "unknown"


def test_a_folder_without_the_engine_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"holds no SGLang: .*give the folder into which a wheel of sglang was unpacked"):
        find_source(tmp_path)


def test_a_wheel_that_is_not_unpacked_is_bad_input(tmp_path: Path) -> None:
    wheel = tmp_path / "sglang-0.5.3-py3-none-any.whl"
    wheel.write_bytes(b"PK")
    with pytest.raises(BadInput, match=r"is no folder: unpack it \(a wheel is a zip\) and give the folder"):
        find_source(wheel)


def test_a_path_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is no folder: there is nothing of that name"):
        find_source(tmp_path / "nowhere")


def test_an_environment_that_names_no_engine_is_bad_input() -> None:
    with pytest.raises(BadInput, match=f"no engine is named; .*--source, or in {SOURCE_VARIABLE}"):
        named_source({})


def test_a_file_that_is_no_text_is_bad_input(tmp_path: Path) -> None:
    (package_in(tmp_path) / "cache.py").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match=r"cache\.py: cannot be read as text"):
        find_source(tmp_path).text("nowhere.py", "cache.py")
