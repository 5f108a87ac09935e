"""Which property a reply that differs has broken, and the difference as values.

What the subject popped is put into the place of what the model popped, and the model's own checks judge it. So a rule
of the protocol is not written here again; only what is no pop, such as a hang, is told by what it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

from rankproof.conformance.comparing import differing, has_the_shape_of
from rankproof.conformance.outcome import Died, Hung, Ok, Raised
from rankproof.conformance.replies import Reply
from rankproof.conformance.subject import Observation
from rankproof.model.actions import Action, Evict, Flush, Pop, Reset
from rankproof.model.interleaving import apply, drained_by
from rankproof.model.properties import PROPERTIES, Transition
from rankproof.model.protocol import Word
from rankproof.model.schedule import Schedule
from rankproof.model.state import RankState, State

_OF_POPS = ("finished-before-pop", "same-pops", "exact-delay", "bounded-lag")

_SAID = {
    r"issued .* where rank \d+ issued": "matched-collectives",
    r"wrote into the tensor": "one-owner",
    r"timed? ?out": "no-deadlock",
}
"""What a group says, in memory or gloo, of a property that the subject has broken; whatever the subject makes of it."""


_OF_TIME = r"timed? ?out|connection (closed|reset)|closed by peer|broken pipe|peer lost|not there within"
"""What is said where a wait ran out, here or on a peer, which then is lost to this rank."""


def rests_on_time(reply: Reply | None) -> bool:
    """Whether all that was seen is a wait that ran out, or a peer that was lost; a host that is busy does the same."""
    if reply is None:
        return False
    match reply.outcome:
        case Hung():
            return True
        case Raised(kind, message):
            return kind in ("StepTimeout", "PeerLost") or bool(re.search(_OF_TIME, message, re.IGNORECASE))
        case _:
            return False


@dataclass(frozen=True, slots=True)
class Difference:
    """A field of the observation, with what the model has there and what the subject gave, each as Python writes it."""

    field: str
    model: str
    subject: str


def differences_of(reply: Reply | None) -> tuple[Difference, ...]:
    """Where the observation that came is not the one expected; nothing where there was none to compare."""
    if reply is None or reply.expected is None or not isinstance(reply.outcome, Ok):
        return ()
    model, subject = reply.expected, reply.outcome.value
    if not isinstance(subject, Observation):
        return (Difference("observation", repr(model), repr(subject)),)
    return tuple(Difference(name, repr(ours), repr(theirs)) for name, ours, theirs in differing(model, subject))


def remark_on(reply: Reply | None) -> str:
    """What a difference usually comes from, where it is one of two kinds; else empty.

    An ack was popped while one before it in its lane stays: so does a subject that agrees on identities, whatever
    stands before them, and it may be right as that. Or an ack that the model has is neither popped nor left.
    """
    if reply is None or reply.expected is None or not isinstance(reply.outcome, Ok):
        return ""
    seen = reply.outcome.value
    if not isinstance(seen, Observation) or not has_the_shape_of(reply.expected, seen):
        return ""
    for lane, acks in enumerate(_vanished(reply.expected, seen)):
        if acks:
            return _VANISHED.format(ack=min(acks), lane=lane, rank=reply.rank)
    for popped, left, ours in zip(seen.popped, seen.left, reply.expected.popped, strict=True):
        over = set(popped) - set(ours)
        if over and left and max(over) > min(left):  # in a lane, later acks have higher numbers
            return _OUT_OF_ORDER
    return ""


def _vanished(expected: Observation, seen: Observation) -> list[set[int]]:
    """The acks of each lane that are somewhere in the model, and nowhere in the subject."""
    return [
        {*popped, *left}.difference(popped_there, left_there)
        for popped, left, popped_there, left_there in zip(
            expected.popped, expected.left, seen.popped, seen.left, strict=True
        )
    ]


_VANISHED = (
    "rank {rank} was given ack {ack} of lane {lane}, and neither popped it nor has it left; where an enqueue fails on "
    "one rank alone, equal counts stand for other acks, and from there on the ranks break same-pops"
)

_OUT_OF_ORDER = (
    "it popped an ack that stands behind one that stays: the model pops a finished prefix, and an agreement on "
    "identities, which pops each ack wherever it stands, is another protocol; docs/subject.md says how to hold that"
)


def broken_property(schedule: Schedule, reply: Reply | None) -> str:
    """The name of the property that the reply at the end of the schedule breaks; empty where none of the model's is."""
    if reply is None:
        return schedule.breaks or ""
    match reply.outcome:
        case Died():
            return "contained-failure"
        case Hung():
            return "no-deadlock"
        case Raised(_, message):
            found = (name for said, name in _SAID.items() if re.search(said, message, re.IGNORECASE))
            return next(found, "")
        case Ok(Observation() as seen) if reply.expected is not None:
            shaped = has_the_shape_of(reply.expected, seen)
            return _of_observation(schedule, reply, reply.expected, seen) if shaped else ""
        case Ok() if reply.early:
            return "finished-before-pop"
        case Ok() if reply.expected is None:  # it goes on where the model's rank has ended
            return "named-divergence" if reply.due in get_args(Word) else "contained-failure"
        case _:
            return ""


