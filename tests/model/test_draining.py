"""When all is finished and ranks keep stepping, every lane runs empty; and what stands in the way is named."""

from dataclasses import replace

import pytest

from rankproof.model.actions import Action, Enqueue, Finish, Lose, Stall
from rankproof.model.draining import left_over
from rankproof.model.explorer import explore
from rankproof.model.interleaving import Model, apply, next_phase, successors
from rankproof.model.properties import property_named
from rankproof.model.protocol import BLOCKING, PIPELINED, Protocol, depth
from rankproof.model.scenario import Scenario
from rankproof.model.state import State
from rankproof.model.verdict import Verdict

DRAINS = [property_named("drains-to-empty")]


@pytest.mark.parametrize(
    ("protocol", "scenario"),
    [
        (PIPELINED, Scenario(acks=1)),
        (BLOCKING, Scenario(acks=1)),
        (depth(2), Scenario(ranks=1, acks=2)),
        (PIPELINED, Scenario(ranks=1, acks=2, evicts=1, resets=1)),
        (PIPELINED, Scenario(acks=1, topology="pipeline", ahead=1)),
    ],
    ids=str,
)
def test_from_every_state_every_lane_runs_empty(protocol: Protocol, scenario: Scenario) -> None:
    assert explore(Model(protocol, scenario), DRAINS).verdict is Verdict.HOLDS


@pytest.mark.parametrize("protocol", [BLOCKING, PIPELINED, depth(2), depth(3)], ids=lambda each: f"lag {each.lag}")
def test_the_bound_of_lag_plus_one_steps_is_exact(protocol: Protocol) -> None:
    model = Model(protocol, Scenario(acks=1))
    state = model.start
    for rank in (0, 1):
        for action in (Enqueue(rank, 0, 0), Finish(rank, 0, 0)):
            state = taken(model, state, action)
    assert left_over(model, state) is None
    for step in range(protocol.lag + 1):
        assert all(rank.lanes[0].waiting for rank in state.ranks), step
        for _ in protocol.phases:
            for rank in (0, 1):
                state = taken(model, state, next_phase(model, state, rank))
    assert not any(rank.lanes[0].waiting for rank in state.ranks)


def taken(model: Model, state: State, action: Action) -> State:
    after = apply(model, state, action)
    assert isinstance(after, State), after
    return after


@pytest.mark.parametrize(
    ("action", "scenario", "says"),
    [
        (Lose(1, 0, 0), Scenario(acks=1, losses=1), "is left on rank 0: rank 1 never got it"),
        (Stall(0, 0, 0), Scenario(acks=1, stalls=1), "is left on rank 0: its transfer has failed on rank 0"),
    ],
)
def test_what_stands_in_the_way_is_named(action: Lose | Stall, scenario: Scenario, says: str) -> None:
    model = Model(PIPELINED, scenario)
    state = taken(model, taken(model, model.start, Enqueue(0, 0, 0)), action)
    assert left_over(model, state) == f"2 steps after all is finished ack 0 of lane 0 {says}"


def test_ranks_that_stop_when_idle_never_consume_the_last_round() -> None:
    model = Model(replace(PIPELINED, idles="stopped"), Scenario(acks=1))
    after = taken(model, model.start, Enqueue(0, 0, 0))
    assert left_over(model, after) == "0 steps after all is finished ack 0 of lane 0 is left on rank 0"


def test_what_is_left_over_is_the_same_whichever_rank_is_which() -> None:
    model = Model(replace(BLOCKING, bounds="none"), Scenario(acks=1, ahead=1))  # a wait that is not complete passes
    level, said = {model.start}, set[bool]()
    for _ in range(4):
        level = {after for state in level for _, after in successors(model, state)}
        for state in level:
            is_empty = left_over(model, state) is None
            assert is_empty == (left_over(model, replace(state, ranks=state.ranks[::-1])) is None)
            said.add(is_empty)
    assert said == {False, True}
