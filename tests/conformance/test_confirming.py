"""A failure on processes that rests on time alone counts only when it comes again with more of it."""

from __future__ import annotations

import re

import pytest

from rankproof.conformance.blame import rests_on_time
from rankproof.conformance.confirming import confirmed
from rankproof.conformance.driver import HarnessLost, Reply
from rankproof.conformance.fuzz import fuzz
from rankproof.conformance.fuzzed import Fuzzing, Place
from rankproof.conformance.launcher import Launcher
from rankproof.conformance.machine import Failure
from rankproof.conformance.outcome import Died, Hung, Ok, Outcome, Raised
from rankproof.model.errors import BadInput
from rankproof.model.interleaving import Model
from rankproof.model.protocol import PIPELINED
from rankproof.model.scenario import Scenario
from rankproof.model.schedule import Schedule
from rankproof.model.verdict import Verdict

NO_SCHEDULE = Schedule(Model(PIPELINED, Scenario()), ())


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


def fuzzed(subject: str, launcher: Launcher, *places: Place) -> Fuzzing:
    return fuzz(
        f"wrong_subjects:{subject}",
        examples=40,
        timeout=1.0,
        shrink_seconds=0.5,
        transports=places or ("processes",),
        launcher=launcher,
    )


@pytest.mark.processes
def test_what_was_only_late_once_is_no_violation_and_the_limit_is_named(shared_launcher: Launcher) -> None:
    found = fuzzed("is_late_where_waits_are_short", shared_launcher)
    assert found.verdict is Verdict.UNDETERMINED
    assert re.match(r"a wait of 1 s ran out in 3 of \d+ schedules, .* is this host busy\?", found.failure)
    assert found.failure.splitlines()[1].startswith("  it did not come again with 4 times the limit: rank ")
    assert "--timeout" in found.failure
    assert (found.breaks, found.schedule) == ("", None)


@pytest.mark.processes
def test_what_is_late_again_with_more_time_is_violated(shared_launcher: Launcher) -> None:
    found = fuzzed("is_always_late", shared_launcher)
    assert (found.verdict, found.found_in) == (Verdict.VIOLATED, "processes")
    assert found.breaks == "no-deadlock"
    assert "Timed out waiting" in found.failure


@pytest.mark.processes
def test_what_was_only_late_once_in_memory_is_left_to_processes(shared_launcher: Launcher) -> None:
    found = fuzzed("is_late_where_waits_are_short", shared_launcher, "memory")
    assert (found.verdict, found.breaks) == (Verdict.UNDETERMINED, "")
    assert found.failure.startswith(
        "what went wrong in memory rests on time, and did not come again with 4 times the limit: rank "
    )
    found = fuzzed("is_always_late", shared_launcher, "memory")
    assert (found.verdict, found.found_in, found.breaks) == (Verdict.VIOLATED, "memory", "no-deadlock")


@pytest.mark.processes
def test_a_late_end_on_processes_is_not_what_was_found_in_memory(shared_launcher: Launcher) -> None:
    found = fuzzed("is_late_in_processes_and_wrong_in_memory", shared_launcher, "memory", "processes")
    assert (found.verdict, found.found_in, found.reproduced) == (Verdict.VIOLATED, "memory", None)
    assert found.on_processes.startswith("another failure came there first, which may be a busy host: rank ")
    assert "Timed out waiting" in found.on_processes


@pytest.mark.parametrize("lost", [HarnessLost("no rank came up"), BadInput("its setup raised")])
def test_what_cannot_be_looked_at_again_counts_for_nothing(lost: BaseException) -> None:
    def look() -> Failure | None:
        raise lost

    late = Failure("rank 0 hung", (), NO_SCHEDULE, Reply(0, "step", Hung(3.0)))
    assert confirmed(late, look) == f"could not be looked at again ({lost})"
    assert confirmed(late, lambda: None) == "did not come again with 4 times the limit"
    assert confirmed(late, lambda: late) is late
    wrong = Failure("rank 0 pops 1", (), NO_SCHEDULE, Reply(0, "step", Ok()))
    assert confirmed(wrong, look) is wrong
