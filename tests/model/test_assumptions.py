"""Each assumption is needed: with it nothing breaks, and without it alone something does."""

import pytest

from rankproof.model.assumptions import ASSUMPTIONS, Assumption, assumption_named
from rankproof.model.closedloop import keeps_up, least_window, popped_in_closed_loop
from rankproof.model.errors import BadInput
from rankproof.model.explorer import explore
from rankproof.model.faults import FAULTS
from rankproof.model.properties import PROPERTIES, property_named
from rankproof.model.protocol import BLOCKING, PIPELINED, depth
from rankproof.model.verdict import Verdict

IN_ONE_SCHEDULE = [each for each in ASSUMPTIONS.values() if each.dropped]


def test_these_are_the_assumptions_of_the_design_and_that_of_resets_without_a_word() -> None:
    assert list(ASSUMPTIONS) == [
        "same-order",
        "aligned-enqueue",
        "only-accumulate",
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


def test_a_closed_loop_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        popped_in_closed_loop(PIPELINED, window=0, demand=1, steps=1)
