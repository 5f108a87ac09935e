"""Schedules on real processes: the right implementation gets through those that break the wrong protocols."""

from __future__ import annotations

import pytest

from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.driver import Step
from rankproof.conformance.launcher import Launcher
from rankproof.conformance.replay import commands_of, replay
from rankproof.model.actions import Attach, Count, Decline, Detach, Enqueue, Finish, Issue, Pop, Wait
from rankproof.model.errors import BadInput
from rankproof.model.explorer import explore
from rankproof.model.faults import FAULTS, fault_named
from rankproof.model.properties import property_named
from rankproof.model.protocol import PIPELINED
from rankproof.model.schedule import Schedule
from rankproof.model.verdict import Verdict

SUBJECT = "rankproof.conformance.reference:pipelined"


def shortest(fault_name: str) -> Schedule:
    fault = fault_named(fault_name)
    broken = explore(fault.model, [property_named(fault.breaks[0])]).broken
    assert broken is not None
    return Schedule(fault.model, broken.actions, "explorer", broken.property)


def test_a_step_is_begun_where_the_schedule_takes_its_first_phase() -> None:
    fault = fault_named("use-before-wait")
    actions = (Enqueue(0, 0, 0), Finish(0, 0, 0), Pop(0), Wait(0), Count(0), Issue(0), Pop(0))
    commands = commands_of(Schedule(fault.model, actions))
    assert commands == [Enqueue(0, 0, 0), Finish(0, 0, 0), Step(0), Step(0)]


@pytest.mark.processes
@pytest.mark.parametrize("fault", ["count-before-pop", "use-before-wait", "reset-without-drain", "evict-in-flight"])
def test_the_reference_implementation_gets_through_the_schedule_that_breaks(
    shared_launcher: Launcher, fault: str
) -> None:
    assert fault in FAULTS
    real = replay(shortest(fault), SUBJECT, PIPELINED, launcher=shared_launcher)
    assert real.failure == ""
    assert real.verdict is Verdict.HOLDS
    assert real.left_out == ()


@pytest.mark.processes
def test_a_wrong_implementation_is_seen_to_fail_on_the_schedule_of_its_fault(shared_launcher: Launcher) -> None:
    real = replay(
        shortest("count-before-pop"),
        "wrong_subjects:counts_before_pop",
        PIPELINED,
        timeout=1.0,
        launcher=shared_launcher,
    )
    assert real.verdict is Verdict.VIOLATED
    assert "step: the subject raised" in real.failure


def test_a_schedule_without_actions_shows_nothing() -> None:
    with pytest.raises(BadInput, match="no actions"):
        replay(Schedule(fault_named("count-before-pop").model, ()), SUBJECT, PIPELINED)


@pytest.mark.parametrize("fault", ["agreement-in-halves", "mixed-modes"])
def test_ranks_in_several_groups_or_modes_are_not_replayed_on_one_group(fault: str) -> None:
    with pytest.raises(BadInput, match="in one group, in one mode"):
        replay(Schedule(fault_named(fault).model, (Enqueue(0, 0, 0),)), SUBJECT, PIPELINED)


def test_an_action_that_is_not_done_to_real_ranks_is_named_with_its_place() -> None:
    model = fault_named("no-deadline").model
    with pytest.raises(BadInput, match=r"actions\[1\]: decline is of the model only"):
        commands_of(Schedule(model, (Wait(0), Decline(0))))


@pytest.mark.processes
def test_a_schedule_in_which_nothing_is_compared_has_no_verdict(shared_launcher: Launcher) -> None:
    schedule = Schedule(fault_named("count-before-pop").model, (Enqueue(0, 0, 0), Finish(0, 0, 0)))
    assert replay(schedule, SUBJECT, PIPELINED, launcher=shared_launcher).verdict is Verdict.UNDETERMINED


WITH_STORAGE = Capabilities(storage=1, supports=frozenset({"flush", "reconfigure"}))


def attached_and_detached() -> Schedule:
    """Both ranks attach storage and, two steps later, detach it, as `rankproof fuzz` asks it of such subjects."""
    step = (Wait, Pop, Count, Issue)
    model = WITH_STORAGE.model(2)
    assert model.protocol.attaches == "drained"
    steps = [phase(rank) for rank in (0, 1, 0, 1) for phase in step]
    return Schedule(model, (Attach(0), Attach(1), *steps, Detach(0), Detach(1)), "fuzzer")


@pytest.mark.processes
def test_storage_is_attached_and_detached_also_where_ranks_do_not_agree_on_it(shared_launcher: Launcher) -> None:
    schedule = attached_and_detached()
    steps = [Step(0), Step(1), Step(0), Step(1)]
    assert commands_of(schedule, WITH_STORAGE) == [Attach(0), Attach(1), *steps, Detach(0), Detach(1)]
    real = replay(
        schedule,
        "rankproof.conformance.reference:with_storage",
        WITH_STORAGE.protocol,
        capabilities=WITH_STORAGE,
        launcher=shared_launcher,
    )
    assert (real.failure, real.left_out, real.verdict) == ("", (), Verdict.HOLDS)


def test_storage_is_not_attached_on_a_subject_that_cannot_be_reconfigured() -> None:
    with pytest.raises(BadInput, match=r"actions\[0\]: attach is not asked of this subject: it has no reconfigure"):
        replay(attached_and_detached(), SUBJECT, WITH_STORAGE.protocol, capabilities=Capabilities())
