"""Whether every lane runs empty from a state, when all acks finish and nothing more goes wrong."""

from __future__ import annotations

from collections.abc import Iterator

from rankproof.model.actions import Action, Between, Enqueue, Finish
from rankproof.model.interleaving import apply, next_phase, next_turn
from rankproof.model.state import State
from rankproof.model.system import Model


def left_over(model: Model, state: State) -> str | None:
    """What is still in a lane lag + 1 steps after all is finished, in words; None where all lanes are empty by then.

    First every rank is given what another was given, goes through what another went through, finishes what can finish,
    and comes to the end of its step. A state in which that is not possible, or in which a rank has ended with an error,
    is judged by other properties: None.
    """
    settled = _settled(model, state)
    if settled is None:
        return None
    steps = model.protocol.lag + 1 if model.protocol.idles == "stepping" else 0
    for _ in range(steps):
        for _phase in model.protocol.phases:
            for rank in range(len(settled.ranks)):
                after = apply(model, settled, next_phase(model, settled, rank))
                settled = after if isinstance(after, State) else settled
    for number, rank_state in enumerate(settled.ranks):
        for lane, content in enumerate(rank_state.lanes):
            if content.waiting and not rank_state.error:
                head = content.waiting[0]
                why = _why(settled, lane, head)
                return f"{steps} steps after all is finished ack {head} of lane {lane} is left on rank {number}{why}"
    return None


def _settled(model: Model, state: State) -> State | None:
    steps = max(rank.steps + (rank.phase > 0) for rank in state.ranks)
    moved = True
    while moved:
        moved = False
        for rank in range(len(state.ranks)):
            for action in _behind(model, state, rank, steps):
                after = apply(model, state, action)
                if isinstance(after, State):
                    state, moved = after, True
                    break
    whole = all(rank.phase == 0 and rank.steps >= steps and not rank.error for rank in state.ranks)
    return state if whole and not any(state.ahead_of(rank) for rank in range(len(state.ranks))) else None


def _behind(model: Model, state: State, rank: int, steps: int) -> Iterator[Action]:
    """What `rank` has still to do, in the order of preference."""
    me = state.ranks[rank]
    for lane, content in enumerate(me.lanes):
        if content.next < max(peer.lanes[lane].next for peer in state.ranks):
            yield Enqueue(rank, lane, content.next)
        for ack in content.waiting:
            if ack not in content.finished:
                yield Finish(rank, lane, ack)
    due = next_turn(model, state, rank)
    if isinstance(due, Between) or me.phase > 0 or me.steps < steps:
        yield due


def _why(state: State, lane: int, ack: int) -> str:
    for rank, me in enumerate(state.ranks):
        content = me.lanes[lane]
        if ack in content.stalled:
            return f": its transfer has failed on rank {rank}"
        if ack not in content.waiting and ack not in content.popped:
            return f": rank {rank} never got it"
    return ""
