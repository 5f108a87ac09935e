"""What published releases of SGLang do on real ranks; each test needs the unpacked release, and is skipped without."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rankproof.conformance.engines.sglang import check_source
from rankproof.conformance.fuzz import fuzz
from rankproof.conformance.launcher import Launcher
from rankproof.conformance.outcome import Ok, Outcome, Raised
from rankproof.conformance.pool import RankPool
from rankproof.conformance.replay import replay
from rankproof.conformance.subject import Observation
from rankproof.model.errors import BadInput
from rankproof.model.protocol import BLOCKING
from rankproof.model.schedule import load
from rankproof.model.verdict import Verdict
from tests.conformance.engines.conftest import PointTo

pytestmark = [pytest.mark.processes, pytest.mark.engine]

Release = Callable[[str], Path]
SGLANG = "rankproof.conformance.engines.sglang:"
ONE_RANK_QUEUED = Path(__file__).parents[3] / "docs" / "schedules" / "one-rank-queued.json"
WRITE = 0


@pytest.mark.parametrize(
    ("version", "factory", "ranks", "between"),
    [
        ("0.5.23", "unified", 2, {"evict", "reset"}),
        ("0.5.23", "unified", 4, {"evict", "reset"}),
        ("0.5.23", "unified_storage", 2, {"evict", "reset"}),
        ("0.5.13", "unified", 2, {"evict", "reset"}),
        ("0.5.13", "hiradix", 2, {"evict"}),
    ],
)
def test_without_a_fault_it_does_what_the_blocking_model_says(
    release: Release, point_to: PointTo, version: str, factory: str, ranks: int, between: set[str]
) -> None:
    launcher = point_to(release(version))
    found = fuzz(SGLANG + factory, ranks=ranks, examples=10, transports=("processes",), launcher=launcher)
    assert found.failure == ""
    assert found.verdict is Verdict.HOLDS
    assert found.popped > 5
    assert set(found.taken) & {"evict", "reset"} == between


def test_before_the_loads_were_reduced_each_rank_pops_its_own(release: Release, point_to: PointTo) -> None:
    found = fuzz(f"{SGLANG}hiradix", examples=30, launcher=point_to(release("0.5.10")))
    assert found.verdict is Verdict.VIOLATED
    assert found.breaks in ("finished-before-pop", "same-pops")


@pytest.mark.parametrize(
    ("version", "factory", "hangs"),
    [
        ("0.5.3", "hiradix", True),
        ("0.5.10", "hiradix", True),
        ("0.5.13", "hiradix", True),
        ("0.5.14", "hiradix", False),
        ("0.5.20", "hiradix", False),
        ("0.5.13", "unified", False),
        ("0.5.23", "unified", False),
    ],
)
def test_up_to_0_5_13_a_rank_with_something_queued_hangs_where_the_other_has_nothing(
    release: Release, point_to: PointTo, version: str, factory: str, hangs: bool
) -> None:
    one, other = _steps_of_ranks_that_hold(point_to(release(version)), factory, [7], [])
    assert other == Ok(Observation(((), ()), ((), ())))
    if hangs:
        assert isinstance(one, Raised)
        assert "Timed out" in one.message
    else:
        assert one == Ok(Observation(((), ()), ((7,), ())))


def test_a_hang_is_a_finding_of_a_replay(release: Release, point_to: PointTo) -> None:
    launcher = point_to(release("0.5.13"))
    run = replay(load(ONE_RANK_QUEUED), f"{SGLANG}hiradix", BLOCKING, timeout=1.0, launcher=launcher)
    assert run.verdict is Verdict.VIOLATED
    assert "rank 0, step: the subject raised RuntimeError: " in run.failure


@pytest.mark.parametrize(
    ("version", "factory"),
    [("0.5.3", "hiradix"), ("0.5.13", "hiradix"), ("0.5.13", "unified"), ("0.5.20", "hiradix"), ("0.5.23", "unified")],
)
def test_where_an_enqueue_fails_on_one_rank_two_ranks_pop_different_acks_and_nothing_says_so(
    release: Release, point_to: PointTo, version: str, factory: str
) -> None:
    one, other = _steps_of_ranks_that_hold(point_to(release(version)), factory, [7, 8], [8])
    assert one == Ok(Observation(((7,), ()), ((8,), ())))
    assert other == Ok(Observation(((8,), ()), ((), ())))


def test_storage_that_one_rank_has_attached_ends_a_process_in_0_5_23(release: Release, point_to: PointTo) -> None:
    with _ranks(point_to(release("0.5.23")), "unified") as pool:
        pool.call(1, "reconfigure", "storage", True)
        outcomes = _step(pool)
    assert not any(isinstance(outcome, Ok) for outcome in outcomes)


def test_reclaimed_in_another_order_is_an_error_on_every_rank_in_0_5_23(release: Release, point_to: PointTo) -> None:
    with _ranks(point_to(release("0.5.23")), "unified") as pool:
        pool.call(1, "reconfigure", "digest", 5)
        for outcome in _step(pool):
            assert isinstance(outcome, Raised)
            assert outcome.kind == "AssertionError"


@pytest.mark.parametrize(
    ("version", "factory", "says"),
    [
        ("0.5.23", "hiradix", "0.5.23 has no HiRadixCache; use rankproof.conformance.engines.sglang:unified"),
        ("0.5.10", "unified", "0.5.10 has no UnifiedRadixCache; use rankproof.conformance.engines.sglang:hiradix"),
        ("0.4.9", "hiradix", "sglang 0.4.9 is not supported: its acks carry no event"),
    ],
)
def test_a_release_that_cannot_be_driven_says_why(release: Release, version: str, factory: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        check_source(release(version), factory)


def _ranks(launcher: Launcher, factory: str) -> RankPool:
    return RankPool(
        2, factory=SGLANG + factory, lanes=("write", "load"), timeout=1.0, reply_within=5.0, launcher=launcher
    )


def _step(pool: RankPool) -> list[Outcome]:
    for rank in range(pool.world):
        pool.send(rank, "step")
    return [pool.receive(rank) for rank in range(pool.world)]


def _steps_of_ranks_that_hold(launcher: Launcher, factory: str, *held: list[int]) -> list[Outcome]:
    """What became of the first step of ranks that hold these finished write acks."""
    with _ranks(launcher, factory) as pool:
        for rank, acks in enumerate(held):
            for ack in acks:
                pool.call(rank, "enqueue", WRITE, ack)
                pool.call(rank, "finish", WRITE, ack)
        return _step(pool)
