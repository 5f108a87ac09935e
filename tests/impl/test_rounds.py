"""Rounds that a thread of their own carries: in order, each error where the round is waited for, and no thread left.

What is agreed on and popped by them is tested in `test_wrong_use`, and by the subjects of the reference.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from torch._C._distributed_c10d import HashStore

from rankproof.impl.acks import Lane
from rankproof.impl.errors import Misuse, PeerLost, StepFailed, StepTimeout, SyncError
from rankproof.impl.guards import NO_STEP_NUMBER, Offer
from rankproof.impl.ledger import Ledger
from rankproof.impl.opening import open_ack_sync
from rankproof.impl.plan import Topology, plan_for
from rankproof.impl.rounds import DEADLINES, CarriedRounds, Rounds
from rankproof.impl.sync import AckSync
from tests.impl.conftest import DEADLINE, LANES


class Wire:
    """One rank's transport: each round agrees on what this rank offered, once the test lets it through."""

    rank = 0
    world = 2

    def __init__(self, timeout: float = DEADLINE) -> None:
        self.timeout = timeout
        self.calls: list[tuple[str, int]] = []
        self.callers: set[str] = set()
        self.offered: dict[int, tuple[int, ...]] = {}
        self.through = threading.Semaphore(0)
        self.errors: dict[tuple[str, int], Exception] = {}
        self.closed = False

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        self.offered[round_number] = tuple(vector)
        self._called("offer", round_number)

    def agreed(self, round_number: int) -> tuple[int, ...]:
        self._called("agreed", round_number)
        assert self.through.acquire(timeout=10 * DEADLINE)
        return self.offered[round_number]

    def close(self) -> None:
        self.closed = True

    def has_seen(self, last: list[tuple[str, int]]) -> bool:
        """Whether these were its last calls."""
        return self.calls[-len(last) :] == last

    def _called(self, call: str, round_number: int) -> None:
        self.calls.append((call, round_number))
        self.callers.add(threading.current_thread().name)
        if error := self.errors.get((call, round_number)):
            raise error


@pytest.fixture
def wire() -> Iterator[Wire]:
    """Whatever still waits on it in the end is let through."""
    wire = Wire()
    yield wire
    wire.through.release(100)


Carried = Callable[[int], CarriedRounds]


@pytest.fixture
def carried(wire: Wire) -> Iterator[Carried]:
    """Opens carried rounds of a window on the wire, and closes them in the end."""
    opened: list[CarriedRounds] = []

    def carried(window: int) -> CarriedRounds:
        opened.append(CarriedRounds(Rounds(wire, Ledger()), window))
        return opened[-1]

    yield carried
    wire.through.release(100)
    for rounds in opened:
        rounds.close()


def offer(round_number: int, lag: int = 1) -> Offer:
    lanes = (Lane("write", "prefix"),)
    return Offer((round_number,), False, 0, round_number, lag, 5, NO_STEP_NUMBER, 0, lanes)


def soon(happened: Callable[[], object]) -> bool:
    """Whether it happens by the deadline."""
    until = time.monotonic() + DEADLINE
    while not happened() and time.monotonic() < until:
        time.sleep(0.001)
    return bool(happened())


def carriers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "rankproof carrier"]


@pytest.mark.parametrize("window", [1, 2, 4])
def test_rounds_are_issued_at_once_in_order_and_the_next_to_be_asked_for_is_waited_for(
    carried: Carried, wire: Wire, window: int
) -> None:
    rounds = carried(window)
    offers = [offer(number, window) for number in range(1, 9)]
    wire.through.release(len(offers))
    for number, each in enumerate(offers, 1):
        if number > window:
            assert rounds.agreed(offers[number - window - 1]).counts == (number - window,)
        rounds.begin(each)
        asked = max(0, number - window + 1)
        expected = [("offer", number), *[("agreed", asked)] * bool(asked)]
        assert soon(partial(wire.has_seen, expected))
    for each in offers[len(offers) - window :]:  # a drain
        assert rounds.agreed(each).counts == each.counts
    assert [number for call, number in wire.calls if call == "agreed"] == list(range(1, 9))
    assert wire.callers == {"rankproof carrier"}


