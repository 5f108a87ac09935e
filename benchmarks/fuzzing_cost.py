"""What fuzzing costs: the model alone, bare steps, subjects in memory, on processes, and on fresh ones each time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from rankproof.benchmarks.frame import Case, Lost, Samples
from rankproof.benchmarks.fresh import FreshRanks
from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.driver import Compared, Driver
from rankproof.conformance.launcher import Launcher
from rankproof.conformance.machine import MOVES_AN_EXAMPLE, Findings, machine_for
from rankproof.conformance.memory import MemoryRanks
from rankproof.conformance.outcome import Ok, Outcome
from rankproof.conformance.pool import RankPool
from rankproof.conformance.ranks import Pool
from rankproof.conformance.search import Ran, search
from rankproof.conformance.underway import Begun
from rankproof.model.properties import CHECKED, Property

SUBJECT = "rankproof.conformance.reference:pipelined"
HELD_TO = Capabilities()
"""What every way is held to. Random schedules of it are not the same schedules in every way: more ranks are another
model, and the model alone draws without hypothesis."""

BARE = "bare steps in memory, 4 ranks"
"""The way that is held against the number of steps aimed for."""

TIMEOUT_S = 10.0
SECONDS_A_TURN = 11.0
TURNS = 5
QUICK_TURNS = 2


@dataclass(frozen=True, slots=True)
class Way:
    """A way to run schedules: how many in a turn, and how they are run, given the launcher and a seed."""

    examples: int
    run: Callable[[Launcher, int, int], Ran]


def case(turns: int) -> Case:
    """So many turns; a sample is one way in one turn."""
    return Case("fuzzing", {"turns": turns}, SECONDS_A_TURN * turns, partial(_fuzz, turns=turns))


def _fuzz(launcher: Launcher, turns: int) -> Samples:
    """A sample has `turn`, `way`, `examples`, `steps` (of a scheduler), `commands` and `took_s`."""
    for turn in range(turns):
        for name, way in WAYS.items():
            ran = way.run(launcher, way.examples, turn)
            yield {
                "turn": turn,
                "way": name,
                "examples": ran.examples,
                "steps": ran.steps,
                "commands": ran.commands,
                "took_s": ran.seconds,
            }


class _Nobody:
    """Ranks with no subject: they say at once that all is done."""

    def send(self, rank: int, method: str, *arguments: object) -> None:
        """Nothing begins."""

    def receive(self, rank: int) -> Outcome:  # noqa: ARG002 # the contract's
        """It is done."""
        return Ok()

    def renew(self) -> None:
        """There is nothing to renew."""

    def regroup(self) -> None:
        """Nor here."""


class _Unheld(Driver):
    """Takes the model through commands as for a subject, and counts them, but holds no reply against it."""

    def _compare(self, rank: int, busy: Begun, outcome: Outcome) -> None:
        assert outcome == Ok(), f"{busy.name} on rank {rank}"
        if busy.name:
            self.compared.append(Compared(rank, busy.name, busy.popped))


def _alone(_: Launcher, examples: int, seed: int, checked: Sequence[Property]) -> Ran:
    """The moves of the fuzzer, and the model through them, with no subject and without hypothesis."""
    model, findings, draw = HELD_TO.model(2), Findings(), random.Random(seed)
    kind = machine_for(model, _Nobody(), findings, HELD_TO, checked)
    began = time.perf_counter()
    for _example in range(examples):
        machine = kind()
        machine.driver = _Unheld(model, _Nobody(), HELD_TO, checked=checked)
        machine.run(draw.getrandbits(64))
        machine.teardown()
    return Ran.of(findings, time.perf_counter() - began)


def _bare(_: Launcher, examples: int, seed: int, ranks: int) -> Ran:  # noqa: ARG001 # nothing is drawn
    """Nothing but steps, one on each rank in turn and `MOVES_AN_EXAMPLE` of each: no acks, no model, no hypothesis."""
    took = 0.0
    with MemoryRanks(ranks, factory=SUBJECT, lanes=HELD_TO.names, timeout=TIMEOUT_S) as pool:
        for _example in range(examples):
            began = time.perf_counter()
            for _step in range(MOVES_AN_EXAMPLE):
                for rank in range(ranks):
                    pool.send(rank, "step")
                for rank in range(ranks):
                    if not isinstance(outcome := pool.receive(rank), Ok):
                        raise Lost(f"rank {rank}: {outcome}")
            took += time.perf_counter() - began
            pool.renew()
    steps = examples * MOVES_AN_EXAMPLE * ranks
    return Ran(examples, steps, steps, seconds=took)


def _in_memory(_: Launcher, examples: int, seed: int, ranks: int) -> Ran:
    with MemoryRanks(ranks, factory=SUBJECT, lanes=HELD_TO.names, timeout=TIMEOUT_S) as pool:
        return _searched(pool, ranks, examples, seed)


def _on_processes(launcher: Launcher, examples: int, seed: int, ranks: int) -> Ran:
    with RankPool(ranks, factory=SUBJECT, lanes=HELD_TO.names, timeout=TIMEOUT_S, launcher=launcher) as pool:
        return _searched(pool, ranks, examples, seed)


def _on_fresh_ones(_: Launcher, examples: int, seed: int) -> Ran:
    with FreshRanks(2, SUBJECT, HELD_TO.names, TIMEOUT_S) as pool:
        return _searched(pool, 2, examples, seed)


def _searched(pool: Pool, ranks: int, examples: int, seed: int) -> Ran:
    """The model is not checked on the way, as it is not in memory, so that ways differ in where their ranks are."""
    findings = Findings()
    began = time.perf_counter()
    lost = search(HELD_TO.model(ranks), pool, findings, HELD_TO, examples=examples, seed=seed, checked=())
    took = time.perf_counter() - began
    if lost or findings.failure:
        raise Lost(_line(lost or (findings.failure.says if findings.failure else "")))
    return Ran.of(findings, took)


def _line(text: str) -> str:
    return " ".join(text.split())


WAYS: Mapping[str, Way] = {
    "model alone": Way(30, partial(_alone, checked=())),
    "model, properties checked": Way(10, partial(_alone, checked=CHECKED)),
    BARE: Way(30, partial(_bare, ranks=4)),
    "in memory, 2 ranks": Way(40, partial(_in_memory, ranks=2)),
    "in memory, 4 ranks": Way(30, partial(_in_memory, ranks=4)),
    "2 real ranks": Way(20, partial(_on_processes, ranks=2)),
    "4 real ranks": Way(8, partial(_on_processes, ranks=4)),
    "2 fresh processes each": Way(2, _on_fresh_ones),
}
"""Every way, by its name, in the order of a turn."""
