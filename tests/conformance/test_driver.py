"""The driver takes model and subject through the same commands, and sees every way in which a reply can differ."""

from __future__ import annotations

import signal
from collections import deque

import pytest

from rankproof.conformance.driver import Command, Driver, HarnessLost, Mismatch, Step
from rankproof.conformance.outcome import Died, Hung, Ok, Outcome, Raised
from rankproof.conformance.subject import Observation
from rankproof.model.actions import Crash, Decline, Enqueue, Evict, Finish, Flush, Lose, Pop, Reset
from rankproof.model.interleaving import Model
from rankproof.model.protocol import BLOCKING, PIPELINED, Protocol
from rankproof.model.scenario import Scenario
from rankproof.model.schedule import run


class Scripted:
    """Ranks that reply what they are told to, and remember what they were asked."""

    def __init__(self, *replies: Outcome) -> None:
        self.replies = deque(replies)
        self.sent: list[tuple[int, str, tuple[object, ...]]] = []
        self.received: list[int] = []

    def send(self, rank: int, method: str, *arguments: object) -> None:
        self.sent.append((rank, method, arguments))

    def receive(self, rank: int) -> Outcome:
        self.received.append(rank)
        return self.replies.popleft() if self.replies else Ok()


class Killable(Scripted):
    """The same, of ranks that can be killed."""

    def receive(self, rank: int, within: float | None = None) -> Outcome:
        del within
        return super().receive(rank)

    def aside(self, rank: int, method: str, *arguments: object) -> None: ...

    def kill(self, rank: int, signum: signal.Signals = signal.SIGKILL) -> None: ...


def driver_of(*replies: Outcome, protocol: Protocol = PIPELINED, **bounds: int) -> tuple[Driver, Scripted]:
    ranks = Scripted(*replies)
    return Driver(Model(protocol, Scenario(**{"acks": 9, "ahead": 9} | bounds)), ranks), ranks  # type: ignore[arg-type]


def seen(popped: tuple[int, ...] = (), left: tuple[int, ...] = (), in_flight: int = 0) -> Ok:
    return Ok(Observation((popped,), (left,), in_flight=in_flight))


def test_a_step_that_waits_for_a_peer_leaves_its_rank_busy_and_its_reply_unread() -> None:
    driver, ranks = driver_of(seen(in_flight=1), seen(in_flight=1), seen(in_flight=1))
    driver.give(Step(0))
    driver.give(Step(0))
    assert driver.is_busy(0)
    assert ranks.received == [0]
    driver.give(Step(1))
    assert not driver.is_busy(0)
    assert ranks.received == [0, 1, 0]


def test_a_blocking_step_ends_when_every_rank_has_begun_its_own() -> None:
    driver, _ = driver_of(seen(), seen(), protocol=BLOCKING)
    driver.give(Step(1))
    assert driver.is_busy(1)
    driver.give(Step(0))
    assert not driver.is_busy(0)
    assert not driver.is_busy(1)


def test_a_busy_rank_takes_no_command() -> None:
    driver, _ = driver_of(seen(in_flight=1))
    driver.give(Step(0))
    driver.give(Step(0))
    assert driver.why_not(Enqueue(0, 0, 0)) == "rank 0 has not ended its step"
    with pytest.raises(ValueError, match="rank 0 has not ended its step"):
        driver.give(Flush(0))


