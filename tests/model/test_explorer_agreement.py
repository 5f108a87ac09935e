"""The explorer, which remembers moves, sees just what a search sees that remembers nothing."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof.model.actions import Action, Attach, Enqueue, Evict, Flush, Reset
from rankproof.model.explorer import explore
from rankproof.model.faults import FAULTS
from rankproof.model.interleaving import Model, successors
from rankproof.model.memory import Memory
from rankproof.model.orbits import alike
from rankproof.model.properties import CHECKED, PROPERTIES, Property, Transition, property_named
from rankproof.model.protocol import BLOCKING, GUARDED, PIPELINED, Protocol, depth
from rankproof.model.scenario import Scenario
from rankproof.model.state import State, canonical
from rankproof.model.verdict import Verdict

PROTOCOLS = {
    "pipelined": PIPELINED,
    "blocking": BLOCKING,
    "depth 2": depth(2),
    "remaining at depth 2": replace(PIPELINED, lag=2),
    "reset in flight": replace(PIPELINED, resets="in-flight"),
    "largest": replace(PIPELINED, reduces="max"),
    "own": replace(PIPELINED, pops="own"),
    "guarded": replace(GUARDED, vector="by-layout"),
}
SCENARIOS = {
    "one rank": Scenario(ranks=1, acks=2, evicts=1),
    "two lanes": Scenario(lanes=("write", "load"), acks=1, ahead=2),
    "three ranks": Scenario(ranks=3, acks=1, ahead=1),
    "resets and flushes": Scenario(acks=1, resets=1, flushes=1, ahead=1),
    "evicts and losses": Scenario(acks=1, evicts=1, losses=1, ahead=1),
    "whatever drains": Scenario(acks=1, resets=1, evicts=1, attaches=1, flushes=1, withdrawals=1, stalls=1, ahead=1),
    "aligned": Scenario(acks=1, evicts=1, aligned_enqueue=True, ahead=2),
    "mishaps": Scenario(acks=1, stalls=1, withdrawals=1, declines=1, throws=1, crashes=1, ahead=1),
    "layouts and modes": Scenario(acks=1, attaches=1, aligned_attach=False, blocking_ranks=1, ahead=1),
    "pipeline": Scenario(ranks=3, acks=1, topology="pipeline", ahead=1),
    "halves": Scenario(ranks=3, acks=1, topology="halves", ahead=1),
}


def search(model: Model, properties: Sequence[Property], most: int) -> tuple[Verdict, int, int, int]:
    """Verdict, states, transitions and depth, by the model's own actions on the model's own states."""
    seen = {canonical(model.start)}
    frontier = list(seen)
    transitions = level = 0
    while frontier:
        found: set[State] = set()
        for state in frontier:
            for action, after in successors(model, state):
                transitions += 1
                step = Transition(model, state, action, after)
                if any(each.broken(step) for each in properties):
                    return Verdict.VIOLATED, len(seen), transitions, level + 1
                found.add(canonical(after))
        frontier = list(found - seen)
        seen.update(frontier)
        if len(seen) > most:
            return Verdict.UNDETERMINED, len(seen), transitions, level
        level += bool(frontier)
    return Verdict.HOLDS, len(seen), transitions, level


def assert_agree(model: Model, properties: Sequence[Property], most: int) -> None:
    plain = search(model, properties, most)
    explored = explore(model, properties, limit=most)
    if plain[0] is Verdict.VIOLATED:  # how much of the last level was seen by then is a matter of order
        assert (explored.verdict, explored.depth) == (plain[0], plain[3])
    else:
        assert (explored.verdict, explored.states, explored.transitions, explored.depth) == plain


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_both_searches_see_the_same_states(protocol: str, scenario: str) -> None:
    assert_agree(Model(PROTOCOLS[protocol], SCENARIOS[scenario]), CHECKED, most=300)


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(ranks=4, acks=1, topology="grid", ahead=1),
        Scenario(ranks=3, acks=1, topology="pipeline", leaders=2, ahead=1),
        Scenario(acks=1, resets=1, aligned_resets=False, closes=1, ahead=1),
        Scenario(lanes=("write", "hits"), acks=1, storage=1, attaches=2, aligned_attach=False, ahead=1),
        Scenario(acks=1, crashes=1, throws=1, closes=1, ahead=2),
    ],
    ids=["a grid", "two leaders", "resets in different steps", "storage", "ranks that end"],
)
def test_both_searches_see_the_same_states_whatever_ranks_ask_for_and_notice(scenario: Scenario) -> None:
    asking = replace(GUARDED, guards=("request", *GUARDED.guards), attaches="agreed")
    assert_agree(Model(asking, scenario), CHECKED, most=1_000)


@pytest.mark.parametrize("name", [name for name in FAULTS if name != "divergent-enqueue"])
def test_both_searches_find_a_fault_at_the_same_length(name: str) -> None:
    fault = FAULTS[name]
    assert_agree(fault.model, [PROPERTIES[fault.breaks[0]]], most=1_500)


@pytest.mark.parametrize("kind", [Attach, Evict, Flush, Reset])
@pytest.mark.parametrize(
    ("name", "protocol", "scenario"),
    [
        ("finished-before-pop", PROTOCOLS["largest"], Scenario(acks=1)),
        ("exact-delay", PROTOCOLS["own"], Scenario(acks=1)),
        ("bounded-lag", PIPELINED, Scenario(acks=1, withdrawals=1)),
    ],
)
def test_both_searches_find_what_falls_in_a_drain(
    name: str, protocol: Protocol, scenario: Scenario, kind: type[Action]
) -> None:
    fell = property_named(name)
    in_drain = replace(fell, broken=lambda step: fell.broken(step) if isinstance(step.action, kind) else None)
    how_often = {"attaches": kind is Attach, "evicts": kind is Evict, "flushes": kind is Flush, "resets": kind is Reset}
    bounds: dict[str, Any] = {name: int(often) for name, often in how_often.items()}
    model = Model(protocol, replace(scenario, ahead=1, **bounds))
    assert explore(model, [in_drain], limit=3_000).verdict is Verdict.VIOLATED
    assert_agree(model, [in_drain], most=3_000)


def test_both_searches_find_a_deadlock_at_the_same_length() -> None:
    model = FAULTS["transfer-without-ack"].model
    assert explore(model, [PROPERTIES["no-deadlock"]]).verdict is Verdict.VIOLATED
    assert_agree(model, [PROPERTIES["no-deadlock"]], most=1_500)


@pytest.mark.parametrize("scenario", ["two lanes", "three ranks", "aligned", "mishaps", "pipeline"])
@pytest.mark.parametrize("protocol", [PIPELINED, replace(BLOCKING, bounds="none")], ids=["pipelined", "unbounded"])
def test_both_searches_see_the_same_left_over(protocol: Protocol, scenario: str) -> None:
    assert_agree(Model(protocol, SCENARIOS[scenario]), [PROPERTIES["drains-to-empty"]], most=25)


def test_what_is_left_over_is_seen_whichever_rank_is_behind() -> None:
    drains = PROPERTIES["drains-to-empty"]

    def one_has_counted(step: Transition) -> str | None:
        lanes = [rank.lanes[0] for rank in step.after.ranks]
        enqueued = isinstance(step.action, Enqueue) and all(lane.waiting and not lane.finished for lane in lanes)
        return drains.broken(step) if enqueued and {rank.phase for rank in step.after.ranks} == {0, 1} else None

    model = Model(replace(BLOCKING, bounds="none"), Scenario(acks=1, ahead=1))
    late = replace(drains, looks_at="group", broken=one_has_counted)
    assert explore(model, [late], limit=120).verdict is Verdict.VIOLATED
    assert_agree(model, [late], most=120)


@given(
    st.sampled_from([fault.model for fault in FAULTS.values()]),
    st.lists(st.integers(0, 99), max_size=40),
)
def test_what_is_not_touched_is_not_the_first_to_fall(model: Model, picks: list[int]) -> None:
    state = model.start
    for pick in picks:
        steps = [Transition(model, state, action, after) for action, after in successors(model, state)]
        for step in steps:
            before, after = step.before.ranks[step.action.rank], step.after.ranks[step.action.rank]
            for each in CHECKED:
                assert each.touched(before, after) or each.broken(step) is None
        if not steps:
            return  # every rank has crashed, or waits for one that has
        chosen = steps[pick % len(steps)]
        if any(each.broken(chosen) for each in CHECKED):
            return
        state = chosen.after


def test_a_packed_state_unpacks_to_one_that_differs_only_in_which_rank_is_which() -> None:
    model = Model(PIPELINED, Scenario(acks=1, evicts=1, losses=1))
    memory, state = Memory(model, CHECKED), canonical(model.start)
    for _ in range(12):
        packed = memory.pack(state)
        alike = {replace(state, ranks=ranks) for ranks in permutations(state.ranks)}
        assert memory.unpack(packed) in alike
        assert {memory.pack(each) for each in alike} == {packed}
        assert memory.size(packed) == len(alike)
        after = [memory.pack(canonical(after)) for _, after in successors(model, state)]
        found, enabled, _ = memory.successors(packed)
        assert (sorted(set(found)), enabled) == (sorted(set(after)), len(after) * len(alike))
        state = memory.unpack(max(after))


@pytest.mark.parametrize(
    ("scenario", "runs"),
    [
        (Scenario(ranks=3), [range(3)]),
        (Scenario(ranks=3, blocking_ranks=1), [range(2), range(2, 3)]),
        (Scenario(ranks=3, topology="pipeline"), [range(1), range(1, 3)]),
        (Scenario(ranks=4, topology="halves"), [range(2), range(2, 4)]),
        (Scenario(ranks=4, topology="halves", blocking_ranks=1), [range(2), range(2, 3), range(3, 4)]),
        (Scenario(ranks=4, topology="grid"), [range(1), range(1, 2), range(2, 3), range(3, 4)]),  # 0 and 2: rows apart
    ],
)
def test_ranks_trade_places_only_with_those_that_do_and_decide_the_same(scenario: Scenario, runs: list[range]) -> None:
    assert alike(Model(PIPELINED, scenario)) == runs


def test_both_searches_see_the_same_states_where_halves_agree_on_their_own() -> None:
    model = Model(PIPELINED, Scenario(acks=1, topology="halves", ahead=2))
    assert_agree(model, [PROPERTIES["same-pops"]], most=3_000)
