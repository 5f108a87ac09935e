"""The page about CI: what it tells people to write is run here, as it stands but for shorter times."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rankproof.profiles import PROFILES

PAGE = (Path(__file__).parents[2] / "docs" / "ci.md").read_text(encoding="utf-8")
ELSEWHERE = ("python -m pip install ", "torchrun --nnodes ")
"""How the commands begin that need a package index, or a second host."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """Every command of the page, in order: lines of shell blocks, and the steps of the workflow."""
    steps = [step for block in blocks("yaml") for step in re.findall(r"^ +(?:- )?run: (.+)$", block, re.MULTILINE)]
    return [*steps, *(line for block in blocks("sh") for line in block.splitlines())]


def runnable() -> list[str]:
    """Those that can be run here; one that another begins with is run with that one."""
    here = [each for each in commands() if not each.startswith(ELSEWHERE)]
    return [each for each in here if not any(other != each and other.startswith(each) for other in here)]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stranger's project, whose subject is the reference implementation."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "myengine").mkdir()
    (folder / "myengine" / "__init__.py").touch()
    (folder / "myengine" / "conformance.py").write_text(
        "from rankproof.conformance.reference import pipelined as factory\n"
    )
    return folder


def run(command: str, project: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in a shell, where the tools of this environment come first, with one schedule to each search."""
    short = re.sub(r"(--profile \w+)", r"\1 --examples 1 --ranks 2", command).replace(
        "--seed 7", "--seed 7 --examples 1"
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", short],
        cwd=project,
        env={**os.environ, "PATH": path, "OMP_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.mark.processes
@pytest.mark.parametrize("command", runnable())
def test_a_command_of_the_page_does_what_it_says(command: str, project: Path, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    actions = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_RUN_NUMBER": "3"}
    done = run(command, project, **actions)
    assert done.returncode == 0, done.stderr
    if command.startswith("rankproof fuzz"):
        assert "::notice title=rankproof holds::" in done.stderr
        assert ": holds\n" in summary.read_text()
    if match := re.search(r"> (\S+\.xml)$", command):
        assert ElementTree.parse(project / match[1]).getroot().get("failures") == "0"


def test_the_page_has_every_kind_of_command() -> None:
    kinds = {" ".join(command.split()[:2]) for command in commands()}
    assert kinds == {"rankproof fuzz", "torchrun --nproc-per-node", "torchrun --nnodes", "python -m"}


def test_the_page_tells_the_profiles_as_they_are() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|$", PAGE, re.MULTILINE))
    said = {}
    for name, budget in PROFILES.items():
        minutes, seconds = divmod(int(budget.seconds or 0), 60)
        limit = f"{budget.examples} schedules in each place" if budget.examples else f"{minutes} minutes"
        said[name] = f"{'60 seconds' if (minutes, seconds) == (1, 0) else limit} | {budget.ranks}"
    assert rows == said


@pytest.mark.processes
def test_the_test_of_the_page_passes(project: Path) -> None:
    (block,) = blocks("python")
    (project / "test_page.py").write_text(block.replace("seconds=20", "examples=1"))
    done = run("python -m pytest -q -p no:cacheprovider test_page.py", project)
    assert done.returncode == 0, done.stdout
