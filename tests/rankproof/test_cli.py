"""The command line: exit codes, one line for each error, and nothing heavy before it is needed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from rankproof import ending, exploring, proving, replaying
from rankproof.commands import app
from rankproof.conformance.replies import HarnessLost
from rankproof.model.actions import Pop, Wait
from rankproof.model.faults import FAULTS
from rankproof.model.schedule import Schedule
from rankproof.model.verdict import Verdict
from rankproof.output import Output

ROOT = Path(__file__).parents[2]
COMMAND = [str(Path(sys.executable).with_name("rankproof"))]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The installed command in a process of its own."""
    return subprocess.run(
        [*COMMAND, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "missing command (see rankproof --help)"),
        (("verfy",), "no such command 'verfy'. Did you mean 'verify'? (see rankproof --help)"),
        (("prove", "--fromat"), "no such option: --fromat (Possible options: --format) (see rankproof prove --help)"),
        (("prove", "--zzz"), "no such option: --zzz (see rankproof prove --help)"),
        (
            ("prove", "--format", "yaml"),
            "invalid value for '--format': 'yaml' is not one of 'text', 'json' (see rankproof prove --help)",
        ),
        (("prove", "more"), "got unexpected extra argument(s) (more) (see rankproof prove --help)"),
        (("replay",), "missing argument 'FILE' (see rankproof replay --help)"),
        (("replay", "nowhere.json"), "nowhere.json: cannot read the schedule: No such file or directory"),
        (("refute", "count-before"), "unknown fault 'count-before'; did you mean 'count-before-pop'?"),
        (
            ("refute", "same-pops"),
            "'same-pops' is the name of no fault: rankproof explain same-pops says what this property is",
        ),
        (("refute", "--out", "/dev/null"), "/dev/null: this is a file, and a folder is needed to write into"),
        (("refute", "--out", "/proc/x"), "/proc/x: cannot write into this folder: no such file or directory"),
        (("fuzz", "--lag", "3"), "the reference implementation has lag 0, 1, 2, 4, not 3; give another by --subject"),
        (
            ("fuzz", "--out", ""),
            "invalid value for '--out': it is empty; give the name of a folder (see rankproof fuzz --help)",
        ),
        (("fuzz", "--profile", "nigthly"), "unknown profile 'nigthly'; did you mean 'nightly'?"),
        (("fuzz", "--source", "no"), "--source names an engine; give the subject that drives it by --subject"),
        (
            ("fuzz", "--subject", "engine:f", "--source", "no"),
            "--source no: there is no such folder; give the unpacked source of an engine",
        ),
        (
            ("fuzz", "--subject", "my/engine.py:f"),
            "--subject my/engine.py:f: name the module, and not its file: --subject my.engine:f",
        ),
        (("fuzz", "--check", "nowhere"), "nowhere: there is no such folder"),
        (
            ("fuzz", "--check", "x", "--seconds", "3"),
            "--check judges records and runs nothing; leave out --seconds",
        ),
        (
            ("fuzz", "--check", "x", "--lag", "0", "--seed", "0"),
            "--check judges records and runs nothing; leave out --lag and --seed",
        ),
        (("refute", "--seeds", "5"), "--seeds is for searches on real processes; give --real as well"),
        (("fuzz", "--subject", "nothing"), "factory 'nothing' does not read package.module:callable"),
    ],
)
def test_bad_usage_and_bad_input_are_one_line_and_exit_2(
    rankproof: Callable[..., Any], arguments: tuple[str, ...], line: str
) -> None:
    answer = rankproof(*arguments)
    assert answer.err.splitlines()[-1] == f"rankproof: {line}"
    assert [shown for shown in answer.err.splitlines()[:-1] if not shown.startswith("fuzz ")] == []
    assert (answer.code, answer.out) == (2, "")


