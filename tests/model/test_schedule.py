"""Schedules as files: what is written can be read, and what cannot be read is named in one line."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof.model.actions import Count, Enqueue, Evict, Finish, Flush, Issue, Lose, Pop, Reset, Wait
from rankproof.model.errors import BadInput
from rankproof.model.faults import FAULTS
from rankproof.model.interleaving import Model
from rankproof.model.protocol import BLOCKING, PIPELINED, depth
from rankproof.model.scenario import Scenario
from rankproof.model.schedule import Schedule, dump, load, parse, run

MODEL = Model(depth(2), Scenario(ranks=2, lanes=("write", "load"), acks=3, losses=1, resets=1, aligned_enqueue=True))
EVERY_KIND = Schedule(
    MODEL,
    (Enqueue(0, 1, 0), Lose(1, 1, 0), Finish(0, 1, 0), Wait(0), Issue(1), Reset(0), Evict(1, 0), Flush(1)),
    "fuzzer",
    "same-pops",
)


def text(**changes: Any) -> str:
    """A good schedule file, with some of its entries changed."""
    return json.dumps(json.loads(dump(EVERY_KIND)) | changes)


def with_action(**entry: Any) -> str:
    return text(actions=[{"do": "wait", "rank": 0}, entry])


def refused(file: str) -> str:
    with pytest.raises(BadInput) as caught:
        parse(file, "s.json")
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("schedule", [EVERY_KIND, Schedule(Model(BLOCKING), ()), Schedule(MODEL, (Wait(1),))])
def test_a_schedule_survives_its_file(schedule: Schedule, tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text(dump(schedule), encoding="utf-8")
    assert load(file) == schedule


@given(st.sampled_from(sorted(FAULTS)), st.lists(st.integers(0, 1), max_size=4))
def test_every_faults_model_survives_its_file(name: str, ranks: list[int]) -> None:
    schedule = Schedule(FAULTS[name].model, tuple(Wait(rank) for rank in ranks), name, FAULTS[name].breaks[0])
    assert parse(dump(schedule), "s.json") == schedule


def test_a_schedule_file_has_one_action_a_line() -> None:
    assert '\n    {"do": "enqueue", "rank": 0, "lane": "load", "ack": 0},\n' in dump(EVERY_KIND)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("{", "s.json: invalid JSON: EOF while parsing an object at line 1 column 1"),
        (text(format="other"), "s.json: format: input should be 'rankproof schedule'"),
        (text(version=2), "s.json: version: input should be 1"),
        (text(origin="\x1b[2J"), "s.json: origin: at most 200 characters, all printable"),
        (text(scenario={"lanes": ["a\nb"]}), "s.json: scenario.lanes[0]: at most 200 characters, all printable"),
        (text(scenario={"ranks": 10**9}), "s.json: scenario: a schedule has at most 1024 ranks and 64 lanes"),
        (text(speed=9), "s.json: speed: extra inputs are not permitted"),
        (text(breaks="same-pop"), "s.json: breaks: 'same-pop' is no property; known: finished-before-pop, "),
        (text(scenario={"ranks": 0}), "s.json: scenario: a scenario needs at least one rank and one lane"),
        (text(scenario={"rank": 2}), "s.json: scenario.rank: unexpected keyword argument"),
        (text(scenario={"ranks": "2"}), "s.json: scenario.ranks: input should be a valid integer"),
        (text(protocol={"lag": -1}), "s.json: protocol: lag must be 0 or more, not -1"),
        (text(protocol={"reduces": "sum"}), "s.json: protocol.reduces: input should be 'min' or 'max'"),
        (text(actions=[{"rank": 0}]), "s.json: actions[0].do: field required"),
        (with_action(do="wiat", rank=0), "s.json: actions[1]: unknown action 'wiat'; did you mean 'wait'?"),
        (with_action(do="wait"), "s.json: actions[1].rank: field required"),
        (with_action(do="wait", rank=2), "s.json: actions[1].rank: there is no rank 2; ranks are 0 to 1"),
        (with_action(do="wait", rank=0, ack=1), "s.json: actions[1]: wait takes rank; ack is missing or too many"),
        (
            with_action(do="finish", rank=0, lane="load"),
            "s.json: actions[1]: finish takes ack, lane, rank; ack is missing or too many",
        ),
        (
            with_action(do="evict", rank=0, lane="lode"),
            "s.json: actions[1].lane: there is no lane 'lode'; lanes are write, load",
        ),
    ],
)
def test_a_malformed_schedule_is_refused_at_its_place(file: str, message: str) -> None:
    assert refused(file).startswith(message)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"missing\.json: cannot read the schedule: No such file or directory"):
        load(tmp_path / "missing.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match=r"bytes\.json: cannot read the schedule: it is not UTF-8 text"):
        load(tmp_path / "bytes.json")


def test_a_run_stops_at_the_first_action_that_cannot_be_taken() -> None:
    ran = run(Schedule(Model(), (Enqueue(0, 0, 0), Finish(1, 0, 0), Wait(0))))
    assert len(ran.states) == 2
    assert ran.stopped is not None
    assert ran.stopped.reason == "ack 0 does not wait in lane 0 on rank 1"


def test_a_run_names_each_property_that_falls_and_where() -> None:
    early = Model(replace(PIPELINED, reads="before-wait"), Scenario(acks=1))
    step = (Pop(0), Wait(0), Count(0), Issue(0))
    ran = run(Schedule(early, (Enqueue(0, 0, 0), Finish(0, 0, 0), *step, Pop(0))))
    assert [(each.index, each.property, each.says) for each in ran.violations] == [
        (6, "finished-before-pop", "rank 0 pops ack 0 of lane 0, which is not finished on rank 1"),
        (6, "exact-delay", "rank 0 has popped 1 acks of lane 0 where blocking had popped 0"),
        (6, "one-owner", "rank 0 reads the result of round 1 before it has waited for it"),
    ]
