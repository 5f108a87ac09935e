"""What README shows of `rankproof verify` is what it prints, and each command that it names is one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from rankproof.commands import app
from rankproof.model.actions import KINDS

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def settled(text: str) -> str:
    """A text in one line, without what differs from run to run: times, and how much fits into them: something."""
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"\d+ (ms|s)\b", r"N \1", text)
    text = re.sub(rf"\b({'|'.join(KINDS)}) [\d,]*\d", r"\1 N", text)
    return re.sub(r"\b[1-9][\d,]* (schedules|steps|pops)\b", r"N \1", text)


def shown() -> list[str]:
    """What README shows of a run, in the pieces between the lines that it leaves out."""
    (block,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    return [settled(piece).strip() for piece in re.split(r"^ *\.\.\.$", block, flags=re.MULTILINE)]


@pytest.mark.processes
@pytest.mark.timeout(300)
def test_verify_prints_what_readme_shows() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "rankproof", "verify"],
        env=os.environ | {"COLUMNS": "80", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr
    printed = settled(ran.stdout)
    for piece in shown():
        assert piece in printed


def test_each_command_that_readme_names_is_one() -> None:
    verbs = typer.main.get_group(app).commands
    named = re.findall(r"`rankproof ([^`]+)`", README)
    assert {"verify", *(words.split()[0] for words in named)} == set(verbs)
    for words in named:
        command = verbs[words.split()[0]]
        options = {name for each in command.params for name in each.opts}
        assert set(re.findall(r"--[a-z-]+", words)) <= options, words
