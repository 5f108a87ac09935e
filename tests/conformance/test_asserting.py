"""The report says what differed, what that breaks, where, and how to see it again."""

from __future__ import annotations

from dataclasses import replace

from rankproof.conformance.asserting import report_of
from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.fuzzed import Fuzzing
from rankproof.conformance.search import Ran
from rankproof.model.verdict import Verdict

HELD = Fuzzing(
    "mine:Mine", 2, Verdict.HOLDS, Capabilities(), 1.0, memory=Ran(20, 400, 300, 7), processes=Ran(10, 200, 150, 4)
)
VIOLATED = replace(
    HELD,
    verdict=Verdict.VIOLATED,
    failure="rank 0, step: the subject differs from the model\n  popped: model ((),) | subject ((0,),)",
    breaks="exact-delay",
    found_in="memory",
    reproduced=True,
    last_words="\n".join(f"line {number}" for number in range(30)),
    program="import rankproof",
)


def test_a_subject_that_conforms_is_told_with_how_much_ran() -> None:
    assert report_of(HELD) == ("mine:Mine on 2 ranks does what the model does: 30 schedules, 450 steps, 11 pops")


def test_no_answer_is_told_with_its_reason() -> None:
    lost = replace(HELD, verdict=Verdict.UNDETERMINED, failure="nobody saw how rank 1 ended")
    assert report_of(lost).endswith("no answer after 30 schedules, 450 steps, 11 pops: nobody saw how rank 1 ended")


def test_a_difference_is_told_with_its_property_its_place_and_a_program() -> None:
    lines = report_of(VIOLATED).splitlines()
    assert lines[:4] == [
        "mine:Mine on 2 ranks differs from the model",
        "  rank 0, step: the subject differs from the model",
        "    popped: model ((),) | subject ((0,),)",
        "property: exact-delay: with the same completions, pipelined has popped after step t+1 exactly what blocking "
        "has after step t",
    ]
    assert "on processes: it fails too" in lines
    assert "  line 29" in lines
    assert "  line 17" not in lines
    assert lines[-2:] == ["to see it again:", "import rankproof"]


def test_what_processes_do_not_show_is_told_with_its_two_reasons() -> None:
    report = report_of(replace(VIOLATED, reproduced=False, on_processes="every reply was the model's"))
    assert "on processes: it does not fail: every reply was the model's" in report
    assert "a race that real ranks seldom lose, or ranks share what the subject keeps in module globals" in report
