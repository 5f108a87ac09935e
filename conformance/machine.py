"""A hypothesis state machine that drives the model and a subject through the same random commands."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.errors import StopTest
from hypothesis.stateful import RuleBasedStateMachine, rule

from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.driver import Command, Driver, HarnessLost, Mismatch, Reply
from rankproof.conformance.ranks import Pool
from rankproof.model.actions import Close, Enqueue, Evict, Finish
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

    reply  the one that differed; None where the model itself fell
    """

    says: str
    commands: tuple[Command, ...]
    schedule: Schedule
    reply: Reply | None = None


class Findings:
    """What the examples of one run came to: how much was compared, and the first that failed.

    A failure is looked for in `seconds` at most, if they are given. `progress` is told the examples done, after each.
    `trouble` is the first error that is no failure of the subject, but of the harness.
    """

    def __init__(self, progress: Callable[[int], None] | None = None, seconds: float | None = None) -> None:
        self.examples = 0
        self.commands = 0
        self.steps = 0
        self.popped = 0
        self.taken: dict[str, int] = {}
        self.failure: Failure | None = None
        self.trouble = ""
        self._progress = progress
        self._until = None if seconds is None else time.monotonic() + seconds

    def add(self, failure: Failure) -> None:
        """Keeps the failure, if it is the first."""
        self.failure = self.failure or failure

    def count(self, driver: Driver) -> None:
        """Counts an example that has ended."""
        self.examples += 1
        self.commands += len(driver.compared)
        self.steps += sum(each.name == "step" for each in driver.compared)
        self.popped += sum(len(acks) for each in driver.compared for acks in each.popped)
        for action in driver.actions:
            kind = type(action).__name__.lower()
            self.taken[kind] = self.taken.get(kind, 0) + 1
        if self._progress:
            self._progress(self.examples)

    @property
    def are_enough(self) -> bool:
        """Whether a failure is known, or the time is over."""
        return self.failure is not None or (self._until is not None and time.monotonic() > self._until)

    def may_go_on(self) -> None:
        """Raises Enough where a failure is known, or the time is over."""
        if self.are_enough:
            raise Enough


# How often each kind of move is drawn where it is possible. Single commands alone seldom bring an ack to its pop,
# which takes an enqueue, a finish and two steps on every rank; so there are moves of all ranks too.
_WEIGHTS = {
    "step": 3,
    "all step": 4,
    "enqueue": 1,
    "all enqueue": 2,
    "finish": 2,
    "all finish": 3,
    "flush": 1,
    "reset": 1,
    "evict": 2,
    "attach": 1,
    "all attach": 2,
    "detach": 1,
    "all detach": 2,
    "lose": 1,
    "swap": 1,
    "stall": 1,
    "throw": 1,
    "crash": 1,
}


class RanksMachine(RuleBasedStateMachine):
    """Ranks that do, in any order that the model allows, whatever its scenario lets them do, and then close.

    What can be given next is read off the model alone, so an example depends on nothing that a process does: once
    a rank has ended in an error nothing more is drawn, as it is up to the transport when its peers learn of it.
    A subclass of `machine_for` says which model and which pool.
    """

    model: ClassVar[Model]
    pool: ClassVar[Pool]
    findings: ClassVar[Findings]
    capabilities: ClassVar[Capabilities | None]
    checked: ClassVar[Sequence[Property]]

    def __init__(self) -> None:
        super().__init__()
        self.findings.may_go_on()
        self.driver = Driver(self.model, self.pool, self.capabilities, checked=self.checked)
        self._commands: list[Command] = []
        self._failed = False

    @rule(commands=st.runner().flatmap(lambda machine: machine.moves()))
    def give(self, commands: list[Command]) -> None:
        """Gives commands one after the other; one that an earlier one has made impossible is left out."""
        for command in commands:
            if self.driver.why_not(command) is None:
                self._give(command)

    def moves(self) -> st.SearchStrategy[list[Command]]:
        """The moves that are possible now: one command, or one on each of several ranks in some order."""
        if self._ended:
            return st.just([])
        singles, together = self._by_kind()
        kinds = [
            kind for kind, weight in _WEIGHTS.items() for _ in range(weight) if singles.get(kind) or kind in together
        ]

        def moves_of(kind: str) -> st.SearchStrategy[list[Command]]:
            if kind in singles:
                return st.sampled_from([[command] for command in singles[kind]])
            return st.sampled_from(together[kind]).flatmap(st.permutations)

        return st.sampled_from(kinds).flatmap(moves_of)

    def _by_kind(self) -> tuple[dict[str, list[Command]], dict[str, list[list[Command]]]]:
        """The possible commands, and the groups of them that all ranks can be given, each by its kind of move."""
        singles: dict[str, list[Command]] = {}
        first: dict[tuple[str, int], dict[int, Command]] = {}
        for command in self.driver.possible():
            kind = type(command).__name__.lower()
            singles.setdefault(kind, []).append(command)
            if f"all {kind}" in _WEIGHTS:
                lane = command.lane if isinstance(command, Enqueue | Finish) else 0
                first.setdefault((f"all {kind}", lane), {}).setdefault(command.rank, command)
        together: dict[str, list[list[Command]]] = {}
        for (kind, _), by_rank in first.items():
            together.setdefault(kind, []).append(list(by_rank.values()))
        full = [each for each in singles.get("evict", []) if isinstance(each, Evict) and self._waiting(each)]
        singles["evict"] = [*full] or singles.get("evict", [])
        return singles, together

    def _waiting(self, command: Evict) -> tuple[int, ...]:
        return self.driver.state.ranks[command.rank].lanes[command.lane].waiting

    def teardown(self) -> None:
        """Ends the example with every round consumed and every subject new; counts what was compared."""
        if _is_cut_off():
            return
        try:
            if not self._failed:
                self._guarded(self.driver.catch_up)
                for rank in range(self.model.scenario.ranks):
                    if self.driver.why_not(Close(rank)) is None:
                        self._give(Close(rank))
        finally:
            self.findings.count(self.driver)
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
) -> type[RanksMachine]:
    """The machine that drives `model` and the subjects in `pool`, as their capabilities say, and counts what it does.

    checked  what the model itself is held against on the way
    """
    members = {
        "model": model,
        "pool": pool,
        "findings": findings,
        "capabilities": capabilities,
        "checked": checked,
    }
    return type("RanksMachine", (RanksMachine,), members)
