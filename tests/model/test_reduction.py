"""A search of the schedules that stand for all others comes to what a search of all comes to, with far fewer states."""

from dataclasses import replace

import pytest

from rankproof.model import reduction
from rankproof.model.explorer import explore
from rankproof.model.faults import FAULTS
from rankproof.model.interleaving import Model
from rankproof.model.properties import CHECKED, property_named
from rankproof.model.protocol import BLOCKING, GUARDED, PIPELINED, depth
from rankproof.model.scenario import Scenario
from rankproof.model.schedule import Schedule, run
from rankproof.model.verdict import Verdict

NAMES = [each.name for each in CHECKED if each.name in reduction.KNOWN]
PROPERTIES = [property_named(name) for name in NAMES]
REDUCIBLE = [name for name, fault in FAULTS.items() if reduction.why_not(fault.model, NAMES) is None]

RIGHT = {
    "one rank": Model(PIPELINED, Scenario(ranks=1, acks=3)),
    "pipelined": Model(PIPELINED, Scenario(acks=2)),
    "two lanes": Model(PIPELINED, Scenario(lanes=("write", "load"), acks=1)),
    "three ranks": Model(PIPELINED, Scenario(ranks=3, acks=1)),
    "blocking": Model(BLOCKING, Scenario(acks=2)),
    "depth 2": Model(depth(2), Scenario(acks=1)),
    "flushes": Model(PIPELINED, Scenario(acks=1, flushes=1)),
}


@pytest.mark.parametrize("model", RIGHT.values(), ids=RIGHT)
def test_what_holds_in_all_schedules_holds_in_those_that_stand_for_them_and_the_deepest_is_as_deep(
    model: Model,
) -> None:
    all_of_them, reduced = explore(model, PROPERTIES), explore(model, PROPERTIES, reduced=True)
    assert (
        (reduced.verdict, reduced.depth) == (all_of_them.verdict, all_of_them.depth) == (Verdict.HOLDS, reduced.depth)
    )
    assert reduced.states < all_of_them.states


def test_these_faults_are_in_reach() -> None:
    assert REDUCIBLE == [
        *("count-before-pop", "pop-own-count", "max-instead-of-min", "use-before-wait", "skip-when-empty"),
        *("remaining-counts-at-depth-2", "idle-without-flush", "second-round-on-own-event", "kept-buffer"),
        *("unbounded-issue", "agreement-in-halves", "two-reduces-in-one-round"),
    ]


@pytest.mark.parametrize("name", [name for name in REDUCIBLE if name != "two-reduces-in-one-round"])
def test_the_first_to_fall_does_so_at_the_same_length(name: str) -> None:
    model = replace(FAULTS[name].model, scenario=replace(FAULTS[name].scenario, ahead=2))
    all_of_them, reduced = explore(model, PROPERTIES), explore(model, PROPERTIES, reduced=True)
    assert reduced.verdict is all_of_them.verdict
    if reduced.broken is None or all_of_them.broken is None:
        return
    assert len(reduced.broken.actions) == len(all_of_them.broken.actions)
    fell = run(Schedule(model, reduced.broken.actions)).violations
    assert len(reduced.broken.actions) - 1 in [each.index for each in fell if each.property == reduced.broken.property]


@pytest.mark.parametrize("faulty", [name for name in REDUCIBLE if name != "two-reduces-in-one-round"])
def test_each_property_beside_the_one_that_is_needed_has_one_verdict_and_falls_at_the_same_length(faulty: str) -> None:
    """One property at a time, so that none hides behind another that falls sooner."""
    model = replace(FAULTS[faulty].model, scenario=replace(FAULTS[faulty].scenario, ahead=1))
    for name in NAMES:
        both = [property_named(each) for each in dict.fromkeys((reduction.NEEDED, name))]
        all_of_them, reduced = explore(model, both), explore(model, both, reduced=True)
        assert (name, reduced.verdict, reduced.depth) == (name, all_of_them.verdict, all_of_them.depth)


NOT = {
    "without the one that is needed": (Model(), ["same-pops"], "finished-before-pop is not among"),
    "with one that looks further": (Model(), [*NAMES, "drains-to-empty"], "drains-to-empty may look at more"),
    "with a reset": (Model(PIPELINED, Scenario(resets=1)), NAMES, "more of the scenario"),
    "with aligned enqueues": (Model(PIPELINED, Scenario(aligned_enqueue=True)), NAMES, "more of the scenario"),
    "in a pipeline": (Model(PIPELINED, Scenario(topology="pipeline")), NAMES, "more of the scenario"),
    "with a crash": (Model(PIPELINED, Scenario(crashes=1)), NAMES, "more of the scenario"),
    "with guard words": (Model(GUARDED), NAMES, "guard words of others"),
}


@pytest.mark.parametrize(("model", "names", "reason"), NOT.values(), ids=NOT)
def test_where_other_schedules_matter_the_reduced_search_is_refused(
    model: Model, names: list[str], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        explore(model, [property_named(name) for name in names], reduced=True)


@pytest.mark.parametrize(
    "scenario",
    [
        *(Scenario(evicts=1), Scenario(attaches=1), Scenario(closes=1), Scenario(storage=1), Scenario(losses=1)),
        *(Scenario(blocking_ranks=1), Scenario(aligned_resets=False), Scenario(stalls=1), Scenario(throws=1)),
    ],
)
def test_what_nobody_has_thought_about_is_refused(scenario: Scenario) -> None:
    assert reduction.why_not(Model(PIPELINED, scenario), NAMES)
