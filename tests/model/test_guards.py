"""A difference or a failure is the same named error on every rank, in the same round, and never a false alarm."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from rankproof.model.actions import (
    Action,
    Attach,
    Count,
    Crash,
    Decline,
    Enqueue,
    Finish,
    Issue,
    Pop,
    Reset,
    Swap,
    Throw,
    Wait,
)
from rankproof.model.explorer import explore
from rankproof.model.interleaving import Disabled, Model, apply, next_phase
from rankproof.model.properties import CHECKED, Property, property_named
from rankproof.model.protocol import BLOCKING, GUARDED, PIPELINED, Protocol
from rankproof.model.scenario import Scenario
from rankproof.model.state import DEAD, LOST, THREW, State
from rankproof.model.verdict import Verdict

STEP = (Wait, Pop, Count, Issue)


def play(model: Model, actions: Iterable[Action], steps: int = 0) -> State:
    """The state after the actions, and after as many steps as each rank can still take, in lockstep."""
    state = model.start
    for action in actions:
        after = apply(model, state, action)
        assert isinstance(after, State), after
        state = after
    for _ in range(steps * len(model.protocol.phases)):
        for rank in range(len(state.ranks)):
            after = apply(model, state, next_phase(model, state, rank))
            state = after if isinstance(after, State) else state
    return state


def errors(state: State) -> list[tuple[str, int]]:
    return [(rank.error, rank.consumed) for rank in state.ranks]


def popped(state: State) -> list[tuple[int, ...]]:
    return [rank.lanes[0].popped for rank in state.ranks]


def both(kind: type[Enqueue] | type[Finish], ack: int, ranks: int = 2) -> list[Action]:
    return [kind(rank, 0, ack) for rank in range(ranks)]


@pytest.mark.parametrize(
    ("word", "scenario", "actions"),
    [
        ("round", Scenario(declines=1), [Decline(1)]),
        ("mode", Scenario(blocking_ranks=1), []),
        ("layout", Scenario(attaches=1, aligned_attach=False), [Attach(1)]),
    ],
)
def test_a_difference_is_the_same_error_on_every_rank_in_the_first_round(
    word: str, scenario: Scenario, actions: list[Action]
) -> None:
    acks = [*both(Enqueue, 0), *both(Finish, 0)]
    state = play(Model(GUARDED, scenario), [*acks, *actions], steps=3)
    assert errors(state) == [(word, 1), (word, 1)]
    assert popped(state) == [(), ()]


def test_another_order_of_acks_shows_a_round_after_they_are_popped() -> None:
    acks = [Enqueue(0, 0, 0), Enqueue(0, 0, 1), Swap(1, 0, 0), *both(Finish, 0), *both(Finish, 1)]
    state = play(Model(GUARDED, Scenario(swaps=1)), acks, steps=4)
    assert errors(state) == [("popped", 2), ("popped", 2)]
    assert popped(state) == [(0, 1), (1, 0)]


def test_a_digest_of_the_enqueued_prefix_shows_it_before_anything_is_popped() -> None:
    model = Model(replace(PIPELINED, guards=("enqueued",)), Scenario(swaps=1, aligned_enqueue=True))
    acks = [Enqueue(0, 0, 0), Enqueue(0, 0, 1), Swap(1, 0, 0), *both(Finish, 0), *both(Finish, 1)]
    state = play(model, acks, steps=4)
    assert errors(state) == [("enqueued", 1), ("enqueued", 1)]
    assert popped(state) == [(), ()]


def test_a_rank_with_an_error_does_nothing_more() -> None:
    model = Model(GUARDED, Scenario(blocking_ranks=1))
    state = play(model, [], steps=3)
    outcome = apply(model, state, Enqueue(0, 0, 0))
    assert outcome == Disabled("rank 0 does nothing more: mode")


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(acks=1, resets=1),
        Scenario(acks=1, evicts=1),
        Scenario(acks=1, attaches=1),
        Scenario(acks=1, flushes=1, ahead=1),
        Scenario(acks=1, blocking_ranks=1),
        Scenario(ranks=3, acks=1, blocking_ranks=1, ahead=1),
    ],
    ids=str,
)
def test_guarded_ranks_keep_every_property(scenario: Scenario) -> None:
    assert explore(Model(GUARDED, scenario)).verdict is Verdict.HOLDS


def test_no_false_alarm_where_lanes_are_filled_at_different_times() -> None:
    explored = explore(Model(GUARDED, Scenario()), [property_named("named-divergence")])
    assert (explored.verdict, explored.states) == (Verdict.HOLDS, 3490)


GUARDED_DEPTH_2 = replace(GUARDED, lag=2, offers="cumulative")
RESETS_ALONE = Scenario(acks=1, resets=1, aligned_resets=False)
POPS = [property_named(name) for name in ("finished-before-pop", "same-pops", "named-divergence")]


@pytest.mark.parametrize(
    ("protocol", "properties"),
    [(GUARDED, CHECKED), (replace(GUARDED, lag=0), CHECKED), (GUARDED_DEPTH_2, POPS)],
    ids=["pipelined", "blocking", "depth 2"],
)
def test_with_an_epoch_word_ranks_may_reset_in_different_steps(
    protocol: Protocol, properties: tuple[Property, ...]
) -> None:
    """Nothing falls and there is no alarm: a round that finds ranks in different epochs is void."""
    assert explore(Model(protocol, RESETS_ALONE), properties).verdict is Verdict.HOLDS


def test_without_one_a_reset_in_another_step_pops_what_was_counted_in_another_epoch() -> None:
    explored = explore(Model(PIPELINED, RESETS_ALONE))
    assert explored.broken is not None
    assert explored.broken.property == "exact-delay"


def test_with_an_epoch_word_even_a_reset_that_drains_nothing_pops_nothing_wrong() -> None:
    """It only leaves a round in flight, which `clean-lifecycle` forbids; what that comes to is void."""
    model = Model(replace(GUARDED, resets="in-flight"), RESETS_ALONE)
    others = [each for each in CHECKED if each.name != "clean-lifecycle"]
    assert explore(model, others).verdict is Verdict.HOLDS
    assert explore(model, [property_named("clean-lifecycle")]).verdict is Verdict.VIOLATED


@pytest.mark.parametrize(("protocol", "pops"), [(GUARDED, ()), (PIPELINED, (0,))], ids=["guarded", "plain"])
def test_a_round_of_different_epochs_pops_nothing(protocol: Protocol, pops: tuple[int, ...]) -> None:
    """Round 2 comes to MIN(1, 1), but the ack that rank 0 counted is none that rank 1 still knows."""
    a_step: list[Action] = [kind(rank) for rank in (0, 1) for kind in STEP]
    other_acks: list[Action] = [Finish(0, 0, 0), Enqueue(1, 0, 1), Finish(1, 0, 1)]
    acts: list[Action] = [*both(Enqueue, 0), *a_step, Reset(1), *other_acks, *a_step, Wait(0), Pop(0)]
    state = play(Model(protocol, replace(RESETS_ALONE, acks=2)), acts)
    assert errors(state) == [("", 2), ("", 1)]
    assert popped(state) == [pops, ()]


def test_a_flush_at_depth_2_raises_no_false_alarm() -> None:
    """A rank that has flushed has popped more than one that has not: the digest is of what both have popped by then."""
    model = Model(GUARDED_DEPTH_2, Scenario(acks=1, flushes=1, ahead=1))
    assert explore(model, [property_named("named-divergence")]).verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("word", "aligned", "verdict"),
    [
        ("enqueued", True, Verdict.HOLDS),
        ("enqueued", False, Verdict.VIOLATED),
        ("ready", True, Verdict.VIOLATED),
        ("popped", False, Verdict.HOLDS),
    ],
)
def test_which_digest_raises_a_false_alarm(word: str, aligned: bool, verdict: Verdict) -> None:
    protocol: Protocol = replace(PIPELINED, guards=(word,))  # type: ignore[arg-type]
    scenario = Scenario(acks=1, aligned_enqueue=aligned)
    assert explore(Model(protocol, scenario), [property_named("named-divergence")]).verdict is verdict


def test_a_dead_rank_is_an_error_on_every_rank_that_waits_for_it() -> None:
    model = Model(PIPELINED, Scenario(ranks=3, crashes=1))
    acks = [*both(Enqueue, 0, 3), *both(Finish, 0, 3)]
    state = play(model, [*acks, *(kind(0) for kind in STEP), Crash(2)], steps=3)
    assert [rank.error for rank in state.ranks] == [LOST, LOST, DEAD]
    assert popped(state) == [(), (), ()]


def test_a_round_that_the_dead_rank_had_issued_still_counts() -> None:
    model = Model(PIPELINED, Scenario(crashes=1))
    issued = [kind(rank) for rank in (0, 1) for kind in STEP]
    state = play(model, [*both(Enqueue, 0), *both(Finish, 0), *issued, Crash(1)], steps=3)
    assert errors(state) == [(LOST, 1), (DEAD, 0)]
    assert popped(state) == [(0,), ()]


def test_a_rank_whose_pop_throws_is_broken_and_the_others_are_told() -> None:
    model = Model(PIPELINED, Scenario(throws=1))
    state = play(model, [Wait(0), Throw(0)], steps=3)
    assert [rank.error for rank in state.ranks] == [THREW, LOST]


@pytest.mark.parametrize("scenario", [Scenario(acks=1, crashes=1), Scenario(acks=1, throws=1)], ids=str)
@pytest.mark.parametrize("protocol", [PIPELINED, BLOCKING], ids=["pipelined", "blocking"])
def test_failures_are_contained_in_every_interleaving(protocol: Protocol, scenario: Scenario) -> None:
    explored = explore(Model(protocol, scenario), CHECKED)
    assert explored.verdict is Verdict.HOLDS
