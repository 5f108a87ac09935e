"""What a reply that differs has broken is told by the model's own checks, or by what the reply is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rankproof.conformance.blame import Difference, broken_property, differences_of, remark_on
from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.driver import Reply
from rankproof.conformance.outcome import Died, Hung, Ok, Outcome, Raised
from rankproof.conformance.subject import Observation
from rankproof.model.actions import Action, Count, Enqueue, Evict, Finish, Flush, Issue, Pop, Reset, Wait
from rankproof.model.schedule import Schedule
from rankproof.model.state import LOST

MODEL = Capabilities().model(2)
ENQUEUED: list[Action] = [Enqueue(rank, 0, ack) for rank in (0, 1) for ack in (0, 1)]
FINISHED: list[Action] = [Finish(rank, 0, ack) for rank in (0, 1) for ack in (0, 1)]


def step(rank: int) -> list[Action]:
    return [Wait(rank), Pop(rank), Count(rank), Issue(rank)]


ROUND = [*step(0), *step(1)]


def blamed(actions: list[Action], expected: tuple[int, ...], popped: tuple[int, ...], name: str = "step") -> str:
    seen = Observation((popped, ()), ((), ()), in_flight=1)
    model = Observation((expected, ()), ((), ()), in_flight=1)
    return broken_property(Schedule(MODEL, tuple(actions)), Reply(0, name, Ok(seen), model))


def test_popping_what_is_unfinished_on_another_rank_breaks_finished_before_pop() -> None:
    actions = [*ENQUEUED, Finish(0, 0, 0), *ROUND, *step(0)]
    assert blamed(actions, (), (0,)) == "finished-before-pop"


def test_popping_another_ack_than_another_rank_did_breaks_same_pops() -> None:
    actions = [*ENQUEUED, *FINISHED, *ROUND, *step(1), *step(0)]
    assert blamed(actions, (0, 1), (1, 0)) == "same-pops"


@pytest.mark.parametrize(("left", "breaks"), [((), "same-pops"), ((0,), "finished-before-pop")])
def test_popping_another_ack_that_is_unfinished_there_breaks_same_pops_only_where_the_right_one_never_came(
    left: tuple[int, ...], breaks: str
) -> None:
    actions = [*ENQUEUED, Finish(0, 0, 0), Finish(1, 0, 0), Finish(0, 0, 1), *ROUND, *step(1), *step(0)]
    model = Observation(((0,), ()), ((1,), ()), in_flight=1)
    seen = Observation(((1,), ()), (left, ()), in_flight=1)
    reply = Reply(0, "step", Ok(seen), model)
    assert broken_property(Schedule(MODEL, tuple(actions)), reply) == breaks


def test_an_ack_that_is_neither_popped_nor_left_is_remarked_on_as_an_enqueue_that_failed() -> None:
    model = Observation(((0,), ()), ((1,), (5,)))
    lost = Reply(1, "step", Ok(Observation(((0,), ()), ((1,), ()))), model)
    assert remark_on(lost).startswith("rank 1 was given ack 5 of lane 1, and neither popped it nor has it left;")
    assert remark_on(Reply(1, "step", Ok(Observation(((), ()), ((0, 1), (5,)))), model)) == ""


@pytest.mark.parametrize(
    ("due", "breaks"), [("enqueued", "named-divergence"), ("layout", "named-divergence"), (LOST, "contained-failure")]
)
def test_going_on_where_a_difference_was_to_be_named_breaks_named_divergence(due: str, breaks: str) -> None:
    assert broken_property(Schedule(MODEL, ()), Reply(0, "step", Ok(), due=due)) == breaks


def test_popping_what_finished_after_the_count_breaks_exact_delay() -> None:
    actions = [*ENQUEUED, *ROUND, *FINISHED, *step(0)]
    assert blamed(actions, (), (0,)) == "exact-delay"


def test_popping_less_than_was_agreed_breaks_the_exact_delay_and_so_the_lag() -> None:
    actions = [*ENQUEUED, *FINISHED, *ROUND, *step(0)]
    assert blamed(actions, (0, 1), (0,)) == "exact-delay"


@pytest.mark.parametrize("last", [Flush(0), Reset(0), Evict(0, 1)])
def test_the_pops_of_a_drain_are_judged_as_those_of_a_step(last: Action) -> None:
    actions = [*ENQUEUED, Finish(0, 0, 0), *ROUND, last]
    assert blamed(actions, (), (0,), type(last).__name__.lower()) == "finished-before-pop"


def test_what_an_eviction_pops_of_its_own_lane_need_be_finished_on_its_own_rank_alone() -> None:
    actions = [*ENQUEUED, Finish(0, 0, 0), Finish(0, 0, 1), *ROUND, Evict(0, 0)]
    assert blamed(actions, (0, 1), (0,), "evict") == ""


@pytest.mark.parametrize(
    ("name", "model", "seen", "breaks"),
    [
        ("step", {"in_flight": 1}, {"in_flight": 0}, "matched-collectives"),
        ("step", {"in_flight": 1}, {"in_flight": 2}, "one-owner"),
        ("flush", {"in_flight": 0}, {"in_flight": 1}, "clean-lifecycle"),
        ("reset", {}, {"left": ((3,),)}, "clean-lifecycle"),
        ("step", {}, {"left": ((3,),)}, ""),
        ("step", {}, {"waited_unfinished": ((0, 3),)}, "finished-before-pop"),
    ],
)
def test_what_is_no_pop_is_told_by_what_it_is(
    name: str, model: dict[str, object], seen: dict[str, object], breaks: str
) -> None:
    nothing: dict[str, object] = {"popped": ((),), "left": ((),)}
    expected = Observation(**(nothing | model))  # type: ignore[arg-type]
    reply = Reply(0, name, Ok(Observation(**(nothing | seen))), expected)  # type: ignore[arg-type]
    assert broken_property(Schedule(MODEL, ()), reply) == breaks


class Array:
    """Compares each of its elements, as numpy does."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("the truth value of an array is ambiguous")

    def __repr__(self) -> str:
        return "array([0, 1])"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("in_flight", None),
        ("in_flight", Array()),
        ("popped", None),
        ("popped", (0, ())),
        ("popped", ((),)),
        ("popped", (([0],), ())),
        ("popped", ((Array(),), ())),
        ("left", "ab"),
        ("waited_unfinished", 3),
        ("waited_unfinished", (3,)),
    ],
)
def test_what_does_not_have_the_shape_of_an_observation_is_shown_as_it_is_and_breaks_nothing(
    field: str, value: object
) -> None:
    model = Observation(((), ()), ((), ()), in_flight=1)
    reply = Reply(0, "step", Ok(replace(model, **{field: value})), model)  # type: ignore[arg-type]
    assert broken_property(Schedule(MODEL, (*ENQUEUED, *ROUND, *step(0))), reply) == ""
    assert [(each.field, each.subject) for each in differences_of(reply)] == [(field, repr(value))]


