"""What an action does on its own rank, given what that rank sees of the others: the only writer of a rank's state.

That a rank's move needs no more than this is what lets the explorer remember it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rankproof.model.actions import (
    OF_PHASE,
    Action,
    Attach,
    Change,
    Close,
    Count,
    Crash,
    Decline,
    Detach,
    Enqueue,
    Evict,
    Finish,
    Flush,
    Issue,
    Lose,
    Notice,
    Pop,
    Quarter,
    Reset,
    Stall,
    Swap,
    Throw,
    Wait,
    Withdraw,
)
from rankproof.model.changing import asked_in, changed, counts_late, is_due
from rankproof.model.copying import replace
from rankproof.model.engine import (
    MISHAPS,
    between_steps,
    event_of,
    go_wrong,
    in_lane,
    out_of_turn,
    over_budget,
    through,
)
from rankproof.model.protocol import Phase
from rankproof.model.sight import Moved, Sight
from rankproof.model.state import Event, RankState
from rankproof.model.stepping import drain, take
from rankproof.model.system import Disabled, Model


def act(model: Model, me: RankState, sight: Sight, action: Action) -> Moved | Disabled:
    """The rank after its action, or why that is not enabled; the lane of the action, if any, must exist."""
    if me.error:
        return Disabled(f"rank {action.rank} does nothing more: {me.error}")
    if disabled := over_budget(model, sight, action):
        return disabled
    moved = _move(model, me, sight, action)
    name = MISHAPS.get(type(action))
    if name is None or isinstance(moved, Disabled):
        return moved
    return Moved(replace(moved.rank, mishaps=tuple(sorted((*moved.rank.mishaps, name)))), moved.event)


def candidates(model: Model, me: RankState, rank: int) -> Iterator[Action]:
    """Every action that may be enabled on `rank`, which is `me`; no other one is."""
    scenario = model.scenario
    for lane, content in enumerate(me.lanes):
        yield Enqueue(rank, lane, content.next)
        if scenario.losses:
            yield Lose(rank, lane, content.next)
        if scenario.swaps:
            yield Swap(rank, lane, content.next)
        for ack in content.waiting:
            yield Finish(rank, lane, ack)
            if scenario.stalls:
                yield Stall(rank, lane, ack)
            if scenario.withdrawals:
                yield Withdraw(rank, lane, ack)
        if scenario.evicts:
            yield Evict(rank, lane)
    yield from (Reset(rank), Flush(rank), Decline(rank), Throw(rank), Crash(rank))
    if scenario.attaches:
        yield from (Attach(rank), Detach(rank))
    if scenario.closes:
        yield Close(rank)
    if scenario.throws or scenario.crashes:
        yield Notice(rank)
    yield next_phase(model, me, rank)


def next_phase(model: Model, me: RankState, rank: int) -> Quarter | Change:
    """The action by which `rank`, which is `me`, takes its next phase, or the change that it makes before that."""
    protocol = model.protocol_of(rank)
    return Change(rank) if is_due(protocol, me) else OF_PHASE[protocol.phases[me.phase]](rank)


def turn(model: Model, me: RankState, script: Sequence[Event], rank: int) -> Action:
    """What `rank`, which is `me`, has to do next to get on, enabled or not.

    That is the first event of `script` that lies between two steps, once it stands there; else its next phase.
    """
    if me.phase == 0 and script:
        match script[0].kind:
            case "reset":
                return Reset(rank)
            case "attach":
                return Attach(rank)
            case "detach":
                return Detach(rank)
            case "close":
                return Close(rank)
            case "evict":
                return Evict(rank, script[0].lane or 0)
    return next_phase(model, me, rank)


def _move(model: Model, me: RankState, sight: Sight, action: Action) -> Moved | Disabled:
    match action:
        case Enqueue() | Lose() | Swap() | Finish() | Stall() | Withdraw():
            return in_lane(model, me, sight, action)
        case Reset() | Evict() | Flush() | Attach() | Detach() | Decline() | Close():
            return between_steps(model, me, sight, action)
        case Throw() | Crash() | Notice():
            return go_wrong(model, me, sight, action)
        case Wait() | Pop() | Count() | Issue() | Change():
            return _step(model, me, sight, action)


def _step(model: Model, me: RankState, sight: Sight, action: Quarter | Change) -> Moved | Disabled:
    phases = model.protocol_of(action.rank).phases
    phase = phases[me.phase]
    if (comes := next_phase(model, me, action.rank)) != action:
        return Disabled(f"rank {action.rank} comes to {type(comes).__name__.lower()} next")
    event = event_of(model, me, action)
    if disabled := out_of_turn(model, sight, action.rank, event):
        return disabled
    if isinstance(action, Change):
        return _change(model, me, sight, action)
    after = take(model, action.rank, me, sight, phase)
    if isinstance(after, RankState) and phase is Phase.ISSUE and counts_late(model):
        after = asked_in(model, action.rank, after, sight.later)
    if isinstance(after, Disabled):
        return after
    return through(replace(after, phase=(me.phase + 1) % len(phases)), sight, event)


def _change(model: Model, me: RankState, sight: Sight, action: Change) -> Moved | Disabled:
    drained = drain(model, action.rank, me, sight)
    if isinstance(drained, Disabled):
        return drained
    me = drained[-1] if drained else me
    return Moved(me if me.error else changed(model.scenario, me), drained=drained)
