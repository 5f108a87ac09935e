"""Random schedules of a subject: the reference implementation conforms, and each wrong one is found and made small."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from rankproof.conformance import apart
from rankproof.conformance.asserting import report_of
from rankproof.conformance.capabilities import Capabilities, Lane
from rankproof.conformance.commands import TIMING
from rankproof.conformance.driver import Mismatch
from rankproof.conformance.fuzz import fuzz
from rankproof.conformance.fuzzed import Place
from rankproof.conformance.launcher import Launcher
from rankproof.model.errors import BadInput
from rankproof.model.schedule import run
from rankproof.model.verdict import Verdict

pytestmark = pytest.mark.processes

REFERENCE = "rankproof.conformance.reference:"
EVERY_ACTION = {"enqueue", "finish", "wait", "pop", "count", "issue", "flush", "evict", "reset", "close"}
PIPELINED, BLOCKING = Capabilities(), Capabilities(lag=0)


def depth(lag: int) -> Capabilities:
    return Capabilities(lag=lag, cumulative=True)


@pytest.mark.parametrize(
    ("subject", "capabilities", "ranks", "examples"),
    [
        ("pipelined", PIPELINED, 2, 8),
        ("blocking", BLOCKING, 2, 4),
        ("depth_4", depth(4), 2, 4),
        ("pipelined", PIPELINED, 4, 6),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_reference_implementation_does_what_the_model_says_in_memory_and_in_processes(
    shared_launcher: Launcher, subject: str, capabilities: Capabilities, ranks: int, examples: int
) -> None:
    found = fuzz(
        REFERENCE + subject, capabilities=capabilities, ranks=ranks, examples=examples, launcher=shared_launcher
    )
    assert (found.failure, found.note) == ("", "")
    assert found.verdict is Verdict.HOLDS
    assert found.memory is not None
    assert found.processes is not None
    assert found.memory.examples >= examples
    assert found.processes.examples >= examples
    assert found.popped > examples / 2, "schedules that pop nothing show nothing"
    assert set(found.taken) <= EVERY_ACTION | set(TIMING)
    assert examples < 8 or set(found.taken) >= EVERY_ACTION


def test_a_subject_that_makes_its_own_groups_is_searched_in_processes_alone(shared_launcher: Launcher) -> None:
    found = fuzz(f"{REFERENCE}grid_2x2", ranks=4, examples=2, launcher=shared_launcher)
    assert (found.failure, found.verdict, found.memory) == ("", Verdict.HOLDS, None)
    assert found.note == "the subject says that its ranks cannot share a process"


@pytest.mark.parametrize(
    ("fault", "breaks", "most_commands"),
    [
        ("counts_before_pop", "", 8),
        ("pops_its_own_count", "exact-delay finished-before-pop", 7),  # by a step, or by a flush
        ("skips_when_empty", "matched-collectives", 1),
        ("resets_nothing", "clean-lifecycle", 2),
        ("evicts_nothing", "", 3),
    ],
)
def test_a_wrong_implementation_is_found_in_memory_made_small_and_shown_again_on_processes(
    shared_launcher: Launcher, fault: str, breaks: str, most_commands: int
) -> None:
    found = fuzz(f"wrong_subjects:{fault}", timeout=1.0, launcher=shared_launcher)
    assert (found.verdict, found.found_in, found.reproduced) == (Verdict.VIOLATED, "memory", True)
    assert found.breaks in breaks.split() or found.breaks == breaks
    assert found.program.count("driver.give(") <= most_commands
    assert found.schedule is not None
    replayed = run(found.schedule)
    assert replayed.stopped is None
    assert replayed.violations == ()


def test_a_difference_is_given_as_values_and_the_program_shows_it_again(
    shared_launcher: Launcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = fuzz("wrong_subjects:evicts_nothing", timeout=0.5, transports=("memory",), launcher=shared_launcher)
    assert "    timeout=0.5,\n    reply_within=1.5,\n" in found.program
    assert "ranks, capabilities, checked=())" in found.program
    assert [each.field for each in found.differences] == ["popped", "left"]
    for each in found.differences:
        assert f"  {each.field}: model {each.model} | subject {each.subject}" in found.failure
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    with pytest.raises(Mismatch) as shown:
        exec(found.program, {})
    assert str(shown.value) == found.failure


def test_what_only_processes_show_is_found_and_made_small_there(shared_launcher: Launcher) -> None:
    found = fuzz(
        "wrong_subjects:pops_its_own_count",
        examples=60,
        timeout=1.0,
        shrink_seconds=2.0,
        transports=("processes",),
        launcher=shared_launcher,
    )
    assert (found.verdict, found.found_in, found.memory) == (Verdict.VIOLATED, "processes", None)
    assert found.breaks in ("exact-delay", "finished-before-pop")


def test_a_read_before_the_wait_is_found_each_time_because_memory_lands_results_late(
    shared_launcher: Launcher,
) -> None:
    found = fuzz("wrong_subjects:reads_before_wait", timeout=1.0, launcher=shared_launcher)
    assert (found.verdict, found.found_in) == (Verdict.VIOLATED, "memory")
    assert found.breaks in ("exact-delay", "finished-before-pop")


def test_what_processes_do_not_show_again_is_violated_and_says_so(shared_launcher: Launcher) -> None:
    found = fuzz("wrong_subjects:resets_nothing_where_ranks_share_a_process", timeout=1.0, launcher=shared_launcher)
    assert (found.verdict, found.found_in, found.reproduced) == (Verdict.VIOLATED, "memory", False)
    assert found.on_processes == "every reply was the model's"


def test_what_was_found_in_memory_stays_found_where_no_process_can_have_the_subject(shared_launcher: Launcher) -> None:
    found = fuzz("wrong_subjects:lives_in_memory_alone", timeout=1.0, launcher=shared_launcher)
    assert (found.verdict, found.found_in, found.breaks) == (Verdict.VIOLATED, "memory", "clean-lifecycle")
    assert (found.reproduced, found.on_processes) == (None, "the engine's source is gone")
    assert "on processes: no answer: the engine's source is gone" in report_of(found).splitlines()


def test_what_was_found_in_memory_stays_found_where_the_harness_itself_fails_on_processes(
    shared_launcher: Launcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise ValueError("this model cannot go on")

    monkeypatch.setattr("rankproof.conformance.fuzz.rerun", fails)
    found = fuzz("wrong_subjects:resets_nothing", timeout=1.0, launcher=shared_launcher)
    assert (found.verdict, found.reproduced) == (Verdict.VIOLATED, None)
    assert found.on_processes == "ValueError: this model cannot go on"


@pytest.mark.parametrize("ranks", [0, 65])
def test_a_number_of_ranks_that_no_pool_can_have_is_refused_before_anything_is_started(
    shared_launcher: Launcher, monkeypatch: pytest.MonkeyPatch, ranks: int
) -> None:
    monkeypatch.setattr("rankproof.conformance.fuzz.search_apart", None)
    with pytest.raises(BadInput, match=f"a run has 1 to 64 ranks, .* not {ranks}"):
        fuzz("wrong_subjects:resets_nothing", ranks=ranks, launcher=shared_launcher)


def test_a_subject_that_ends_its_process_ends_no_harness_and_is_found_in_processes(shared_launcher: Launcher) -> None:
    found = fuzz("wrong_subjects:aborts_when_it_pops", timeout=1.0, shrink_seconds=1.0, launcher=shared_launcher)
    assert found.note.startswith("the process of all ranks died: SIGABRT")
    assert (found.verdict, found.found_in, found.breaks) == (Verdict.VIOLATED, "processes", "contained-failure")
    assert "died: SIGABRT" in found.failure


def test_a_subject_that_never_returns_hung_in_memory_too(shared_launcher: Launcher) -> None:
    found = fuzz("wrong_subjects:sleeps_when_it_pops", timeout=0.2, shrink_seconds=1.0, launcher=shared_launcher)
    assert (found.verdict, found.found_in, found.reproduced) == (Verdict.VIOLATED, "memory", True)
    assert found.breaks == "no-deadlock"


@pytest.mark.parametrize("subject", ["HangsInSetup", "StopsInSetup"])
def test_a_setup_that_hangs_is_told_after_one_limit_in_memory_and_one_on_processes(
    shared_launcher: Launcher, monkeypatch: pytest.MonkeyPatch, subject: str
) -> None:
    monkeypatch.setattr(apart, "_SPARE_OF_SETUP", 1.0)
    limit, told, began = 2.0, list[tuple[int, Place]](), time.monotonic()

    def tell(done: int, place: Place) -> None:
        told.append((done, place))

    says = rf"^factory 'pool_subjects:{subject}': setup on rank \d hung: no reply within 2 s; if .* longer timeout"
    with pytest.raises(BadInput, match=says):
        fuzz(f"pool_subjects:{subject}", timeout=0.2, setup_within=limit, launcher=shared_launcher, progress=tell)
    assert told == [(0, "memory"), (0, "processes")]
    assert time.monotonic() - began < 20  # and not minutes, however busy this host is


def test_a_subject_is_held_to_what_it_declares_unless_something_else_is_asked(shared_launcher: Launcher) -> None:
    declares = "wrong_subjects:declares_that_it_blocks"
    ask = {"examples": 1, "timeout": 1.0, "transports": ("memory",), "launcher": shared_launcher}
    assert fuzz(declares, **ask).verdict is Verdict.HOLDS  # type: ignore[arg-type]
    assert fuzz(declares, fallback=PIPELINED, **ask).capabilities == BLOCKING  # type: ignore[arg-type]
    wrongly = fuzz(declares, capabilities=PIPELINED, **ask)  # type: ignore[arg-type]
    assert (wrongly.verdict, wrongly.breaks) == (Verdict.VIOLATED, "no-deadlock")


def test_nothing_is_asked_that_a_subject_does_not_support(shared_launcher: Launcher) -> None:
    held_to = Capabilities(lanes=(Lane("write", evicts=False), Lane("load")), supports=frozenset({"evict"}))
    found = fuzz("wrong_subjects:evicts_load_alone", capabilities=held_to, examples=4, launcher=shared_launcher)
    assert (found.failure, found.verdict) == ("", Verdict.HOLDS)
    assert {"flush", "reset"}.isdisjoint(found.taken)
    assert found.taken["evict"] > 0


def test_ranks_fill_a_lane_that_is_counted_by_its_size_at_different_times(shared_launcher: Launcher) -> None:
    held_to = Capabilities(lanes=(Lane("write"), Lane("backup", counts="size", evicts=False)))
    right = fuzz("wrong_subjects:with_a_size_lane", capabilities=held_to, examples=4, launcher=shared_launcher)
    assert (right.failure, right.verdict) == ("", Verdict.HOLDS)
    wrong = fuzz(
        "wrong_subjects:pops_its_own_size", capabilities=held_to, transports=("memory",), launcher=shared_launcher
    )
    assert wrong.verdict is Verdict.VIOLATED
    assert wrong.breaks in ("exact-delay", "finished-before-pop")


def test_the_same_seed_gives_the_same_schedules(shared_launcher: Launcher) -> None:
    runs = [fuzz(f"{REFERENCE}pipelined", examples=2, seed=seed, launcher=shared_launcher).taken for seed in (7, 7, 8)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_seconds_end_the_search_before_the_examples(shared_launcher: Launcher) -> None:
    found = fuzz(f"{REFERENCE}pipelined", examples=100_000, seconds=3.0, launcher=shared_launcher)
    assert found.examples < 100_000
    # On a busy machine the time may be over before a process has done anything: then there is no answer.
    compared = found.processes is not None and found.processes.commands > 0
    assert found.verdict is (Verdict.HOLDS if compared else Verdict.UNDETERMINED)


@pytest.mark.parametrize(
    ("factory", "words"),
    [
        ("nowhere:factory", "nowhere"),
        ("no-factory", "does not read package.module:callable"),
        ("wrong_subjects:declares_nonsense", "its capabilities are a str, not"),
        ("wrong_subjects:ends_when_made", r"died: SIGABRT .* while a subject was made"),
        ("wrong_subjects:objects_later", "the engine's source is gone"),
    ],
)
def test_a_subject_that_cannot_be_used_is_bad_input(shared_launcher: Launcher, factory: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        fuzz(factory, examples=2, launcher=shared_launcher)
