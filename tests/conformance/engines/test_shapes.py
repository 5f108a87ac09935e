"""A cache of a known shape is taken as it is; one of another shape is refused in one line before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankproof.conformance.engines.sglang import check_source
from rankproof.model.errors import BadInput
from tests.conformance.engines import own_engine


def refused(folder: Path, factory: str = "unified", storage: bool = False) -> str:
    with pytest.raises(BadInput) as raised:
        check_source(folder, factory, storage)
    said = str(raised.value)
    assert "\n" not in said
    assert str(folder.resolve()) in said
    return said


def test_a_cache_of_a_known_shape_is_taken(tmp_path: Path) -> None:
    taken = check_source(own_engine.write(tmp_path), "unified")
    assert taken.where == "sglang 9.9, UnifiedRadixCache"
    assert "insert" not in dict(taken.cache.methods)
    assert taken.cache.decorators == ("check_hicache_events: @traced('events')",)


def test_a_release_without_the_class_names_the_factory_for_the_one_it_has(tmp_path: Path) -> None:
    folder = own_engine.write(tmp_path)
    assert refused(folder, "hiradix").endswith(
        "9.9 has no HiRadixCache; use rankproof.conformance.engines.sglang:unified"
    )


def test_a_release_with_neither_class_says_so(tmp_path: Path) -> None:
    folder = own_engine.write(tmp_path, "class OtherCache: pass")
    assert refused(folder).endswith("9.9 has no UnifiedRadixCache, nor another cache that is known")


@pytest.mark.parametrize("acks", [None, "class OtherAck: pass"])
def test_a_release_whose_acks_carry_no_event_is_not_supported(tmp_path: Path, acks: str | None) -> None:
    assert "9.9 is not supported: its acks carry no event" in refused(own_engine.write(tmp_path, acks=acks))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("def loading_check", "def load_check", "it has no loading_check"),
        ("group=self.tp_group", "group=self.group", "it reduces on no tp_group"),
        ("torch.tensor(own)", "torch.tensor(own + self.tree.size)", "StandInDecides: self.tree.size is stood in for"),
        ("lock, pages = ", "[lock] = [pages] = ", "StandInDecides: "),
    ],
)
def test_a_cache_of_another_shape_is_not_driven(tmp_path: Path, old: str, new: str, says: str) -> None:
    said = refused(own_engine.write(tmp_path, own_engine.changed(old, new)))
    assert "UnifiedRadixCache" in said
    assert "is of a shape that is not known: " in said
    assert says in said


def test_a_field_of_an_ack_that_is_not_known_is_given_nothing(tmp_path: Path) -> None:
    acks = own_engine.ACKS.replace("    size: int = 0\n", "    stream: object\n")
    check_source(own_engine.write(tmp_path, acks=acks), "unified")


def test_a_cache_without_storage_queues_has_no_storage_lanes(tmp_path: Path) -> None:
    said = refused(own_engine.write(tmp_path), storage=True)
    assert said.endswith("UnifiedRadixCache, counts no queue for backup, release; drive it without storage")
