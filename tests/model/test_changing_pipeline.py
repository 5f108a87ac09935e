"""Changes of storage in a pipeline: what later stages ask for counts some rounds late, and all change together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rankproof.model import words
from rankproof.model.actions import Action, Attach, Detach
from rankproof.model.explorer import explore
from rankproof.model.interleaving import Disabled, Model, apply, next_phase
from rankproof.model.protocol import BLOCKING
from rankproof.model.scenario import Scenario
from rankproof.model.state import State, canonical
from rankproof.model.verdict import Verdict

PROTOCOL = replace(BLOCKING, guards=("request", "layout"), attaches="agreed")
AHEAD = 2


def pipeline(**other: object) -> Model:
    scenario = Scenario(
        ranks=3,
        leaders=1,
        topology="pipeline",
        lanes=("write", "hits"),
        storage=1,
        attaches=4,
        aligned_attach=False,
        ahead=AHEAD,
    )
    return Model(PROTOCOL, replace(scenario, **other))  # type: ignore[arg-type]


def take(model: Model, state: State, *actions: Action) -> State:
    for action in actions:
        after = apply(model, state, action)
        assert isinstance(after, State), after
        state = after
    return state


def step(model: Model, state: State, *ranks: int) -> State:
    """A step of each of these ranks, in turns as far as each gets."""
    begun = [state.ranks[rank].steps for rank in ranks]
    while True:
        before = state
        for rank, steps in zip(ranks, begun, strict=True):
            me = state.ranks[rank]
            if me.steps == steps or me.phase > 0:
                after = apply(model, state, next_phase(model, state, rank))
                state = after if isinstance(after, State) else state
        if state == before:
            return state


def layouts(state: State) -> list[int]:
    return [rank.layout for rank in state.ranks]


@pytest.mark.parametrize("forgets", [False, True], ids=["counted from the start", "counted from what all have left"])
@pytest.mark.parametrize("last", range(3))
def test_all_stages_change_before_the_same_round_once_the_last_rank_has_asked(last: int, forgets: bool) -> None:
    model = pipeline()
    state = take(model, model.start, *(Attach(rank) for rank in range(3) if rank != last))
    for _ in range(AHEAD + 3):
        state = step(model, state, 0, 1, 2)
        state = canonical(state) if forgets else state
        assert layouts(state) == [0, 0, 0]
    state = take(model, state, Attach(last))
    for _ in range(1 if last == 0 else AHEAD + 1):
        state = step(model, state, 0, 1, 2)
        assert layouts(state) == [0, 0, 0]
    state = step(model, state, 0, 1, 2)
    assert layouts(state) == [1, 1, 1]
    assert [(rank.asks, rank.due, rank.asked) for rank in state.ranks] == [(0, 0, 0)] * 3


def test_a_first_stage_that_runs_ahead_changes_before_the_same_round_as_a_stage_behind() -> None:
    model = pipeline()
    state = take(model, model.start, Attach(0), Attach(1), Attach(2))
    for _ in range(AHEAD + 1):
        state = step(model, state, 0, 1, 2)
    state = step(model, state, 0)
    assert (layouts(state), state.ranks[0].issued) == ([1, 0, 0], AHEAD + 2)
    state = step(model, step(model, state, 1), 2)
    assert (layouts(state), [rank.issued for rank in state.ranks]) == ([1, 1, 1], [AHEAD + 2] * 3)


def test_what_a_stage_behind_asked_for_before_a_change_counts_for_nothing_after_it() -> None:
    model = pipeline()
    state = take(model, model.start, Attach(0), Attach(1), Attach(2))
    for _ in range(AHEAD + 1):
        state = step(model, state, 0, 1, 2)
    state = take(model, step(model, state, 0), Detach(0))
    state = step(model, state, 0)
    assert (layouts(state), [rank.asks for rank in state.ranks]) == ([1, 0, 0], [2, 1, 1])
    assert state.ranks[0].words[-1][PROTOCOL.guards.index("request")] == words.NOTHING_ASKED
    for _ in range(AHEAD + 3):
        state = step(model, state, 0, 1, 2)
    assert layouts(state) == [1, 1, 1]


def test_a_first_stage_waits_for_what_a_later_stage_asks_where_nothing_else_holds_it_back() -> None:
    model = pipeline(aligned_resets=False)
    state = model.start
    for _ in range(AHEAD):
        state = step(model, state, 0)
    state = step(model, state, 0)
    late = apply(model, state, next_phase(model, state, 0))
    assert isinstance(late, Disabled)
    assert late.waits_for == (1,)
    assert late.reason == "rank 0 waits for what rank 1 asks for in a round that it must issue first"


@pytest.mark.parametrize(("then", "now", "counts"), [(0, 0, 7), (0, 1, 0), (3, 3, 7)])
def test_a_request_counts_among_ranks_that_have_made_the_same_changes(then: int, now: int, counts: int) -> None:
    assert words.heard(7, then, now) == counts


def test_a_change_is_due_where_its_round_is_settled() -> None:
    assert [words.settled(words.due(9, window), window) for window in (1, 2, 4)] == [9, 9, 9]


def test_no_property_falls_where_the_stages_attach_in_steps_of_their_own() -> None:
    model = pipeline(ranks=2, lanes=("hits",), acks=1, attaches=1, ahead=1)
    explored = explore(model, limit=200_000)
    assert explored.broken is None
    assert explored.verdict is Verdict.HOLDS
