"""Storage that is attached and detached at run time, ranks that close, and ranks that learn that another is gone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rankproof.model.actions import (
    KINDS,
    Action,
    Attach,
    Change,
    Close,
    Count,
    Crash,
    Detach,
    Enqueue,
    Finish,
    Flush,
    Issue,
    Notice,
    Pop,
    Throw,
    Wait,
)
from rankproof.model.changing import due, is_attached
from rankproof.model.errors import BadInput
from rankproof.model.explorer import explore
from rankproof.model.interleaving import Disabled, Model, apply, next_phase
from rankproof.model.protocol import BLOCKING, PIPELINED, Protocol, depth
from rankproof.model.scenario import Scenario
from rankproof.model.schedule import LARGEST, Schedule, dump, load, parse
from rankproof.model.state import CLOSED, LOST, THREW, RankState, State
from rankproof.model.verdict import Verdict

STORAGE = Scenario(lanes=("write", "hits"), storage=1, attaches=2, aligned_attach=False, flushes=9, ahead=9)


def agreed(protocol: Protocol) -> Protocol:
    return replace(protocol, guards=("request", "layout"), attaches="agreed")


def take(model: Model, state: State, *actions: Action) -> State:
    for action in actions:
        after = apply(model, state, action)
        assert isinstance(after, State), after
        state = after
    return state


def reason(model: Model, state: State, action: Action) -> str:
    after = apply(model, state, action)
    assert isinstance(after, Disabled)
    return after.reason


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


@pytest.mark.parametrize("protocol", [BLOCKING, PIPELINED, depth(2), depth(4)], ids=lambda each: f"lag {each.lag}")
def test_all_ranks_change_before_the_same_round_which_is_a_window_after_the_one_in_which_all_asked(
    protocol: Protocol,
) -> None:
    model = Model(agreed(protocol), STORAGE)
    state = take(model, model.start, Attach(0))
    state = step(model, state, 0, 1)
    assert state.ranks[0].asks == 1
    state = take(model, state, Attach(1))
    for _ in range(protocol.window):
        state = step(model, state, 0, 1)
        assert layouts(state) == [0, 0]
    state = step(model, state, 0, 1)
    assert layouts(state) == [1, 1]
    assert [(rank.asks, rank.due) for rank in state.ranks] == [(0, 0)] * 2


def test_a_rank_that_has_drained_early_changes_before_the_same_round() -> None:
    model = Model(agreed(depth(2)), STORAGE)
    state = step(model, take(model, model.start, Attach(0), Attach(1)), 0, 1)
    state = take(model, state, Flush(0))
    assert [rank.due for rank in state.ranks] == [3, 0]
    state = step(model, state, 0, 1)
    state = step(model, state, 0, 1)
    assert (layouts(state), [rank.issued for rank in state.ranks]) == ([1, 1], [3, 3])


def test_a_change_consumes_what_is_in_flight_and_nothing_is_counted_before_it() -> None:
    model = Model(agreed(depth(2)), STORAGE)
    state = take(model, model.start, Enqueue(0, 0, 0), Enqueue(1, 0, 0), Finish(0, 0, 0), Finish(1, 0, 0))
    state = take(model, state, Attach(0), Attach(1))
    for _ in range(2):
        state = step(model, state, 0, 1)
    state = take(model, state, Wait(0), Pop(0))
    assert reason(model, state, Count(0)) == "rank 0 comes to change next"
    assert state.ranks[0].issued - state.ranks[0].consumed == 1
    state = take(model, state, Change(0))
    assert (state.ranks[0].issued - state.ranks[0].consumed, is_attached(state.ranks[0])) == (0, True)
    assert isinstance(apply(model, state, Count(0)), State)


def test_a_storage_lane_takes_acks_only_while_storage_is_attached_and_is_empty_when_it_goes() -> None:
    model = Model(agreed(BLOCKING), STORAGE)
    assert reason(model, model.start, Enqueue(0, 1, 0)).startswith("rank 0 has no storage attached")
    state = take(model, model.start, Attach(0), Attach(1))
    for _ in range(2):
        state = step(model, state, 0, 1)
    state = take(model, state, Enqueue(0, 1, 0), Enqueue(1, 1, 0), Detach(0), Detach(1))
    for _ in range(2):
        state = step(model, state, 0, 1)
    assert [rank.lanes[1].waiting for rank in state.ranks] == [(), ()]
    assert reason(model, state, Enqueue(0, 1, 1)).startswith("rank 0 has no storage attached")


@pytest.mark.parametrize(
    ("before", "action", "words"),
    [
        ((), Detach(0), "rank 0 has no storage attached"),
        ((Attach(0),), Attach(0), "rank 0 asks for a change already"),
        ((), Change(0), "rank 0 comes to wait next"),
    ],
)
def test_a_change_that_cannot_be_asked_for_or_made_is_not_enabled(
    before: tuple[Action, ...], action: Action, words: str
) -> None:
    model = Model(agreed(PIPELINED), STORAGE)
    assert reason(model, take(model, model.start, *before), action) == words


def test_changes_are_agreed_on_by_a_guard_word() -> None:
    with pytest.raises(ValueError, match="cannot be agreed without the guard word request"):
        replace(PIPELINED, attaches="agreed")


def test_what_is_due_is_never_put_off() -> None:
    me = RankState(lanes=(), asks=1, due=7)
    assert due(PIPELINED, me, 1, 9) == 7
    assert due(PIPELINED, replace(me, due=0), 1, 9) == 10
    assert due(PIPELINED, replace(me, due=0), 0, 9) == 0


@pytest.mark.parametrize("protocol", [BLOCKING, PIPELINED, depth(2)], ids=lambda each: f"lag {each.lag}")
def test_no_property_falls_where_ranks_attach_in_steps_of_their_own(protocol: Protocol) -> None:
    scenario = Scenario(lanes=("hits",), storage=1, acks=1, attaches=1, aligned_attach=False, ahead=1)
    explored = explore(Model(agreed(protocol), scenario), limit=200_000)
    assert explored.broken is None
    assert explored.verdict is Verdict.HOLDS


def test_a_rank_that_closes_consumes_what_is_in_flight_first_and_does_nothing_more() -> None:
    model = Model(PIPELINED, Scenario(acks=1, closes=1))
    state = take(model, model.start, Wait(0), Pop(0), Count(0), Issue(0))
    assert reason(model, state, Close(0)) == "rank 0 waits for a round that rank 1 must issue first"
    state = take(model, state, Wait(1), Pop(1), Count(1), Issue(1), Close(0))
    assert (state.ranks[0].consumed, state.ranks[0].error) == (1, CLOSED)
    assert reason(model, state, Wait(0)) == "rank 0 does nothing more: closed"
    assert reason(model, state, Wait(1)) == "rank 1 must first go through close, as another rank did"


def test_a_rank_may_notice_that_another_is_gone_and_only_then() -> None:
    model = Model(PIPELINED, Scenario(acks=1, crashes=1))
    assert reason(model, model.start, Notice(0)) == "no rank is gone"
    state = take(model, model.start, Crash(1), Notice(0))
    assert state.ranks[0].error == LOST


@pytest.mark.parametrize("protocol", [BLOCKING, PIPELINED], ids=lambda each: f"lag {each.lag}")
def test_a_count_that_throws_ends_its_rank(protocol: Protocol) -> None:
    model = Model(protocol, Scenario(acks=1, throws=1))
    until_the_count = () if protocol is BLOCKING else (Wait(0), Pop(0))
    state = take(model, model.start, *until_the_count, Throw(0))
    assert (state.ranks[0].error, state.ranks[0].issued) == (THREW, 0)


@pytest.mark.parametrize(
    "wrong", [{"storage": 2}, {"storage": -1}, {"leaders": 0}, {"leaders": 3}, {"closes": -1}], ids=str
)
def test_a_scenario_that_cannot_be_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"must be|are 0 or more"):
        Scenario(**wrong)  # type: ignore[arg-type]


def test_every_kind_of_action_goes_through_a_file_and_comes_back() -> None:
    model = Model(agreed(PIPELINED), STORAGE)
    actions = tuple(
        kind(
            **{"rank": 1, "lane": 0, "ack": 2}
            if "ack" in fields
            else {"rank": 1, "lane": 1}
            if "lane" in fields
            else {"rank": 1}
        )
        for kind in KINDS.values()
        if (fields := kind.__dataclass_fields__)
    )
    schedule = Schedule(model, actions, "test")
    assert parse(dump(schedule), "file") == schedule
    assert len(actions) == len(KINDS)


def test_a_file_that_never_ends_and_one_that_is_too_large_are_refused(tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(LARGEST + 1)
    too_large = "the file has more than 16 MiB; it is no schedule"
    for path, says in ((large, too_large), (Path("/dev/zero"), "it is a pipe or a device, and no file")):
        with pytest.raises(BadInput, match=says):
            load(path)


def test_a_scenario_in_a_file_that_cannot_be_is_named_in_our_own_words() -> None:
    text = dump(Schedule(Model(agreed(PIPELINED), STORAGE), ())).replace('"storage": 1', '"storage": 3')
    with pytest.raises(BadInput, match=r"^s\.json: scenario: storage must be 0 to 2 of the lanes, not 3$"):
        parse(text, "s.json")
