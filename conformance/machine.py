"""A hypothesis state machine that drives the model and a subject through the same random commands."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.errors import StopTest
from hypothesis.stateful import RuleBasedStateMachine, rule

from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.commands import TIMING, Freeze, kinds
from rankproof.conformance.driver import Command, Driver, HarnessLost, Mismatch, Reply
from rankproof.conformance.moves import WEIGHTS, move
from rankproof.conformance.ranks import Pool
from rankproof.model.actions import Close
from rankproof.model.errors import BadInput
from rankproof.model.interleaving import Model
from rankproof.model.properties import CHECKED, Property
from rankproof.model.schedule import Schedule
from rankproof.model.state import CLOSED


class Enough(BaseException):
    """A failure is known, or the time for finding one is used up; hypothesis passes this on at once."""


class Unusable(BaseException):
    """What a subject said of its input, in the middle of a run: it is shown as bad input, and is no finding."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An example in which the subject differed: what it did, the commands given, and what the model went through.

    reply        the one that differed; None where the model itself fell
    ended_early  why nothing smaller was looked for any more, though there may be; or empty
    """

    says: str
    commands: tuple[Command, ...]
    schedule: Schedule
    reply: Reply | None = None
    ended_early: str = ""


class Findings:
    """What the examples of one run came to: how much was compared, and the first that failed.

    A failure is looked for in so many `seconds` and examples at most, if they are given. `progress` is told the
    examples done, after each. `trouble` is the first error that is no failure of the subject, but of the harness.
    """

    def __init__(
        self,
        progress: Callable[[int], None] | None = None,
        seconds: float | None = None,
        most_examples: int | None = None,
    ) -> None:
        self.examples = 0
        self.commands = 0
        self.steps = 0
        self.popped = 0
        self.taken: dict[str, int] = {}
        self.failure: Failure | None = None
        self.trouble = ""
        self._progress = progress
        self._most_examples = most_examples
        self._until = None if seconds is None else time.monotonic() + seconds

    def add(self, failure: Failure) -> None:
        """Keeps the failure, if it is the first."""
        self.failure = self.failure or failure

    def count(self, driver: Driver, commands: Sequence[Command]) -> None:
        """Counts an example that has ended: what the model took, and of the commands those that the model has not."""
        self.examples += 1
        self.commands += len(driver.compared)
        self.steps += sum(each.name == "step" for each in driver.compared)
        self.popped += sum(len(acks) for each in driver.compared for acks in each.popped)
        beside = (Freeze, *TIMING.values())
        for action in (*driver.actions, *(command for command in commands if isinstance(command, beside))):
            kind = type(action).__name__.lower()
            self.taken[kind] = self.taken.get(kind, 0) + 1
        if self._progress:
            self._progress(self.examples)

    @property
    def are_enough(self) -> bool:
        """Whether a failure is known, or the time is over, or the examples are run.

        Hypothesis counts none that it breaks off itself, and so would run more than are asked for.
        """
        run_out = self._most_examples is not None and self.examples >= self._most_examples
        late = self._until is not None and time.monotonic() > self._until
        return self.failure is not None or run_out or late

    def may_go_on(self) -> None:
        """Raises Enough where they are enough."""
        if self.are_enough:
            raise Enough


MOVES_AN_EXAMPLE = 30

_NUMBERS = st.integers(0, 2**64 - 1)


class RanksMachine(RuleBasedStateMachine):
    """Ranks that do, in any order that the model allows, whatever its scenario lets them do, and then close.

    What can be given next is read off the model alone, so an example depends on nothing that a process does: once
    a rank has ended in an error nothing more is drawn, as it is up to the transport when its peers learn of it.
    A subclass of `machine_for` says which model and which pool.
    """

    models: ClassVar[Sequence[Model]]
    pool: ClassVar[Pool]
    findings: ClassVar[Findings]
    capabilities: ClassVar[Capabilities | None]
    checked: ClassVar[Sequence[Property]]
    seed: ClassVar[int | str]

    def __init__(self) -> None:
        super().__init__()
        self.findings.may_go_on()
        self._drive(self.models[0])
        self._commands: list[Command] = []
        self._failed = False

    @rule(number=_NUMBERS)
    def run(self, number: int) -> None:
        """Makes the moves that the number comes to, in one of the worlds that it may be.

        All of them are one rule: for hypothesis to draw each would take longer than to carry it out, and a failure is
        made smaller without it.
        """
        if (model := random.Random(f"{self.seed} {number}").choice(self.models)) is not self.models[0]:
            self._drive(model)
        for _ in range(MOVES_AN_EXAMPLE):
            self.give(self.move(number))

    def give(self, commands: list[Command]) -> None:
        """Gives commands one after the other; one that an earlier one has made impossible is left out."""
        for command in commands:
            if self.driver.why_not(command) is None:
                self._give(command)

    def move(self, number: int) -> list[Command]:
        """What the number comes to here: one command that is possible, or one on each of several ranks in some order.

        Nothing comes once a rank has ended in an error.
        """
        if self._ended:
            return []
        return move(self.driver, self._kinds, random.Random(f"{self.seed} {number} {len(self._commands)}"))

    def _drive(self, model: Model) -> None:
        self.driver = Driver(model, self.pool, self.capabilities, checked=self.checked)
        survives = self.capabilities.survives if self.capabilities else frozenset[str]()
        there = {*kinds(model), *TIMING} - ({"crash", "freeze"} - survives if self.capabilities else {"freeze"})
        self._kinds = [kind for kind in WEIGHTS if kind.removeprefix("all ") in there]

    def teardown(self) -> None:
        """Ends the example with every round consumed and every subject new; counts what was compared."""
        if _is_cut_off():
            return
        try:
            if not self._failed:
                self._guarded(self.driver.catch_up)
                for rank in range(self.driver.model.scenario.ranks):
                    if self.driver.why_not(Close(rank)) is None:
                        self._give(Close(rank))
        finally:
            self.findings.count(self.driver, self._commands)
            if not _is_cut_off():
                self._make_ready()

    @property
    def _ended(self) -> bool:
        """Whether a rank has ended in an error."""
        return any(rank.error and rank.error != CLOSED for rank in self.driver.state.ranks)

    def _make_ready(self) -> None:
        try:
            if self._failed or self._ended:
                self.pool.regroup()
            else:
                self.pool.renew()
        except Exception as error:
            raise HarnessLost(str(error)) from error

    def _give(self, command: Command) -> None:
        self._commands.append(command)
        self._guarded(lambda: self.driver.give(command))

    def _guarded(self, act: Any) -> None:
        try:
            act()
        except BadInput as bad:
            raise Unusable(str(bad)) from bad
        except Mismatch as mismatch:
            self._failed = True
            self.findings.add(Failure(str(mismatch), tuple(self._commands), mismatch.schedule, mismatch.reply))
            raise
        except Exception as error:
            self.findings.trouble = self.findings.trouble or f"{type(error).__name__}: {error}"
            raise


def _is_cut_off() -> bool:
    """Whether an interrupt, or the like, is on its way up: what it broke off cannot end well, and would hide it.

    Not so an example that hypothesis itself breaks off: the next one comes at once, and needs fresh subjects.
    """
    return not isinstance(sys.exception(), Exception | StopTest | None)


def machine_for(
    model: Model,
    pool: Pool,
    findings: Findings,
    capabilities: Capabilities | None = None,
    checked: Sequence[Property] = CHECKED,
    more: Sequence[Model] = (),
    seed: int | str = 0,
) -> type[RanksMachine]:
    """The machine that drives `model` and the subjects in `pool`, as their capabilities say, and counts what it does.

    checked  what the model itself is held against on the way
    more     other worlds of as many ranks, of which an example may be instead
    seed     what the numbers come to that hypothesis draws
    """
    members = {
        "models": (model, *more),
        "pool": pool,
        "findings": findings,
        "capabilities": capabilities,
        "checked": checked,
        "seed": seed,
    }
    return type("RanksMachine", (RanksMachine,), members)
