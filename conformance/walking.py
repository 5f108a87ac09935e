"""Random schedules of the reference implementation's worlds on real processes, and what they covered of the model."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypedDict

from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.confirming import confirmed, with_patience
from rankproof.conformance.driver import HarnessLost, Mismatch
from rankproof.conformance.launcher import Launcher
from rankproof.conformance.machine import MOVES_AN_EXAMPLE, Failure, Findings, machine_for
from rankproof.conformance.pool import RankPool
from rankproof.conformance.ranks import Pool
from rankproof.conformance.worlds import WORLDS, World, not_taken
from rankproof.model.actions import KINDS
from rankproof.model.verdict import Verdict


class Row(TypedDict):
    """One world, as a line of JSON: how much ran there, and how often each action of the model was taken."""

    world: str
    subject: str
    ranks: int
    schedules: int
    commands: int
    steps: int
    popped: int
    taken: dict[str, int]


@dataclass(frozen=True, slots=True)
class Walked:
    """What came of a walk through some worlds.

    found  what was compared in each, in order
    lost   why there is no answer, where the processes failed for a reason that says nothing of the implementation
    """

    found: Mapping[World, Findings]
    lost: str = ""

    @property
    def failure(self) -> tuple[World, Failure] | None:
        """The first difference from the model, and the world in which it was found."""
        return next(((world, each.failure) for world, each in self.found.items() if each.failure), None)

    @property
    def not_taken(self) -> tuple[str, ...]:
        """The actions of the model that no schedule took."""
        return not_taken(each.taken for each in self.found.values())

    @property
    def verdict(self) -> Verdict:
        """Undetermined where no rank made a step in some world, or an action of the model was never taken."""
        if self.failure:
            return Verdict.VIOLATED
        whole = all(each.steps for each in self.found.values())
        return Verdict.UNDETERMINED if self.lost or self.not_taken or not whole else Verdict.HOLDS

    def rows(self) -> list[Row]:
        """One row a world."""
        return [
            Row(
                world=world.says,
                subject=world.factory,
                ranks=world.model.scenario.ranks,
                schedules=each.examples,
                commands=each.commands,
                steps=each.steps,
                popped=each.popped,
                taken={name: each.taken.get(name, 0) for name in KINDS},
            )
            for world, each in self.found.items()
        ]

    def lines(self) -> list[str]:
        """The same as text: a line a world, then how often each action was taken in all, and what is missing."""
        width = max(len(world.says) for world in self.found)
        shown = [
            f"{row['world']:{width}}  {row['ranks']} ranks  {row['schedules']:4} schedules  {row['steps']:6} steps"
            for row in self.rows()
        ]
        total = {name: sum(row["taken"][name] for row in self.rows()) for name in KINDS}
        shown.append("actions of the model taken: " + ", ".join(f"{name} {count}" for name, count in total.items()))
        if self.not_taken:
            shown.append(f"never taken: {', '.join(self.not_taken)}")
        if failed := self.failure:
            shown.append(f"{failed[0].says}: {failed[1].says}")
        return [*shown, self.lost] if self.lost else shown


def walk(
    rounds: int = 1,
    *,
    worlds: Sequence[World] = WORLDS,
    seed: int = 0,
    timeout: float = 3.0,
    seconds: float | None = None,
    launcher: Launcher | None = None,
    progress: Callable[[World, int], None] | None = None,
) -> Walked:
    """Random schedules of every world on as many real processes as it has ranks, each held against the model.

    rounds    how often each world sees a random schedule after each of its beginnings, and one from the start
    timeout   seconds within which a wait of the implementation is to end
    seconds   for all worlds together; once they are over, what is left are the beginnings alone
    progress  is told the world, and how many schedules it has seen, after each

    It stops at the first difference; one that rests on time alone must show again where waits may take longer. The same
    seed gives the same schedules, but for what is up to gloo: when ranks learn that another is gone. A `launcher` saves
    the time to start one.
    """
    until = None if seconds is None else time.monotonic() + seconds
    found: dict[World, Findings] = {}
    lost = ""
    for ranks in sorted({world.model.scenario.ranks for world in worlds}):
        here = [world for world in worlds if world.model.scenario.ranks == ranks]
        with RankPool(ranks, factory=here[0].factory, timeout=timeout, launcher=launcher) as pool:
            for world in here:
                found[world] = Findings(None if progress is None else partial(progress, world))
                try:
                    pool.regroup(factory=world.factory, lanes=world.model.scenario.lanes, timeout=timeout)
                    walk_on(pool, world, found[world], rounds=rounds, seed=seed, until=until)
                except HarnessLost as error:
                    lost = lost or f"{world.says}: {error}"
                except Mismatch as mismatch:
                    failure = found[world].failure
                    assert failure is not None
                    look = partial(with_patience, pool, failure, Capabilities(), (), timeout)
                    looked = confirmed(failure, look)
                    found[world].failure = looked if isinstance(looked, Failure) else None
                    if isinstance(looked, Failure):
                        return Walked(found)
                    lost = lost or f"{world.says}: it {looked}: {mismatch}"
    return Walked(found, lost)


def walk_on(
    pool: Pool, world: World, findings: Findings, *, rounds: int, seed: int = 0, until: float | None = None
) -> None:
    """Random schedules of one world on ranks that have its subject, counted into `findings`; see `walk`.

    The subject is held against the model, and not the model against its properties, which would take most of the time.
    Raises Mismatch for the first difference as it was found, and HarnessLost where ranks could not be made ready.
    """
    kind = machine_for(world.model, pool, findings, checked=())
    draw = random.Random(f"{seed} {world.says}")
    for begins in (*world.begins, ()) * rounds:
        machine = kind()
        try:
            machine.give(commands=list(begins))
            for _ in range(MOVES_AN_EXAMPLE):
                if until is None or time.monotonic() < until:
                    machine.give(commands=machine.move(draw.getrandbits(64)))
        finally:
            machine.teardown()