def _of_observation(schedule: Schedule, reply: Reply, expected: Observation, seen: Observation) -> str:
    if seen.popped != expected.popped:
        # A rank that never got an ack pops others in its place, also such as have not finished elsewhere.
        of_pops = sorted(_OF_POPS, key="same-pops".__ne__) if any(_vanished(expected, seen)) else _OF_POPS
        for transition in _as_popped(schedule, reply.rank, seen.popped):
            for name in of_pops:
                if PROPERTIES[name].broken(transition):
                    return name
    if seen.waited_unfinished != expected.waited_unfinished:
        return "finished-before-pop"
    if seen.in_flight > schedule.model.protocol.window:
        return "one-owner"
    if seen.in_flight != expected.in_flight:
        return "matched-collectives" if reply.name == "step" else "clean-lifecycle"
    return "clean-lifecycle" if reply.name == "reset" and seen.left != expected.left else ""


def _as_popped(schedule: Schedule, rank: int, popped: Sequence[tuple[int, ...]]) -> list[Transition]:
    """The last pop of the rank on the schedule, with what the subject popped in it; none where that is not known."""
    states: list[State] = [schedule.model.start]
    last: tuple[Action, State] | None = None
    for action in schedule.actions:
        if action.rank == rank and isinstance(action, Pop | Flush | Reset | Evict):
            last = action, states[-1]
        after = apply(schedule.model, states[-1], action)
        if not isinstance(after, State):
            return []
        states.append(after)
    if last is None:
        return []
    action, before = last
    if not isinstance(action, Pop):
        drained = drained_by(schedule.model, before, action)
        before = _with(before, rank, drained[0]) if drained else before
    if isinstance(action, Evict):  # its drain pops as a step does; what it pops of its own is judged by itself
        of_drain = [() if lane == action.lane else acks for lane, acks in enumerate(popped)]
        of_own = [acks if lane == action.lane else () for lane, acks in enumerate(popped)]
        me = before.ranks[rank]
        owed = tuple(len(me.lanes[lane].popped) if lane == action.lane else due for lane, due in enumerate(me.owed))
        before = _with(before, rank, replace(me, owed=owed))
        return [_popping(schedule, before, Pop(rank), of_drain), _popping(schedule, before, action, of_own)]
    return [_popping(schedule, before, Pop(rank), popped)]


def _popping(schedule: Schedule, before: State, action: Action, popped: Sequence[tuple[int, ...]]) -> Transition:
    me = before.ranks[action.rank]
    lanes = tuple(lane.without(acks, popped=lane.popped + acks) for lane, acks in zip(me.lanes, popped, strict=True))
    after = _with(before, action.rank, replace(me, lanes=lanes, allowed=(), owed=()))
    return Transition(schedule.model, before, action, after, ())


def _with(state: State, rank: int, me: RankState) -> State:
    return replace(state, ranks=(*state.ranks[:rank], me, *state.ranks[rank + 1 :]))
