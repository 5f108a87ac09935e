"""Lanes count what has finished at their head, and pop in order."""

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import pytest

from rankproof.impl.acks import FINISHED, Ack, Lane, LaneKind
from rankproof.impl.errors import Misuse, StepTimeout
from tests.impl.conftest import ManualEvent


def lane_of(*finished: bool, kind: LaneKind = "prefix") -> tuple[Lane, list[ManualEvent]]:
    """A lane whose n-th ack is called n, and has finished as given."""
    lane = Lane("write", kind)
    events = [ManualEvent(one) for one in finished]
    for number, event in enumerate(events):
        lane.enqueue(Ack(number, event))
    return lane, events


@pytest.mark.parametrize(
    ("finished", "ready"), [((), 0), ((False, True), 0), ((True, False, True), 1), ((True, True), 2)]
)
def test_the_ready_count_is_the_length_of_the_finished_prefix(finished: tuple[bool, ...], ready: int) -> None:
    assert lane_of(*finished)[0].ready_count() == ready


def test_no_event_behind_the_first_unfinished_one_is_asked() -> None:
    lane, events = lane_of(True, True, False, True, False)
    lane.ready_count()
    assert [event.queries for event in events] == [1, 1, 1, 0, 0]


def test_a_size_lane_counts_its_length_and_asks_no_event() -> None:
    lane, events = lane_of(False, True, False, kind="size")
    assert lane.ready_count() == 3
    assert [event.queries for event in events] == [0, 0, 0]


def test_acks_leave_in_the_order_in_which_they_came() -> None:
    lane, _ = lane_of(True, True, True)
    assert [ack.identity for ack in lane.pop(2)] == [0, 1]
    assert lane.waiting == (2,)


def test_acks_put_back_stand_where_they_stood() -> None:
    lane, _ = lane_of(True, True, True)
    lane.put_back(lane.pop(2))
    assert lane.waiting == (0, 1, 2)
    with pytest.raises(Misuse):
        lane.enqueue(Ack(1, FINISHED))


def test_a_lane_that_is_shut_gives_all_that_waits_and_takes_in_nothing_that_comes_late() -> None:
    lane, _ = lane_of(True, False)
    acks = lane.shut()
    assert [ack.identity for ack in acks] == [0, 1]
    with pytest.raises(Misuse, match="lane 'write' is detached: ack 2 came too late"):
        lane.enqueue(Ack(2, FINISHED))
    lane.put_back(acks)
    lane.enqueue(Ack(2, FINISHED))
    assert lane.waiting == (0, 1, 2)


@pytest.mark.parametrize("count", [-1, 3, 1.0, True])
def test_a_count_that_cannot_be_popped_pops_nothing(count: int) -> None:
    lane, _ = lane_of(True, True)
    with pytest.raises(Misuse, match="cannot pop"):
        lane.pop(count)
    assert lane.waiting == (0, 1)


@pytest.mark.parametrize("call", [Lane.clear, Lane.shut])
def test_an_identity_may_come_again_after_its_lane_was_cleared(call: Callable[[Lane], object]) -> None:
    lane, _ = lane_of(True, False)
    lane.ready_count()
    lane.enqueue(Ack("not yet taken in", FINISHED))
    call(lane)
    lane.put_back([])
    for identity in (0, "not yet taken in"):
        lane.enqueue(Ack(identity, FINISHED))
    assert lane.waiting == (0, "not yet taken in")


def test_another_thread_sees_an_ack_that_is_being_taken_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two operations of the taking in it is in both places, and seen once."""
    lane, _ = lane_of(True, True)
    seen: list[tuple[object, ...]] = []

    class Watched(deque[Ack]):
        def append(self, ack: Ack) -> None:
            seen.append(lane.waiting)
            super().append(ack)
            seen.append(lane.waiting)

    monkeypatch.setattr(lane, "_acks", Watched())
    assert lane.ready_count() == 2
    assert seen == [(0, 1)] * 4


def test_an_identity_waits_once_and_may_come_again_after_its_pop() -> None:
    lane, _ = lane_of(True)
    with pytest.raises(Misuse, match="ack 0 waits here already"):
        lane.enqueue(Ack(0, FINISHED))
    assert lane.waiting == (0,)
    lane.pop(1)
    lane.enqueue(Ack(0, FINISHED))
    assert lane.waiting == (0,)


def test_an_identity_is_an_int_or_a_str() -> None:
    lane = Lane("write", "prefix")
    with pytest.raises(Misuse, match="an int or a str"):
        lane.enqueue(Ack([1], FINISHED))  # type: ignore[arg-type]
    assert lane.waiting == ()


def test_a_lane_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(Misuse, match="of kind aligned or prefix or size"):
        Lane("write", "newest")  # type: ignore[arg-type]


def test_waiting_for_acks_ends_when_they_have_finished_and_synchronizes_each() -> None:
    lane, events = lane_of(True, True, False)
    assert lane.wait_for(2, seconds=0.0) == 2
    assert [event.synchronized for event in events] == [True, True, False]


def test_waiting_for_an_ack_ends_at_the_deadline_and_names_it() -> None:
    lane, _ = lane_of(True, False)
    with pytest.raises(StepTimeout, match=r"lane 'write': waited 0\.01 s for ack 1 to finish on this rank"):
        lane.wait_for(None, seconds=0.01)
    with pytest.raises(StepTimeout, match=r"waited 0 s for ack 3 to be enqueued"):
        lane_of(True, True)[0].wait_for(3, seconds=0.0)


def test_a_cleared_lane_is_as_new() -> None:
    lane, _ = lane_of(True, True, kind="aligned")
    lane.pop(1)
    lane.clear()
    assert (lane.waiting, lane.popped_count) == ((), 0)


def test_an_ack_that_shutting_a_lane_has_taken_is_not_refused_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread looks whether the lane is shut once its ack is in the inbox; the shutting comes just before."""
    lane, _ = lane_of(True)
    taken: list[Ack] = []

    class Inbox(deque[Ack]):
        def append(self, ack: Ack) -> None:
            super().append(ack)
            taken.extend(lane.shut())

    monkeypatch.setattr(lane, "_inbox", Inbox(lane._inbox))
    lane.enqueue(Ack("late", FINISHED))
    assert [ack.identity for ack in taken] == [0, "late"]
    assert lane.waiting == ()


def test_acks_of_many_threads_are_each_popped_once_while_others_come() -> None:
    lane = Lane("write", "prefix")
    popped: list[Ack] = []
    with ThreadPoolExecutor(4) as threads:
        filling = [threads.submit(fill, lane, range(part, 4000, 4)) for part in range(4)]
        while not all(part.done() for part in filling) or len(lane):
            popped += lane.pop(lane.ready_count())
    assert sorted(int(ack.identity) for ack in popped) == list(range(4000))


def fill(lane: Lane, identities: Iterable[int]) -> None:
    for identity in identities:
        lane.enqueue(Ack(identity, FINISHED))
