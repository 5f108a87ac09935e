"""What the engine does on one rank: to its lanes at any moment, and to the rank between two of its steps."""

from __future__ import annotations

from rankproof.model.actions import (
    Action,
    Attach,
    Between,
    Change,
    Close,
    Count,
    Crash,
    Decline,
    Detach,
    Engine,
    Enqueue,
    Evict,
    Flush,
    Issue,
    Lose,
    Notice,
    Pop,
    Reset,
    Stall,
    Swap,
    Throw,
    Wait,
    Withdraw,
)
from rankproof.model.changing import changed, is_attached
from rankproof.model.copying import replace
from rankproof.model.protocol import Phase
from rankproof.model.sight import Moved, Sight
from rankproof.model.state import CLOSED, DEAD, LOST, THREW, Event, LaneState, RankState
from rankproof.model.stepping import drain, enqueued
from rankproof.model.system import Disabled, Model

MISHAPS: dict[type[Action], str] = {
    Lose: "losses",
    Swap: "swaps",
    Withdraw: "withdrawals",
    Stall: "stalls",
    Decline: "declines",
    Throw: "throws",
    Crash: "crashes",
}
"""For each action by which something goes wrong on one rank alone: the scenario's bound on it."""


def over_budget(model: Model, sight: Sight, action: Action) -> Disabled | None:
    """Why something cannot go wrong once more, or None where it can, or where `action` is no mishap."""
    name = MISHAPS.get(type(action))
    if name is None:
        return None
    most = model.scenario.mishaps[name]
    return Disabled(f"the scenario has {most} {name} on all ranks") if sight.mishaps.count(name) >= most else None


def in_lane(model: Model, me: RankState, sight: Sight, action: Engine) -> Moved | Disabled:
    """The rank after the engine has done something to one of its lanes."""
    lane = me.lanes[action.lane]
    if isinstance(action, Enqueue | Lose | Swap):
        return _enqueue(model, me, sight, action)
    if action.ack not in lane.waiting:
        return Disabled(f"ack {action.ack} does not wait in lane {action.lane} on rank {action.rank}")
    if isinstance(action, Withdraw):
        return _with_lane(me, action, lane.without((action.ack,)))
    if action.ack in lane.finished:
        return Disabled(f"ack {action.ack} is finished already on rank {action.rank}")
    if action.ack in lane.stalled:
        return Disabled(f"the transfer of ack {action.ack} has failed on rank {action.rank}")
    if isinstance(action, Stall):
        return _with_lane(me, action, replace(lane, stalled=lane.stalled | {action.ack}))
    return _with_lane(me, action, replace(lane, finished=lane.finished | {action.ack}))


def _enqueue(model: Model, me: RankState, sight: Sight, action: Enqueue | Lose | Swap) -> Moved | Disabled:
    lane = me.lanes[action.lane]
    if action.ack != lane.next:
        return Disabled(f"the next ack of lane {action.lane} on rank {action.rank} is {lane.next}, not {action.ack}")
    if disabled := _not_there(model, me, action):
        return disabled
    if model.scenario.aligned_enqueue and me.phase != 0:
        return Disabled(f"the scenario enqueues between steps, and rank {action.rank} is within one")
    given = (action.ack + 1, action.ack) if isinstance(action, Swap) else (action.ack,)
    if lane.next + len(given) > model.scenario.acks:
        return Disabled(f"the scenario gives a lane {model.scenario.acks} acks")
    for event in sight.script:
        if event.enqueued is not None and event.enqueued[action.lane] < lane.next + len(given):
            return Disabled(f"another rank went through {event.kind} before it enqueued ack {action.ack}")
    held = lane.waiting if isinstance(action, Lose) else (*lane.waiting, *given)
    return _with_lane(me, action, replace(lane, waiting=held, next=lane.next + len(given)))


def _not_there(model: Model, me: RankState, action: Enqueue | Lose | Swap | Evict) -> Disabled | None:
    if model.scenario.is_storage(action.lane) and not is_attached(me):
        return Disabled(f"rank {action.rank} has no storage attached, to which lane {action.lane} belongs")
    return None


def between_steps(model: Model, me: RankState, sight: Sight, action: Between) -> Moved | Disabled:
    """The rank after something that the engine does between two of its steps, or why it cannot be done now."""
    if me.phase != 0:
        return Disabled(f"rank {action.rank} is within a step")
    if disabled := _done_often(model, me, action):
        return disabled
    event = event_of(model, me, action)
    if disabled := out_of_turn(model, sight, action.rank, event):
        return disabled
    if isinstance(action, Decline):
        marked = me.declined + int("round" in model.protocol.guards)
        return through(replace(me, calls=(*me.calls, ()), declined=marked, steps=me.steps + 1), sight, event)
    if isinstance(action, Evict):
        if disabled := _not_there(model, me, action):
            return disabled
        lane = me.lanes[action.lane]
        if unfinished := [ack for ack in lane.waiting if ack not in lane.finished]:
            failed = not lane.stalled.isdisjoint(unfinished)
            return Disabled(f"the eviction waits for ack {unfinished[0]} on rank {action.rank}", for_good=failed)
    if isinstance(action, Attach | Detach) and (disabled := _cannot_change(me, action)):
        return disabled
    drained = drain(model, action.rank, me, sight) if _drains(model, action) else ()
    if isinstance(drained, Disabled):
        return drained
    me = drained[-1] if drained else me
    moved = Moved(me) if me.error else through(_changed(model, me, action), sight, event)
    return Moved(moved.rank, moved.event, drained)


