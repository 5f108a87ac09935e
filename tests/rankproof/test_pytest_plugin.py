"""The pytest plugin: cheap until it is used, shared by a session, and gone with it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]

USES = """\
import pytest

def test_first(rankproof_ranks):
    with rankproof_ranks.pool(2, "rankproof.conformance.reference:pipelined") as pool:
        assert str(pool.call(0, "flush")).startswith("ok")
    open("first", "w").write(str(rankproof_ranks.launcher.pid))

def test_second(rankproof_ranks):
    assert open("first").read() == str(rankproof_ranks.launcher.pid), "the launcher is shared"
    {ending}
"""


AFTERWARDS = """\
import os

def pytest_unconfigure():
    try:
        os.kill(int(open("first").read()), 0)
    except ProcessLookupError:
        open("gone", "w").close()
"""
"""Looks whether the processes are there after the session, and before pytest itself has ended."""


@pytest.mark.processes
@pytest.mark.parametrize(
    ("ending", "passed"),
    [("assert False", 1), ("raise KeyboardInterrupt", 1)],
)
def test_the_processes_are_shared_by_the_session_and_end_with_it(
    pytester: pytest.Pytester, ending: str, passed: int
) -> None:
    pytester.makepyfile(USES.format(ending=ending))
    pytester.makeconftest(AFTERWARDS)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert result.parseoutcomes().get("passed") == passed, result.stdout.str()
    assert (pytester.path / "gone").exists()


def test_the_plugin_costs_nothing_before_a_test_uses_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_nothing_heavy_is_there(request):
            assert request.config.pluginmanager.hasplugin("rankproof")
            assert {"torch", "hypothesis", "z3", "rich", "rankproof.conformance"} & set(sys.modules) == set()
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:hypothesispytest")
    result.assert_outcomes(passed=1)


def test_the_fixture_explains_itself(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("--fixtures")
    result.stdout.fnmatch_lines(["*rankproof_ranks [[]session scope[]]*", "*Rank processes for the whole session*"])


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = (
        "import sys, rankproof; rankproof.__version__; "
        "sys.exit(str({'torch', 'hypothesis', 'z3', 'rich', 'pydantic', 'rankproof.model'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr.strip() == "set()"


@pytest.mark.processes
def test_a_test_of_a_stranger_says_what_its_subject_does_otherwise(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from rankproof import assert_conforms
        from rankproof.conformance.capabilities import Capabilities

        def test_conforms(rankproof_ranks):
            rankproof_ranks.assert_conforms("rankproof.conformance.reference:pipelined", examples=2)

        def test_differs(rankproof_ranks):
            assert_conforms(
                "rankproof.conformance.reference:pipelined",
                capabilities=Capabilities(lag=0),
                examples=2,
                launcher=rankproof_ranks.launcher,
            )
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*in_flight: model 0 | subject 1*"])
