"""The explorer covers whole scenarios, finds shortest schedules, and says when it has not seen everything."""

from dataclasses import replace

import pytest

from rankproof.model.explorer import explore, explore_each
from rankproof.model.faults import FAULTS
from rankproof.model.interleaving import Model
from rankproof.model.properties import CHECKED, Property, property_named
from rankproof.model.protocol import BLOCKING, PIPELINED, Protocol, depth
from rankproof.model.scenario import Scenario
from rankproof.model.schedule import Schedule, run
from rankproof.model.verdict import Verdict

# Counts of distinct states, actions tried and the depth: they change only when the model does.
COVERED = [
    (PIPELINED, Scenario(ranks=1), (66, 120, 13)),
    (PIPELINED, Scenario(acks=1), (464, 1250, 25)),
    (PIPELINED, Scenario(), (3490, 12052, 29)),
    (BLOCKING, Scenario(), (2937, 9908, 25)),
    (PIPELINED, Scenario(acks=1, resets=1), (1149, 3004, 27)),
    (PIPELINED, Scenario(acks=1, evicts=1), (1125, 2920, 25)),
    (PIPELINED, Scenario(acks=1, flushes=1), (1953, 5866, 26)),
    (depth(2), Scenario(acks=1), (2524, 6870, 37)),
    (PIPELINED, Scenario(ranks=3, acks=1), (9826, 39027, 39)),
]


@pytest.mark.parametrize(("protocol", "scenario", "counts"), COVERED)
def test_the_right_protocol_keeps_every_property_in_every_interleaving(
    protocol: Protocol, scenario: Scenario, counts: tuple[int, int, int]
) -> None:
    explored = explore(Model(protocol, scenario))
    assert explored.verdict is Verdict.HOLDS
    assert explored.broken is None
    assert (explored.states, explored.transitions, explored.depth) == counts


# Actions in the shortest schedule that breaks the first property of a fault.
SHORTEST = {
    "count-before-pop": 23,
    "pop-own-count": 12,
    "max-instead-of-min": 12,
    "use-before-wait": 7,
    "skip-when-empty": 10,
    "reset-without-drain": 15,
    "evict-in-flight": 15,
    "divergent-enqueue": 17,
    "remaining-counts-at-depth-2": 26,
    "reordered-enqueue": 21,
    "withdrawn-in-flight": 15,
    "ack-never-enqueued": 1,
    "transfer-without-ack": 2,
    "idle-without-flush": 1,
    "skipped-round": 10,
    "second-round-on-own-event": 6,
    "vector-by-layout": 10,
    "attach-in-flight": 5,
    "reset-in-another-step": 16,
    "mixed-modes": 7,
    "ready-digest": 11,
    "enqueued-digest-unaligned": 10,
    "no-deadline": 5,
    "carry-on-after-throw": 6,
    "kept-buffer": 5,
    "unbounded-issue": 8,
    "follower-pops-at-once": 12,
    "agreement-in-halves": 8,
    "two-reduces-in-one-round": 18,
}


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_each_fault_has_a_shortest_schedule_that_ends_in_its_violation(name: str) -> None:
    fault = FAULTS[name]
    explored = explore(fault.model, [property_named(fault.breaks[0])])
    assert explored.verdict is Verdict.VIOLATED
    assert explored.broken is not None
    assert len(explored.broken.actions) == explored.depth == SHORTEST[name]
    replayed = run(Schedule(fault.model, explored.broken.actions, breaks=fault.breaks[0]))
    fell = [each.index for each in replayed.violations if each.property == fault.breaks[0]]
    assert fell == [SHORTEST[name] - 1]


@pytest.mark.parametrize(("lag", "length", "pops"), [(2, 26, 4), (3, 30, 5)])
def test_remaining_counts_over_pop_from_depth_2(lag: int, length: int, pops: int) -> None:
    explored = explore(Model(replace(PIPELINED, lag=lag), Scenario(acks=1)), [property_named("finished-before-pop")])
    assert explored.broken is not None
    actions = explored.broken.actions
    assert len(actions) == length
    assert sum(action == actions[-1] for action in actions) == pops
    assert explore(Model(depth(lag), Scenario(acks=1, ahead=1))).verdict is Verdict.HOLDS


@pytest.mark.parametrize("name", ["use-before-wait", "carry-on-after-throw", "agreement-in-halves"])
def test_one_search_for_many_properties_comes_to_what_a_search_for_each_comes_to(name: str) -> None:
    model = FAULTS[name].model
    together = explore_each(model, CHECKED)
    assert set(together) == {each.name for each in CHECKED if each.concerns(model)}
    for each in together:
        alone = explore(model, [property_named(each)])
        if alone.broken is None:
            assert together[each] == alone
        else:
            found = together[each].broken
            assert found is not None
            assert (found.property, len(found.actions)) == (each, len(alone.broken.actions))
            fell = run(Schedule(model, found.actions)).violations
            assert len(found.actions) - 1 in [each.index for each in fell if each.property == found.property]


def test_a_search_for_many_properties_ends_where_all_have_fallen_and_is_open_where_it_gives_up() -> None:
    model = FAULTS["use-before-wait"].model
    both = explore_each(model, [property_named("one-owner"), property_named("finished-before-pop")])
    assert {each.depth for each in both.values()} == {5, 7}
    assert max(each.states for each in both.values()) < explore(model, [property_named("same-pops")]).states
    cut = explore_each(model, [property_named("one-owner"), property_named("same-pops")], limit=100)
    assert [each.verdict for each in cut.values()] == [Verdict.VIOLATED, Verdict.UNDETERMINED]


def test_a_search_that_reaches_its_limit_is_undetermined() -> None:
    assert explore(Model(), limit=100).verdict is Verdict.UNDETERMINED
    assert explore(Model(PIPELINED, Scenario(ranks=1)), limit=66).verdict is Verdict.HOLDS
    assert explore(Model(PIPELINED, Scenario(ranks=1)), limit=65).verdict is Verdict.UNDETERMINED


def test_a_search_that_checks_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="none of these properties"):
        explore(Model(), [])
    with pytest.raises(ValueError, match="none of these properties"):
        explore(Model(), [property_named("named-divergence")])  # without guard words nothing can be named


@pytest.mark.parametrize(
    ("name", "prop"),
    [
        (
            "use-before-wait",
            Property(
                "alone",
                "the check sees a rank alone",
                lambda step: None if len(step.after.ranks) > 1 else "alone",
                "rank",
            ),
        ),
        (
            "transfer-without-ack",
            Property("silent", "ranks wait, and the check does not mind", lambda _: None, "waits"),
        ),
    ],
)
def test_what_falls_only_in_the_search_is_an_error_and_no_finding(name: str, prop: Property) -> None:
    with pytest.raises(RuntimeError, match=f"^{prop.name} fell in the search after [0-9]+ actions, and by its own"):
        explore(FAULTS[name].model, [prop])


def test_progress_is_told_at_each_new_depth() -> None:
    told: list[tuple[int, int]] = []
    explored = explore(Model(PIPELINED, Scenario(ranks=1)), progress=lambda depth, states: told.append((depth, states)))
    assert [depth for depth, _ in told] == [*range(1, explored.depth + 1), explored.depth]
    assert told[-1] == (explored.depth, explored.states)


def test_an_interrupt_leaves_a_search_as_it_stands() -> None:
    def interrupt(_depth: int, _states: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explore(Model(), progress=interrupt)
