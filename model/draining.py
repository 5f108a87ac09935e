"""Whether every lane runs empty from a state, when all acks finish and nothing more goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

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
    for _ in range(steps * len(model.protocol.phases)):
        settled = _all_at_once(model, settled, lambda state, rank: (next_phase(model, state, rank),)) or settled
    for number, rank_state in enumerate(settled.ranks):
        for lane, content in enumerate(rank_state.lanes):
            if content.waiting and not rank_state.error:
                head = content.waiting[0]
                why = _why(settled, lane, head)
                return f"{steps} steps after all is finished ack {head} of lane {lane} is left on rank {number}{why}"
    return None


def _settled(model: Model, state: State) -> State | None:
    steps = max(rank.steps + (rank.phase > 0) for rank in state.ranks)
    while moved := _all_at_once(model, state, lambda state, rank: _behind(model, state, rank, steps)):
        state = moved
    whole = all(rank.phase == 0 and rank.steps >= steps and not rank.error for rank in state.ranks)
    return state if whole and not any(state.ahead_of(rank) for rank in range(len(state.ranks))) else None


def _all_at_once(model: Model, state: State, todo: Callable[[State, int], Iterable[Action]]) -> State | None:
    """The state after each rank has taken the first thing of its `todo` that is enabled; None where none could.

    All of them move from the same state, for where a rank's move depends on who moved before it (with `bounds="none"`,
    a wait that is not complete passes) the outcome would depend on the numbers of the ranks, and a search looks at one
    state for all in which ranks have only traded places. No order is made up: those that look at the others are as good
    as first. Where several add to the engine's script they add the same, for there is one script.
    """
    ranks, longest = list(state.ranks), state
    for rank in range(len(ranks)):
        afters = (apply(model, state, action) for action in todo(state, rank))
        after = next((after for after in afters if isinstance(after, State)), state)
        ranks[rank] = after.ranks[rank]
        longest = max(longest, after, key=lambda each: each.length)
    moved = replace(longest, ranks=tuple(ranks))
    return moved if moved != state else None


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