@pytest.mark.parametrize("acks", [(99,), (-1,), (0, 0)])
def test_acks_that_never_were_there_are_blamed_like_others(acks: tuple[int, ...]) -> None:
    assert blamed([*ENQUEUED, *ROUND, *step(0)], (), acks) == "finished-before-pop"


@pytest.mark.parametrize(
    ("popped", "left", "is_told"),
    [
        ((1,), (0, 2), True),
        ((0, 2), (1,), True),
        ((0, 1), (2,), False),  # more than the model, but in order
        ((), (0, 1, 2), False),
        ((0, 1, 2), (), False),
    ],
)
def test_an_ack_popped_before_one_that_stands_before_it_is_told_from_one_popped_early(
    popped: tuple[int, ...], left: tuple[int, ...], is_told: bool
) -> None:
    model = Observation(((0,), ()), ((1, 2), ()), in_flight=1)
    seen = replace(model, popped=(popped, ()), left=(left, ()))
    assert bool(remark_on(Reply(0, "step", Ok(seen), model))) is is_told


def test_nothing_is_remarked_on_what_is_no_observation() -> None:
    model = Observation(((), ()), ((), ()))
    assert not any(map(remark_on, (None, Reply(0, "step", Died(-9)), Reply(0, "step", Ok(3), model))))


def test_a_follower_that_ends_its_step_before_its_own_acks_have_finished_breaks_finished_before_pop() -> None:
    seen = Ok(Observation(((), ()), ((), ()), in_flight=0))
    assert broken_property(Schedule(MODEL, ()), Reply(2, "step", seen, early=True)) == "finished-before-pop"
    died = Reply(2, "step", Died(-9), early=True)
    assert broken_property(Schedule(MODEL, ()), died) == "contained-failure"


@pytest.mark.parametrize(
    ("outcome", "breaks"),
    [
        (Hung(1.0), "no-deadlock"),
        (Died(-9), "contained-failure"),
        (Raised("StepTimeout", "round 1: not there within 3 s"), ""),
        (Raised("RuntimeError", "Timed out waiting 1000ms for recv operation to complete"), "no-deadlock"),
        (Raised("RuntimeError", "rank 1 issued barrier where rank 0 issued all_reduce"), "matched-collectives"),
        (Raised("RuntimeError", "rank 1 wrote into the tensor of its all_reduce"), "one-owner"),
        (Raised("KeyError", "3"), ""),
        (Ok(), "contained-failure"),
    ],
)
def test_what_is_no_observation_is_told_by_its_outcome(outcome: Outcome, breaks: str) -> None:
    assert broken_property(Schedule(MODEL, ()), Reply(0, "step", outcome)) == breaks


def test_a_model_that_fell_says_itself_what_it_broke() -> None:
    assert broken_property(Schedule(MODEL, (), breaks="same-pops"), None) == "same-pops"


def test_only_the_fields_that_differ_are_given() -> None:
    model, seen = Observation(((),), ((1,),)), Observation(((1,),), ((),))
    assert differences_of(Reply(0, "step", Ok(seen), model)) == (
        Difference("popped", "((),)", "((1,),)"),
        Difference("left", "((1,),)", "((),)"),
    )
    assert differences_of(Reply(0, "step", Ok(7), model)) == (Difference("observation", repr(model), "7"),)
    assert differences_of(Reply(0, "step", Hung(1.0), model)) == ()
    assert differences_of(None) == ()
