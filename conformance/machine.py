"""A hypothesis state machine that drives the model and a subject through the same random commands."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from rankproof.conformance.driver import Command, Driver, HarnessLost, Mismatch
from rankproof.conformance.pool import RankPool
from rankproof.model.actions import Enqueue, Evict, Finish
from rankproof.model.errors import BadInput
from rankproof.model.interleaving import Model
from rankproof.model.schedule import Schedule


class Enough(BaseException):
    """The time for making a failure smaller is used up; hypothesis passes it on at once, as it does `HarnessLost`."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An example in which the subject differed: what it did, the commands given, and what the model went through."""

    says: str
    commands: tuple[Command, ...]
    schedule: Schedule


class Findings:
    """What the examples of one run came to: how much was compared, and the smallest that failed.

    A failure is made smaller for `shrink_seconds` at most: on real processes each try costs, and may wait for its
    deadline. `progress` is told the examples done, after each.
    """

    def __init__(self, shrink_seconds: float = 20.0, progress: Callable[[int], None] | None = None) -> None:
        self.examples = 0
        self.commands = 0
        self.steps = 0
        self.popped = 0
        self.taken: dict[str, int] = {}
        self.failure: Failure | None = None
        self._shrink_seconds = shrink_seconds
        self._progress = progress
        self._until: float | None = None

    def add(self, failure: Failure) -> None:
        """Keeps the failure if no smaller one is known."""
        if self.failure is None:
            self._until = time.monotonic() + self._shrink_seconds
        if self.failure is None or len(failure.commands) < len(self.failure.commands):
            self.failure = failure

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

    def may_go_on(self) -> None:
        """Raises Enough where a failure is known and its time for shrinking is over."""
        if self._until is not None and time.monotonic() > self._until:
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
}


class RanksMachine(RuleBasedStateMachine):
    """Ranks that enqueue, finish, step, flush, evict and reset, in any order that the model allows.

    What can be given next is read off the model alone, so an example depends on nothing that a process does. A subclass
    of `machine_for` says which model and which pool.
    """

    model: ClassVar[Model]
    pool: ClassVar[RankPool]
    findings: ClassVar[Findings]

    def __init__(self) -> None:
        super().__init__()
        self.findings.may_go_on()
        self.driver = Driver(self.model, self.pool)
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
        try:
            if not self._failed:
                self._guarded(self.driver.catch_up)
        finally:
            self.findings.count(self.driver)
            self._make_ready()

    def _make_ready(self) -> None:
        try:
            if self._failed:
                self.pool.regroup()
            else:
                self.pool.renew()
        except (BadInput, RuntimeError) as error:
            raise HarnessLost(str(error)) from error

    def _give(self, command: Command) -> None:
        self._commands.append(command)
        self._guarded(lambda: self.driver.give(command))

    def _guarded(self, act: Any) -> None:
        try:
            act()
        except Mismatch as mismatch:
            self._failed = True
            self.findings.add(Failure(str(mismatch), tuple(self._commands), mismatch.schedule))
            raise


def machine_for(model: Model, pool: RankPool, findings: Findings) -> type[RanksMachine]:
    """The machine that drives `model` and the subjects in `pool`, and counts into `findings`."""
    return type("RanksMachine", (RanksMachine,), {"model": model, "pool": pool, "findings": findings})
