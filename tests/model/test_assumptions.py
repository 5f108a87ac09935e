"""Each assumption is needed: with it nothing breaks, and without it alone something does."""

import pytest

from rankproof.model.actions import Enqueue, Pop
from rankproof.model.assumptions import ASSUMPTIONS, Assumption, assumption_named
from rankproof.model.closedloop import first_loss, keeps_up, least_window, popped_in_closed_loop
from rankproof.model.errors import BadInput
from rankproof.model.explorer import explore
from rankproof.model.faults import FAULTS
from rankproof.model.properties import PROPERTIES, property_named
from rankproof.model.protocol import BLOCKING, PIPELINED, depth
from rankproof.model.schedule import run
from rankproof.model.verdict import Verdict

IN_ONE_SCHEDULE = [each for each in ASSUMPTIONS.values() if each.dropped]


def test_these_are_the_assumptions_of_the_design_and_that_of_resets_without_a_word() -> None:
    assert list(ASSUMPTIONS) == [
        "same-order",
        "aligned-enqueue",
        "only-accumulate",
        "every-ack-finishes",
        "everyone-steps",
        "aligned-reset",
        "same-layout",
        "same-mode",
        "open-loop",
        "one-group",
    ]


@pytest.mark.parametrize("assumption", IN_ONE_SCHEDULE, ids=lambda each: each.name)
def test_with_the_assumption_every_property_holds(assumption: Assumption) -> None:
    assert assumption.model is not None
    assert explore(assumption.model).verdict is Verdict.HOLDS


@pytest.mark.parametrize("assumption", IN_ONE_SCHEDULE, ids=lambda each: each.name)
def test_without_it_a_property_falls_that_rests_on_it(assumption: Assumption) -> None:
    fault = assumption.dropped
    assert fault is not None
    assert fault.breaks[0] in assumption.needed
    assert explore(fault.model, [property_named(fault.breaks[0])]).verdict is Verdict.VIOLATED


@pytest.mark.parametrize("assumption", IN_ONE_SCHEDULE, ids=lambda each: each.name)
def test_only_the_scenario_drops_it(assumption: Assumption) -> None:
    assert assumption.model is not None
    assert assumption.dropped is not None
    assert assumption.model.protocol == assumption.dropped.protocol
    assert assumption.model.scenario != assumption.dropped.scenario


def test_whatever_a_fault_drops_or_an_assumption_serves_has_a_name() -> None:
    assert {fault.drops for fault in FAULTS.values()} - {None} <= set(ASSUMPTIONS)
    assert {name for each in ASSUMPTIONS.values() for name in each.needed} <= set(PROPERTIES)
    with pytest.raises(BadInput, match="did you mean 'same-order'"):
        assumption_named("same-ordre")


def test_a_window_of_one_halves_the_rate_of_a_closed_loop() -> None:
    assert popped_in_closed_loop(BLOCKING, window=1, demand=1, steps=6) == (1, 2, 3, 4, 5, 6)
    assert popped_in_closed_loop(PIPELINED, window=1, demand=1, steps=7) == (0, 1, 1, 2, 2, 3, 3)


@pytest.mark.parametrize("lag", [1, 2, 3])
@pytest.mark.parametrize("demand", [1, 2, 3])
def test_a_closed_loop_loses_nothing_from_a_window_of_lag_plus_one_steps_of_demand(lag: int, demand: int) -> None:
    protocol = depth(lag)
    assert least_window(protocol, demand) == (lag + 1) * demand
    assert all(keeps_up(protocol, (lag + 1) * demand + more, demand, steps=40) for more in range(4))


@pytest.mark.parametrize("lag", [1, 2])
@pytest.mark.parametrize(("window", "demand"), [(1, 1), (2, 2), (3, 2), (1, 3)])
def test_the_schedule_of_a_loss_runs_on_the_model_and_ends_with_the_pop_that_is_late(
    lag: int, window: int, demand: int
) -> None:
    """Its engine keeps no more than the window in the lane; with the same engine blocking is ahead by then."""
    protocol = PIPELINED if lag == 1 else depth(lag)
    loss = first_loss(protocol, window, demand)
    assert loss is not None
    seen = run(loss.schedule)
    assert (seen.stopped, seen.violations) == (None, ())  # in itself it is as right as any other run
    lanes = [state.ranks[0].lanes[0] for state in seen.states]
    assert max(len(lane.waiting) for lane in lanes) <= window
    assert isinstance(loss.schedule.actions[-1], Pop)
    assert (len(lanes[-1].popped), seen.states[-1].ranks[0].steps + 1) == (loss.popped, loss.step)
    blocking = popped_in_closed_loop(BLOCKING, window, demand, loss.step - lag)
    assert loss.blocking == blocking[-1] > loss.popped
    assert keeps_up(protocol, window, demand, loss.step - 1)


def test_no_loss_shows_in_fewer_actions_than_with_one_ack_outstanding() -> None:
    losses = {(room, demand): first_loss(PIPELINED, room, demand) for room in range(1, 7) for demand in range(1, 4)}
    assert {pair for pair, loss in losses.items() if loss is None} == {
        (room, demand) for room, demand in losses if room >= 2 * demand
    }
    shortest = min((loss for loss in losses.values() if loss), key=lambda loss: len(loss.schedule.actions))
    assert shortest == losses[1, 1]
    assert (shortest.step, shortest.popped, shortest.blocking) == (3, 1, 2)
    assert sum(isinstance(each, Enqueue) for each in shortest.schedule.actions) == 1


def test_a_closed_loop_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        popped_in_closed_loop(PIPELINED, window=0, demand=1, steps=1)
