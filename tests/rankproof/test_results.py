"""Results in the forms that CI systems read: no answer is never a pass, and no text of a subject breaks the form."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from rankproof.diagram import diagram
from rankproof.model.schedule import Schedule, run
from rankproof.model.verdict import Verdict
from rankproof.places import Place
from rankproof.results import Result, verdict_of
from rankproof.results_github import finding, summary, workflow_commands
from rankproof.results_junit import junit
from rankproof.results_sarif import sarif

HOLDS = Result("fuzz", "engine:ok on 2 ranks", Verdict.HOLDS, "every reply was the model's", seconds=1.5)
OPEN = Result("fuzz", "engine:lost on 2 ranks", Verdict.UNDETERMINED, "nobody saw how rank 0 ended")
HOSTILE = "</failure>]]> & ```\x1b\x00 %0A ::error::x | <b>"


@pytest.fixture
def violated(own_count: Schedule) -> Result:
    return Result(
        group="fuzz",
        name="engine:wrong on 2 ranks",
        verdict=Verdict.VIOLATED,
        says="rank 1, step: the subject differs from the model",
        seconds=2.0,
        breaks="same-pops",
        details=("popped: model () | subject (0,)",),
        again="rankproof replay 'a b.json' --real",
        file=Path("out/fuzz.json"),
        place=Place("engine/my subject.py", 12),
        picture=diagram(own_count, run(own_count)),
    )


def test_junit_counts_a_violation_as_a_failure_and_no_answer_as_an_error(violated: Result) -> None:
    root = ElementTree.fromstring(junit([HOLDS, violated, OPEN]))
    assert root.tag == "testsuites"
    (suite,) = root
    for element in (root, suite):
        counts = {name: element.get(name) for name in ("tests", "failures", "errors", "skipped", "time")}
        assert counts == {"tests": "3", "failures": "1", "errors": "1", "skipped": "0", "time": "3.500"}
    passed, failed, lost = suite
    assert [child.tag for child in passed] == ["system-out"]
    failure = failed.find("failure")
    assert failure is not None
    assert (failure.get("message"), failure.get("type")) == (violated.says, "same-pops")
    assert lost.find("error") is not None
    assert {case.get("classname") for case in suite} == {"rankproof.fuzz"}
    assert len({case.get("name") for case in suite}) == 3


def test_junit_shows_what_differed_how_to_see_it_again_and_the_picture(violated: Result) -> None:
    text = ElementTree.fromstring(junit([violated])).findtext(".//failure") or ""
    for part in (*violated.details, violated.again, "violates: same-pops", "out/fuzz.json", "r1: min(1, 0) = 0"):
        assert part in text


def test_junit_has_a_suite_for_each_group() -> None:
    suites = ElementTree.fromstring(junit([replace(HOLDS, group="prove"), HOLDS]))
    assert [suite.get("name") for suite in suites] == ["rankproof prove", "rankproof fuzz"]


# From the OASIS schema of SARIF 2.1.0: for each kind of object that is used, the properties that it must have, and
# others that it may have. The schema allows nothing else in any of them.
SCHEMA: dict[str, tuple[set[str], set[str]]] = {
    "": ({"version", "runs"}, {"$schema", "inlineExternalProperties", "properties"}),
    "runs": ({"tool"}, {"invocations", "results", "automationDetails", "columnKind"}),
    "tool": ({"driver"}, {"extensions"}),
    "driver": ({"name"}, {"version", "semanticVersion", "informationUri", "rules"}),
    "rules": ({"id"}, {"name", "shortDescription", "fullDescription", "helpUri", "help", "defaultConfiguration"}),
    "shortDescription": ({"text"}, {"markdown"}),
    "defaultConfiguration": (set(), {"enabled", "level", "rank"}),
    "invocations": ({"executionSuccessful"}, {"exitCode", "commandLine", "toolExecutionNotifications"}),
    "results": (
        {"message"},
        {"ruleId", "ruleIndex", "kind", "level", "locations", "partialFingerprints", "fingerprints", "properties"},
    ),
    "message": ({"text"}, {"markdown", "id", "arguments"}),
    "locations": (set(), {"id", "physicalLocation", "logicalLocations", "message"}),
    "physicalLocation": ({"artifactLocation"}, {"region", "contextRegion"}),
    "artifactLocation": (set(), {"uri", "uriBaseId", "index", "description"}),
    "region": (set(), {"startLine", "startColumn", "endLine", "endColumn", "snippet"}),
}


def check_sarif(value: Any, kind: str = "") -> None:
    """Fails where an object lacks what the standard demands, or has what it does not know."""
    if isinstance(value, list):
        for each in value:
            check_sarif(each, kind)
    elif isinstance(value, dict) and kind != "partialFingerprints":
        required, others = SCHEMA[kind]
        assert required <= set(value) <= required | others, kind
        for name, each in value.items():
            check_sarif(each, name)
    elif kind == "partialFingerprints":
        assert all(isinstance(each, str) for each in value.values())


def test_sarif_has_what_the_standard_demands_and_nothing_that_it_does_not_know(violated: Result) -> None:
    log = json.loads(sarif([HOLDS, violated, OPEN]))
    check_sarif(log)
    assert log["version"] == "2.1.0"
    for result in log["runs"][0]["results"]:
        assert result["kind"] in ("pass", "open", "informational", "notApplicable", "review", "fail")
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["level"] == "none" or result["kind"] == "fail"
        rules = log["runs"][0]["tool"]["driver"]["rules"]
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_sarif_tells_a_violation_from_no_answer_and_leaves_out_what_holds(violated: Result) -> None:
    (run_of_tool,) = json.loads(sarif([HOLDS, violated, OPEN]))["runs"]
    found = [(each["ruleId"], each["kind"], each["level"]) for each in run_of_tool["results"]]
    assert found == [("same-pops", "fail", "error"), ("conforms", "open", "none")]
    location = run_of_tool["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {"uri": "engine/my%20subject.py", "uriBaseId": "%SRCROOT%"}
    assert location["region"] == {"startLine": 12}


@pytest.mark.parametrize(
    ("results", "successful", "code"), [([HOLDS], True, 0), ([HOLDS, OPEN], False, 3), ([], False, 3)]
)
def test_sarif_says_whether_the_run_came_to_an_answer(results: list[Result], successful: bool, code: int) -> None:
    (run_of_tool,) = json.loads(sarif(results))["runs"]
    assert run_of_tool["invocations"] == [{"executionSuccessful": successful, "exitCode": code}]


def test_the_same_check_keeps_its_fingerprint_whatever_it_says(violated: Result) -> None:
    logs = [json.loads(sarif([replace(violated, says=says)])) for says in ("one", "two")]
    first, second = (log["runs"][0]["results"][0]["partialFingerprints"] for log in logs)
    assert first == second


def test_a_workflow_command_is_one_line_with_its_place(violated: Result) -> None:
    assert workflow_commands([HOLDS, violated]) == (
        "::error title=rankproof violated same-pops%3A engine%3Awrong on 2 ranks,file=engine/my subject.py,line=12::"
        "rank 1, step: the subject differs from the model%0A"
        "popped: model () | subject (0,)%0A"
        "again: rankproof replay 'a b.json' --real\n"
    )


def test_no_answer_is_a_warning_and_what_holds_a_notice() -> None:
    assert workflow_commands([OPEN]).startswith("::warning title=rankproof undetermined%3A engine%3Alost")
    assert workflow_commands([HOLDS]) == (
        "::notice title=rankproof holds::engine:ok on 2 ranks: every reply was the model's\n"
    )


def test_a_summary_has_a_row_for_each_check_and_the_picture_of_each_finding(violated: Result) -> None:
    text = summary("fuzz", [HOLDS, violated])
    assert text.startswith("## ❌ rankproof fuzz: violated\n")
    assert "| ✅ holds | engine:ok on 2 ranks | every reply was the model's |" in text
    assert "```mermaid\nsequenceDiagram\n" in text
    assert "popped: model () | subject (0,)" in text
    assert "rankproof replay 'a b.json' --real" in text


def test_a_summary_that_grows_too_large_says_what_it_leaves_out(violated: Result) -> None:
    text = summary("fuzz", [violated] * 30)
    assert text.count("```mermaid") == 20
    assert text.endswith("\n10 more are not shown.\n")
    long = replace(violated, details=("x" * 600_000,))
    assert len(summary("fuzz", [long, long]).encode()) < 1_000_000


@pytest.fixture
def hostile(violated: Result) -> Result:
    return replace(violated, says=HOSTILE, name=HOSTILE, details=(HOSTILE, "````"))


def test_what_a_subject_says_is_text_in_junit(hostile: Result) -> None:
    case = ElementTree.fromstring(junit([hostile])).find(".//testcase")
    assert case is not None
    assert case.get("name") == HOSTILE.translate(dict.fromkeys((0, 0x1B), "\ufffd"))


def test_what_a_subject_says_is_text_in_sarif(hostile: Result) -> None:
    check_sarif(json.loads(sarif([hostile])))


def test_what_a_subject_says_is_text_in_a_workflow_command(hostile: Result) -> None:
    text = workflow_commands([hostile])
    title = text.partition(" title=")[2].partition(",file=")[0]
    message = text.split("::", 2)[2]
    assert (title.count(":"), title.count(","), text.count("\n")) == (0, 0, 1)
    shown = HOSTILE.translate(dict.fromkeys((0, 0x1B), "\ufffd"))
    assert unquote(title) == f"rankproof violated same-pops: {shown}"
    assert unquote(message).startswith(f"{shown}\n{shown}\n````\nagain: ")


def test_what_a_subject_says_is_text_in_a_summary(hostile: Result) -> None:
    text = finding(hostile)
    assert "`````text" in text, "the fence is longer than what it holds"
    assert "\\<b\\>" in text.splitlines()[1]
    assert "\x1b" not in text


def test_nothing_checked_is_no_pass() -> None:
    assert verdict_of([]) is Verdict.UNDETERMINED
