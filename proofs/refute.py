"""A fault refuted: its shortest schedule by the explorer, and by the solver where it can read the fault, replayed.

The two finders share the rules, the order of a step and the bounds of the scenario; state, search and checks are apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rankproof.model.actions import Action, Enqueue, Evict, Finish, Lose, Reset
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


def refute(fault: Fault, *, progress: Callable[[int, int], None] | None = None) -> Refutation:
    """The fault held against the first property that it is to break; `progress` as in `explore`."""
    property_name = fault.breaks[0]
    explored = explore(fault.model, [property_named(property_name)], progress=progress)
    note = supports(fault.model, property_name) or ""
    solved = None if note else search(fault.model, property_name, explored.depth)
    schedule = None
    if explored.broken is not None:
        schedule = Schedule(fault.model, explored.broken.actions, "explorer", property_name)
    verdict, doubt = _judge(fault.model, property_name, explored, solved, schedule)
    return Refutation(fault, property_name, verdict, schedule, explored, solved, doubt or note, broken_by(fault))


def _judge(
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
    match kind:
        case "enqueue":
            return Enqueue(rank, 0, lane.next)
        case "lose":
            return Lose(rank, 0, lane.next)
        case "finish":
            return Finish(rank, 0, next(ack for ack in lane.waiting if ack not in lane.finished))
        case "reset":
            return Reset(rank)
        case "evict":
            return Evict(rank, 0)
        case _:
            return next_phase(model, state, rank)


def _breaks(schedule: Schedule, property_name: str) -> bool:
    """Whether the last action of a schedule, and none before it, breaks the property."""
    replayed = run(schedule)
    fell = [each.index for each in replayed.violations if each.property == property_name]
    return replayed.stopped is None and fell == [len(schedule.actions) - 1]
