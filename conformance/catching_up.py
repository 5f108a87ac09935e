"""Which ranks others have left behind, and the next command that such a rank needs to follow."""

from __future__ import annotations

from rankproof.conformance.commands import Command, Step, first_unfinished
from rankproof.model.actions import Attach, Close, Detach, Enqueue, Evict, Finish, Reset
from rankproof.model.interleaving import Model, next_turn
from rankproof.model.state import CLOSED, State


def is_behind(model: Model, state: State, rank: int) -> bool:
    """Whether there is more for a rank to go through: another has, or it needs one that has ended.

    Steps are in no script where resets are not aligned, and a rank that lacks some is only seen to by their number.
    """
    ranks = state.ranks
    if ranks[rank].error:
        return False
    needs = any(ranks[peer].error not in ("", CLOSED) for peer in model.scenario.voters(rank))
    return needs or bool(state.ahead_of(rank)) or ranks[rank].steps < max(peer.steps for peer in ranks)


def own_due(state: State, rank: int) -> Command:
    """What a rank needs that was told to pop acks which it has not finished, or never got."""
    if unfinished := first_unfinished(state.ranks[rank]):
        return Finish(rank, *unfinished)
    behind = [
        (lane, content.next)
        for lane, content in enumerate(state.ranks[rank].lanes)
        if content.next < max(peer.lanes[lane].next for peer in state.ranks)
    ]
    return Enqueue(rank, *(behind or [(0, 0)])[0])


def next_due(model: Model, state: State, rank: int) -> Command:
    """The next command that takes a free rank through what another has gone through, or else one step further."""
    me, ahead = state.ranks[rank], state.ahead_of(rank)
    wanted = ahead[0].enqueued if ahead else None
    if not ahead and model.scenario.aligned_enqueue:
        wanted = tuple(max(peer.lanes[lane].next for peer in state.ranks) for lane in range(len(me.lanes)))
    for lane, content in enumerate(me.lanes):
        if wanted is not None and content.next < wanted[lane]:
            return Enqueue(rank, lane, content.next)
    due = next_turn(model, state, rank)
    if isinstance(due, Evict):
        evicted = me.lanes[due.lane]
        unfinished = [ack for ack in evicted.waiting if ack not in evicted.finished]
        return Finish(rank, due.lane, unfinished[0]) if unfinished else due
    return due if isinstance(due, Reset | Attach | Detach | Close) else Step(rank)
