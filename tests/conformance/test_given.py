"""A failure is shown again by its commands alone, written in one line, and nothing is searched."""

from __future__ import annotations

import pytest

from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.commands import Command, Continue, Freeze, Idle, Step, Stop
from rankproof.conformance.fuzz import fuzz
from rankproof.conformance.given import KINDS, as_text, read_commands, world_of
from rankproof.conformance.launcher import Launcher
from rankproof.model.actions import Crash, Enqueue, Evict, Finish, Lose
from rankproof.model.errors import BadInput
from rankproof.model.verdict import Verdict

SOME = (Enqueue(0, 1, 7), Finish(0, 1, 7), Step(0), Stop(1), Continue(1), Idle(0), Evict(1, 0), Freeze(1))


def test_commands_are_read_as_they_were_written() -> None:
    assert as_text(SOME) == "enqueue:0:1:7 finish:0:1:7 step:0 stop:1 continue:1 idle:0 evict:1:0 freeze:1"
    assert read_commands(as_text(SOME)) == SOME


def test_every_kind_of_command_has_a_word() -> None:
    assert {kind.__name__.lower() for kind in KINDS.values()} == set(KINDS)
    assert set(KINDS) > {"step", "swap", "throw", "attach", "close", "decline", "withdraw"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "there are no commands; give them as the line 'again' of a report has them"),
        ("step:0 stepp:1", "'stepp:1': unknown command 'stepp'; did you mean 'step'?"),
        ("step", "'step' does not read step:<rank>, with numbers"),
        ("step:-1", "'step:-1' does not read step:<rank>, with numbers"),
        ("enqueue:0:a0", "'enqueue:0:a0' does not read enqueue:<rank>:<lane>:<ack>, with numbers"),
    ],
)
def test_what_is_no_command_is_named(text: str, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_commands(text)
    assert str(caught.value) == says


@pytest.mark.parametrize(("commands", "world"), [((Step(0),), 0), ((Step(0), Crash(1)), 1), ((Lose(0, 0, 0),), 1)])
def test_what_goes_wrong_is_given_in_the_world_that_has_it(commands: tuple[Command, ...], world: int) -> None:
    survives = Capabilities(guards=("enqueued",), survives=frozenset({"crash", "lose"}))
    assert world_of(survives, 2, commands) == survives.models(2)[world]


@pytest.mark.processes
def test_the_smallest_schedule_of_a_finding_alone_shows_it_again(shared_launcher: Launcher) -> None:
    subject = "wrong_subjects:pops_its_own_count"
    found = fuzz(subject, timeout=1.0, launcher=shared_launcher, transports=("memory",))
    again = fuzz(subject, timeout=1.0, launcher=shared_launcher, commands=read_commands(as_text(found.smallest)))
    assert (again.verdict, again.found_in, again.reproduced) == (Verdict.VIOLATED, "memory", True)
    assert (again.failure, again.breaks, again.smallest) == (found.failure, found.breaks, found.smallest)
    assert again.examples == 1 < found.examples


@pytest.mark.processes
def test_commands_that_a_subject_carries_out_as_the_model_does_hold_in_memory_and_on_processes(
    shared_launcher: Launcher,
) -> None:
    commands = read_commands("enqueue:0:0:0 enqueue:1:0:0 finish:0:0:0 finish:1:0:0 stop:1 step:0 continue:1 step:1")
    found = fuzz("rankproof.conformance.reference:pipelined", launcher=shared_launcher, commands=commands)
    assert (found.verdict, found.failure, found.note) == (Verdict.HOLDS, "", "")
    assert [ran and ran.examples for ran in (found.memory, found.processes)] == [1, 1]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("subject", "verdict"),
    [("is_always_late", Verdict.VIOLATED), ("is_late_where_waits_are_short", Verdict.UNDETERMINED)],
)
def test_what_rests_on_time_alone_counts_only_if_it_comes_again(
    shared_launcher: Launcher, subject: str, verdict: Verdict
) -> None:
    commands = (Step(0), Step(1), Step(0), Step(1))
    found = fuzz(
        f"wrong_subjects:{subject}",
        timeout=1.0,
        launcher=shared_launcher,
        transports=("processes",),
        commands=commands,
    )
    assert found.verdict is verdict
    assert "ran out" in found.failure or "Timed out" in found.failure


@pytest.mark.processes
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("step:0 finish:0:0:3", "command 2, finish:0:0:3: it cannot be given there: "),
        ("step:5", "command 1, step:5: it cannot be given there: there are 2 ranks"),
        ("evict:0:7", "command 1, evict:0:7: it cannot be given there: there are 2 lanes"),
    ],
)
def test_a_command_that_is_impossible_where_it_stands_is_named(shared_launcher: Launcher, text: str, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        fuzz("rankproof.conformance.reference:pipelined", launcher=shared_launcher, commands=read_commands(text))
    assert str(caught.value).startswith(says)
