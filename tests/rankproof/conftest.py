"""Schedules to show, and the command line run inside the test's own process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rankproof.cli import main
from rankproof.model.actions import Action, Count, Enqueue, Finish, Issue, Pop, Reset, Wait
from rankproof.model.faults import FAULTS
from rankproof.model.interleaving import Model
from rankproof.model.protocol import PIPELINED
from rankproof.model.scenario import Scenario
from rankproof.model.schedule import Schedule, dump


@dataclass(frozen=True)
class Answer:
    """What the command line gave back: its exit code, and what it wrote."""

    code: int
    out: str
    err: str


def step(rank: int) -> tuple[Action, ...]:
    """One step of the right protocol on a rank."""
    return Wait(rank), Pop(rank), Count(rank), Issue(rank)


def ready(rank: int, lane: int = 0) -> tuple[Action, ...]:
    """The first ack of a lane, enqueued and finished on a rank."""
    return Enqueue(rank, lane, 0), Finish(rank, lane, 0)


@pytest.fixture
def own_count() -> Schedule:
    """A rank pops what it offered, though the other had nothing ready."""
    actions = (*ready(0), *step(0), *step(1), Wait(0), Pop(0))
    return Schedule(FAULTS["pop-own-count"].model, actions, "test", "finished-before-pop")


@pytest.fixture
def stale_reset() -> Schedule:
    """A reset with a round in flight breaks one property at once, and another when the round comes back."""
    actions = (*ready(0), *step(0), Reset(0), *ready(1), *step(1), Wait(0), Pop(0))
    return Schedule(FAULTS["reset-without-drain"].model, actions, "test", "finished-before-pop")


@pytest.fixture
def three_ranks() -> Schedule:
    """Two lanes on three ranks, right to the end: the ack that is ready everywhere is popped by the first rank."""
    scenario = Scenario(ranks=3, lanes=("write", "load"), acks=1)
    all_ready = tuple(action for rank in range(3) for action in (*ready(rank, lane=1), *step(rank)))
    return Schedule(Model(PIPELINED, scenario), (*all_ready, Enqueue(0, 0, 0), *step(0)), "test")


@pytest.fixture
def file(tmp_path: Path) -> Callable[[Schedule], Path]:
    """Writes a schedule into a file."""

    def write(schedule: Schedule) -> Path:
        path = tmp_path / "schedule.json"
        path.write_text(dump(schedule))
        return path

    return write


@pytest.fixture
def rankproof(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Runs the command line with some arguments."""

    def run(*arguments: object) -> Answer:
        code = main([str(argument) for argument in arguments])
        return Answer(code, *capsys.readouterr())

    return run
