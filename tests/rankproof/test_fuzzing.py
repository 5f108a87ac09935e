"""`rankproof fuzz` and `replay --real`: what ran on real processes, what went wrong, and nothing left behind."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from rankproof import fuzzing
from rankproof.conformance.blame import Difference
from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.commands import Command, Step, Stop
from rankproof.conformance.fuzzed import Fuzzing
from rankproof.conformance.search import Ran
from rankproof.fuzzing import Plan
from rankproof.model.faults import FAULTS
from rankproof.model.schedule import Schedule, load
from rankproof.model.verdict import Verdict
from rankproof.output import Form, Output
from rankproof.profiles import Budget
from rankproof.results_github import finding

pytestmark = pytest.mark.timeout(180)

WRONG = "rankproof.conformance.reference:pipelined"  # held against the blocking protocol, it is wrong at once


@pytest.mark.processes
def test_the_reference_does_what_the_model_does(rankproof: Callable[..., Any]) -> None:
    answer = rankproof("fuzz", "--examples", 3)
    last = answer.out.splitlines()[-1]
    assert last.startswith("holds: ")
    assert last.endswith("every reply was the model's")
    assert "3 schedules on 2 processes, " in last
    assert answer.code == 0


@pytest.mark.processes
def test_a_subject_that_goes_wrong_is_shown_by_a_schedule_and_a_line_to_run_it_again(
    rankproof: Callable[..., Any], tmp_path: Path
) -> None:
    answer = rankproof("fuzz", "--lag", 0, "--subject", WRONG, "--examples", 5, "--seed", 4, "--out", tmp_path)
    lines = answer.out.splitlines()
    assert "subject differs from the model" in answer.out
    assert "in_flight: model 0 | subject 1" in answer.out
    assert "rank 0  " in answer.out
    assert lines[-1].startswith("violated: ")
    assert answer.code == 1
    assert load(tmp_path / "fuzz.json").model.protocol.lag == 0
    assert "```mermaid\nsequenceDiagram\n" in (tmp_path / "fuzz.md").read_text()
    (again,) = (line.partition("again: ")[2] for line in lines if "again: " in line)
    command, *arguments = shlex.split(again)
    assert command == "rankproof"
    once_more = rankproof(*arguments)
    assert "in_flight: model 0 | subject 1" in once_more.out
    assert once_more.code == 1


@pytest.fixture
def found(own_count: Schedule) -> Fuzzing:
    """A finding in memory, that processes do not show."""
    return Fuzzing(
        "engine:f",
        2,
        Verdict.VIOLATED,
        Capabilities(),
        1.0,
        memory=Ran(examples=3, steps=9, popped=1, taken={"pop": 1}),
        failure="rank 0, step: the subject differs from the model\n  popped: model ((), ()) | subject ((0,), ())",
        found_in="memory",
        reproduced=False,
        breaks="finished-before-pop",
        differences=(Difference("popped", "((), ())", "((0,), ())"), Difference("in_flight", "1", "0")),
        last_words='Traceback:\n  File "engine.py", line 7\n    ^^^^\nValueError: no',
        program="driver.give(Step(0))",
        schedule=own_count,
    )


def shown(found: Fuzzing) -> str:
    """The report in words, whatever the line that they are on."""
    stream = io.StringIO()
    fuzzing.show(Output(Form.TEXT, stream), found)
    return " ".join(stream.getvalue().split())


def test_a_finding_names_its_property_and_its_acks_as_the_picture_does(found: Fuzzing) -> None:
    said = shown(found)
    assert said.startswith("breaks finished-before-pop: an ack popped on a rank is finished on that rank")
    assert "popped: model nothing | subject a0 in_flight: model 1 | subject 0" in said
    assert "lanes a = write" in said or "lane a = write" in said
    assert "✗ finished-before-pop: rank 0, step: the subject differs from the model; popped: model nothing" in said
    assert 'File "engine.py", line 7 ValueError: no' in said


@pytest.mark.parametrize("given", ["()", "((('w', 0),), ())", "((0,),)", "(0, ())", "deque([0])"])
def test_what_holds_no_acks_of_each_lane_is_shown_as_it_is_with_what_it_is_to_hold(found: Fuzzing, given: str) -> None:
    said = shown(replace(found, differences=(Difference("popped", "((), ())", given),)))
    assert f"popped: model ((), ()) | subject {given} (it is to be one tuple a lane, of the ints that enqueue" in said
    assert "it is to be" not in shown(found)


def test_what_shows_in_memory_alone_is_said_to(found: Fuzzing) -> None:
    assert "on real processes it did not show: either real ranks seldom lose this race" in shown(found)
    assert "on real processes it goes wrong as well" in shown(replace(found, reproduced=True))


def test_a_difference_in_the_rounds_in_flight_alone_asks_for_the_lag(found: Fuzzing) -> None:
    only = replace(found, differences=found.differences[1:])
    assert "(only the rounds in flight differ: is lag 1 what the subject does?)" in shown(only)
    assert "is lag" not in shown(found)


def test_a_pop_out_of_order_is_said_to_be_of_another_protocol(found: Fuzzing) -> None:
    said = shown(replace(found, remark="it popped an ack that stands behind"))
    assert "subject 0 (it popped an ack that stands behind)" in said


def test_what_was_never_exercised_is_named_beside_what_was(found: Fuzzing) -> None:
    said = shown(found)
    assert "actions taken: pop 1 never taken: enqueue, finish, reset, evict, " in said
    assert "not asked, since it does not declare them or no subject can: lose, swap, stall, " in said


def test_a_report_begins_with_what_of_an_engine_is_driven(found: Fuzzing) -> None:
    driven = replace(found, driven="engine 1.2, C.step is real")
    assert shown(driven).startswith("driven: engine 1.2, C.step is real breaks finished-before-pop")
    assert fuzzing.document(driven)["driven"] == "engine 1.2, C.step is real"


def test_no_answer_comes_with_its_reason() -> None:
    nothing = Fuzzing("engine:f", 2, Verdict.UNDETERMINED, Capabilities(), 1.0, note="the subject cannot live there")
    said = shown(nothing)
    assert "nothing ran on real processes before the time was over; give more seconds" in said
    assert "memory gave no answer: the subject cannot live there" in said


def test_why_the_processes_gave_no_answer_is_said(found: Fuzzing) -> None:
    said = shown(replace(found, reproduced=None, on_processes="rank 1 could not be started"))
    assert "on processes there is no answer: rank 1 could not be started" in " ".join(said.split())


def test_the_program_that_shows_it_again_is_on_the_page_and_not_in_the_report(found: Fuzzing) -> None:
    assert found.program not in shown(found)
    page = finding(fuzzing.result_of(found, Plan("engine:f", 1, Budget(1, None, 2))))
    assert f"```python\n{found.program}\n```" in page


def test_without_a_folder_the_line_gives_the_same_seed_and_limits() -> None:
    plan = Plan("my engine:f", lag=2, budget=Budget(None, 7.5, 3), seed=9, source=Path("a b"))
    assert plan.again == (
        "rankproof fuzz --subject 'my engine:f' --lag 2 --ranks 3 --seconds 7.5 --seed 9 --source 'a b'"
    )


@pytest.mark.processes
def test_a_run_is_told_in_the_form_that_was_asked_for(rankproof: Callable[..., Any]) -> None:
    answer = rankproof("fuzz", "--lag", 0, "--subject", WRONG, "--examples", 2, "--format", "junit")
    failure = ElementTree.fromstring(answer.out).find("testsuite/testcase/failure")
    assert failure is not None
    (again,) = (line for line in (failure.text or "").splitlines() if line.startswith("again: rankproof fuzz "))
    assert answer.code == 1
    assert "--commands " in again, "the smallest schedule, and no search"
    once_more = rankproof(*shlex.split(again)[2:], "--format", "json")
    document = json.loads(once_more.out)
    assert (document["verdict"], document["examples"], once_more.code) == ("violated", 1, 1)


@pytest.mark.parametrize(
    ("reproduced", "smallest", "words"),
    [
        (True, (Step(0),), "rankproof replay out/fuzz.json --real --subject engine:f"),
        (False, (Step(0),), "rankproof fuzz --subject engine:f --lag 1 --ranks 2 --commands step:0"),
        (True, (Stop(0), Step(1)), "rankproof fuzz --subject engine:f --lag 1 --ranks 2 --commands 'stop:0 step:1'"),
        (True, (), "rankproof fuzz --subject engine:f --lag 1 --ranks 2 --examples 1 --seed 0"),
    ],
)
def test_a_file_is_run_again_only_where_it_has_all_that_shows_the_failure(
    found: Fuzzing, reproduced: bool, smallest: tuple[Command, ...], words: str
) -> None:
    seen = replace(found, reproduced=reproduced, smallest=smallest)
    assert fuzzing.result_of(seen, Plan("engine:f", 1, Budget(1, None, 2)), Path("out/fuzz.json")).again == words


def test_commands_that_cannot_be_read_are_one_line_and_leave_no_folder(
    rankproof: Callable[..., Any], tmp_path: Path
) -> None:
    answer = rankproof("fuzz", "--commands", "stepp:0", "--out", tmp_path / "out")
    assert answer.err.splitlines()[-1] == "rankproof: 'stepp:0': unknown command 'stepp'; did you mean 'step'?"
    assert (answer.code, answer.out, (tmp_path / "out").exists()) == (2, "", False)


@pytest.mark.processes
def test_the_json_document_counts_what_ran_and_stands_alone_on_standard_output(
    rankproof: Callable[..., Any],
) -> None:
    answer = rankproof("fuzz", "--lag", 0, "--subject", WRONG, "--examples", 2, "--format", "json")
    document = json.loads(answer.out)
    assert (document["verb"], document["verdict"], document["lag"], document["seed"]) == ("fuzz", "violated", 0, 0)
    assert document["examples"] > 0
    assert document["taken"]["issue"] > 0
    assert document["taken"]["close"] == 0
    assert "close" in document["never_taken"]
    assert {"attach", "crash"} <= set(document["not_asked"])
    assert "subject differs from the model" in document["failure"]
    assert document["schedule"]["format"] == "rankproof schedule"


@pytest.mark.processes
def test_a_schedule_of_a_fault_does_no_harm_to_the_reference(
    rankproof: Callable[..., Any], file: Callable[[Schedule], Path], own_count: Schedule
) -> None:
    answer = rankproof("replay", file(own_count), "--real")
    said = " ".join(answer.out.split())
    assert (
        "held against the right protocol of lag 1; of the file, whose protocol has pops=own, only the engine's" in said
    )
    assert " 1 rank 0 step " in said
    last = answer.out.splitlines()[-1]
    assert re.fullmatch(r"holds: \d replies on 2 processes in \d+ s; every reply was the model's, so that .*", last)
    assert last.endswith("so that this subject does not break finished-before-pop on it")
    assert answer.code == 0


@pytest.mark.processes
def test_a_schedule_on_a_wrong_subject_is_violated(
    rankproof: Callable[..., Any], file: Callable[[Schedule], Path], own_count: Schedule
) -> None:
    subject = "rankproof.conformance.reference:blocking"
    answer = rankproof("replay", file(own_count), "--real", "--subject", subject, "--format", "json")
    document = json.loads(answer.out)
    assert (document["verdict"], document["subject"], answer.code) == ("violated", subject, 1)
    assert document["failure"].startswith("rank 0, step: the subject raised StepTimeout: ")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--real", "--format", "svg"), "--real writes text or json, not svg"),
        (("--subject", WRONG), "--subject is for what runs on real processes; give --real as well"),
        (("--source", "."), "--source is for what runs on real processes; give --real as well"),
        (("--real", "--source", "nowhere"), "--source nowhere: there is no such folder"),
        (("--real", "--subject", "nowhere:f"), "factory 'nowhere:f': cannot import 'nowhere': "),
    ],
)
def test_what_cannot_be_run_is_one_line(
    rankproof: Callable[..., Any],
    file: Callable[[Schedule], Path],
    own_count: Schedule,
    arguments: tuple[str, ...],
    line: str,
) -> None:
    answer = rankproof("replay", file(own_count), *arguments)
    assert answer.err.splitlines()[-1].startswith(f"rankproof: {line}")
    assert (answer.code, answer.out) == (2, "")


def test_a_schedule_without_actions_is_not_run(rankproof: Callable[..., Any], file: Callable[[Schedule], Path]) -> None:
    answer = rankproof("replay", file(Schedule(FAULTS["pop-own-count"].model, ())), "--real")
    assert answer.code == 2
    assert answer.err.splitlines()[-1] == "rankproof: the schedule has no actions, so there is nothing to run"
