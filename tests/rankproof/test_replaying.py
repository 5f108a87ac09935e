"""A schedule replayed: every step with the state after it, the picture, and what is claimed against what was seen."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rankproof import rerunning
from rankproof.conformance.replay import RealRun
from rankproof.conformance.replies import Compared
from rankproof.model.schedule import Schedule, parse
from rankproof.model.verdict import Verdict


def test_each_step_is_shown_with_the_state_after_it(
    rankproof: Callable[..., Any], file: Callable[[Schedule], Path], own_count: Schedule
) -> None:
    assert rankproof("replay", file(own_count)).out.splitlines()[:22] == [
        "12 actions on 2 ranks, lag 1, made by test",
        "lane a = write; a0 = ack 0 of lane a; r1 = round 1; * = finished, ! = never will",
        "",
        "                    rank 0              rank 1",
        "    (start)         []                  []",
        " 1  0: enqueue a0   [a0]                []",
        " 2  0: finish a0    [a0*]               []",
        " 3  0: wait         [a0*]               []",
        " 4  0: pop nothing  [a0*]               []",
        " 5  0: count 1      [a0*]               []",
        " 6  0: issue r1     [a0*] in flight r1  []",
        " 7  1: wait         [a0*] in flight r1  []",
        " 8  1: pop nothing  [a0*] in flight r1  []",
        " 9  1: count 0      [a0*] in flight r1  []",
        "10  1: issue r1     [a0*] in flight r1  [] in flight r1",
        "11  0: wait r1: 0   [a0*]               [] in flight r1",
        "12  0: pop a0       [] popped 1         [] in flight r1",
        "    ✗ finished-before-pop: rank 0 pops ack 0 of lane 0, which is not finished on",
        "      rank 1",
        "    ✗ exact-delay: rank 0 has popped 1 acks of lane 0 where blocking had popped",
        "      0",
        "",
    ]


def test_the_verdict_is_the_last_line(
    rankproof: Callable[..., Any], file: Callable[[Schedule], Path], stale_reset: Schedule
) -> None:
    last = rankproof("replay", file(stale_reset)).out.splitlines()[-2:]
    assert last == [
        "violated: within 15 actions fell clean-lifecycle, finished-before-pop,",
        "  exact-delay, bounded-lag",
    ]


def test_a_claim_that_the_replay_does_not_bear_out_is_said(
    rankproof: Callable[..., Any], file: Callable[[Schedule], Path], own_count: Schedule
) -> None:
    answer = rankproof("replay", file(replace(own_count, breaks="same-pops")))
    assert answer.out.splitlines()[-1] == "The file says that it breaks same-pops; the replay does not show that."
    assert answer.code == 1


def test_a_claim_about_what_the_model_does_not_have_is_not_judged(
    rankproof: Callable[..., Any], file: Callable[[Schedule], Path], three_ranks: Schedule
) -> None:
    assert rankproof("replay", file(replace(three_ranks, breaks="named-divergence"))).code == 3
    assert rankproof("replay", file(replace(three_ranks, breaks="same-pops"))).code == 0


def test_the_json_document_holds_the_schedule_the_states_and_the_violations(
    rankproof: Callable[..., Any], file: Callable[[Schedule], Path], own_count: Schedule
) -> None:
    answer = rankproof("replay", file(own_count), "--format", "json")
    document = json.loads(answer.out)
    assert (document["format"], document["version"], document["verb"]) == ("rankproof report", 1, "replay")
    assert (document["verdict"], answer.code) == ("violated", 1)
    assert parse(json.dumps(document["schedule"]), "document") == own_count
    assert len(document["steps"]) == 12
    assert document["steps"][-1]["words"] == "pop a0"
    assert document["steps"][-1]["ranks"][0]["lanes"] == [{"waiting": [], "finished": [], "popped": [0]}]
    assert [(each["action"], each["property"]) for each in document["violations"]] == [
        (11, "finished-before-pop"),
        (11, "exact-delay"),
    ]
    assert document["remark"] == ""


def test_a_picture_is_all_that_is_written_when_one_is_asked_for(
    rankproof: Callable[..., Any], file: Callable[[Schedule], Path], own_count: Schedule
) -> None:
    drawn = {form: rankproof("replay", file(own_count), "--format", form) for form in ("mermaid", "svg")}
    assert drawn["mermaid"].out.startswith("sequenceDiagram\n")
    assert drawn["svg"].out.startswith("<svg ")
    assert drawn["svg"].out.endswith("</svg>\n")
    assert [answer.code for answer in drawn.values()] == [1, 1]


@pytest.mark.parametrize(("number", "says"), [(1, "1 reply on 2 processes"), (1200, "1,200 replies on 2 processes")])
def test_one_reply_is_said_as_one(own_count: Schedule, number: int, says: str) -> None:
    ran = RealRun(Verdict.VIOLATED, (Compared(0, "step", ((),)),) * number, (), "it differs", 1.0)
    assert rerunning._conclusion(own_count, ran) == f"{says} in 1 s; then it went wrong as shown"
