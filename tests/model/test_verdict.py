"""Verdicts are combined so that an answer is never made out of the absence of one."""

import pytest

from rankproof.model.verdict import Verdict, combine

HOLDS, VIOLATED, UNDETERMINED = Verdict.HOLDS, Verdict.VIOLATED, Verdict.UNDETERMINED


@pytest.mark.parametrize(
    ("verdicts", "together"),
    [
        ([], UNDETERMINED),
        ([HOLDS], HOLDS),
        ([HOLDS, HOLDS], HOLDS),
        ([HOLDS, UNDETERMINED], UNDETERMINED),
        ([UNDETERMINED, VIOLATED, HOLDS], VIOLATED),
        ([VIOLATED], VIOLATED),
        ([UNDETERMINED], UNDETERMINED),
    ],
)
def test_nothing_checked_never_holds_and_one_violation_is_enough(verdicts: list[Verdict], together: Verdict) -> None:
    assert combine(verdicts) is together
    assert combine(iter(reversed(verdicts))) is together


def test_each_verdict_has_its_exit_code_and_none_is_that_of_bad_input() -> None:
    assert {verdict: verdict.exit_code for verdict in Verdict} == {HOLDS: 0, VIOLATED: 1, UNDETERMINED: 3}
