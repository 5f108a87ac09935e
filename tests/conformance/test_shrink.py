"""A failing list of commands is made as small as it can be, and stays the same failure."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.commands import Command, Step
from rankproof.conformance.driver import Reply
from rankproof.conformance.machine import Failure
from rankproof.conformance.memory import MemoryRanks
from rankproof.conformance.outcome import Hung, Raised
from rankproof.conformance.shrink import rerun, smaller
from rankproof.model.actions import Enqueue, Evict, Finish, Flush, Reset
from rankproof.model.schedule import Schedule

HELD_TO = Capabilities()
NOWHERE = Schedule(HELD_TO.model(2), ())


def failure(commands: Sequence[Command], kind: str = "Error") -> Failure:
    return Failure("it failed", tuple(commands), NOWHERE, Reply(0, "step", Raised(kind, "")))


def test_only_what_is_needed_is_left() -> None:
    needed: list[Command] = [Enqueue(0, 0, 0), Finish(0, 0, 0), Step(1)]
    padding: list[Command] = [Flush(1), Step(0), Reset(0), Reset(1), Enqueue(1, 1, 5), Finish(1, 1, 5)]
    given = [*padding, needed[0], *padding, needed[1], *padding, needed[2]]

    def fails(commands: Sequence[Command]) -> Failure | None:
        return failure(commands) if all(each in commands for each in needed) else None

    assert list(smaller(failure(given), fails, 10.0).commands) == needed


def test_single_commands_go_from_between_those_that_are_needed() -> None:
    given: list[Command] = [Enqueue(0, 0, number) for number in range(40)]

    def fails(commands: Sequence[Command]) -> Failure | None:
        return failure(commands) if set(given[::2]) <= set(commands) else None

    assert list(smaller(failure(given), fails, 10.0).commands) == given[::2]


def test_what_belongs_together_on_all_ranks_goes_together() -> None:
    given: list[Command] = [Step(0), Flush(0), Evict(0, 0), Flush(1), Step(1)]

    def fails(commands: Sequence[Command]) -> Failure | None:
        steps = [each.rank for each in commands if isinstance(each, Step)]
        return failure(commands) if steps in ([], [0, 1]) and Evict(0, 0) in commands else None

    assert smaller(failure(given), fails, 10.0).commands == (Evict(0, 0),)


def test_another_failure_is_not_a_smaller_one() -> None:
    given: list[Command] = [Step(0), Step(1)]

    def fails(commands: Sequence[Command]) -> Failure | None:
        return failure(commands, "Another")

    assert len(smaller(failure(given), fails, 10.0).commands) == 2


def test_shrinking_ends_with_its_time() -> None:
    given: list[Command] = [Enqueue(0, 0, number) for number in range(60)]

    def fails(_commands: Sequence[Command]) -> Failure | None:
        time.sleep(0.05)
        return None

    began = time.monotonic()
    found = smaller(failure(given), fails, 0.1)
    assert time.monotonic() - began < 2.0
    assert found.ended_early == "stopped making it smaller after 0.1 s"


def test_acks_are_numbered_again_when_an_earlier_one_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    given: list[Command] = [Enqueue(0, 1, 4), Finish(0, 1, 4), Finish(0, 1, 3), Reset(0)]
    with MemoryRanks(2, factory="wrong_subjects:resets_nothing", timeout=1.0, reply_within=3.0) as ranks:
        found = rerun(HELD_TO.model(2), ranks, HELD_TO, given)
    assert found is not None
    assert found.commands == (Enqueue(0, 1, 0), Finish(0, 1, 0), Reset(0))


def test_a_subject_that_conforms_fails_at_nothing() -> None:
    factory = "rankproof.conformance.reference:pipelined"
    with MemoryRanks(2, factory=factory, timeout=1.0, reply_within=3.0) as ranks:
        assert rerun(HELD_TO.model(2), ranks, HELD_TO, [Step(0), Step(0), Evict(0, 0)]) is None


def test_a_hang_is_no_smaller_version_of_a_raise() -> None:
    given: list[Command] = [Step(0), Step(1)]

    def fails(commands: Sequence[Command]) -> Failure | None:
        return Failure("it hung", tuple(commands), NOWHERE, Reply(0, "step", Hung(1.0)))

    assert len(smaller(failure(given), fails, 10.0).commands) == 2
