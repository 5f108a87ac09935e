"""What the tests of the pool share: an echoing subject, and a look at which processes are alive."""

from __future__ import annotations

import os
import time
from pathlib import Path

from rankproof.conformance.outcome import Ok, Outcome
from rankproof.conformance.pool import RankPool

HERE = Path(__file__).parent
ECHO = "pool_subjects:Echo"
MARK = "RANKPROOF_TEST_MARK"
SHARED = os.urandom(8).hex()
"""The mark of the launcher that most of these tests share."""


def value(outcome: Outcome) -> object:
    assert isinstance(outcome, Ok), outcome
    return outcome.value


def minima(pool: RankPool) -> list[Outcome]:
    """What each rank says is the MIN of what all offer."""
    for rank in range(pool.world):
        pool.send(rank, "minimum")
    return [pool.receive(rank) for rank in range(pool.world)]


def alive(mark: str) -> list[int]:
    """The pids of the processes, zombies apart, that have `mark` in their environment."""
    entry = f"{MARK}={mark}".encode()
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and entry in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def appears(file: Path, within: float = 30) -> bool:
    """Whether a file is there, soon."""
    deadline = time.monotonic() + within
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return file.exists()


def comes_down_to(expected: set[int], mark: str, within: float = 30) -> bool:
    """Whether only the processes `expected` are left alive, soon: what a rank started is killed, but not waited for."""
    deadline = time.monotonic() + within
    while set(alive(mark)) != expected:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
