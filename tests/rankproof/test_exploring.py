"""The bounded worlds: the right protocols seen whole, and a wrong one found out."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from rankproof import exploring
from rankproof.exploring import WORLDS, World
from rankproof.model import reduction
from rankproof.model.errors import BadInput
from rankproof.model.faults import FAULTS
from rankproof.model.properties import PROPERTIES
from rankproof.model.scenario import Scenario
from rankproof.model.verdict import Verdict
from rankproof.output import Form, Output

SMALLEST = replace(WORLDS[0], model=replace(WORLDS[0].model, scenario=Scenario(acks=1)))


def shown(world: World) -> list[str]:
    stream = io.StringIO()
    (seen,) = exploring.explore_all(lambda stage, detail="": None, (world,))
    exploring.show(Output(Form.TEXT, stream), seen)
    return stream.getvalue().splitlines()


def test_a_right_protocol_is_seen_whole() -> None:
    (line,) = shown(SMALLEST)
    assert line.split()[:7] == ["blocking:", "2", "ranks,", "1", "ack", "holds", "371"]


def test_a_wrong_protocol_is_named_with_what_fell() -> None:
    fault = FAULTS["use-before-wait"]
    line, fall = shown(World("wrong", fault.model))
    assert "violated" in line
    assert fall.startswith("    ✗ one-owner: " if "one-owner" in fall else "    ✗ finished-before-pop: ")


def test_a_search_that_is_cut_short_is_undetermined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploring, "LIMIT", 100)
    (seen,) = exploring.explore_all(lambda stage, detail="": None, (SMALLEST,))
    assert seen.exploration.verdict is Verdict.UNDETERMINED
    assert exploring.document(seen)["verdict"] == "undetermined"


def test_progress_says_how_many_worlds_there_are_and_have_been_seen() -> None:
    told: list[str] = []
    list(exploring.explore_all(lambda stage, detail="": told.append(f"{stage}: {detail}"), (SMALLEST,)))
    assert told == ["explore: 1 world", "explore: 1 of 1 world"]


def test_the_worlds_cover_every_right_protocol_and_what_the_engine_does() -> None:
    assert {world.model.protocol.lag for world in WORLDS} == {0, 1, 2}
    scenarios = [world.model.scenario for world in WORLDS]
    assert max(scenario.ranks for scenario in scenarios) >= 3
    assert max(len(scenario.lanes) for scenario in scenarios) >= 2
    assert any(scenario.resets and scenario.evicts and scenario.flushes for scenario in scenarios)


def test_every_property_is_held_against_some_world_in_which_it_can_fall() -> None:
    assert {name for world in WORLDS for name in world.properties} == set(PROPERTIES)


def test_a_world_without_guard_words_says_nothing_of_their_property() -> None:
    assert "named-divergence" not in SMALLEST.properties
    assert "named-divergence" in SMALLEST.checked


def test_bounds_are_said_in_words() -> None:
    assert exploring.bounds(Scenario(acks=1)) == "2 ranks, 1 ack"
    many = Scenario(ranks=3, lanes=("a", "b"), acks=2, losses=2, resets=1, evicts=2, flushes=2)
    assert exploring.bounds(many) == "3 ranks, 2 lanes, 2 acks, 2 lost enqueues, 1 reset, 2 evictions, 2 flushes"


@pytest.mark.parametrize(("lag", "name"), [(0, "blocking"), (1, "pipelined"), (2, "depth 2")])
@pytest.mark.parametrize("reduced", [False, True])
def test_one_world_is_reported_with_its_bounds_its_depth_and_what_it_is_held_against(
    lag: int, name: str, reduced: bool
) -> None:
    stream = io.StringIO()
    told: list[str] = []
    verdict = exploring.report(
        Output(Form.TEXT, stream),
        lambda stage, detail="": told.append(f"{stage}: {detail}"),
        Scenario(acks=1),
        lag=lag,
        reduced=reduced,
    )
    text = " ".join(stream.getvalue().split())
    assert verdict is Verdict.HOLDS
    assert f"{name}: 2 ranks, 1 ack holds " in text
    assert ("stand for all others" in text) is reduced
    assert ("named-divergence" in text, "bounded-skew" in text) == (False, True)
    assert told[-1].startswith("explore: ")
    assert told[-1].endswith(" actions")


@pytest.mark.parametrize(("lag", "length"), [(2, 26), (3, 30)])
def test_remaining_counts_lose_from_depth_2_by_a_shortest_schedule_that_is_drawn(lag: int, length: int) -> None:
    stream = io.StringIO()
    output = Output(Form.TEXT, stream)
    verdict = exploring.report(output, lambda *_: None, Scenario(acks=1), lag=lag, remaining=True)
    text = " ".join(stream.getvalue().split())
    assert verdict is Verdict.VIOLATED
    assert f"depth {lag}, remaining counts: 2 ranks, 1 ack violated " in text
    assert f" {length} actions deep; " in text
    assert text.endswith("✗ finished-before-pop: rank 0 is to pop 1 more than its lanes hold")


def test_remaining_counts_are_how_one_round_in_flight_counts_so_that_asking_for_them_is_refused() -> None:
    with pytest.raises(BadInput, match="give it with --lag 2 or more"):
        exploring.report(Output(Form.TEXT, io.StringIO()), lambda *_: None, Scenario(acks=1), remaining=True)


def test_one_world_that_is_too_large_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploring, "MOST_KEPT", 100)
    stream = io.StringIO()
    verdict = exploring.report(Output(Form.TEXT, stream), lambda *_: None, exploring.STANDARD, reduced=True)
    assert verdict is Verdict.UNDETERMINED
    assert "given up after" in stream.getvalue()


def test_the_standard_world_is_one_for_the_schedules_that_stand_for_all_others() -> None:
    model = replace(WORLDS[1].model, scenario=exploring.STANDARD)
    assert reduction.why_not(model, sorted(reduction.KNOWN)) is None
    assert (model.scenario.ranks, len(model.scenario.lanes), model.scenario.acks) == (3, 2, 3)
