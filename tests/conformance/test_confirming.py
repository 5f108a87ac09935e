"""A failure on processes that rests on time alone counts only when it comes again with more of it."""

from __future__ import annotations

import pytest

from rankproof.conformance.blame import rests_on_time
from rankproof.conformance.driver import Reply
from rankproof.conformance.fuzz import Fuzzing, fuzz
from rankproof.conformance.launcher import Launcher
from rankproof.conformance.outcome import Died, Hung, Ok, Outcome, Raised
from rankproof.model.verdict import Verdict


@pytest.mark.parametrize(
    ("outcome", "rests"),
    [
        (Hung(3.0), True),
        (Raised("RuntimeError", "Timed out waiting 3000ms for recv operation to complete"), True),
        (Raised("RuntimeError", "[pair.cc:553] Connection closed by peer [127.0.0.1]:30638."), True),
        (Raised("StepTimeout", "round 3"), True),
        (Raised("AssertionError", "the ranks reclaimed in different orders"), False),
        (Raised("RankDivergence", "round 3: ranks hold other acks"), False),
        (Died(-6), False),
        (Ok(), False),
    ],
)
def test_a_wait_that_ran_out_and_a_peer_that_was_lost_rest_on_time(outcome: Outcome, rests: bool) -> None:
    assert rests_on_time(Reply(0, "step", outcome)) is rests
    assert not rests_on_time(None)


def fuzzed(subject: str, launcher: Launcher) -> Fuzzing:
    return fuzz(
        f"wrong_subjects:{subject}",
        examples=40,
        timeout=1.0,
        shrink_seconds=0.5,
        transports=("processes",),
        launcher=launcher,
    )


@pytest.mark.processes
def test_what_was_only_late_once_is_no_violation_and_the_limit_is_named(shared_launcher: Launcher) -> None:
    found = fuzzed("is_late_where_waits_are_short", shared_launcher)
    assert found.verdict is Verdict.UNDETERMINED
    assert found.failure.startswith(
        "a wait of 1 s ran out 3 times, and did not when the same schedule ran again with 4 s"
    )
    assert "--timeout" in found.failure
    assert (found.breaks, found.schedule) == ("", None)


@pytest.mark.processes
def test_what_hangs_again_with_more_time_is_violated(shared_launcher: Launcher) -> None:
    found = fuzzed("skips_when_empty", shared_launcher)
    assert (found.verdict, found.found_in) == (Verdict.VIOLATED, "processes")
    assert found.breaks in ("no-deadlock", "matched-collectives")
