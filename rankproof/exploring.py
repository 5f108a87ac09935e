"""The bounded worlds in which every interleaving of a right protocol is seen: those of `verify`, and one to choose."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import factorial
from typing import Any

from rankproof import parallel
from rankproof.diagram import diagram
from rankproof.diagram_text import draw
from rankproof.model import reduction
from rankproof.model.errors import BadInput
from rankproof.model.explorer import Exploration, explore
from rankproof.model.interleaving import Model
from rankproof.model.properties import CHECKED, PROPERTIES
from rankproof.model.protocol import BLOCKING, PIPELINED, depth
from rankproof.model.scenario import Scenario
from rankproof.model.schedule import Schedule, dump, run
from rankproof.model.verdict import Verdict
from rankproof.output import Output, counted
from rankproof.progress import Progress

LIMIT = 200_000
"""States after which a search gives up; several times what the largest world has."""

MOST_KEPT = 6_000_000
"""States to keep where one world is asked for by its bounds: about a gigabyte. Of N ranks most have N! orders, of
which one is kept."""

STANDARD = Scenario(ranks=3, lanes=("write", "load"), acks=3)
"""The largest world that is seen whole in a minute, with `reduced`."""


@dataclass(frozen=True, slots=True)
class World:
    """A right protocol in a scenario that is small enough to be seen whole.

    checked  the names of the properties that it is held against, as far as they concern it
    """

    name: str
    model: Model
    checked: tuple[str, ...] = tuple(each.name for each in CHECKED)

    @property
    def properties(self) -> tuple[str, ...]:
        """The names of those that concern it."""
        return tuple(name for name in self.checked if PROPERTIES[name].concerns(self.model))


GUARDED = replace(PIPELINED, guards=("round", "mode", "layout", "epoch", "enqueued", "popped"))
"""The pipelined protocol with guard words, as where every rank enqueues the same acks before the same step."""

WORLDS: tuple[World, ...] = (
    World("blocking", Model(BLOCKING, Scenario(acks=2))),
    World("pipelined", Model(PIPELINED, Scenario(acks=2))),
    World("pipelined", Model(PIPELINED, Scenario(acks=1, lanes=("write", "load")))),
    World("pipelined", Model(PIPELINED, Scenario(acks=1, resets=1, evicts=1, flushes=1))),
    World("pipelined", Model(PIPELINED, Scenario(ranks=3, acks=1))),
    World("depth 2", Model(depth(2), Scenario(acks=1))),
    World("guarded", Model(GUARDED, Scenario(acks=2, swaps=1, aligned_enqueue=True))),
    World("guarded", Model(GUARDED, Scenario(acks=1, resets=1, losses=1, aligned_enqueue=True))),
    World("guarded", Model(GUARDED, Scenario(acks=1, crashes=1, aligned_enqueue=True))),
    World("pipelined, played to its end from each state", Model(PIPELINED, Scenario(acks=1)), tuple(PROPERTIES)),
)
"""Together some ten seconds of one core. The proofs have no bounds; what these add is that ranks move alone."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What became of one world."""

    world: World
    exploration: Exploration


def explore_all(progress: Progress, worlds: Sequence[World] = WORLDS) -> Iterator[Seen]:
    """Each world searched, in order, several at a time."""
    progress("explore", counted(len(worlds), "world"))
    for count, seen in enumerate(parallel.each(see, worlds), 1):
        yield seen
        progress("explore", f"{count} of {counted(len(worlds), 'world')}")


def see(world: World) -> Seen:
    """What becomes of one world."""
    return Seen(world, explore(world.model, [PROPERTIES[name] for name in world.checked], limit=LIMIT))


def report(
    output: Output,
    progress: Progress,
    scenario: Scenario,
    *,
    lag: int = 1,
    remaining: bool = False,
    reduced: bool = False,
) -> Verdict:
    """Explores one world of the protocol with that lag, and says what it came to.

    With `remaining` a round counts what is left in a lane also where more than one is in flight, which is wrong: a
    shortest schedule shows it. With `reduced` it tries only the schedules that stand for all others
    (model/reduction.py), held against the properties that these tell of. The JSON document has what `document` has,
    `reduced`, and `schedule` (as in a schedule file, or null). Raises BadInput for `remaining` where no more than one
    round is in flight, since that is how counts are then.
    """
    if remaining and lag < 2:
        raise BadInput(f"--remaining changes nothing at lag {lag}: give it with --lag 2 or more")
    name = "blocking" if lag == 0 else "pipelined" if lag == 1 else f"depth {lag}{', remaining counts' * remaining}"
    protocol = BLOCKING if lag == 0 else replace(PIPELINED, lag=lag) if remaining or lag == 1 else depth(lag)
    checked = [each for each in CHECKED if not reduced or each.name in reduction.KNOWN]
    world = World(name, Model(protocol, scenario), tuple(each.name for each in checked))

    def tell(actions: int, states: int) -> None:
        progress("explore", f"{states:,} states up to {counted(actions, 'action')}")

    limit = MOST_KEPT * factorial(scenario.ranks)
    seen = Seen(world, explore(world.model, checked, limit=limit, progress=tell, reduced=reduced))
    schedules = "the schedules that stand for all others" if reduced else "every interleaving"
    output.say((f"Every state of one world, by {schedules}", "title"))
    show(output, seen)
    output.paragraph(
        f"{counted(seen.exploration.depth, 'action')} deep; held against {', '.join(world.properties)}",
        indent=4,
        style="quiet",
    )
    if seen.exploration.verdict is Verdict.UNDETERMINED:
        output.paragraph(f"given up after {seen.exploration.states:,} states", indent=4, style="undetermined")
    broken = seen.exploration.broken
    schedule = Schedule(world.model, broken.actions, breaks=broken.property) if broken else None
    if schedule:
        output.say()
        draw(output, diagram(schedule, run(schedule)), indent=2)
    written = json.loads(dump(schedule)) if schedule else None
    output.document("explore", seen.exploration.verdict, document(seen) | {"reduced": reduced, "schedule": written})
    return seen.exploration.verdict


def show(output: Output, seen: Seen) -> None:
    """One world in a line: what it is, the verdict, and how many states it has."""
    exploration = seen.exploration
    what = f"{seen.world.name}: {bounds(seen.world.model.scenario)}"
    counts = f" {exploration.states:7,} states"
    output.say(f"  {what:<56} ", (exploration.verdict, exploration.verdict), (counts, "quiet"))
    if exploration.broken:
        output.paragraph(f"✗ {exploration.broken.property}: {exploration.broken.says}", indent=4, hang=2, style="fall")


def bounds(scenario: Scenario) -> str:
    """A scenario's bounds in words; one lane goes without saying, and so does what does not happen."""
    counts = {
        "rank": scenario.ranks,
        "lane": len(scenario.lanes) if len(scenario.lanes) > 1 else 0,
        "ack": scenario.acks,
        "lost enqueue": scenario.losses,
        "swap": scenario.swaps,
        "crash": scenario.crashes,
        "reset": scenario.resets,
        "eviction": scenario.evicts,
        "flush": scenario.flushes,
    }
    return ", ".join(counted(count, word) for word, count in counts.items() if count)


def document(seen: Seen) -> dict[str, Any]:
    """One world as a JSON value."""
    exploration = seen.exploration
    return {
        "protocol": seen.world.name,
        "scenario": bounds(seen.world.model.scenario),
        "properties": seen.world.properties,
        "verdict": exploration.verdict,
        "states": exploration.states,
        "transitions": exploration.transitions,
        "depth": exploration.depth,
        "broken": exploration.broken.property if exploration.broken else None,
    }
