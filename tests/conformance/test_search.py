"""An interrupt in the middle of a search is an interrupt, wherever it comes; and trouble of the harness is named."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rankproof.conformance import apart
from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.channel import Channel
from rankproof.conformance.machine import Findings
from rankproof.conformance.memory import MemoryRanks
from rankproof.conformance.outcome import Outcome
from rankproof.conformance.search import search
from rankproof.model.errors import BadInput

HELD_TO = Capabilities()


class Interrupted(MemoryRanks):
    """Ranks in whose use something is raised at the n-th call of one method: the person at the keyboard has enough."""

    def __init__(self, method: str, after: int, error: BaseException | None = None) -> None:
        super().__init__(2, factory="rankproof.conformance.reference:pipelined", timeout=1.0, reply_within=3.0)
        self.method, self.after, self.error = method, after, error or KeyboardInterrupt()

    def _count(self, method: str) -> None:
        self.after -= method == self.method
        interrupted = isinstance(self.error, KeyboardInterrupt)
        if self.after == -1 and (method == self.method or interrupted):
            raise self.error
        if self.after < -1 and interrupted:
            raise RuntimeError("what was interrupted cannot be ended well")

    def send(self, rank: int, method: str, *arguments: object) -> None:
        self._count(method)
        super().send(rank, method, *arguments)

    def receive(self, rank: int, within: float | None = None) -> Outcome:
        self._count("receive")
        return super().receive(rank, within)

    def renew(self) -> tuple[Outcome | None, ...]:
        self._count("renew")
        return super().renew()


@pytest.mark.parametrize(("method", "after"), [("step", 20), ("close", 1), ("receive", 40), ("renew", 0), ("renew", 3)])
def test_an_interrupt_comes_out_as_it_is(method: str, after: int) -> None:
    with pytest.raises(KeyboardInterrupt), Interrupted(method, after) as ranks:
        search(HELD_TO.model(2), ranks, Findings(), HELD_TO, examples=20, seed=0, checked=())


@pytest.mark.parametrize("method", ["step", "renew"])
def test_trouble_that_does_not_come_again_is_no_answer_and_is_named(method: str) -> None:
    findings = Findings()
    with Interrupted(method, 3, OSError("the disk is full")) as ranks:
        assert "the disk is full" in search(HELD_TO.model(2), ranks, findings, HELD_TO, examples=20, seed=0, checked=())
    assert findings.failure is None


def test_without_one_the_search_ends() -> None:
    findings = Findings()
    with Interrupted("renew", 10_000) as ranks:
        assert search(HELD_TO.model(2), ranks, findings, HELD_TO, examples=3, seed=0, checked=()) == ""
    assert findings.steps > 0


class Forgetful(MemoryRanks):
    """Ranks that know only of so many of their kind, made one after the other, that they were asked too much."""

    asked: ClassVar[int]

    def __init__(self, ranks: int, **rest: Any) -> None:
        super().__init__(ranks, **rest)
        Forgetful.asked -= 1
        self.says = "the in-memory group has no reduce" if Forgetful.asked >= 0 else ""

    @property
    def unsupported(self) -> str:
        return self.says


@pytest.mark.parametrize(("asked", "is_kept"), [(0, True), (1, True), (2, False)])
def test_a_failure_is_kept_where_it_comes_again_without_what_only_processes_have(
    monkeypatch: pytest.MonkeyPatch, asked: int, is_kept: bool
) -> None:
    monkeypatch.setattr(Forgetful, "asked", asked, raising=False)
    monkeypatch.setattr(apart, "MemoryRanks", Forgetful)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    job = apart.Job("wrong_subjects:resets_nothing", 2, HELD_TO, HELD_TO, 50, None, 0, 1.0, 1.0)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        searched = apart._search(job, HELD_TO, Channel(ours))
    assert (searched.failure is not None) == is_kept
    assert searched.note == ("" if is_kept else "the in-memory group has no reduce")


def test_what_goes_wrong_while_a_failure_is_made_smaller_leaves_it_as_it_was_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def objects(*_: object) -> None:
        raise BadInput("the engine's source is gone")

    monkeypatch.setattr("rankproof.conformance.search.smaller", objects)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    findings = Findings()
    with MemoryRanks(2, factory="wrong_subjects:resets_nothing", timeout=1.0, reply_within=3.0) as ranks:
        assert search(HELD_TO.model(2), ranks, findings, HELD_TO, examples=50, seed=0, checked=()) == ""
    assert findings.failure is not None
