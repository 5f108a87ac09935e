"""The example of the documentation conforms as it stands, and fails with the mistake that it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rankproof.conformance.asserting import assert_conforms
from rankproof.conformance.launcher import Launcher
from rankproof.conformance.subject import missing_methods

DOC = Path(__file__).parents[2] / "docs" / "subject.md"
BLOCKS = re.findall(r"```python\n(.*?)```", DOC.read_text(encoding="utf-8"), re.DOTALL)
EXAMPLE = BLOCKS[0]
(BY_ID,) = (block for block in BLOCKS if "class ById:" in block)


@pytest.mark.parametrize(("example", "name"), [(EXAMPLE, "Mine"), (BY_ID, "ById")])
def test_an_example_is_short_and_whole(example: str, name: str) -> None:
    assert example.count("\n") < 60
    names: dict[str, type] = {}
    exec(example, names)
    assert missing_methods(names[name]()) == []


def test_every_method_and_field_of_the_contract_is_explained() -> None:
    text = DOC.read_text(encoding="utf-8")
    for method in missing_methods(object()):
        assert f"| `{method}(" in text
    for field in ("popped", "left", "in_flight", "waited_unfinished"):
        assert f"- `{field}`:" in text
    for optional in ("spoil(lane, ack)", 'reconfigure("storage", True)'):
        assert f"`{optional}`" in text


@pytest.mark.processes
def test_the_example_conforms_and_with_the_count_before_the_wait_it_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = "        seen = self.flush()\n"
    second = EXAMPLE[EXAMPLE.index("        counts = torch") : EXAMPLE.index("        self.flight = counts")]
    wrong = EXAMPLE.replace(first + second, second + first)
    assert wrong != EXAMPLE
    (tmp_path / "mine.py").write_text(EXAMPLE)
    (tmp_path / "mistaken.py").write_text(wrong)
    monkeypatch.syspath_prepend(str(tmp_path))
    with Launcher() as launcher:
        ran = assert_conforms("mine:Mine", examples=3, launcher=launcher)
        assert ran.popped > 0
        with pytest.raises(AssertionError) as failed:
            assert_conforms("mistaken:Mine", examples=20, launcher=launcher)
    assert "mistaken:Mine on 2 ranks differs from the model" in str(failed.value)
    assert "property: " in str(failed.value)
    assert "on processes: it fails too" in str(failed.value)
    assert "driver.give(Step(rank=" in str(failed.value)


@pytest.mark.processes
def test_the_example_by_identity_conforms_and_where_one_rank_is_enough_it_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = BY_ID.replace("== self.world", ">= 1")
    assert wrong != BY_ID
    (tmp_path / "byid.py").write_text(BY_ID)
    (tmp_path / "byanyone.py").write_text(wrong)
    monkeypatch.syspath_prepend(str(tmp_path))
    with Launcher() as launcher:
        ran = assert_conforms("byid:ById", ranks=3, examples=6, launcher=launcher)
        assert ran.popped > 0
        with pytest.raises(AssertionError, match="byanyone:ById on 3 ranks differs from the model"):
            assert_conforms("byanyone:ById", ranks=3, examples=6, launcher=launcher)
