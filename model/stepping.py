"""The four quarters of a step on one rank: the protocol itself. All arithmetic comes from `rules`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import dropwhile
from operator import add

from rankproof.model import changing, rules
from rankproof.model.copying import replace
from rankproof.model.protocol import Phase, Protocol, Word
from rankproof.model.reading import Ints
from rankproof.model.sight import Sight
from rankproof.model.state import LOST, RankState, Vector, Words
from rankproof.model.system import Disabled, Model
from rankproof.model.words import settled


def take(model: Model, rank: int, me: RankState, sight: Sight, phase: Phase) -> RankState | Disabled:
    """The rank after it has taken `phase`; where it stands in its step is not moved yet."""
    protocol = model.protocol_of(rank)
    is_due = rules.due(protocol, me.issued, me.consumed)
    nothing = (0,) * len(me.lanes)
    match phase:
        case Phase.WAIT:
            waited = _consume(protocol, me, sight) if is_due else None
            passes = isinstance(waited, Disabled) and protocol.bounds == "none"
            if waited is None or passes:
                return replace(me, allowed=nothing, owed=tuple(len(lane.popped) for lane in me.lanes))
            return waited
        case Phase.POP:
            if protocol.reads == "before-wait" and not is_due:
                return me
            own = me.offer_of(me.consumed + 1) if protocol.reads == "before-wait" else nothing
            allowed = me.allowed or nothing
            amounts = [
                rules.taken(protocol, allowed[lane], own[lane], len(content.popped))
                for lane, content in enumerate(me.lanes)
            ]
            return _pop(model, rank, me, amounts)
        case Phase.COUNT:
            counted = tuple(
                rules.offer(protocol, len(lane.popped) + lane.finished_prefix, len(lane.popped)) for lane in me.lanes
            )
            backing = tuple(len(lane.popped) + lane.finished_prefix for lane in me.lanes)
            return replace(me, counted=counted, backed=backing)
        case Phase.ISSUE:
            return _issue(model, rank, me)


def drain(model: Model, rank: int, me: RankState, sight: Sight) -> tuple[RankState, ...] | Disabled:
    """The rank after each wait and each pop by which it consumes all that it has in flight, or why it must wait.

    The two take turns; a wait that ends in an error is the last. Empty where nothing is in flight.
    """
    taken: list[RankState] = []
    while rules.in_flight(me.issued, me.consumed):
        waited = _consume(model.protocol_of(rank), me, sight)
        if isinstance(waited, Disabled):
            return waited
        taken.append(waited)
        if waited.error:
            break
        popped = _pop(model, rank, waited, waited.allowed)
        if isinstance(popped, Disabled):
            return popped
        taken.append(popped)
        me = popped
    return tuple(taken)


def _issue(model: Model, rank: int, me: RankState) -> RankState:
    protocol, reading = model.protocol, Ints(model.scenario.ranks)
    issues = rules.issues(reading, protocol, me.counted)
    rounds = int(issues) + int(issues and rules.issues_again(reading, protocol, me.counted))
    length = len(me.lanes) + (changing.is_attached(me) if protocol.vector == "by-layout" else 0)
    words = (_words(model, rank, me),) * rounds if protocol.guards else ()
    return replace(
        me,
        issued=me.issued + rounds,
        offers=me.offers + (me.counted,) * rounds,
        backing=me.backing + (me.backed,) * rounds,
        words=me.words + words,
        counted=(),
        backed=(),
        calls=(*me.calls, (length,) * rounds),
        declined=me.declined + int(rounds == 0 and "round" in protocol.guards),
        steps=me.steps + 1,
    )


def _words(model: Model, rank: int, me: RankState) -> Words:
    def word(name: Word) -> int:
        match name:
            case "request":
                return me.asks
            case "round":
                return me.declined  # round k was issued in step k + declined: the same steps where these are the same
            case "epoch":
                return me.epoch
            case "mode":
                return model.protocol_of(rank).lag
            case "layout":
                return me.layout
            case "enqueued":
                return digest(lane.popped + lane.waiting for lane in me.lanes)
            case "popped":
                lengths = _popped_by(model.protocol_of(rank), me)
                return digest(lane.popped[:length] for lane, length in zip(me.lanes, lengths, strict=True))
            case "ready":
                return digest(lane.popped + lane.waiting[: lane.finished_prefix] for lane in me.lanes)

    def digest(prefixes: Iterable[tuple[int, ...]]) -> int:
        """A number that no other acks have: of each lane the acks, each as a digit above 0, then a 0."""
        number, base = 1, model.scenario.acks + 1
        for prefix in prefixes:
            for ack in prefix:
                number = number * base + ack + 1
            number *= base
        return number

    return tuple(word(name) for name in model.protocol.guards)


def _popped_by(protocol: Protocol, me: RankState) -> Vector:
    """How much the rank had popped by the end of the round of which its next popped digest speaks."""
    back = me.consumed - settled(me.issued + 1, protocol.window)
    return me.marks[-1 - back] if 0 <= back < len(me.marks) else (0,) * len(me.lanes)


def _marks(protocol: Protocol, me: RankState, popped: Vector) -> tuple[Vector, ...]:
    """The marks of a rank that will have popped that much by the end of the round that it consumes."""
    if "popped" not in protocol.guards:
        return ()
    marks = (*me.marks, popped)[-protocol.window :]
    return tuple(dropwhile(lambda mark: not any(mark), marks))


def _consume(protocol: Protocol, me: RankState, sight: Sight) -> RankState | Disabled:
    """The rank after the wait for its oldest round in flight; one that is void, or ends in an error, allows nothing."""
    round_number = me.consumed + 1
    result = sight.outcome(round_number)
    if isinstance(result, Disabled):
        return result
    if result.lost:
        return replace(me, error=LOST)
    if result.differs:
        return replace(me, consumed=round_number, error=result.differs)
    popped = tuple(len(lane.popped) for lane in me.lanes)
    allowed = tuple(
        rules.allowed(protocol, own, agreed, count)
        for own, agreed, count in zip(me.offer_of(round_number), result.agreed, popped, strict=True)
    )
    owed = result.backed
    if result.epoch is not None and not rules.accepted(Ints(1), *result.epoch, me.epoch):
        allowed, owed = (0,) * len(me.lanes), popped
    marks = _marks(protocol, me, tuple(map(add, popped, allowed)))
    due = changing.due(protocol, me, result.request, round_number)
    return replace(me, consumed=round_number, allowed=allowed, owed=owed, marks=marks, due=due)


def _pop(model: Model, rank: int, me: RankState, amounts: Sequence[int]) -> RankState | Disabled:
    """The rank after it has taken that many acks from the head of each lane; those not there are counted as missing."""
    follows = model.scenario.topology == "pipeline" and rank not in model.scenario.voters(rank)
    if follows and model.protocol.follows == "waits":
        for lane, amount in zip(me.lanes, amounts, strict=True):
            if lane.finished_prefix < amount:
                failed = not lane.stalled.isdisjoint(lane.waiting[:amount])
                return Disabled(f"rank {rank} waits for its own acks, as it was told to pop {amount}", for_good=failed)
    lanes = []
    missing = me.missing
    for lane, amount in zip(me.lanes, amounts, strict=True):
        popped = lane.waiting[: max(amount, 0)]
        missing += max(amount, 0) - len(popped)
        lanes.append(lane.without(popped, popped=lane.popped + popped) if popped else lane)
    return replace(me, lanes=tuple(lanes), allowed=(), owed=(), missing=missing)


def enqueued(me: RankState) -> Vector:
    """How many acks each lane of a rank has been given, those that were lost included."""
    return tuple(lane.next for lane in me.lanes)