def _cannot_change(me: RankState, action: Attach | Detach) -> Disabled | None:
    if me.asks:
        return Disabled(f"rank {action.rank} asks for a change already")
    if is_attached(me) == isinstance(action, Attach):
        return Disabled(f"rank {action.rank} has {'' if is_attached(me) else 'no '}storage attached")
    return None


def _done_often(model: Model, me: RankState, action: Between) -> Disabled | None:
    limit = model.scenario
    match action:
        case Flush() if me.flushes >= limit.flushes:
            return Disabled(f"the scenario has {limit.flushes} flushes a rank")
        case Reset() if me.epoch >= limit.resets:
            return Disabled(f"the scenario has {limit.resets} resets")
        case Evict() if me.evictions >= limit.evicts:
            return Disabled(f"the scenario has {limit.evicts} evictions a rank")
        case Attach() | Detach() if me.layout >= limit.attaches:
            return Disabled(f"the scenario has {limit.attaches} changes of storage a rank")
        case Close() if not limit.closes:
            return Disabled("the scenario closes no rank")
        case _:
            return None


def _drains(model: Model, action: Between) -> bool:
    """Whether the rank consumes what it has in flight first."""
    protocol = model.protocol
    match action:
        case Reset():
            return protocol.resets == "drained"
        case Evict():
            return protocol.evicts == "drained"
        case Attach() | Detach():
            return protocol.attaches == "drained"
        case _:
            return True


def _changed(model: Model, me: RankState, action: Between) -> RankState:
    match action:
        case Reset():
            cleared = tuple(LaneState(next=lane.next) for lane in me.lanes)
            return replace(me, lanes=cleared, epoch=me.epoch + 1, marks=())
        case Evict():
            lane = me.lanes[action.lane]
            emptied = lane.without(lane.waiting, popped=lane.popped + lane.waiting)
            return replace(me, lanes=_replaced(me, action.lane, emptied), evictions=me.evictions + 1)
        case Attach() | Detach() if model.protocol.attaches == "agreed":
            return replace(me, asks=me.layout + 1)
        case Attach() | Detach():
            return changed(model.scenario, me)
        case Close():
            return replace(me, error=CLOSED)
        case _:
            return replace(me, flushes=me.flushes + 1)


def go_wrong(model: Model, me: RankState, sight: Sight, action: Throw | Crash | Notice) -> Moved | Disabled:
    """The rank after it has died, or its pop or count has thrown, or it has noticed that this came to another."""
    if isinstance(action, Crash):
        return Moved(replace(me, error=DEAD))
    if isinstance(action, Notice):
        if model.protocol.throws == "broken" and not {"throws", "crashes"}.isdisjoint(sight.mishaps):
            return Moved(replace(me, allowed=(), owed=(), error=LOST))
        return Disabled("no rank is gone")
    phases = model.protocol_of(action.rank).phases
    pops = phases[me.phase] is Phase.POP and me.allowed
    counts = phases[me.phase] is Phase.COUNT and (me.phase > 0 or model.protocol.throws == "broken")
    if not pops and not counts:
        return Disabled(f"rank {action.rank} has nothing to pop or count within a step")
    if model.protocol.throws == "broken":
        return Moved(replace(me, allowed=(), owed=(), error=THREW))
    after = replace(me, phase=0, allowed=(), owed=())
    if phases.index(Phase.ISSUE) > me.phase:  # the rest of the step was to issue its round
        after = replace(after, calls=(*me.calls, ()), steps=me.steps + 1)
    return Moved(after)


def out_of_turn(model: Model, sight: Sight, rank: int, event: Event | None) -> Disabled | None:
    """Why `rank` cannot go through `event` now, or None where it can."""
    if event is None:
        return None
    if event.kind == "step" and sight.lead >= model.scenario.ahead:
        return Disabled(f"the scenario lets a rank be {model.scenario.ahead} steps ahead")
    if sight.script:
        if sight.script[0] != event:
            return Disabled(f"rank {rank} must first go through {_words(sight.script[0])}, as another rank did")
        return None
    if event.enqueued is None:
        return None
    for peer, there in enumerate(sight.enqueued()):
        if any(more > here for more, here in zip(there, event.enqueued, strict=True)):
            return Disabled(f"rank {peer} comes to this {event.kind} with more acks enqueued than rank {rank}")
    return None


def event_of(model: Model, me: RankState, action: Action) -> Event | None:
    """The event of the engine's script that a rank goes through with `action`, if it is one."""
    match action:
        case Reset():
            return Event("reset", None, enqueued(me))
        case Evict():
            return Event("evict", action.lane, enqueued(me))
        case Attach() | Detach():
            return Event(type(action).__name__.lower()) if model.scenario.aligned_attach else None
        case Close():
            return Event("close")
        case Decline() | Change() | Wait() | Pop() | Count() | Issue() if (
            me.phase == 0 and model.scenario.aligned_resets
        ):
            return Event("step", None, enqueued(me) if model.scenario.aligned_enqueue else None)
        case _:
            return None


def through(after: RankState, sight: Sight, event: Event | None) -> Moved:
    """The rank through `event`, which is its turn, if there is one."""
    if event is None:
        return Moved(after)
    return Moved(replace(after, events=after.events + 1), None if sight.script else event)


def _words(event: Event) -> str:
    given = "" if event.enqueued is None else f" with {', '.join(map(str, event.enqueued))} acks enqueued"
    return event.kind + given


def _replaced(me: RankState, lane: int, content: LaneState) -> tuple[LaneState, ...]:
    return (*me.lanes[:lane], content, *me.lanes[lane + 1 :])


def _with_lane(me: RankState, action: Engine, content: LaneState) -> Moved:
    return Moved(replace(me, lanes=_replaced(me, action.lane, content)))
