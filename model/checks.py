"""The check of each property on one action: what the action did to break it, in one sentence, or None."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rankproof.model import rules
from rankproof.model.actions import Action, Attach, Change, Close, Count, Detach, Evict, Flush, Pop, Reset
from rankproof.model.draining import left_over
from rankproof.model.interleaving import apply, compare, drained_by, error_in, next_phase, next_turn
from rankproof.model.state import LaneState, RankState, State, Vector
from rankproof.model.system import Disabled, Model
from rankproof.model.words import DIGESTS


@dataclass(frozen=True, slots=True)
class Transition:
    """One action that was taken.

    drained  the rank after each wait and each pop of the rounds that the action consumed first; None where that is not
             known, so that the model is asked for it again
    """

    model: Model
    before: State
    action: Action
    after: State
    drained: tuple[RankState, ...] | None = None


def _in_each_part(check: Callable[[Transition], str | None], step: Transition) -> str | None:
    """What a check of pops says first: of each pop of the drain that the action begins with, then of the action itself.

    A pop in a drain is like any other, but the action may hide it: a reset forgets it, an eviction adds its own.
    """
    rank, before = step.action.rank, step.before
    drained = drained_by(step.model, before, step.action) if step.drained is None else step.drained
    for waited, popped in zip(drained[::2], drained[1::2], strict=False):  # a wait that ended in an error has no pop
        part = Transition(step.model, _with(before, rank, waited), Pop(rank), _with(before, rank, popped), ())
        if says := check(part):
            return says
    return check(replace(step, before=_with(before, rank, drained[-1]), drained=()) if drained else step)


def _with(state: State, rank: int, me: RankState) -> State:
    return replace(state, ranks=(*state.ranks[:rank], me, *state.ranks[rank + 1 :]))


def finished_before_pop(step: Transition) -> str | None:
    return _in_each_part(_pops_unfinished, step)


def _pops_unfinished(step: Transition) -> str | None:
    rank = step.action.rank
    before, after = step.before.ranks[rank], step.after.ranks[rank]
    if after.missing > before.missing:
        count = after.missing - before.missing
        return f"rank {rank} is to pop {count} more than its lanes hold"
    if after.epoch != before.epoch:
        return None
    everywhere = isinstance(step.action, Pop) and step.model.scenario.topology != "pipeline"
    for lane, (old, new) in enumerate(zip(before.lanes, after.lanes, strict=True)):
        for ack in new.popped[len(old.popped) :]:
            for peer, other in enumerate(step.before.ranks):
                knows = peer == rank or (everywhere and not _is_past(step, lane, other, before))
                if knows and not _is_finished(ack, other.lanes[lane]):
                    return f"rank {rank} pops ack {ack} of lane {lane}, which is not finished on rank {peer}"
    return None


def _is_past(step: Transition, lane: int, one: RankState, other: RankState) -> bool:
    """Whether a rank no longer knows of the acks in another's lane: it is in a later epoch, or has that lane anew."""
    anew = step.model.scenario.is_storage(lane) and one.layout > other.layout
    return one.epoch > other.epoch or anew


def _is_finished(ack: int, lane: LaneState) -> bool:
    return ack in lane.finished or ack in lane.popped


def same_pops(step: Transition) -> str | None:
    return _in_each_part(_pops_another, step)


def _pops_another(step: Transition) -> str | None:
    rank = step.action.rank
    me = step.after.ranks[rank]
    for peer, other in enumerate(step.after.ranks):
        for lane, (mine, theirs) in enumerate(zip(me.lanes, other.lanes, strict=True)):
            if _is_past(step, lane, me, other) or _is_past(step, lane, other, me):
                continue
            for place, (ack, ack_there) in enumerate(zip(mine.popped, theirs.popped, strict=False)):
                if ack != ack_there:
                    return (
                        f"pop {place + 1} of lane {lane} is ack {ack} on rank {rank} and ack {ack_there} on rank {peer}"
                    )
    return None


def will_pop_another(step: Transition) -> bool:
    """Whether a pop takes another ack than a peer has in that place of its lane, popped or still to be.

    Then `same_pops` falls, if not yet, where that peer pops what was agreed.
    """
    rank = step.action.rank
    before, me = step.before.ranks[rank], step.after.ranks[rank]
    if me.epoch != before.epoch:
        return False
    for other in step.after.ranks:
        for lane, (old, new) in enumerate(zip(before.lanes, me.lanes, strict=True)):
            if not (_is_past(step, lane, me, other) or _is_past(step, lane, other, me)):
                first, there = len(old.popped), (*other.lanes[lane].popped, *other.lanes[lane].waiting)
                if any(mine != theirs for mine, theirs in zip(new.popped[first:], there[first:], strict=False)):
                    return True
    return False


def _pops_what_is_owed(step: Transition) -> tuple[int, int, int] | None:
    """A lane with what has been popped from it in this epoch, and what was to be popped by now; None where it is so."""
    owed = step.before.ranks[step.action.rank].owed
    if not isinstance(step.action, Pop) or not owed:
        return None
    lanes = step.after.ranks[step.action.rank].lanes
    wrong = (
        (lane, len(content.popped), due)
        for lane, (content, due) in enumerate(zip(lanes, owed, strict=True))
        if len(content.popped) != due
    )
    return next(wrong, None)


def exact_delay(step: Transition) -> str | None:
    return _in_each_part(_is_not_exact, step)


