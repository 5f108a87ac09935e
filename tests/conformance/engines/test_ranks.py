"""An engine's methods on real ranks: what they pop, wait for and leave, and how a rank says that there is no engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankproof.conformance.launcher import Launcher
from rankproof.conformance.outcome import Ok, Outcome, Raised
from rankproof.conformance.pool import RankPool
from rankproof.conformance.subject import Observation
from rankproof.model.errors import BadInput
from tests.conformance.engines import own_engine
from tests.conformance.engines.conftest import PointTo

pytestmark = pytest.mark.processes

UNIFIED = "rankproof.conformance.engines.sglang:unified"
WRITE, LOAD = 0, 1


def ranks(launcher: Launcher, factory: str = UNIFIED, world: int = 2) -> RankPool:
    return RankPool(world, factory=factory, lanes=("write", "load"), timeout=1.0, reply_within=5.0, launcher=launcher)


def everywhere(pool: RankPool, method: str, *arguments: object) -> list[Outcome]:
    for rank in range(pool.world):
        pool.send(rank, method, *arguments)
    return [pool.receive(rank) for rank in range(pool.world)]


def seen(outcome: Outcome) -> Observation:
    assert isinstance(outcome, Ok), outcome
    assert isinstance(outcome.value, Observation)
    return outcome.value


def test_what_is_finished_on_every_rank_is_popped_by_its_identity(tmp_path: Path, point_to: PointTo) -> None:
    with ranks(point_to(own_engine.write(tmp_path))) as pool:
        everywhere(pool, "enqueue", WRITE, 7)
        everywhere(pool, "enqueue", LOAD, 9)
        everywhere(pool, "finish", LOAD, 9)
        pool.call(0, "finish", WRITE, 7)
        first = [seen(each) for each in everywhere(pool, "step")]
        assert first == [Observation(popped=((), (9,)), left=((7,), ()))] * 2
        pool.call(1, "finish", WRITE, 7)
        second = [seen(each) for each in everywhere(pool, "step")]
        assert second == [Observation(popped=((7,), ()), left=((), ()))] * 2


def test_a_round_that_the_engine_holds_on_to_is_seen_in_flight(tmp_path: Path, point_to: PointTo) -> None:
    with ranks(point_to(own_engine.write(tmp_path, own_engine.PIPELINED))) as pool:
        everywhere(pool, "enqueue", WRITE, 7)
        everywhere(pool, "finish", WRITE, 7)
        first, second = ([seen(each) for each in everywhere(pool, "step")] for _ in range(2))
        assert first == [Observation(((), ()), ((7,), ()), in_flight=1)] * 2
        assert second == [Observation(((7,), ()), ((), ()), in_flight=1)] * 2


@pytest.mark.parametrize("factory", [UNIFIED, "rankproof.conformance.engines.described:pipelined"])
def test_a_subject_that_is_closed_waits_for_its_round(tmp_path: Path, point_to: PointTo, factory: str) -> None:
    with ranks(point_to(own_engine.write(tmp_path, own_engine.PIPELINED)), factory) as pool:
        pool.call(0, "step")
        outcome = pool.call(0, "close")
        assert isinstance(outcome, Raised)
        assert "Timed out" in outcome.message


def test_a_wait_for_an_unfinished_ack_is_said_and_not_blocked_on(tmp_path: Path, point_to: PointTo) -> None:
    counts_all = own_engine.changed("if not ack.finish_event.query()", "if ack is None")
    with ranks(point_to(own_engine.write(tmp_path, counts_all))) as pool:
        everywhere(pool, "enqueue", WRITE, 7)
        for outcome in everywhere(pool, "step"):
            assert seen(outcome) == Observation(((7,), ()), ((), ()), waited_unfinished=((WRITE, 7),))


def test_an_eviction_pops_the_writes_and_a_reset_drops_everything(tmp_path: Path, point_to: PointTo) -> None:
    with ranks(point_to(own_engine.write(tmp_path))) as pool:
        everywhere(pool, "enqueue", WRITE, 7)
        everywhere(pool, "finish", WRITE, 7)
        everywhere(pool, "enqueue", LOAD, 9)
        assert seen(pool.call(0, "evict", WRITE)) == Observation(((7,), ()), ((), (9,)))
        assert seen(pool.call(1, "reset")) == Observation(((), ()), ((), ()))


@pytest.mark.parametrize(
    ("method", "arguments", "says"),
    [
        ("evict", (LOAD,), "evicts from write only, not from load"),
        ("flush", (), "sglang 9.9, UnifiedRadixCache has no flush"),
        (
            "reconfigure",
            ("digest", "many"),
            "cannot set 'digest' to 'many'; there are 'storage' (bool) and 'digest' (int)",
        ),
    ],
)
def test_what_the_engine_has_not_is_refused(
    tmp_path: Path, point_to: PointTo, method: str, arguments: tuple[object, ...], says: str
) -> None:
    with ranks(point_to(own_engine.write(tmp_path))) as pool:
        outcome = pool.call(0, method, *arguments)
        assert isinstance(outcome, Raised)
        assert outcome.kind == "ValueError"
        assert says in outcome.message


def test_a_reduce_that_one_rank_leaves_out_is_an_outcome_of_the_rank_that_waits(
    tmp_path: Path, point_to: PointTo
) -> None:
    with ranks(point_to(own_engine.write(tmp_path, own_engine.SKIPS))) as pool:
        pool.call(0, "enqueue", WRITE, 7)
        waiting, other = everywhere(pool, "step")
        assert isinstance(waiting, Raised)
        assert "Timed out" in waiting.message
        assert seen(other).popped == ((), ())


@pytest.mark.parametrize(
    ("cache", "lanes", "says"),
    [
        (None, ("write",), "^engine source .* holds no SGLang: "),
        (
            own_engine.changed("def loading_check", "def load_check"),
            ("write",),
            "is not known: it has no loading_check$",
        ),
        (own_engine.CACHE, ("write", "backup"), "UnifiedRadixCache has the lanes write, load, and not backup$"),
    ],
)
def test_a_rank_that_cannot_drive_what_it_is_given_says_so_in_one_line(
    tmp_path: Path, point_to: PointTo, cache: str | None, lanes: tuple[str, ...], says: str
) -> None:
    launcher = point_to(own_engine.write(tmp_path, cache) if cache else tmp_path)
    with pytest.raises(BadInput, match=says) as raised, RankPool(2, factory=UNIFIED, lanes=lanes, launcher=launcher):
        pass
    assert "\n" not in str(raised.value)