def test_a_round_is_issued_while_an_earlier_one_is_not_agreed_on(carried: Carried, wire: Wire) -> None:
    rounds = carried(2)
    for number in (1, 2):
        rounds.begin(offer(number, 2))
    assert soon(lambda: ("agreed", 1) in wire.calls)
    assert wire.calls == [("offer", 1), ("offer", 2), ("agreed", 1)]


@pytest.mark.parametrize("call", ["offer", "agreed"])
def test_what_a_round_raises_is_raised_where_it_is_waited_for_and_again(
    carried: Carried, wire: Wire, call: str
) -> None:
    error = PeerLost("gone", 1)
    wire.errors[call, 1] = error
    rounds = carried(1)
    rounds.begin(offer(1))
    for number in (1, 2):
        with pytest.raises(PeerLost) as caught:
            rounds.agreed(offer(number))
        assert caught.value is error
        rounds.begin(offer(number + 1))
    assert 2 not in wire.offered


def test_a_wait_for_a_carrier_that_says_nothing_ends() -> None:
    wire = Wire(timeout=0.05)
    rounds = CarriedRounds(Rounds(wire, Ledger()), 1)
    rounds.begin(offer(1))
    begun = time.monotonic()
    with pytest.raises(StepTimeout, match=r"round 1: nothing from this rank's own carrier of rounds in 0\.1 s"):
        rounds.agreed(offer(1))
    assert DEADLINES * wire.timeout <= time.monotonic() - begun < DEADLINE
    wire.through.release()
    rounds.close()
    assert wire.closed


@pytest.mark.parametrize(("lag", "carrier", "there"), [(0, True, 0), (1, True, 1), (2, True, 1), (1, False, 0)])
def test_there_is_a_carrier_where_one_is_asked_for_and_rounds_are_in_flight(
    wire: Wire, lag: int, carrier: bool, there: int
) -> None:
    before = len(carriers())
    sync = AckSync(wire, LANES, lag, cumulative=lag > 1, carrier=carrier)
    assert len(carriers()) - before == there
    sync.close()
    assert len(carriers()) == before


@pytest.mark.parametrize("asked", [None, False, True])
def test_a_rank_that_is_opened_has_a_carrier_where_it_asks_for_one(asked: bool | None) -> None:
    store, plan = HashStore(), plan_for(Topology(tp=2), environment={})
    ask = {} if asked is None else {"carrier": asked}
    with ThreadPoolExecutor(2) as pool:
        opening = [pool.submit(partial(open_ack_sync, rank, plan, store, LANES, DEADLINE, **ask)) for rank in range(2)]
        ranks = [each.result() for each in opening]
        assert [type(rank._rounds) is CarriedRounds for rank in ranks] == [bool(asked)] * 2
        for closing in [pool.submit(rank.close) for rank in ranks]:
            closing.result()


def test_blocking_after_a_fall_back_has_no_carrier(wire: Wire) -> None:
    before = len(carriers())
    sync = AckSync(wire, LANES, carrier=True)
    wire.through.release(100)
    sync.fall_back()
    while sync.mode != "blocking":
        sync.step()
    assert len(carriers()) == before
    wire.callers.clear()
    assert sync.step().consumed
    assert wire.callers == {threading.current_thread().name}
    sync.close()


