"""The properties by name, and for those that one action can break, the check of that action."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rankproof.model import rules
from rankproof.model.actions import Action, Evict, Flush, Pop, Reset
from rankproof.model.errors import unknown_name
from rankproof.model.interleaving import Disabled, Model, apply, next_phase
from rankproof.model.state import LaneState, RankState, State


@dataclass(frozen=True, slots=True)
class Transition:
    """One action that was taken."""

    model: Model
    before: State
    action: Action
    after: State


@dataclass(frozen=True, slots=True)
class Property:
    """What must hold.

    says    the property in one sentence
    broken  what an action did to break it, in one sentence, or None where it did not; None in place of the function
            for a property that is about whole runs and is proved in another way
    """

    name: str
    says: str
    broken: Callable[[Transition], str | None] | None = None


def property_named(name: str) -> Property:
    """The property of that name. Raises BadInput for an unknown one."""
    if name not in PROPERTIES:
        raise unknown_name("property", name, PROPERTIES)
    return PROPERTIES[name]


def _finished_before_pop(step: Transition) -> str | None:
    rank = step.action.rank
    before, after = step.before.ranks[rank], step.after.ranks[rank]
    if after.missing > before.missing:
        count = after.missing - before.missing
        return f"rank {rank} is to pop {count} more than its lanes hold"
    if after.epoch != before.epoch:
        return None
    everywhere = isinstance(step.action, Pop | Flush)
    for lane, (old, new) in enumerate(zip(before.lanes, after.lanes, strict=True)):
        for ack in new.popped[len(old.popped) :]:
            for peer, other in enumerate(step.before.ranks):
                if (peer == rank or everywhere) and not _is_finished(ack, other, lane, before.epoch):
                    return f"rank {rank} pops ack {ack} of lane {lane}, which is not finished on rank {peer}"
    return None


def _is_finished(ack: int, rank: RankState, lane: int, epoch: int) -> bool:
    """A rank in a later epoch no longer knows of the ack; what it once counted was finished."""
    content: LaneState = rank.lanes[lane]
    return rank.epoch > epoch or ack in content.finished or ack in content.popped


def _same_pops(step: Transition) -> str | None:
    rank = step.action.rank
    me = step.after.ranks[rank]
    for peer, other in enumerate(step.after.ranks):
        if other.epoch != me.epoch:
            continue
        for lane, (mine, theirs) in enumerate(zip(me.lanes, other.lanes, strict=True)):
            for place, (ack, ack_there) in enumerate(zip(mine.popped, theirs.popped, strict=False)):
                if ack != ack_there:
                    return (
                        f"pop {place + 1} of lane {lane} is ack {ack} on rank {rank} and ack {ack_there} on rank {peer}"
                    )
    return None


def _matched_collectives(step: Transition) -> str | None:
    rank = step.action.rank
    me = step.after.ranks[rank]
    for peer, other in enumerate(step.after.ranks):
        for number in range(min(me.steps, other.steps), 0, -1):
            mine, theirs = me.steps - number, other.steps - number
            if mine >= len(me.calls) or theirs >= len(other.calls):
                break
            if me.calls[-1 - mine] != other.calls[-1 - theirs]:
                caller, idle = (rank, peer) if me.calls[-1 - mine] else (peer, rank)
                return f"in the same step rank {caller} issues a round and rank {idle} does not"
    return None


def _bounded_skew(step: Transition) -> str | None:
    rank = step.action.rank
    issued = step.after.ranks[rank].issued
    for peer, other in enumerate(step.after.ranks):
        if issued - other.issued > step.model.protocol.window:
            return f"rank {rank} is {issued - other.issued} rounds ahead of rank {peer}"
    return None


def _no_deadlock(step: Transition) -> str | None:
    for rank in range(len(step.after.ranks)):
        outcome = apply(step.model, step.after, next_phase(step.model, step.after, rank))
        if not (isinstance(outcome, Disabled) and outcome.waits_for):
            return None
    return "every rank waits for a round that another has not issued"


def _one_owner(step: Transition) -> str | None:
    rank = step.action.rank
    before, after = step.before.ranks[rank], step.after.ranks[rank]
    protocol = step.model.protocol
    if after.issued - after.consumed > protocol.window:
        return f"rank {rank} has {after.issued - after.consumed} rounds in flight"
    if isinstance(step.action, Evict) and after.issued > after.consumed:
        return f"rank {rank} evicts acks that its round in flight counts"
    unread = isinstance(step.action, Pop) and protocol.reads == "before-wait"
    if unread and rules.due(protocol, before.issued, before.consumed):
        return f"rank {rank} reads the result of round {before.consumed + 1} before it has waited for it"
    return None


def _clean_lifecycle(step: Transition) -> str | None:
    after = step.after.ranks[step.action.rank]
    if isinstance(step.action, Reset | Flush) and after.issued > after.consumed:
        kind = type(step.action).__name__.lower()
        return f"rank {step.action.rank} has round {after.consumed + 1} in flight after its {kind}"
    return None


PROPERTIES: dict[str, Property] = {
    each.name: each
    for each in (
        Property(
            "finished-before-pop",
            "an ack popped on a rank is finished on that rank and, unless an eviction popped it, on every rank",
            _finished_before_pop,
        ),
        Property("same-pops", "the n-th ack popped from a lane is the same ack on every rank", _same_pops),
        Property(
            "exact-delay",
            "with the same completions, pipelined has popped after step t+1 exactly what blocking has after step t",
        ),
        Property(
            "bounded-lag",
            "what was finished on all ranks when round k was counted is popped when round k is consumed",
        ),
        Property(
            "matched-collectives", "every rank issues the same collectives in the same steps", _matched_collectives
        ),
        Property("bounded-skew", "no rank has issued more rounds than another by more than the window", _bounded_skew),
        Property("no-deadlock", "if every rank keeps stepping, some rank can always move", _no_deadlock),
        Property(
            "one-owner",
            "at most a window of rounds is in flight, and what they hold is not touched before the wait",
            _one_owner,
        ),
        Property("clean-lifecycle", "after a reset or a flush nothing is in flight", _clean_lifecycle),
    )
}
"""Every property that the model states, by name."""

CHECKED: tuple[Property, ...] = tuple(each for each in PROPERTIES.values() if each.broken is not None)
"""The properties that are checked on every action."""