def test_a_verb_by_its_name_alone_does_what_it_does_where_an_option_has_its_default(
    rankproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[dict[str, object]] = []

    def report(output: Output, *_: object, **options: object) -> Verdict:
        told.append({"form": output.form} | options)
        return Verdict.HOLDS

    monkeypatch.setattr(proving, "report", report)
    monkeypatch.setattr(exploring, "report", report)
    for verb in ("prove", "explore"):
        told.clear()
        assert rankproof(verb).code == rankproof(verb, "--format", "text").code == 0
        assert told[0] == told[1]


def test_a_verb_by_its_name_alone_does_not_wait_for_a_validator_of_options() -> None:
    code = (
        "import sys; from rankproof import cli, proving; from rankproof.model.verdict import Verdict; "
        "proving.report = lambda *given, **options: Verdict.HOLDS; "
        "sys.exit(' '.join([str(cli.main(['prove'])), *{'pydantic'} & set(sys.modules)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr.strip() == "0"


@pytest.mark.parametrize(
    "option", [("--ranks", "1"), ("--lag", "-1"), ("--examples", "0"), ("--seconds", "0"), ("--seed", "x")]
)
def test_an_impossible_option_is_named(rankproof: Callable[..., Any], option: tuple[str, str]) -> None:
    answer = rankproof("fuzz", *option)
    assert answer.code == 2
    assert answer.err.startswith(f"rankproof: invalid value for '{option[0]}': ")
    assert answer.err.count("\n") == 1


def test_a_schedule_that_breaks_nothing_holds(
    rankproof: Callable[..., Any], file: Callable[[Schedule], Path], three_ranks: Schedule
) -> None:
    assert rankproof("replay", file(three_ranks)).code == 0


def test_a_schedule_that_breaks_a_property_is_violated(
    rankproof: Callable[..., Any], file: Callable[[Schedule], Path], own_count: Schedule
) -> None:
    assert rankproof("replay", file(own_count)).code == 1


def test_a_schedule_without_actions_is_undetermined(
    rankproof: Callable[..., Any], file: Callable[[Schedule], Path]
) -> None:
    assert rankproof("replay", file(Schedule(FAULTS["pop-own-count"].model, ()))).code == 3


def test_an_action_that_cannot_be_taken_is_named_with_its_place(
    rankproof: Callable[..., Any], file: Callable[[Schedule], Path]
) -> None:
    path = file(Schedule(FAULTS["pop-own-count"].model, (Wait(0), Wait(0), Pop(0))))
    answer = rankproof("replay", path)
    assert answer.err == f"rankproof: {path}: actions[1]: cannot be taken here: rank 0 comes to pop next\n"
    assert (answer.code, answer.out) == (2, "")


def test_an_internal_error_is_one_line_and_says_how_to_see_more(
    rankproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ending.DEBUG, raising=False)
    monkeypatch.setattr(replaying, "report", _fails)
    answer = rankproof("replay", "any.json")
    assert answer.err == (
        "rankproof: internal error: ZeroDivisionError: by nothing "
        "(set RANKPROOF_DEBUG=1 to see where; please report it)\n"
    )
    assert (answer.code, answer.out) == (3, "")


def test_a_world_is_explored_by_the_bounds_that_are_given(rankproof: Callable[..., Any]) -> None:
    bounds = ("--ranks", "2", "--lanes", "1", "--acks", "1", "--lag", "0", "--format", "json")
    seen = [json.loads(rankproof("explore", *bounds, *more).out) for more in ((), ("--reduced",))]
    assert [(each["verdict"], each["protocol"], each["reduced"]) for each in seen] == [
        ("holds", "blocking", False),
        ("holds", "blocking", True),
    ]
    assert seen[0]["states"] > seen[1]["states"] > 0
    assert rankproof("explore", "--ranks", "9").code == 2


def test_processes_that_were_lost_for_no_fault_of_a_subject_leave_it_undetermined(
    rankproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object) -> None:
        raise HarnessLost("the supervisor was killed")

    monkeypatch.setattr(replaying, "report", lost)
    answer = rankproof("replay", "any.json")
    assert (answer.code, answer.err) == (3, "rankproof: undetermined: the supervisor was killed\n")


def test_an_internal_error_shows_where_when_asked(
    rankproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ending.DEBUG, "1")
    monkeypatch.setattr(replaying, "report", _fails)
    answer = rankproof("replay", "any.json")
    assert "in _fails" in answer.err
    assert answer.code == 3


def _fails(*_: object) -> None:
    raise ZeroDivisionError("by nothing")


def test_an_interrupt_is_one_line_and_exit_130(rankproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(replaying, "report", interrupted)
    answer = rankproof("replay", "any.json")
    assert (answer.code, answer.out, answer.err) == (130, "", "rankproof: interrupted\n")


def test_an_interrupt_while_arguments_are_read_is_one_line_too(
    rankproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(file: str) -> None:
        raise KeyboardInterrupt(file)

    (verb,) = (each for each in app.registered_commands if each.callback and each.callback.__name__ == "replay")
    monkeypatch.setattr(verb, "name", "replay")
    monkeypatch.setattr(verb, "callback", interrupted)
    answer = rankproof("replay", "any.json")
    assert (answer.code, answer.out, answer.err) == (130, "", "rankproof: interrupted\n")


def test_an_interrupt_while_the_command_is_still_imported_is_one_line(
    rankproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Half:
        """A module that is interrupted in the middle of its import."""

        def __getattr__(self, _: str) -> None:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "rankproof.ending", Half())
    answer = rankproof("prove")
    assert (answer.code, answer.out, answer.err) == (130, "", "rankproof: interrupted\n")


def test_nothing_that_takes_time_is_imported_before_an_interrupt_can_be_answered() -> None:
    code = (
        "import os, sys; before = set(sys.modules); import rankproof.cli; sys.exit(' '.join(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert set(done.stderr.split()) == {"rankproof", "rankproof.cli", "__future__", "gc"}


def test_an_interrupt_that_python_drops_is_not_lost(
    rankproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Term:
        """Its deletion is where the interrupt arrives, as it does among the terms of a solver."""

        def __del__(self) -> None:
            raise KeyboardInterrupt

    def report(*_: object) -> None:
        del_at_once = Term()
        del del_at_once
        time.sleep(20)

    monkeypatch.setattr(replaying, "report", report)
    assert rankproof("replay", "any.json").code == 130


def test_ctrl_c_in_the_middle_of_a_verb_ends_it_without_a_traceback() -> None:
    command = [*COMMAND, "refute", "use-before-wait", "divergent-enqueue"]  # the first is quick, the second is not
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline(), process.communicate(timeout=30)  # so that it is past its imports, and at work
        process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors.splitlines()[-1]) == (130, "rankproof: interrupted")
    assert "Traceback" not in errors
    assert time.monotonic() - sent < 20


def test_a_reader_that_leaves_early_is_not_a_verdict() -> None:
    with subprocess.Popen([*COMMAND, "prove"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        process.stdout.close()
        assert process.stderr
        errors = process.stderr.read()
        process.wait(timeout=60)
    assert process.returncode == 141
    assert "rror" not in errors


def test_help_comes_without_torch_and_without_a_solver() -> None:
    code = (
        "import sys; from rankproof.cli import main; codes = [main(['--help']), main(['verify', '--help'])]; "
        "heavy = {'torch', 'z3', 'cvc5', 'hypothesis'} & set(sys.modules); sys.exit(f'{codes} {heavy}')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr.strip() == "[0, 0] set()"


def test_the_version_is_said_by_the_command_and_by_the_module(rankproof: Callable[..., Any]) -> None:
    answer = rankproof("--version")
    assert (answer.code, answer.out) == (0, f"rankproof {version('rankproof')}\n")
    done = subprocess.run(
        [sys.executable, "-m", "rankproof", "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, answer.out)


def test_the_help_of_fuzz_says_where_it_runs_and_what_wins(rankproof: Callable[..., Any]) -> None:
    out = " ".join(rankproof("fuzz", "--help").out.split())
    assert "so many random schedules in each place: memory, processes." in out
    assert "first all in one process, then a process each." in out
    assert "What a subject declares itself wins. [default: (1); x>=0]" in out


def test_help_names_every_verb_and_the_exit_codes(rankproof: Callable[..., Any]) -> None:
    out = rankproof("--help").out
    assert [
        verb for verb in ("verify", "prove", "refute", "explain", "fuzz", "replay") if f"\n  {verb} " not in out
    ] == []
    assert "0 holds, 1 violated, 2 bad usage or bad input, 3 undetermined" in out


def test_the_installed_command_gives_the_exit_code_to_the_shell(
    file: Callable[[Schedule], Path], own_count: Schedule
) -> None:
    assert run("replay", str(file(own_count))).returncode == 1


def test_a_stream_that_is_not_utf_8_gets_ascii(file: Callable[[Schedule], Path], own_count: Schedule) -> None:
    done = run("replay", str(file(own_count)), PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.stdout.isascii()
    assert "+= r1: min(1, 0) = 0 =" in done.stdout
    assert (done.returncode, done.stderr) == (1, "")


def test_a_stream_that_is_no_terminal_gets_no_escape_codes(
    file: Callable[[Schedule], Path], own_count: Schedule
) -> None:
    assert "\x1b" not in run("replay", str(file(own_count))).stdout
