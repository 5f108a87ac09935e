"""The added latency: what it delays, and what it leaves as it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import pytest

from rankproof.benchmarks import delayed
from rankproof.benchmarks.delayed import DelayedTransport
from rankproof.impl.errors import PeerLost, StepTimeout

DELAY_S = 0.02


class Arriving:
    """A transport whose rounds arrive when the test says so, and which keeps a record of the calls."""

    rank = 0
    world = 2
    timeout = 5.0

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.threads: list[threading.Thread] = []
        self.arrives = threading.Semaphore(0)
        self.error: Exception | None = None

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        self.calls.append(f"offer {round_number} {tuple(vector)}")
        self.threads.append(threading.current_thread())

    def agreed(self, round_number: int) -> tuple[int, ...]:
        assert self.arrives.acquire(timeout=self.timeout)
        self.calls.append(f"agreed {round_number}")
        if self.error:
            raise self.error
        return (10 * round_number,)

    def close(self) -> None:
        self.calls.append("close")


def test_a_round_is_offered_at_once_and_by_the_callers_own_thread() -> None:
    inner = Arriving()
    transport = DelayedTransport(inner, DELAY_S)
    transport.offer(1, (7, 8))
    transport.watch()
    assert inner.calls == ["offer 1 (7, 8)"]
    assert inner.threads == [threading.current_thread()]
    inner.arrives.release()
    transport.close()


@pytest.mark.parametrize("watched", [True, False], ids=["by the worker", "by the caller"])
def test_a_result_is_there_the_delay_after_it_has_arrived_and_not_before(watched: bool) -> None:
    inner = Arriving()
    transport = DelayedTransport(inner, DELAY_S)
    transport.offer(1, (1,))
    if watched:
        transport.watch()
    arrived = time.perf_counter()
    inner.arrives.release()
    assert transport.agreed(1) == (10,)
    assert time.perf_counter() - arrived >= DELAY_S
    transport.close()


def test_rounds_in_flight_are_issued_and_taken_in_order() -> None:
    inner = Arriving()
    transport = DelayedTransport(inner, 0.001)
    for number in (1, 2, 3):
        transport.offer(number, (number,))
        transport.watch()
        inner.arrives.release()
    assert [transport.agreed(number) for number in (1, 2, 3)] == [(10,), (20,), (30,)]
    transport.close()
    offers = [call for call in inner.calls if call.startswith("offer")]
    taken = [call for call in inner.calls if call.startswith("agreed")]
    assert offers == ["offer 1 (1,)", "offer 2 (2,)", "offer 3 (3,)"]
    assert taken == ["agreed 1", "agreed 2", "agreed 3"]


class StandingClock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def test_a_round_that_the_caller_took_itself_is_not_given_to_the_worker() -> None:
    inner = Arriving()
    transport = DelayedTransport(inner, 0.0)
    for number in (1, 2):
        inner.arrives.release()
        transport.offer(number, (number,))
        assert transport.agreed(number) == (10 * number,)
        transport.watch()
    transport.close()
    assert inner.calls == ["offer 1 (1,)", "agreed 1", "offer 2 (2,)", "agreed 2", "close"]


def test_latencies_of_rounds_in_flight_together_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = StandingClock()
    monkeypatch.setattr(delayed, "time", clock)
    inner = Arriving()
    transport = DelayedTransport(inner, DELAY_S)
    for number in (1, 2):
        transport.offer(number, (number,))
        inner.arrives.release()
    transport.watch()
    for arriving in transport._arriving:
        assert arriving.here.acquire(timeout=inner.timeout)
        arriving.here.release()
    assert [transport.agreed(1), transport.agreed(2)] == [(10,), (20,)]
    assert clock.slept == [DELAY_S]
    transport.close()


@pytest.mark.parametrize("error", [PeerLost("rank 1 is gone", 1), OSError("rank 1 is gone")])
def test_an_error_of_any_kind_comes_where_the_result_would(error: Exception) -> None:
    inner = Arriving()
    inner.error = error
    transport = DelayedTransport(inner, DELAY_S)
    transport.offer(1, (1,))
    transport.watch()
    inner.arrives.release()
    with pytest.raises(type(error), match="rank 1 is gone"):
        transport.agreed(1)
    transport.close()
    assert inner.calls[-1] == "close"


class Late(Arriving):
    """A transport that does not keep its own deadline."""

    timeout = 0.05

    def agreed(self, round_number: int) -> tuple[int, ...]:
        self.arrives.acquire(timeout=2.0)
        return (10 * round_number,)


def test_a_wait_ends_also_where_the_other_transport_does_not_keep_its_deadline() -> None:
    inner = Late()
    transport = DelayedTransport(inner, DELAY_S)
    transport.offer(1, (1,))
    transport.watch()
    with pytest.raises(StepTimeout, match=r"round 1: nothing from the transport that is delayed in 0\.1 s"):
        transport.agreed(1)
    inner.arrives.release()
    transport.close()
