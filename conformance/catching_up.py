"""Which ranks others have left behind, and what such a rank needs of its own before it can follow."""

from __future__ import annotations

from rankproof.conformance.commands import Command, first_unfinished
from rankproof.model.actions import Enqueue, Finish
from rankproof.model.state import CLOSED, State
from rankproof.model.system import Model


def is_behind(model: Model, state: State, rank: int) -> bool:
    """Whether there is more for a rank to go through: another has, or it needs one that has ended."""
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
