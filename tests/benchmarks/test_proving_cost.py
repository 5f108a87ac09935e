"""What proofs cost is measured of commands that say that all of it holds, and of no others."""

from __future__ import annotations

from typing import Any

import pytest

from rankproof.benchmarks import proving_cost
from rankproof.benchmarks.frame import Lost, Samples

NO_LAUNCHER: Any = None


def measured(monkeypatch: pytest.MonkeyPatch, turns: int, **commands: tuple[str, ...]) -> Samples:
    monkeypatch.setattr(proving_cost, "COMMANDS", commands)
    return proving_cost.command_case(turns).measure(NO_LAUNCHER)


@pytest.mark.processes
def test_a_command_is_timed_in_a_process_of_its_own_once_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = list(measured(monkeypatch, 2, version=("--version",)))
    assert [(sample["turn"], sample["command"]) for sample in samples] == [(0, "version"), (1, "version")]
    assert all(0.01 < float(sample["took_s"]) < 60 for sample in samples)


@pytest.mark.processes
def test_a_command_that_does_not_hold_is_no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Lost, match=r"rankproof nothing ended with exit code 2: rankproof: no such command 'nothing'"):
        list(measured(monkeypatch, 1, nothing=("nothing",)))


@pytest.mark.processes
def test_a_command_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving_cost, "DEADLINE_S", 0.01)
    with pytest.raises(Lost, match="rankproof version did not end within"):
        list(measured(monkeypatch, 1, version=("--version",)))


def test_both_commands_are_measured() -> None:
    assert list(proving_cost.COMMANDS.values()) == [("prove",), ("prove", "--cross-check")]
