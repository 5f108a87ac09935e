"""A run says how often each action came, which never did though it may, and which were not asked of the subject."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from rankproof.conformance.capabilities import Capabilities, Lane, Mishap
from rankproof.conformance.commands import TIMING
from rankproof.conformance.coverage import Coverage, coverage
from rankproof.conformance.fuzzed import Fuzzing
from rankproof.conformance.machine import Findings, machine_for
from rankproof.conformance.memory import MemoryRanks
from rankproof.conformance.search import Ran
from rankproof.model.actions import KINDS
from rankproof.model.verdict import Verdict

OF_EVERY_SUBJECT = {"enqueue", "finish", "wait", "pop", "count", "issue", "close"}
BETWEEN = {"flush", "reset", "evict"}
NOBODY_HAS = {"withdraw", "decline"}
STORING = Capabilities(storage=1, supports=frozenset({"reconfigure"}))
SURVIVES_ALL = Capabilities(guards=("popped",), survives=frozenset(get_args(Mishap)))


def of(held_to: Capabilities, **taken: int) -> Coverage:
    return coverage(taken, held_to.models(2), held_to)


@pytest.mark.parametrize(
    ("held_to", "may_come"),
    [
        (Capabilities(), OF_EVERY_SUBJECT | BETWEEN),
        (Capabilities(supports=frozenset()), OF_EVERY_SUBJECT),
        (Capabilities(lanes=(Lane("write", evicts=False),)), OF_EVERY_SUBJECT | {"flush", "reset"}),
        (STORING, OF_EVERY_SUBJECT | {"attach", "detach"}),
        (replace(STORING, attaches="agreed"), OF_EVERY_SUBJECT | {"attach", "detach", "change"}),
        (SURVIVES_ALL, OF_EVERY_SUBJECT | BETWEEN | {"lose", "swap", "stall", "throw", "crash", "notice"}),
    ],
    ids=["default", "nothing", "no eviction", "storage", "storage agreed on", "survives"],
)
def test_what_may_come_follows_from_what_the_subject_declares(held_to: Capabilities, may_come: set[str]) -> None:
    nothing = of(held_to)
    assert set(nothing.never) == set(nothing.taken) == may_come
    assert set(nothing.left_out) == set(KINDS) - may_come
    assert set(nothing.left_out) >= NOBODY_HAS


def test_what_came_is_counted_and_what_never_did_is_named() -> None:
    found = of(Capabilities(supports=frozenset({"flush"})), issue=1200, count=3, flush=0)
    assert found.taken["issue"] == 1200
    assert found.never == ("enqueue", "finish", "flush", "close", "wait", "pop")
    assert found.lines() == [
        "actions taken: count 3, issue 1,200",
        "never taken: enqueue, finish, flush, close, wait, pop; more schedules may, or another seed",
        "not asked, since it does not declare them or no subject can: lose, swap, stall, withdraw, reset, evict, "
        "attach, detach, decline, change, throw, crash, notice",
    ]


def test_a_run_that_took_all_that_may_come_has_no_line_of_what_did_not() -> None:
    every = dict.fromkeys(KINDS, 1)
    assert of(SURVIVES_ALL, **every).lines() == ["actions taken: " + ", ".join(f"{name} 1" for name in KINDS)]
    assert of(Capabilities()).lines()[0] == "actions taken: none"


@pytest.mark.parametrize(
    ("survives", "beside"),
    [((), {"stop", "continue", "idle"}), (("freeze",), {"stop", "continue", "idle", "freeze"})],
    ids=["nothing", "a freeze"],
)
def test_what_only_changes_when_things_happen_is_counted_too(survives: tuple[Mishap, ...], beside: set[str]) -> None:
    can = Capabilities(guards=("popped",), survives=frozenset(survives))
    ran = Ran(taken={"stop": 2, "issue": 1})
    found = Fuzzing("s", 2, Verdict.HOLDS, can, 0.0, memory=ran).coverage
    assert set(found.taken) - set(KINDS) == beside
    assert (found.taken["stop"], found.taken["idle"]) == (2, 0)
    assert beside - {"stop"} < set(found.never)


def test_a_random_example_counts_them() -> None:
    findings = Findings()
    with MemoryRanks(2, factory="rankproof.conformance.reference:pipelined", timeout=3.0) as ranks:
        kind = machine_for(Capabilities().model(2), ranks, findings, Capabilities(), checked=())
        for seed in range(20):
            machine = kind()
            machine.run(number=seed)
            machine.teardown()
    assert all(findings.taken[name] for name in TIMING)
