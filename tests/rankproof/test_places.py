"""The place of a subject's code is found by reading it, never by running it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankproof.places import Place, place_of

MODULE = """\
import sys
raise SystemExit("this module must not be run")

def factory(): ...

class Kind:
    @staticmethod
    def make(): ...

made: object = 1
first = second = 2
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "__init__.py").write_text("from engine.subject import factory\n")
    (tmp_path / "engine" / "subject.py").write_text(MODULE)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "line"), [("factory", 4), ("Kind.make", 6), ("made", 10), ("second", 11), ("sys", 1), ("elsewhere", 1)]
)
def test_a_factory_is_found_where_its_module_defines_it(root: Path, name: str, line: int) -> None:
    assert place_of(f"engine.subject:{name}", [str(root)], root) == Place("engine/subject.py", line)


def test_a_factory_of_a_package_is_found_in_its_init(root: Path) -> None:
    assert place_of("engine:factory", ["/nowhere", str(root)], root) == Place("engine/__init__.py", 1)


def test_a_file_outside_the_checkout_keeps_its_whole_path(root: Path) -> None:
    place = place_of("engine.subject:factory", [str(root)], root / "engine" / "deeper")
    assert place == Place(str(root / "engine" / "subject.py"), 4)


def test_a_module_without_source_has_no_place(root: Path) -> None:
    assert place_of("engine.nothing:factory", [str(root)], root) is None


def test_a_module_that_is_no_python_has_its_first_line(root: Path) -> None:
    (root / "engine" / "broken.py").write_text("def (:\n")
    assert place_of("engine.broken:factory", [str(root)], root) == Place("engine/broken.py", 1)
