"""What a subject declares is the model that it is held against, and nothing that it does not support is in it."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import pytest

from rankproof.conformance.apart import declared
from rankproof.conformance.blame import broken_property, differences_of
from rankproof.conformance.capabilities import Capabilities, Lane
from rankproof.conformance.driver import Driver, Mismatch, Step
from rankproof.conformance.outcome import Ok, Outcome
from rankproof.conformance.subject import Observation
from rankproof.model.actions import Enqueue, Evict, Finish
from rankproof.model.protocol import BLOCKING, PIPELINED, depth


class Silent:
    """Ranks that answer every call with nothing popped, and remember what was sent."""

    def __init__(self, *replies: Outcome) -> None:
        self.replies = list(replies)
        self.sent: list[tuple[int, str, tuple[object, ...]]] = []

    def send(self, rank: int, method: str, *arguments: object) -> None:
        self.sent.append((rank, method, arguments))

    def receive(self, rank: int) -> Outcome:
        assert rank in (0, 1)
        return self.replies.pop(0) if self.replies else Ok()


def driver_of(capabilities: Capabilities, *replies: Outcome) -> tuple[Driver, Silent]:
    ranks = Silent(*replies)
    return Driver(capabilities.model(2), ranks, capabilities), ranks


def test_each_lag_is_held_against_its_protocol() -> None:
    assert Capabilities(lag=0).protocol == BLOCKING
    assert Capabilities().protocol == PIPELINED
    assert Capabilities(lag=3, cumulative=True).protocol == depth(3)
    assert Capabilities(cumulative=True).protocol == depth(1)


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("lag must be 0 or more, not -1", {"lag": -1}),
        ("say cumulative=True", {"lag": 2}),
        ("at least one lane", {"lanes": ()}),
        ("a name of its own", {"lanes": (Lane("write"), Lane("write"))}),
        ("storage must be 0 to 2 of the lanes, not 3", {"storage": 3}),
        (
            "supports names 'resets'; there are flush, reset, evict, reconfigure",
            {"supports": frozenset({"flush", "resets"})},
        ),
        ('storage of 1 is never attached: add "reconfigure"', {"storage": 1}),
        ("say storage=1, or leave it out", {"supports": frozenset({"reconfigure"})}),
    ],
)
def test_a_combination_that_nobody_can_have_is_an_error_that_says_what_to_write(
    words: str, fields: dict[str, object]
) -> None:
    with pytest.raises(ValueError, match=words):
        Capabilities(**fields)  # type: ignore[arg-type]


def test_storage_that_is_agreed_on_is_asked_for_in_a_word_and_each_rank_asks_when_it_will() -> None:
    at_once = Capabilities(storage=1, supports=frozenset({"reconfigure"}), guards=("round",))
    agreed = replace(at_once, attaches="agreed")
    assert (at_once.protocol.guards, at_once.scenario(2).aligned_attach) == (("round",), True)
    assert (agreed.protocol.guards, agreed.scenario(2).aligned_attach) == (("request", "round"), False)
    assert replace(agreed, guards=("round", "request")).protocol.guards == ("round", "request")


def test_what_is_not_supported_is_not_possible() -> None:
    able, _ = driver_of(Capabilities())
    unable, _ = driver_of(Capabilities(supports=frozenset()))
    names = {type(command).__name__ for command in able.possible()}
    assert {"Flush", "Reset", "Evict"} <= names
    assert {type(command).__name__ for command in unable.possible()} == names - {"Flush", "Reset", "Evict"}


def test_a_lane_that_is_not_evicted_is_never_evicted() -> None:
    driver, _ = driver_of(Capabilities(lanes=(Lane("write", evicts=False), Lane("load"))))
    assert {command.lane for command in driver.possible() if isinstance(command, Evict)} == {1}


def test_an_ack_comes_into_a_size_lane_when_it_has_finished_and_in_one_order() -> None:
    driver, ranks = driver_of(Capabilities(lanes=(Lane("backup", counts="size"),)))
    driver.give(Enqueue(0, 0, 0))
    driver.give(Enqueue(0, 0, 1))
    assert ranks.sent == []
    assert driver.why_not(Finish(0, 0, 1)) == "a lane that is counted by its size is filled in one order"
    driver.give(Finish(0, 0, 0))
    assert ranks.sent == [(0, "enqueue", (0, 0))]
    ranks.replies.append(Ok(Observation(((),), ((0,),), in_flight=1)))
    driver.give(Step(0))
    assert len(driver.compared) == 1, "what is left of a size lane is what has come"


def test_the_order_of_a_queue_that_is_a_set_says_nothing() -> None:
    seen = Ok(Observation(((), ()), ((1, 0), ()), in_flight=1))
    for order, agrees in (("identity", True), ("position", False)):
        driver, _ = driver_of(Capabilities(order=order), Ok(), Ok(), seen)  # type: ignore[arg-type]
        driver.give(Enqueue(0, 0, 0))
        driver.give(Enqueue(0, 0, 1))
        if agrees:
            driver.give(Step(0))
        else:
            with pytest.raises(AssertionError, match="left: model"):
                driver.give(Step(0))


def test_what_is_left_open_is_neither_a_difference_nor_blamed_beside_one() -> None:
    seen = Ok(Observation(((), ()), ((1, 0), ()), waited_unfinished=((0, 0),), in_flight=0))
    driver, _ = driver_of(Capabilities(order="identity", waits=True), Ok(), Ok(), seen)
    driver.give(Enqueue(0, 0, 0))
    driver.give(Enqueue(0, 0, 1))
    with pytest.raises(Mismatch) as caught:
        driver.give(Step(0))
    assert [each.field for each in differences_of(caught.value.reply)] == ["in_flight"]
    assert broken_property(caught.value.schedule, caught.value.reply) == "matched-collectives"


def test_a_subject_may_give_its_own_queue_a_list_or_a_deque() -> None:
    given = Observation([[0], deque([1])], deque([deque(), [2]]))  # type: ignore[arg-type]
    assert given == Observation(((0,), (1,)), ((), (2,)))


@pytest.mark.parametrize("popped", [None, (0, ()), ((0, "a"), ()), ((None,), ()), 7])
def test_what_is_no_tuple_of_acks_differs_also_where_their_order_says_nothing(popped: object) -> None:
    seen = Ok(Observation(popped, ((), ()), in_flight=1))  # type: ignore[arg-type]
    driver, _ = driver_of(Capabilities(order="identity"), seen)
    with pytest.raises(Mismatch) as caught:
        driver.give(Step(0))
    assert str(caught.value).endswith(f"\n  popped: model ((), ()) | subject {popped!r}")


def test_a_wait_for_an_unfinished_ack_differs_unless_it_is_allowed() -> None:
    seen = Ok(Observation(((), ()), ((), ()), waited_unfinished=((0, 0),), in_flight=1))
    driver, _ = driver_of(Capabilities(waits=True), seen)
    driver.give(Step(0))
    driver, _ = driver_of(Capabilities(), seen)
    with pytest.raises(AssertionError, match="waited_unfinished: model"):
        driver.give(Step(0))


class Plain:
    """A subject by its methods."""

    def _nothing(self, *_: object) -> None:
        """Nothing."""

    setup = enqueue = finish = step = flush = reset = evict = reconfigure = close = _nothing


class Declaring(Plain):
    capabilities = Capabilities(lag=0)


def declared_by_factory() -> Plain:
    return Plain()


declared_by_factory.capabilities = Capabilities(lag=0)  # type: ignore[attr-defined]


def test_a_subject_or_its_factory_declares_and_else_nothing_is_known() -> None:
    assert declared(Declaring) == Capabilities(lag=0)
    assert declared(declared_by_factory) == Capabilities(lag=0)
    assert declared(f"{__name__}:declared_by_factory") == Capabilities(lag=0)
    assert declared(Plain) is None
