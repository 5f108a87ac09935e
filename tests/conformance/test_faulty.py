"""Every fault of the catalogue as a subject: found by random schedules on real processes, and right but for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rankproof.conformance import faulty, hunting_torch
from rankproof.conformance.commands import Step
from rankproof.conformance.driver import Reply
from rankproof.conformance.faulty import FAULTY, faulty_named
from rankproof.conformance.fuzz import fuzz
from rankproof.conformance.hunting import AS_THE_MODEL, Find, Hunt, again, happened, hunt
from rankproof.conformance.hunting_torch import NOTHING, _passes, said, said_in_detail
from rankproof.conformance.launcher import Launcher
from rankproof.conformance.machine import Failure
from rankproof.conformance.outcome import Died, Hung, Ok, Outcome, Raised
from rankproof.conformance.subject import Observation
from rankproof.model.actions import Attach, Crash, Enqueue, Finish, Swap, Throw
from rankproof.model.errors import BadInput
from rankproof.model.faults import FAULTS
from rankproof.model.protocol import BLOCKING, PIPELINED, depth
from rankproof.model.schedule import Schedule
from rankproof.model.verdict import Verdict

NONE = Observation(popped=((), ()), left=((), ()))


def failure(outcome: Outcome, expected: Observation | None = None, says: str = "") -> Failure:
    return Failure(says, (Step(0),), Schedule(faulty.right.model, ()), Reply(0, "step", outcome, expected))


def test_every_fault_of_the_catalogue_is_a_subject_under_its_own_name() -> None:
    assert list(FAULTY) == list(FAULTS)
    for name, each in FAULTY.items():
        assert getattr(faulty, name.replace("-", "_")) is each
        assert each().capabilities == each.guarded().capabilities == each.capabilities


def test_what_a_faulty_subject_is_held_to_is_right() -> None:
    for each in FAULTY.values():
        plain = {PIPELINED, BLOCKING, depth(2), faulty._NAMED, faulty._IN_EPOCHS}
        assert each.model.protocol in plain
        assert each.model.scenario.lanes == each.capabilities.names


def test_a_rank_is_killed_where_the_schedule_of_a_fault_needs_it() -> None:
    """Of a subject that declares to survive no crash nobody is killed, whatever its model says."""
    needing = {name for name, each in FAULTY.items() if each.model.scenario.crashes}
    assert needing == {"no-deadline"}
    assert all("crash" in FAULTY[name].capabilities.survives for name in needing)


def test_an_engine_is_at_fault_where_its_schedule_says_what_goes_wrong_or_that_ranks_are_not_aligned() -> None:
    for name, each in FAULTY.items():
        scenario = each.model.scenario
        wrong = scenario.losses + scenario.swaps > 0 or not scenario.aligned_enqueue or not scenario.aligned_resets
        assert (each.at == "engine") == wrong, name


def test_an_unknown_fault_is_bad_input_and_no_attribute() -> None:
    with pytest.raises(BadInput, match="did you mean 'kept-buffer'"):
        faulty_named("kept-bufer")
    assert not hasattr(faulty, "kept_bufer")


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        (failure(Hung(2.0)), "hang: no error either"),
        (failure(Died(-6)), "abort: SIGABRT"),
        (failure(Raised("StepTimeout", "late")), "hang, until the deadline"),
        (failure(Raised("RankDivergence", "round 1: x [rank 0]")), "named: round 1: x"),
        (failure(Raised("Misuse", "no")), "error: Misuse: no"),
        (failure(Ok(Observation(((1,), ()), ((), ()))), NONE), "silent: pops ack 1 of lane 0, and not nothing"),
        (failure(Ok(Observation(((), ()), ((1,), ()))), NONE), "silent: holds ((1,), ()), and not ((), ())"),
        (failure(Ok(Observation(((), ()), ((), ()), ((0, 1),))), NONE), "silent: pops an ack that is not finished"),
        (failure(Ok(Observation(((), ()), ((), ()), (), 2)), NONE), "silent: rounds in flight: 2, and not 0"),
        (
            failure(Ok(NONE), None, "it goes on where it ended: popped"),
            "silent: goes on where it should raise (popped)",
        ),
    ],
)
def test_what_happened_is_said_in_a_few_words(seen: Failure, says: str) -> None:
    assert happened(seen) == says


def test_a_fault_is_found_where_every_search_found_it_and_its_numbers_are_medians() -> None:
    finds = (Find(5, 1.0), Find(1, 0.5), Find(9, 9.0))
    assert (Hunt("a", finds, None).is_found, Hunt("a", finds, None).examples, Hunt("a", finds, None).seconds) == (
        True,
        5,
        1.0,
    )
    missed = Hunt("a", (*finds, None), None)
    assert (missed.is_found, missed.seconds) == (False, 5.0)
    assert not Hunt("a", (), None).is_found


@pytest.mark.processes
def test_without_its_fault_a_faulty_subject_conforms(shared_launcher: Launcher) -> None:
    found = fuzz(
        "rankproof.conformance.faulty:right", examples=10, transports=("processes",), seed=3, launcher=shared_launcher
    )
    assert (found.verdict, found.failure) == (Verdict.HOLDS, "")
    assert found.popped


@pytest.mark.processes
@pytest.mark.parametrize(
    ("name", "begins", "with_words"),
    [
        ("count-before-pop", "error: Misuse: lane ", "error: Misuse: lane "),
        ("max-instead-of-min", "silent: pops ", "named: "),
        ("divergent-enqueue", "silent: goes on where it should raise (enqueued)", AS_THE_MODEL),
        ("no-deadline", "hang: no error either", "hang: no error either"),
    ],
)
def test_a_fault_is_found_on_real_processes(name: str, begins: str, with_words: str, shared_launcher: Launcher) -> None:
    found = hunt(name, seeds=[0], shrink_seconds=1.0, launcher=shared_launcher)
    assert found.is_found
    assert found.failure
    assert len(found.failure.commands) < 25
    assert happened(found.failure).startswith(begins)
    assert again(name, found.failure.commands, guarded=True, launcher=shared_launcher).startswith(with_words)


def test_one_ranks_commands_are_what_it_does_before_each_of_its_steps() -> None:
    before = (Swap(0, 0, 0), Finish(0, 0, 1), Enqueue(0, 1, 0), Step(0), Throw(0), Crash(0), Step(0))
    assert _passes(before) == [
        [("enqueue", (0, 1)), ("enqueue", (0, 0)), ("finish", (0, 1)), ("enqueue", (1, 0))],
        [("spoil", (1, 0))],
        [("kill", ())],
    ]


@pytest.mark.processes
def test_torch_says_nothing_of_wrong_counts_and_names_other_lengths_in_its_debug_mode(
    shared_launcher: Launcher,
) -> None:
    acks = (Enqueue(0, 0, 0), Enqueue(1, 0, 0), Finish(1, 0, 0), Step(0))
    longer = (Step(0), Step(1), Attach(1))
    cases = [("max-instead-of-min", acks), ("vector-by-layout", longer)]
    assert said(cases[0], shared_launcher) == NOTHING
    assert said(cases[1], shared_launcher).startswith("SIGABRT")
    in_detail = said_in_detail(cases)
    assert in_detail[0] == NOTHING
    assert "Rank 0 is running collective: ALLREDUCE [16]" in in_detail[1]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("does", "answers"),
    [
        ("exit 3", ["no answer: the process that asks ended with exit code 3"] * 2),
        ("echo noise; echo 'said: \"nothing\"'; echo x >&2; echo Why >&2; exit 1", ["nothing", "exit code 1: Why"]),
        ("echo 'said: \"nothing\"'; printf 'said: \"half'; exec sleep 60", ["nothing", "no answer: none within 1 s"]),
        ("kill -INT $$; echo 'said: \"a\"'; echo 'said: \"b\"'", ["a", "b"]),  # Ctrl-C is answered here, not there
    ],
    ids=["ends", "ends half way", "takes too long", "Ctrl-C"],
)
def test_a_case_that_torch_is_not_asked_about_in_its_debug_mode_says_why(
    does: str, answers: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = tmp_path / "asks"
    asks.write_text(f"#!/bin/sh\n{does}\n")
    asks.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(asks))
    monkeypatch.setattr(hunting_torch, "_WITHIN", 1.0)
    monkeypatch.setattr(hunting_torch, "_EACH_WITHIN", 0.0)
    said_of = said_in_detail([("mixed-modes", ()), ("mixed-modes", (Step(0),))])
    assert [each.endswith(answer) for each, answer in zip(said_of, answers, strict=True)] == [True, True], said_of