def _is_not_exact(step: Transition) -> str | None:
    wrong = _pops_what_is_owed(step)
    if wrong is None:
        return None
    return f"rank {step.action.rank} has popped {wrong[1]} acks of lane {wrong[0]} where blocking had popped {wrong[2]}"


def bounded_lag(step: Transition) -> str | None:
    return _in_each_part(_lags, step)


def _lags(step: Transition) -> str | None:
    wrong = _pops_what_is_owed(step)
    if wrong is None or wrong[1] > wrong[2]:
        return None
    return (
        f"rank {step.action.rank} has popped {wrong[1]} acks of lane {wrong[0]}, of which {wrong[2]} were finished "
        "on every rank when the round was counted"
    )


def matched_collectives(step: Transition) -> str | None:
    rank = step.action.rank
    me = step.after.ranks[rank]
    for peer, other in enumerate(step.after.ranks):
        for number in range(min(me.steps, other.steps), 0, -1):
            mine, theirs = me.steps - number, other.steps - number
            if mine >= len(me.calls) or theirs >= len(other.calls):
                break
            if me.calls[-1 - mine] != other.calls[-1 - theirs]:
                ours, others = _calls(me.calls[-1 - mine]), _calls(other.calls[-1 - theirs])
                return f"in the same step rank {rank} issues {ours} and rank {peer} {others}"
    return None


def _calls(lengths: Vector) -> str:
    if not lengths:
        return "no round"
    return f"{len(lengths)} round{'s' if len(lengths) > 1 else ''} of length {lengths[0]}"


def bounded_skew(step: Transition) -> str | None:
    rank = step.action.rank
    issued = step.after.ranks[rank].issued
    scenario = step.model.scenario
    for peer, other in enumerate(step.after.ranks):
        waits_for = scenario.topology != "pipeline" or peer in scenario.voters(rank)  # for none of its followers
        if waits_for and issued - other.issued > step.model.protocol.window:
            return f"rank {rank} is {issued - other.issued} rounds ahead of rank {peer}"
    return None


def no_deadlock(step: Transition) -> str | None:
    why = []
    for rank in range(len(step.after.ranks)):
        outcome = apply(step.model, step.after, next_turn(step.model, step.after, rank))
        if not (isinstance(outcome, Disabled) and (outcome.waits_for or outcome.for_good)):
            return None
        why.append(outcome.reason)
    return f"no rank can move: {'; '.join(why)}"


def one_owner(step: Transition) -> str | None:
    rank = step.action.rank
    before, after = step.before.ranks[rank], step.after.ranks[rank]
    protocol = step.model.protocol
    if after.issued - after.consumed > protocol.window:
        return f"rank {rank} has {after.issued - after.consumed} rounds in flight"
    if isinstance(step.action, Evict) and after.issued > after.consumed:
        return f"rank {rank} evicts acks that its round in flight counts"
    if isinstance(step.action, Count) and protocol.buffers == "kept" and before.issued > before.consumed:
        return f"rank {rank} writes its next counts into the tensor of round {before.consumed + 1}, which is in flight"
    unread = isinstance(step.action, Pop) and protocol.reads == "before-wait"
    if unread and rules.due(protocol, before.issued, before.consumed):
        return f"rank {rank} reads the result of round {before.consumed + 1} before it has waited for it"
    return None


def clean_lifecycle(step: Transition) -> str | None:
    after = step.after.ranks[step.action.rank]
    drains = isinstance(step.action, Reset | Flush | Attach | Detach | Change | Close)
    asks = isinstance(step.action, Attach | Detach) and step.model.protocol.attaches == "agreed"
    if drains and not asks and after.issued > after.consumed and not after.error:
        kind = type(step.action).__name__.lower()
        return f"rank {step.action.rank} has round {after.consumed + 1} in flight after its {kind}"
    return None


def named_divergence(step: Transition) -> str | None:
    """Where words differ, every rank that consumes the round raises; and what it raises is true."""
    rank, words = step.action.rank, step.model.protocol.guards
    before, after = step.before.ranks[rank], step.after.ranks[rank]
    if after.error in words:
        for peer, other in enumerate(step.after.ranks):
            passed = other.consumed > after.consumed or (other.consumed == after.consumed and not other.error)
            if passed or (other.error in words and (other.error, other.consumed) != (after.error, after.consumed)):
                return f"rank {rank} raises {after.error} in round {after.consumed}, and rank {peer} does not"
        if after.error in DIGESTS and not any(each.mishaps for each in step.after.ranks):
            return f"rank {rank} raises {after.error} in round {after.consumed}, and all ranks have the same acks"
        return None
    for number in range(before.consumed + 1, after.consumed + 1):
        ranks = [peer for peer, other in enumerate(step.before.ranks) if other.issued >= number]
        if word := error_in(compare(step.model, step.before, ranks, number)):
            return f"ranks do not share the word {word} of round {number}, and rank {rank} carries on"
    return None


def contained_failure(step: Transition) -> str | None:
    if not any(rank.error for rank in step.after.ranks):
        return None
    for rank in range(len(step.after.ranks)):
        outcome = apply(step.model, step.after, next_phase(step.model, step.after, rank))
        late = outcome.waits_for if isinstance(outcome, Disabled) else ()
        for peer in late:
            if error := step.after.ranks[peer].error:
                return f"rank {rank} waits for ever for rank {peer}, which is gone ({error})"
    return None


def drains_to_empty(step: Transition) -> str | None:
    return left_over(step.model, step.after)
