"""The protocol with ranks that move alone: what one action does to a state, or why it cannot be taken there.

This is the oracle. Acks have identities here, the engine's side (enqueue, finish, reset, evict) is part of the state,
and all arithmetic of the protocol comes from `rules`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rankproof.model import rules
from rankproof.model.actions import (
    OF_PHASE,
    Action,
    Count,
    Enqueue,
    Evict,
    Finish,
    Flush,
    Issue,
    Lose,
    Pop,
    Reset,
    Wait,
)
from rankproof.model.protocol import PIPELINED, Phase, Protocol
from rankproof.model.reading import Ints
from rankproof.model.scenario import Scenario
from rankproof.model.state import Event, LaneState, RankState, State, Vector, initial


@dataclass(frozen=True, slots=True)
class Model:
    """A protocol in a scenario."""

    protocol: Protocol = PIPELINED
    scenario: Scenario = Scenario()

    @property
    def start(self) -> State:
        """The state in which every schedule begins."""
        return initial(self.scenario.ranks, len(self.scenario.lanes))


@dataclass(frozen=True, slots=True)
class Disabled:
    """Why an action cannot be taken in a state.

    `waits_for` names the ranks that must issue a round first, where that is the reason.
    """

    reason: str
    waits_for: tuple[int, ...] = ()


def apply(model: Model, state: State, action: Action) -> State | Disabled:
    """The state after `action`, or why it is not enabled; total for every action whatever its numbers."""
    if not 0 <= action.rank < len(state.ranks):
        return Disabled(f"there is no rank {action.rank}; ranks are 0 to {len(state.ranks) - 1}")
    if isinstance(action, Enqueue | Lose | Finish | Evict) and not 0 <= action.lane < len(model.scenario.lanes):
        return Disabled(f"there is no lane {action.lane}; lanes are 0 to {len(model.scenario.lanes) - 1}")
    match action:
        case Enqueue() | Lose():
            return _enqueue(model, state, action)
        case Finish():
            return _finish(state, action)
        case Reset() | Evict() | Flush():
            return _between_steps(model, state, action)
        case Wait() | Pop() | Count() | Issue():
            return _phase(model, state, action)


def successors(model: Model, state: State) -> Iterator[tuple[Action, State]]:
    """Every enabled action of the scenario, with the state that it leads to."""
    for action in _candidates(model, state):
        after = apply(model, state, action)
        if isinstance(after, State):
            yield action, after


def next_phase(model: Model, state: State, rank: int) -> Action:
    """The action by which `rank` takes its next phase, enabled or not."""
    return OF_PHASE[model.protocol.phases[state.ranks[rank].phase]](rank)


def _candidates(model: Model, state: State) -> Iterator[Action]:
    for rank, me in enumerate(state.ranks):
        for lane, content in enumerate(me.lanes):
            yield Enqueue(rank, lane, content.next)
            yield Lose(rank, lane, content.next)
            for ack in content.waiting:
                yield Finish(rank, lane, ack)
            yield Evict(rank, lane)
        yield Reset(rank)
        yield Flush(rank)
        yield next_phase(model, state, rank)


def _enqueue(model: Model, state: State, action: Enqueue | Lose) -> State | Disabled:
    me = state.ranks[action.rank]
    lane = me.lanes[action.lane]
    if action.ack != lane.next:
        return Disabled(f"the next ack of lane {action.lane} on rank {action.rank} is {lane.next}, not {action.ack}")
    if lane.next >= model.scenario.acks:
        return Disabled(f"the scenario gives a lane {model.scenario.acks} acks")
    for event in state.ahead_of(action.rank):
        if event.enqueued is not None and event.enqueued[action.lane] <= lane.next:
            return Disabled(f"another rank went through {event.kind} before it enqueued ack {action.ack}")
    if isinstance(action, Lose):
        if sum(rank.losses for rank in state.ranks) >= model.scenario.losses:
            return Disabled(f"the scenario lets {model.scenario.losses} enqueues fail")
        return _with(state, action.rank, _with_lane(replace(me, losses=me.losses + 1), action.lane, _passed(lane)))
    held = replace(_passed(lane), waiting=(*lane.waiting, action.ack))
    return _with(state, action.rank, _with_lane(me, action.lane, held))


def _finish(state: State, action: Finish) -> State | Disabled:
    me = state.ranks[action.rank]
    lane = me.lanes[action.lane]
    if action.ack not in lane.waiting:
        return Disabled(f"ack {action.ack} does not wait in lane {action.lane} on rank {action.rank}")
    if action.ack in lane.finished:
        return Disabled(f"ack {action.ack} is finished already on rank {action.rank}")
    done = replace(lane, finished=lane.finished | {action.ack})
    return _with(state, action.rank, _with_lane(me, action.lane, done))


def _between_steps(model: Model, state: State, action: Reset | Evict | Flush) -> State | Disabled:
    me = state.ranks[action.rank]
    if me.phase != 0:
        return Disabled(f"rank {action.rank} is within a step")
    limit = model.scenario
    match action:
        case Flush():
            if me.flushes >= limit.flushes:
                return Disabled(f"the scenario has {limit.flushes} flushes a rank")
            drained = _drain(model, state, action.rank)
            if isinstance(drained, Disabled):
                return drained
            return _with(state, action.rank, replace(drained, flushes=me.flushes + 1))
        case Reset():
            if me.epoch >= limit.resets:
                return Disabled(f"the scenario has {limit.resets} resets")
            drained = _drain(model, state, action.rank) if model.protocol.resets == "drained" else me
            if isinstance(drained, Disabled):
                return drained
            cleared = tuple(LaneState(next=lane.next) for lane in drained.lanes)
            after = replace(drained, lanes=cleared, epoch=me.epoch + 1)
            return _with_event(state, action.rank, after, Event("reset", None, _enqueued(me)))
        case Evict():
            if me.evictions >= limit.evicts:
                return Disabled(f"the scenario has {limit.evicts} evictions a rank")
            drained = _drain(model, state, action.rank) if model.protocol.evicts == "drained" else me
            if isinstance(drained, Disabled):
                return drained
            lane = drained.lanes[action.lane]
            unfinished = [ack for ack in lane.waiting if ack not in lane.finished]
            if unfinished:
                return Disabled(f"the eviction waits for ack {unfinished[0]} on rank {action.rank}")
            emptied = replace(lane, waiting=(), finished=frozenset(), popped=lane.popped + lane.waiting)
            after = _with_lane(replace(drained, evictions=me.evictions + 1), action.lane, emptied)
            return _with_event(state, action.rank, after, Event("evict", action.lane, _enqueued(me)))


def _phase(model: Model, state: State, action: Wait | Pop | Count | Issue) -> State | Disabled:
    me = state.ranks[action.rank]
    phases = model.protocol.phases
    phase = phases[me.phase]
    if OF_PHASE[phase] is not type(action):
        return Disabled(f"rank {action.rank} comes to {phase} next")
    after = _take(model, state, action.rank, phase)
    if isinstance(after, Disabled):
        return after
    after = replace(after, phase=(me.phase + 1) % len(phases))
    if me.phase != 0:
        return _with(state, action.rank, after)
    if me.steps - min(rank.steps for rank in state.ranks) >= model.scenario.ahead:
        return Disabled(f"the scenario lets a rank be {model.scenario.ahead} steps ahead")
    enqueued = _enqueued(me) if model.scenario.aligned_enqueue else None
    return _with_event(state, action.rank, after, Event("step", None, enqueued))


def _take(model: Model, state: State, rank: int, phase: Phase) -> RankState | Disabled:
    """What `rank` holds after it has taken `phase`; where it stands in its step is not moved yet."""
    me = state.ranks[rank]
    protocol = model.protocol
    is_due = rules.due(protocol, me.issued, me.consumed)
    nothing = (0,) * len(me.lanes)
    match phase:
        case Phase.WAIT:
            if is_due:
                return _consume(model, state, rank, me)
            return replace(me, allowed=nothing)
        case Phase.POP:
            own = me.offer_of(me.consumed + 1) if is_due and protocol.reads == "before-wait" else nothing
            allowed = me.allowed or nothing
            if protocol.reads == "before-wait" and not is_due:
                return me
            return _pop(
                me,
                tuple(
                    rules.taken(protocol, allowed[lane], own[lane], len(content.popped))
                    for lane, content in enumerate(me.lanes)
                ),
            )
        case Phase.COUNT:
            counted = tuple(
                rules.offer(protocol, len(lane.popped) + lane.finished_prefix, len(lane.popped)) for lane in me.lanes
            )
            return replace(me, counted=counted)
        case Phase.ISSUE:
            issues = rules.issues(Ints(len(state.ranks)), protocol, me.counted)
            took_part = replace(me, issued=me.issued + 1, offers=(*me.offers, me.counted)) if issues else me
            return replace(took_part, counted=(), calls=(*me.calls, issues), steps=me.steps + 1)


def _consume(model: Model, state: State, rank: int, me: RankState) -> RankState | Disabled:
    """`me`, which is `rank` of `state` or a successor of it, after the wait for its oldest round in flight."""
    reading = Ints(len(state.ranks))
    if not rules.complete(reading, me.consumed, lambda peer: state.ranks[peer].issued):
        late = tuple(peer for peer, other in enumerate(state.ranks) if other.issued <= me.consumed)
        names = " and ".join(f"rank {peer}" for peer in late)
        return Disabled(f"rank {rank} waits for a round that {names} must issue first", waits_for=late)
    round_number = me.consumed + 1
    own = me.offer_of(round_number)
    offers = [other.offer_of(round_number) for other in state.ranks]

    def allowed(lane: int) -> int:
        agreed = rules.agree(reading, model.protocol, lambda peer: offers[peer][lane])
        return int(rules.allowed(model.protocol, own[lane], agreed, len(me.lanes[lane].popped)))

    return replace(me, consumed=round_number, allowed=tuple(allowed(lane) for lane in range(len(me.lanes))))


def _drain(model: Model, state: State, rank: int) -> RankState | Disabled:
    """`rank` after it has consumed and popped every round that it has in flight."""
    me = state.ranks[rank]
    while rules.in_flight(me.issued, me.consumed):
        waited = _consume(model, state, rank, me)
        if isinstance(waited, Disabled):
            return waited
        me = _pop(waited, waited.allowed)
    return me


def _pop(me: RankState, amounts: Vector) -> RankState:
    """`me` after it has taken that many acks from the head of each lane; what is not there is counted as missing."""
    lanes = []
    missing = me.missing
    for lane, amount in zip(me.lanes, amounts, strict=True):
        popped = lane.waiting[: max(amount, 0)]
        missing += max(amount, 0) - len(popped)
        lanes.append(
            replace(
                lane,
                waiting=lane.waiting[len(popped) :],
                finished=lane.finished.difference(popped),
                popped=lane.popped + popped,
            )
            if popped
            else lane
        )
    return replace(me, lanes=tuple(lanes), allowed=(), missing=missing)


def _enqueued(me: RankState) -> Vector:
    return tuple(lane.next for lane in me.lanes)


def _passed(lane: LaneState) -> LaneState:
    return replace(lane, next=lane.next + 1)


def _with_lane(me: RankState, lane: int, content: LaneState) -> RankState:
    return replace(me, lanes=(*me.lanes[:lane], content, *me.lanes[lane + 1 :]))


def _with(state: State, rank: int, after: RankState) -> State:
    return replace(state, ranks=(*state.ranks[:rank], after, *state.ranks[rank + 1 :]))


def _with_event(state: State, rank: int, after: RankState, event: Event) -> State | Disabled:
    """`state` with `rank` through `event`, where the engine's script lets it be the next one."""
    expected = state.ahead_of(rank)
    after = replace(after, events=after.events + 1)
    if expected and expected[0] != event:
        return Disabled(f"rank {rank} must first go through {_words(expected[0])}, as another rank did")
    moved = _with(state, rank, after)
    return moved if expected else replace(moved, script=(*state.script, event), length=state.length + 1)


def _words(event: Event) -> str:
    given = "" if event.enqueued is None else f" with {', '.join(map(str, event.enqueued))} acks enqueued"
    return event.kind + given
