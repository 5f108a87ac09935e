"""Just the methods that are wanted come out of a source text, and what they rely on is real, or known to be no more."""

from __future__ import annotations

import linecache
import textwrap
import traceback
from pathlib import Path

import pytest
import torch

from rankproof.conformance.engines.extract import Extract, extract
from rankproof.conformance.engines.standins import StandIn, StandInDecides
from rankproof.model.errors import BadInput

TEXT = textwrap.dedent(
    """
    import nowhere
    import torch
    from queue import Empty, NotThere
    from nowhere import Level, limited

    LIMIT = 3
    MADE = nowhere.make()

    class Cache(nowhere.Base):
        def __init__(self):
            self.threshold = 10
            self.controller = None

        @limited(Level.HOST)
        @property
        def most(self) -> nowhere.Count:
            return LIMIT

        def relies_on(self):
            return torch, Empty, MADE, Level.HOST, NotThere

        def asks(self, entry: nowhere.Entry = None):
            if self.linker is not None and self.queues.hits.qsize():
                self.free(self.threshold)
            lock, pages = self.written.pop(entry)
            one = self.loaded[entry]
            whole = self.backed_up.pop(entry)
            if whole is not None:
                node, params = whole
            return lock, pages, one

        def fails(self):
            raise KeyError("here")

        def left_out(self):
            raise AssertionError
    """
)
WANTED = frozenset({"most", "relies_on", "asks", "fails", "is_not_there"})


def taken(text: str = TEXT) -> Extract:
    found = extract(text, "cache.py", "Cache", WANTED)
    assert found is not None
    return found


def test_the_wanted_methods_are_taken_and_no_other() -> None:
    assert [name for name, _ in taken().methods] == ["most", "relies_on", "asks", "fails"]
    assert isinstance(object.__new__(taken().made).left_out, StandIn)


def test_decorators_are_dropped_and_said_but_for_those_that_say_how_a_method_is_called() -> None:
    assert object.__new__(taken().made).most == 3
    assert taken().decorators == ("most: @limited(Level.HOST)",)


def test_what_comes_from_torch_the_standard_library_or_a_literal_is_real_and_the_rest_stands_in() -> None:
    real, error, made, level, missing = object.__new__(taken().made).relies_on()
    assert real is torch
    assert error.__module__ == "_queue"
    assert isinstance(made, StandIn)
    assert isinstance(level, StandIn)
    assert isinstance(missing, StandIn)
    assert taken().globals == ("Level", "MADE", "NotThere")


def test_what_the_methods_need_of_their_object_is_read_off_their_text() -> None:
    assert taken().needs.attributes == {"linker", "queues", "free", "threshold", "written", "loaded", "backed_up"}
    assert taken().needs.optional == {"linker"}
    assert taken().needs.literals == {"threshold": 10, "controller": None}
    assert taken().needs.sizes == {"hits"}
    assert taken().needs.entries == {"written": ("lock", "pages"), "loaded": ("one",), "backed_up": ("node", "params")}


def test_a_traceback_shows_the_line_of_the_source(tmp_path: Path) -> None:
    file = tmp_path / "cache.py"
    file.write_text(TEXT)
    found = extract(TEXT, str(file), "Cache", WANTED)
    assert found is not None
    with pytest.raises(KeyError) as raised:
        object.__new__(found.made).fails()
    linecache.checkcache()
    last = traceback.extract_tb(raised.value.__traceback__)[-1]
    assert (last.filename, last.line) == (str(file), 'raise KeyError("here")')


def test_a_text_without_the_class_gives_none() -> None:
    assert extract("class Other: pass", "cache.py", "Cache", WANTED) is None


def test_a_method_is_taken_too_where_one_that_is_taken_calls_it_and_it_tells() -> None:
    text = """class Cache:
    def asks(self):
        return self.near(), self.far()
    def near(self):
        return self.further()
    def further(self):
        return self.work.wait()
    def far(self):
        return self.near.work.wait()
    def alone(self):
        return self.work.wait()
"""
    found = extract(text, "cache.py", "Cache", WANTED, frozenset({"wait"}))
    assert found is not None
    assert [name for name, _ in found.methods] == ["asks", "far"]


def test_a_class_that_cannot_be_defined_by_itself_is_bad_input() -> None:
    with pytest.raises(BadInput, match=r"cache\.py: Cache cannot be taken by itself: StandInDecides: nowhere"):
        extract(
            "import nowhere\nclass Cache:\n    def asks(self, most=nowhere.MOST + 1): pass", "cache.py", "Cache", WANTED
        )


def test_a_text_that_python_cannot_read_is_bad_input() -> None:
    with pytest.raises(BadInput, match=r"cache\.py: Python 3\.\d+ cannot read it: "):
        extract("class Cache(:", "cache.py", "Cache", WANTED)


def test_a_stand_in_goes_along_with_everything() -> None:
    tree = StandIn("tree", depth=2)
    tree.root.children["a"].lock = 1
    tree.root.children["a"] = tree.release(tree.root, hard=True)
    assert tree.depth == 2
    assert repr(tree.root.children) == "<stand-in for tree.root.children>"


@pytest.mark.parametrize(
    "decide",
    [
        bool,
        len,
        list,
        int,
        lambda tree: tree == 1,
        lambda tree: tree < 1,
        lambda tree: tree + 1,
        lambda tree: 1 in tree,
    ],
)
def test_a_stand_in_never_decides(decide: object) -> None:
    assert callable(decide)
    with pytest.raises(StandInDecides, match=r"tree\.size is stood in for"):
        decide(StandIn("tree").size)