def test_where_there_is_no_thread_for_a_carrier_the_transport_is_let_go_of(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    with pytest.raises(StepFailed, match="no thread to be had for a carrier of rounds: can't start"):
        AckSync(wire, LANES, carrier=True)
    assert wire.closed


def test_a_rank_that_fails_leaves_no_carrier(wire: Wire) -> None:
    before = len(carriers())
    wire.errors["agreed", 1] = PeerLost("gone", 1)
    sync = AckSync(wire, LANES, carrier=True)
    sync.step()
    with pytest.raises(PeerLost, match="gone"):
        sync.step()
    assert (wire.closed, len(carriers())) == (True, before)
    with pytest.raises(SyncError, match="gone"):
        sync.step()


def test_a_rank_that_is_let_go_of_leaves_no_carrier(wire: Wire) -> None:
    before = len(carriers())
    sync = AckSync(wire, LANES, carrier=True)
    wire.through.release()
    sync.step()
    del sync
    gc.collect()
    assert soon(lambda: len(carriers()) == before)


@pytest.mark.parametrize("lag", [1, 2, 4])
def test_a_step_at_any_depth_leaves_that_many_rounds_in_flight(wire: Wire, lag: int) -> None:
    sync = AckSync(wire, LANES, lag, cumulative=lag > 1, carrier=True)
    for _ in range(lag):
        sync.step()
    assert soon(partial(wire.has_seen, [("offer", lag), ("agreed", 1)]))
    assert [number for call, number in wire.calls if call == "offer"] == list(range(1, lag + 1))
    wire.through.release(100)
    sync.close()


def test_what_happens_to_the_lanes_behind_an_offer_is_not_in_its_digests(carried: Carried, wire: Wire) -> None:
    """Also where the carrier comes before the step goes on: the offer is noted before it is handed over."""
    rounds = carried(1)
    first = offer(1)
    seen: list[bool] = []
    carrier = rounds._carrier

    class Watched:
        def put(self, task: tuple[Offer | None, bool] | None) -> None:
            seen.append(first in rounds._inline._ledger._notes)
            tasks.put(task)

    tasks, carrier.tasks = carrier.tasks, Watched()  # type: ignore[assignment]
    rounds.begin(first)
    carrier.tasks = tasks
    assert seen == [True]
    wire.through.release()


def test_a_child_of_a_fork_is_told_that_it_has_no_carrier(wire: Wire) -> None:
    sync = AckSync(wire, LANES, carrier=True)
    sync.step()
    child = multiprocessing.get_context("fork").Process(target=expects_misuse, args=(sync,))
    child.start()
    child.join(DEADLINE)
    assert child.exitcode == 0
    wire.through.release()
    sync.close()


def expects_misuse(sync: AckSync) -> None:
    try:
        sync.step()
    except Misuse as error:
        os._exit(0 if "opened before a fork" in str(error) else 2)
    os._exit(3)


ENDS = """
import sys
from rankproof.benchmarks.echo import EchoTransport
from rankproof.impl.sync import AckSync
sync = AckSync(EchoTransport(), {"write": "aligned"}, carrier=True)
sync.step()
"""


AT_EXIT = """
import atexit
atexit.register(lambda: print(sync.close().consumed))
"""


def test_a_part_may_be_closed_at_exit_when_its_carrier_has_ended() -> None:
    command = [sys.executable, "-c", ENDS + AT_EXIT]
    ended = subprocess.run(command, timeout=60, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "[1]\n"), ended.stderr


def test_an_interrupt_while_a_carrier_is_waited_for_lets_go_of_the_transport_all_the_same(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = AckSync(wire, LANES, carrier=True)

    closed_by_then: list[bool] = []

    def interrupted(*_: object) -> None:
        closed_by_then.append(wire.closed)
        if len(closed_by_then) == 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as once:
        once.setattr(threading.Thread, "join", interrupted)
        with pytest.raises(KeyboardInterrupt):
            sync.close()
    assert (closed_by_then, wire.closed) == ([False, True], True)


OTHER_THREAD = """
import threading, time
def later():
    time.sleep(0.7)
    print(sync._rounds._thread.is_alive(), sync.step().consumed)
threading.Thread(target=later).start()
"""


def test_a_carrier_goes_on_while_any_thread_keeps_the_process_alive() -> None:
    command = [sys.executable, "-c", ENDS + OTHER_THREAD]
    ended = subprocess.run(command, timeout=60, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "True [1]\n")


@pytest.mark.parametrize("ending", ["", "raise RuntimeError('an error of the caller')", "sys.exit(3)"])
def test_a_process_ends_that_has_not_closed_its_part(ending: str) -> None:
    ended = subprocess.run([sys.executable, "-c", ENDS + ending], timeout=60, capture_output=True, check=False)
    assert ended.returncode == (3 if "exit" in ending else bool(ending))
    assert b"Fatal" not in ended.stderr