def test_an_ack_popped_before_it_is_finished_everywhere_is_a_difference_with_both_sides_named() -> None:
    driver, _ = driver_of(Ok(), Ok(), seen(left=(0,), in_flight=1), seen(in_flight=1), seen(popped=(0,), in_flight=1))
    driver.give(Enqueue(0, 0, 0))
    driver.give(Finish(0, 0, 0))
    driver.give(Step(0))
    driver.give(Step(1))
    with pytest.raises(Mismatch) as caught:
        driver.give(Step(0))
    assert str(caught.value) == (
        "rank 0, step: the subject differs from the model\n"
        "  popped: model ((),) | subject ((0,),)\n"
        "  left: model ((0,),) | subject ((),)"
    )


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Raised("PeerLost", "gone"), "rank 0, step: the subject raised PeerLost: gone"),
        (Hung(2.0), "rank 0, step: the subject hung: no reply within 2 s"),
        (Died(-9), "rank 0, step: the subject died: SIGKILL"),
        (Ok("nonsense"), "rank 0, step: the subject differs from the model\n  it gave 'nonsense'"),
        (
            Ok(Observation(((),), ((),), waited_unfinished=((0, 3),), in_flight=1)),
            "rank 0, step: the subject differs from the model\n  waited_unfinished: model () | subject ((0, 3),)",
        ),
        (
            Ok(Observation(((),), ((),), in_flight=0)),
            "rank 0, step: the subject differs from the model\n  in_flight: model 1 | subject 0",
        ),
    ],
)
def test_every_other_reply_is_a_difference_too(reply: Outcome, words: str) -> None:
    driver, _ = driver_of(reply)
    with pytest.raises(Mismatch) as caught:
        driver.give(Step(0))
    assert str(caught.value) == words


def test_a_difference_carries_the_schedule_that_led_to_it_and_the_model_can_take_it() -> None:
    driver, _ = driver_of(Ok(), seen(left=(7,), in_flight=1))
    driver.give(Enqueue(1, 0, 0))
    with pytest.raises(Mismatch) as caught:
        driver.give(Step(1))
    replayed = run(caught.value.schedule)
    assert replayed.stopped is None
    assert len(replayed.states) == len(caught.value.schedule.actions) + 1 == 6


def test_a_reset_is_compared_with_what_its_drain_popped() -> None:
    replies = [Ok()] * 4 + [seen(left=(0,), in_flight=1)] * 2 + [seen(popped=(0,))]
    driver, _ = driver_of(*replies, resets=1)
    for rank in (0, 1):
        driver.give(Enqueue(rank, 0, 0))
        driver.give(Finish(rank, 0, 0))
    driver.give(Step(0))
    driver.give(Step(1))
    driver.give(Reset(0))
    assert driver.compared[-1].popped == ((0,),)


def test_a_reset_that_must_wait_commits_the_other_ranks_to_it() -> None:
    driver, _ = driver_of(seen(in_flight=1), resets=1)
    driver.give(Step(0))
    driver.give(Reset(0))
    assert driver.is_busy(0)
    assert driver.why_not(Enqueue(1, 0, 0)) == "another rank went through reset before it enqueued ack 0"


def test_catching_up_takes_the_late_rank_through_all_that_the_other_went_through() -> None:
    replies = [Ok(), Ok(), seen(left=(0,), in_flight=1)]
    driver, ranks = driver_of(*replies, *[seen()] * 0, evicts=1, resets=1)
    driver.give(Enqueue(0, 0, 0))
    driver.give(Finish(0, 0, 0))
    driver.give(Step(0))
    ranks.replies.extend([seen(in_flight=1), seen(popped=(0,)), Ok(), Ok(), seen(popped=(0,))])
    driver.give(Evict(0, 0))
    driver.catch_up()
    assert [name for rank, name, _ in ranks.sent if rank == 1] == ["step", "enqueue", "finish", "evict"]
    assert not driver.is_busy(0)


def test_a_rank_that_is_steps_behind_catches_up_also_where_resets_are_not_aligned_and_no_script_says_so() -> None:
    ranks = Scripted(*[seen(in_flight=1)] * 4)
    driver = Driver(Model(PIPELINED, Scenario(ahead=9, resets=1, aligned_resets=False)), ranks)
    driver.give(Step(0))
    driver.give(Step(0))  # which waits for the other, and then is a second that it lacks
    driver.give(Step(1))
    assert not driver.is_busy(0)
    assert driver.state.ahead_of(1) == ()
    driver.catch_up()
    assert [rank for rank, _, _ in ranks.sent] == [0, 0, 1, 1]
    assert [rank.steps for rank in driver.state.ranks] == [2, 2]


