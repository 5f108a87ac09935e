"""Engines of our own, driven as a published one is: right ones conform, and what is wrong with the others is found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rankproof.conformance.fuzz import TRANSPORTS, fuzz
from rankproof.conformance.fuzzed import Fuzzing, Place
from rankproof.conformance.launcher import Launcher
from rankproof.conformance.replay import replay
from rankproof.model.protocol import BLOCKING
from rankproof.model.schedule import load
from rankproof.model.verdict import Verdict
from tests.conformance.engines import own_engine
from tests.conformance.engines.conftest import PointTo

pytestmark = pytest.mark.processes

UNIFIED = "rankproof.conformance.engines.sglang:unified"
SCHEDULES = Path(__file__).parents[3] / "docs" / "schedules"
DESCRIBED = "rankproof.conformance.engines.described:"


def search(
    launcher: Launcher, subject: str = UNIFIED, examples: int = 4, transports: Sequence[Place] = TRANSPORTS
) -> Fuzzing:
    """Random schedules, with waits short enough for a search that finds a hang."""
    return fuzz(subject, examples=examples, timeout=1.0, shrink_seconds=3.0, transports=transports, launcher=launcher)


def test_a_blocking_engine_is_held_to_lag_0_and_conforms(tmp_path: Path, point_to: PointTo) -> None:
    found = search(point_to(own_engine.write(tmp_path)), examples=8, transports=("processes",))
    assert found.failure == ""
    assert found.verdict is Verdict.HOLDS
    assert found.capabilities.lag == 0
    assert found.popped > 2


def test_an_engine_with_an_asynchronous_reduce_is_held_to_lag_1(tmp_path: Path, point_to: PointTo) -> None:
    text = own_engine.PIPELINED.replace("super().reset()", "self.ongoing_load_back[None] = None")  # no reset when busy
    found = search(point_to(own_engine.write(tmp_path, text)), examples=1)
    assert found.capabilities.lag == 1
    assert found.capabilities.supports == {"evict"}


def test_an_eviction_with_a_round_in_flight_is_found(tmp_path: Path, point_to: PointTo) -> None:
    found = search(point_to(own_engine.write(tmp_path, own_engine.PIPELINED)), examples=20)
    assert found.verdict is Verdict.VIOLATED
    assert "in_flight: model 0 | subject 1" in found.failure


@pytest.mark.parametrize(
    ("old", "new", "breaks"),
    [
        ("ReduceOp.MIN", "ReduceOp.MAX", "finished-before-pop"),
        ("return agreed.item()", "return own", "finished-before-pop"),
        ("if not ack.finish_event.query()", "if ack is None", "finished-before-pop"),
    ],
    ids=["max-instead-of-min", "pop-own-count", "counts-unfinished"],
)
def test_what_an_engine_does_wrong_is_found(tmp_path: Path, point_to: PointTo, old: str, new: str, breaks: str) -> None:
    found = search(point_to(own_engine.write(tmp_path, own_engine.changed(old, new))), examples=20)
    assert found.verdict is Verdict.VIOLATED
    assert found.breaks == breaks


def test_a_pipelined_engine_as_described_conforms_between_its_steps(named_by_link: tuple[Launcher, Path]) -> None:
    found = search(named_by_link[0], f"{DESCRIBED}pipelined")
    assert found.failure == ""
    assert found.verdict is Verdict.HOLDS
    assert found.popped > 2


def test_what_the_description_leaves_open_is_found(named_by_link: tuple[Launcher, Path]) -> None:
    found = search(named_by_link[0], f"{DESCRIBED}pipelined_between_steps", examples=20)
    assert found.verdict is Verdict.VIOLATED
    assert found.breaks in ("clean-lifecycle", "one-owner")


@pytest.mark.parametrize(
    ("schedule", "skips", "verdict", "says"),
    [
        ("one-rank-queued", False, Verdict.HOLDS, ""),
        ("one-rank-queued", True, Verdict.VIOLATED, "Timed out"),
        ("an-enqueue-fails", False, Verdict.VIOLATED, "the protocol on this schedule breaks"),
    ],
)
def test_the_schedules_of_the_documentation_show_what_it_says(
    tmp_path: Path, point_to: PointTo, schedule: str, skips: bool, verdict: Verdict, says: str
) -> None:
    text = own_engine.SKIPS if skips else own_engine.CACHE
    launcher = point_to(own_engine.write(tmp_path, text))
    run = replay(load(SCHEDULES / f"{schedule}.json"), UNIFIED, BLOCKING, timeout=1.0, launcher=launcher)
    assert run.verdict is verdict
    assert says in run.failure
