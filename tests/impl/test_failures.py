"""What a call that fails leaves behind, on ranks joined in memory: nothing handed out, the first cause, a free turn."""

import gc
import threading
import time
import weakref
from collections import deque

import pytest

from rankproof.impl import board, frame
from rankproof.impl.acks import Ack
from rankproof.impl.errors import Misuse, RankDivergence, StepFailed, StepTimeout, SyncError
from rankproof.impl.frame import StepResult
from rankproof.impl.sync import PipelinedAckSync
from tests.impl.conftest import DEADLINE, LANES, Group, ManualEvent, MemoryNetwork, ThrowingEvent, every_call, group_of


def test_an_event_that_throws_fails_the_step_which_then_hands_out_nothing(pipelined: Group) -> None:
    pipelined.enqueue("a")
    pipelined.finish("a")
    pipelined.step()
    thrower = pipelined.ranks[0]
    thrower.enqueue("write", Ack("bad", ThrowingEvent(RuntimeError("device lost"))))
    with pytest.raises(StepFailed, match="RuntimeError: device lost"):
        thrower.step()
    assert thrower.waiting("write") == ("a", "bad")
    assert pipelined.network.transports[0].closed


def test_an_eviction_that_throws_hands_out_nothing(pipelined: Group) -> None:
    pipelined.enqueue("a")
    pipelined.finish("a")
    pipelined.step()
    thrower = pipelined.ranks[0]
    thrower.enqueue("write", Ack("bad", ThrowingEvent(RuntimeError("device lost"))))
    with pytest.raises(StepFailed):
        thrower.evict("write")
    assert thrower.waiting("write") == ("a", "bad")


def test_an_interrupt_passes_through_and_breaks_the_object(pipelined: Group) -> None:
    rank = pipelined.ranks[0]
    rank.enqueue("write", Ack("a", ThrowingEvent(KeyboardInterrupt())))
    with pytest.raises(KeyboardInterrupt):
        rank.step()
    with pytest.raises(StepFailed, match="KeyboardInterrupt"):
        rank.step()


def test_an_interrupt_before_anything_is_done_leaves_the_turn_to_the_next_call(
    pipelined: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as once:
        once.setattr(frame, "StepResult", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pipelined.ranks[0].step()
    pipelined.step()
    assert [rank.in_flight for rank in pipelined.ranks] == [1, 1]


def test_an_interrupt_on_the_way_into_a_call_leaves_the_turn_to_the_next(
    pipelined: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal is handled where a function begins: here the one that enters the frame."""

    def interrupted(_: frame.Frame) -> StepResult:
        raise KeyboardInterrupt

    with monkeypatch.context() as once:
        once.setattr(frame.Frame, "__enter__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pipelined.ranks[0].step()
    pipelined.step()
    assert [rank.in_flight for rank in pipelined.ranks] == [1, 1]


@pytest.mark.parametrize("at", [1, 2, 3])
def test_an_interrupt_in_the_middle_of_a_pop_loses_no_ack(
    pipelined: Group, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    pipelined.enqueue("a", "b", "c")
    pipelined.finish("a", "b", "c")
    pipelined.step()
    lane = pipelined.ranks[0]._lanes["write"]

    class Interrupted(deque[Ack]):
        """Raises where the interrupt of a terminal would: as a call begins, or as it has ended."""

        left = at

        def popleft(self) -> Ack:
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt
            return super().popleft()

    monkeypatch.setattr(lane, "_acks", Interrupted(lane._acks))
    with pytest.raises(KeyboardInterrupt):
        pipelined.ranks[0].step()
    assert [ack.identity for ack in lane._acks] == ["a", "b", "c"]


def test_what_was_popped_is_not_held_any_longer_than_the_caller_holds_it(either: Group) -> None:
    events = [ManualEvent(finished=True) for _ in either.ranks]
    gone = weakref.ref(events[0])
    for rank in either.ranks:
        rank.enqueue("write", Ack("a", events.pop(0)))
    assert "a" in [*either.step(), *either.step()]
    gc.collect()
    assert gone() is None


def test_after_a_failure_every_call_raises_the_first_cause(pipelined: Group) -> None:
    rank = pipelined.ranks[0]
    rank.step()
    with pytest.raises(StepTimeout) as first:
        rank.step()
    for call in [*every_call(rank), rank.close]:
        with pytest.raises(StepTimeout, match="the first cause: round 1: some rank did not offer") as later:
            call()
        assert later.value.__cause__ is first.value
    assert (rank.in_flight, first.value.round) == (0, 1)


def test_a_later_call_raises_with_all_that_the_first_cause_carried() -> None:
    group = group_of(PipelinedAckSync, combine=max)
    group.enqueue("a")
    group.finish("a", on=[1])
    group.ranks[0].step(), group.ranks[1].step()
    with pytest.raises(RankDivergence) as first:
        group.ranks[0].step()
    with pytest.raises(RankDivergence) as later:
        group.ranks[0].step()
    assert vars(later.value) == vars(first.value)
    assert (later.value.word, later.value.lowest, later.value.own) == ("count of lane write", 1, 0)


def test_a_store_that_is_held_up_delays_an_error_by_its_two_calls_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    class HeldUp:
        """Answers nothing while the test runs."""

        def set(self, *_: str) -> None:
            released.wait(DEADLINE)

        def check(self, _: list[str]) -> bool:
            released.wait(DEADLINE)
            return False

    monkeypatch.setattr(board, "GRACE", 1.0)
    end = MemoryNetwork(timeout=0.0).transports[0]
    rank = PipelinedAckSync(end, LANES, board=board.Board(HeldUp(), 0, 2))  # type: ignore[arg-type]
    rank.step()
    begun = time.monotonic()
    with pytest.raises(StepTimeout, match="; nothing heard of rank 1") as caught:
        rank.step()
    assert 2.0 <= time.monotonic() - begun < 2.8
    assert caught.value.round == 1
    released.set()


def test_an_error_says_where_its_rank_was(pipelined: Group) -> None:
    pipelined.enqueue("a", "b")
    pipelined.ranks[0].step()
    with pytest.raises(StepTimeout) as caught:
        pipelined.ranks[0].step()
    assert str(caught.value) == (
        "round 1: some rank did not offer [rank 0 of 2, pipelined, epoch 0: issued 1, consumed 0; "
        "write holds 2, head 'a'; load holds 0; backup holds 0]"
    )


def test_every_error_is_a_sync_error_and_misuse_a_value_error() -> None:
    assert issubclass(Misuse, ValueError)
    assert all(issubclass(kind, SyncError) for kind in (Misuse, StepTimeout, StepFailed, RankDivergence))
