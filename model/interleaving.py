"""The protocol with ranks that move alone: what one action does to a state, or why it cannot be taken there.

This is the oracle. Acks have identities here, the engine's side (enqueue, finish, reset, evict) is part of the state.
What happens on the rank itself is in `local`; this is what that rank sees of the others, and what they see of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rankproof.model import local, rules, stepping, words
from rankproof.model.actions import Action, Between, Change, Enqueue, Evict, Finish, Lose, Stall, Swap, Withdraw
from rankproof.model.copying import replace
from rankproof.model.engine import event_of
from rankproof.model.local import act, candidates, turn
from rankproof.model.reading import Ints
from rankproof.model.sight import Moved, Result, Sight
from rankproof.model.state import Event, RankState, State
from rankproof.model.stepping import enqueued
from rankproof.model.system import Disabled, Model

__all__ = [
    "Disabled",
    "Model",
    "apply",
    "compare",
    "drain",
    "drained_by",
    "error_in",
    "look",
    "members",
    "next_phase",
    "next_turn",
    "outcome",
    "promise",
    "successors",
]


_OF_A_LANE = (Enqueue, Lose, Swap, Finish, Stall, Withdraw, Evict)


def apply(model: Model, state: State, action: Action) -> State | Disabled:
    """The state after `action`, or why it is not enabled; total for every action whatever its numbers."""
    if not 0 <= action.rank < len(state.ranks):
        return Disabled(f"there is no rank {action.rank}; ranks are 0 to {len(state.ranks) - 1}")
    if isinstance(action, _OF_A_LANE) and not 0 <= action.lane < len(model.scenario.lanes):
        return Disabled(f"there is no lane {action.lane}; lanes are 0 to {len(model.scenario.lanes) - 1}")
    moved = act(model, state.ranks[action.rank], look(model, state, action.rank), action)
    if isinstance(moved, Disabled):
        return moved
    after = replace(state, ranks=(*state.ranks[: action.rank], moved.rank, *state.ranks[action.rank + 1 :]))
    return after if moved.event is None else _scripted(after, moved.event)


def drain(model: Model, state: State, rank: int) -> RankState | Disabled:
    """`rank` after it has consumed and popped every round that it has in flight, or why it must wait for one."""
    drained = stepping.drain(model, rank, state.ranks[rank], look(model, state, rank))
    if isinstance(drained, Disabled):
        return drained
    return drained[-1] if drained else state.ranks[rank]


def drained_by(model: Model, state: State, action: Action) -> tuple[RankState, ...]:
    """The rank after each wait and each pop of the rounds that `action`, enabled in `state`, consumes first, in order.

    An eviction or a reset hides these pops in what it does itself, so the checks look at them one by one.
    """
    if not isinstance(action, Between | Change):
        return ()
    moved = act(model, state.ranks[action.rank], look(model, state, action.rank), action)
    return moved.drained if isinstance(moved, Moved) else ()


def promise(model: Model, state: State, action: Action) -> State:
    """`state` once the engine on a rank is committed to `action`, whose wait cannot return yet.

    An action between two steps, or the first of a step, is then the next event for every rank. Taking the action itself
    is the same with and without the promise, so a schedule need not hold it.
    """
    event = event_of(model, state.ranks[action.rank], action)
    return state if event is None or state.ahead_of(action.rank) else _scripted(state, event)


def look(model: Model, state: State, rank: int) -> Sight:
    """What `rank` sees of the others."""
    return Sight(
        script=state.ahead_of(rank),
        mishaps=tuple(sorted([name for peer in state.ranks for name in peer.mishaps])),
        lead=state.ranks[rank].steps - min([peer.steps for peer in state.ranks]),
        outcome=lambda round_number: outcome(model, state, rank, round_number),
        enqueued=lambda: [enqueued(peer) for peer in state.ranks],
        later=lambda: state.ranks[model.scenario.leaders :],
    )


def outcome(model: Model, state: State, rank: int, round_number: int) -> Result | Disabled:
    """What comes out of a round for `rank`, or which ranks it has still to wait for."""
    protocol, (issuers, voters) = model.protocol, members(model, rank)
    reading, all_of_them = Ints(len(voters)), Ints(len(issuers))

    def issued(each: int) -> int:
        return state.ranks[issuers[each]].issued

    if not rules.complete(all_of_them, round_number - 1, issued):
        late = tuple(peer for peer in issuers if state.ranks[peer].issued < round_number)
        if rules.lost(
            all_of_them, protocol, round_number - 1, issued, lambda each: not state.ranks[issuers[each]].error
        ):
            return Result(lost=True)
        names = " and ".join(f"rank {peer}" for peer in late)
        return Disabled(f"rank {rank} waits for a round that {names} must issue first", waits_for=late)
    offers = [state.ranks[peer].offer_of(round_number) for peer in voters]
    backing = [state.ranks[peer].backing_of(round_number) for peer in voters]

    def agreed(lane: int) -> int:
        return int(rules.agree(reading, protocol, lambda voter: offers[voter][lane]))

    compared = compare(model, state, voters, round_number) if protocol.compares == "words" else {}
    return Result(
        agreed=tuple(agreed(lane) for lane in range(len(model.scenario.lanes))),
        backed=tuple(min(column) for column in zip(*backing, strict=True)),
        differs=error_in(compared),
        epoch=compared.get("epoch"),
        request=_asked(compared),
    )


def members(model: Model, rank: int) -> tuple[Sequence[int], Sequence[int]]:
    """The ranks that must issue a round before it comes out for `rank`, and those of whose offers it is the MIN.

    In a grid the second reduce is over what the first gives, and so over all offers; issued together with the first, it
    is over the offers of its own ranks alone, and its result is the one that stays.
    """
    scenario = model.scenario
    voters: Sequence[int] = scenario.voters(rank)
    if scenario.topology == "grid" and model.protocol.joins == "together":
        return sorted({*scenario.row(rank), *voters}), voters
    if scenario.topology == "grid":
        voters = range(scenario.ranks)
    return voters, voters


def compare(model: Model, state: State, ranks: Sequence[int], round_number: int) -> dict[str, tuple[int, int]]:
    """What each guard word comes to between these ranks, all of which have issued the round: its MIN, and that of its
    complements."""
    if not model.protocol.guards:
        return {}
    held = [state.ranks[rank].words_of(round_number) for rank in ranks]
    return {
        name: (min(column), min(map(words.complement, column)))
        for name, column in zip(model.protocol.guards, zip(*held, strict=True), strict=True)
    }


def error_in(compared: Mapping[str, tuple[int, int]]) -> str:
    """The first guard word, of those that have been compared, whose difference is an error; or empty."""
    differing = (name for name, agreed in compared.items() if not words.same(*agreed))
    return words.first_error(differing, _asked(compared))


def _asked(compared: Mapping[str, tuple[int, int]]) -> int:
    """The lowest request word, or nothing asked where there is no such word."""
    return compared["request"][0] if "request" in compared else words.NOTHING_ASKED


def successors(model: Model, state: State) -> Iterator[tuple[Action, State]]:
    """Every enabled action of the scenario, with the state that it leads to."""
    for rank, me in enumerate(state.ranks):
        for action in candidates(model, me, rank):
            after = apply(model, state, action)
            if isinstance(after, State):
                yield action, after


def next_phase(model: Model, state: State, rank: int) -> Action:
    """The action by which `rank` takes its next phase, or the change that it makes before that, enabled or not."""
    return local.next_phase(model, state.ranks[rank], rank)


def next_turn(model: Model, state: State, rank: int) -> Action:
    """What `rank` has to do next to get on, enabled or not: what another rank went through first, or its next phase."""
    return turn(model, state.ranks[rank], state.ahead_of(rank), rank)


def _scripted(state: State, event: Event) -> State:
    return replace(state, script=(*state.script, event), length=state.length + 1)