def test_a_protocol_under_which_ranks_pop_other_acks_breaks_same_pops_and_not_what_the_first_of_them_pops() -> None:
    popped, first = seen(popped=(1,), in_flight=1), seen(left=(1,), in_flight=1)
    driver, ranks = driver_of(Ok(), Ok(), first, Ok(), Ok(), seen(left=(0,), in_flight=1), popped, losses=1)
    commands: list[Command] = [
        Lose(0, 0, 0),
        Enqueue(0, 0, 1),
        Finish(0, 0, 1),
        Step(0),
        Enqueue(1, 0, 0),
        Finish(1, 0, 0),
        Step(1),
    ]
    for command in [*commands, Step(0)]:
        driver.give(command)
    assert ranks.received.count(0) == 4
    with pytest.raises(Mismatch, match=r"the protocol on this schedule breaks same-pops: pop 1 .* is ack 0 on rank 1"):
        driver.give(Step(1))
    assert driver.schedule().actions[-1] == Pop(1)


def test_what_the_first_of_them_pops_is_broken_all_the_same_where_no_peer_is_left_to_pop() -> None:
    popped, first = seen(popped=(1,), in_flight=1), seen(left=(1,), in_flight=1)
    lost = Raised("PeerLost", "rank 1 is gone")
    replies = (Ok(), Ok(), first, Ok(), Ok(), seen(left=(0,), in_flight=1), popped, lost, lost)
    driver = Driver(Model(PIPELINED, Scenario(acks=9, ahead=9, losses=1, crashes=1)), Killable(*replies))
    commands: list[Command] = [
        Lose(0, 0, 0),
        Enqueue(0, 0, 1),
        Finish(0, 0, 1),
        Step(0),
        Enqueue(1, 0, 0),
        Finish(1, 0, 0),
        Step(1),
        Step(0),
        Crash(1),
    ]
    for command in commands:
        driver.give(command)
    with pytest.raises(Mismatch, match="the protocol on this schedule breaks finished-before-pop"):
        driver.catch_up()


def test_a_lost_enqueue_reaches_no_subject() -> None:
    driver, ranks = driver_of(losses=1)
    driver.give(Lose(0, 0, 0))
    assert ranks.sent == []


def test_what_is_possible_is_what_may_be_given() -> None:
    driver, _ = driver_of(flushes=1, resets=1, evicts=1)
    assert all(driver.why_not(command) is None for command in driver.possible())
    assert {type(command) for command in driver.possible()} == {Step, Enqueue, Flush, Reset, Evict}


def test_an_end_that_nobody_saw_says_nothing_about_the_subject() -> None:
    driver, _ = driver_of(Died(None))
    with pytest.raises(HarnessLost, match="nobody saw how rank 0 ended"):
        driver.give(Step(0))


def test_only_replies_that_say_something_count_as_compared() -> None:
    driver, _ = driver_of(Ok(), Ok(), seen(left=(0,), in_flight=1))
    driver.give(Enqueue(0, 0, 0))
    driver.give(Finish(0, 0, 0))
    assert driver.compared == []
    driver.give(Step(0))
    assert [each.name for each in driver.compared] == ["step"]


def test_a_rank_that_left_a_step_out_takes_another_where_a_reset_waits_for_its_round() -> None:
    running = seen(in_flight=1)
    ranks = Scripted(Ok(), seen(), running, running, seen(), running)
    driver = Driver(Model(PIPELINED, Scenario(ahead=9, declines=1, resets=1)), ranks, checked=())
    driver.give(Decline(1))
    driver.give(Reset(1))
    driver.catch_up()
    told = [(rank, method) for rank, method, _ in ranks.sent]
    assert told == [(1, "decline"), (1, "reset"), (0, "step"), (0, "reset"), (1, "step"), (0, "step")]
    assert not driver.is_busy(0)
