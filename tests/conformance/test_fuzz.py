"""Random schedules on real processes: the reference implementation conforms, and each wrong one is found."""

from __future__ import annotations

import pytest

from rankproof.conformance.fuzz import fuzz
from rankproof.conformance.launcher import Launcher
from rankproof.model.errors import BadInput
from rankproof.model.protocol import BLOCKING, PIPELINED, Protocol, depth
from rankproof.model.schedule import run
from rankproof.model.verdict import Verdict

pytestmark = pytest.mark.processes

REFERENCE = "rankproof.conformance.reference:"
EVERY_ACTION = {"enqueue", "finish", "wait", "pop", "count", "issue", "flush", "evict", "reset"}


@pytest.mark.parametrize(
    ("subject", "protocol", "ranks", "examples"),
    [
        ("pipelined", PIPELINED, 2, 30),
        ("blocking", BLOCKING, 2, 20),
        ("depth_2", depth(2), 2, 20),
        ("depth_4", depth(4), 2, 20),
        ("pipelined", PIPELINED, 4, 10),
        ("grid_2x2", BLOCKING, 4, 10),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_reference_implementation_does_what_the_model_says(
    shared_launcher: Launcher, subject: str, protocol: Protocol, ranks: int, examples: int
) -> None:
    found = fuzz(REFERENCE + subject, protocol, ranks=ranks, examples=examples, launcher=shared_launcher)
    assert found.failure == ""
    assert found.verdict is Verdict.HOLDS
    assert found.examples >= examples
    assert found.popped > examples / 2, "schedules that pop nothing show nothing"
    assert set(found.taken) == EVERY_ACTION


@pytest.mark.parametrize(
    "fault", ["counts_before_pop", "pops_its_own_count", "skips_when_empty", "resets_nothing", "evicts_nothing"]
)
def test_a_wrong_implementation_is_found_with_a_schedule_that_the_model_can_take(
    shared_launcher: Launcher, fault: str
) -> None:
    found = fuzz(
        f"wrong_subjects:{fault}", PIPELINED, examples=60, timeout=1.0, shrink_seconds=1.0, launcher=shared_launcher
    )
    assert found.verdict is Verdict.VIOLATED
    assert "    driver.give(Step(rank=" in found.program
    assert found.schedule is not None
    replayed = run(found.schedule)
    assert replayed.stopped is None
    assert replayed.violations == ()


def test_the_wrong_mode_on_every_rank_is_found(shared_launcher: Launcher) -> None:
    found = fuzz(
        f"{REFERENCE}blocking", PIPELINED, examples=10, timeout=1.0, shrink_seconds=2.0, launcher=shared_launcher
    )
    assert found.verdict is Verdict.VIOLATED


def test_the_same_seed_gives_the_same_schedules(shared_launcher: Launcher) -> None:
    runs = [fuzz(f"{REFERENCE}pipelined", PIPELINED, examples=5, seed=7, launcher=shared_launcher) for _ in range(2)]
    assert runs[0].taken == runs[1].taken


def test_a_subject_that_cannot_be_imported_is_bad_input(shared_launcher: Launcher) -> None:
    with pytest.raises(BadInput, match="nowhere"):
        fuzz("nowhere:factory", PIPELINED, examples=1, launcher=shared_launcher)
