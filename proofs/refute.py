"""A fault refuted: its shortest schedule by the explorer, and by the solver where it can read the fault, replayed.

The two finders share the rules, the order of a step and the bounds of the scenario; state, search and checks are apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rankproof.model.actions import (
    Action,
    Attach,
    Crash,
    Decline,
    Enqueue,
    Evict,
    Finish,
    Lose,
    Notice,
    Reset,
    Swap,
    Throw,
    Withdraw,
)
from rankproof.model.explorer import Exploration, explore
from rankproof.model.faults import Fault
from rankproof.model.interleaving import Disabled, Model, apply, next_phase
from rankproof.model.properties import property_named
from rankproof.model.schedule import Schedule, run
from rankproof.model.state import State
from rankproof.model.verdict import Verdict
from rankproof.proofs.bounded import Found, search, supports
from rankproof.proofs.broken import broken_by


@dataclass(frozen=True, slots=True)
class Refutation:
    """What is known of one fault and the property that it breaks first.

    verdict      violated where the property was seen to fall, on ints, and both finders agree on the shortest length;
                 holds where it does not fall within the scenario; undetermined where a finder gave up, where the two
                 disagree, or where a solver's schedule could not be replayed
    schedule     a shortest schedule that ends in the violation
    explored     what the explorer saw
    solved       what the solver's bounded search found, or None where it has no reading of the scenario
    note         why there is no agreement of two finders, or why the verdict is undetermined; else empty
    obligations  the obligations that the fault breaks, for every number of ranks
    """

    fault: Fault
    property: str
    verdict: Verdict
    schedule: Schedule | None
    explored: Exploration
    solved: Found | None
    note: str
    obligations: tuple[str, ...]


NOT_ASKED = "the matrix asks the solver only for short schedules; rankproof refute asks it for any"
"""Why there is one finder where the solver could read the property."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What both finders make of one property in one model: the fields are as those of a `Refutation`."""

    verdict: Verdict
    schedule: Schedule | None
    solved: Found | None
    note: str


def refute(fault: Fault, *, progress: Callable[[int, int], None] | None = None) -> Refutation:
    """The fault held against the first property that it is to break; `progress` as in `explore`."""
    property_name = fault.breaks[0]
    explored = explore(fault.model, [property_named(property_name)], progress=progress)
    found = judge(fault.model, property_name, explored)
    return Refutation(
        fault, property_name, found.verdict, found.schedule, explored, found.solved, found.note, broken_by(fault)
    )


def judge(model: Model, property_name: str, explored: Exploration, *, asks_solver: bool = True) -> Judgement:
    """What the explorer has found, held against the solver's search up to the same length, and replayed on ints."""
    unread = supports(model, property_name) or ("" if asks_solver else NOT_ASKED)
    solved = None if unread else search(model, property_name, explored.depth)
    schedule = None
    if explored.broken is not None:
        schedule = Schedule(model, explored.broken.actions, "explorer", property_name)
    verdict, doubt = _agreed(model, property_name, explored, solved, schedule)
    return Judgement(verdict, schedule, solved, doubt or unread)


def _agreed(
    model: Model, property_name: str, explored: Exploration, solved: Found | None, schedule: Schedule | None
) -> tuple[Verdict, str]:
    if solved is not None and solved.verdict is not explored.verdict:
        return Verdict.UNDETERMINED, f"the explorer says {explored.verdict}, the solver {solved.verdict}"
    if explored.verdict is Verdict.UNDETERMINED:
        return explored.verdict, f"the explorer gave up after {explored.states:,} states"
    if schedule is None:
        return explored.verdict, ""
    if not _breaks(schedule, property_name):
        return Verdict.UNDETERMINED, "the explorer's schedule does not break the property when it is replayed"
    if solved is None:
        return Verdict.VIOLATED, ""
    if solved.length != explored.depth:
        return (
            Verdict.UNDETERMINED,
            f"the shortest has {explored.depth} actions to the explorer, {solved.length} to the solver",
        )
    actions = concrete(model, solved)
    if isinstance(actions, Disabled):
        return Verdict.UNDETERMINED, f"the solver's schedule cannot be replayed: {actions.reason}"
    if not _breaks(Schedule(model, actions, "solver", property_name), property_name):
        return Verdict.UNDETERMINED, "the solver's schedule does not break the property when it is replayed"
    return Verdict.VIOLATED, ""


def concrete(model: Model, found: Found) -> tuple[Action, ...] | Disabled:
    """The solver's schedule in the model's actions, or why the model cannot take one of them.

    The solver speaks of counts: the ack that it enqueues is the next one, and the one that it finishes the first that
    is not.
    """
    state = model.start
    actions: list[Action] = []
    for kind, rank in found.choices:
        action = _action(model, state, kind, rank)
        after = apply(model, state, action)
        if isinstance(after, Disabled):
            return after
        actions.append(action)
        state = after
    return tuple(actions)


def _action(model: Model, state: State, kind: str, rank: int) -> Action:
    lane = state.ranks[rank].lanes[0]
    name, _, place = kind.partition(" ")
    match name:
        case "enqueue":
            return Enqueue(rank, 0, lane.next)
        case "lose":
            return Lose(rank, 0, lane.next)
        case "swap":
            return Swap(rank, 0, lane.next)
        case "withdraw":
            return Withdraw(rank, 0, lane.waiting[int(place) - len(lane.popped)])
        case "finish":
            return Finish(rank, 0, next(ack for ack in lane.waiting if ack not in lane.finished))
        case "evict":
            return Evict(rank, 0)
        case "reset" | "attach" | "decline" | "throw" | "crash" | "notice":
            return _OF_RANK[name](rank)
        case _:
            return next_phase(model, state, rank)


_OF_RANK: dict[str, Callable[[int], Action]] = {
    "reset": Reset,
    "attach": Attach,
    "decline": Decline,
    "throw": Throw,
    "crash": Crash,
    "notice": Notice,
}
"""What the engine does to a whole rank, by the name that the solver has for it."""


def _breaks(schedule: Schedule, property_name: str) -> bool:
    """Whether the last action of a schedule, and none before it, breaks the property."""
    replayed = run(schedule)
    fell = [each.index for each in replayed.violations if each.property == property_name]
    return replayed.stopped is None and fell == [len(schedule.actions) - 1]
