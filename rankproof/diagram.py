"""What a space-time picture shows: a schedule and its run as rows, in order of time, before any way of drawing them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from rankproof.model.actions import Action, Count, Crash, Evict, Issue, Pop, Reset, Throw, Wait
from rankproof.model.interleaving import Disabled, outcome
from rankproof.model.schedule import Run, Schedule, Violation
from rankproof.model.state import RankState, State, Vector


@dataclass(frozen=True, slots=True)
class Deed:
    """One action in words.

    words      such as "pop a0"
    issued     the rounds that it issues, counted from 1
    consumed   the rounds that it consumes
    in_flight  how many rounds its rank has in flight after it
    idle       whether it changes nothing that a picture shows: a wait with nothing due, a pop of nothing
    """

    words: str
    issued: range
    consumed: range
    in_flight: int
    idle: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """What one rank does before another rank does something, or a round is complete, or a property falls.

    first, last  the places of its actions in the schedule, counted from 1
    flying       how many rounds each rank has in flight before it
    """

    rank: int
    first: int
    last: int
    deeds: tuple[Deed, ...]
    flying: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """The moment at which the last rank has issued a round, so that its result is settled.

    ranks   those whose counts make it up: all of them, unless ranks agree in several groups or one decides alone
    offers  what each of them put in, one count a lane
    agreed  what comes out, one count a lane
    words   such as "r1: min(1, 0) = 0"
    """

    round: int
    ranks: range
    offers: tuple[Vector, ...]
    agreed: Vector
    words: str


@dataclass(frozen=True, slots=True)
class Fall:
    """A property that fell in the action before it, and the names of others that fell with it."""

    name: str
    says: str
    also: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Such as "✗ same-pops: pop 1 of lane 0 is ... (also exact-delay)"."""
        return f"✗ {self.name}: {self.says}" + (f" (also {', '.join(self.also)})" if self.also else "")


@dataclass(frozen=True, slots=True)
class Stop:
    """The next action could not be taken."""

    reason: str

    @property
    def words(self) -> str:
        """Such as "stops: rank 0 is within a step"."""
        return f"stops: {self.reason}"


Row: TypeAlias = Turn | Agreement | Fall | Stop


@dataclass(frozen=True, slots=True)
class Diagram:
    """A picture before it is drawn: the legend of its short names, and its rows from the first to the last moment."""

    ranks: int
    legend: str
    rows: tuple[Row, ...]


def diagram(schedule: Schedule, run: Run) -> Diagram:
    """The picture of `run`, which is what `schedule` does on the model."""
    lanes = schedule.model.scenario.lanes
    named = ", ".join(f"{letter(index)} = {name}" for index, name in enumerate(lanes))
    legend = f"lane{'s' if len(lanes) > 1 else ''} {named}; a0 = ack 0 of lane a; r1 = round 1"
    return Diagram(schedule.model.scenario.ranks, legend, tuple(_rows(schedule, run)))


def letter(lane: int) -> str:
    """The short name of a lane: a, b, ... z, then a1, b1 and so on."""
    return chr(ord("a") + lane % 26) + (str(lane // 26) if lane >= 26 else "")


def ack_name(lane: int, ack: int) -> str:
    """The short name of an ack, such as a0; a colon keeps the two numbers apart where the lane's name has one."""
    return letter(lane) + (":" if lane >= 26 else "") + str(ack)


def vector(counts: Vector) -> str:
    """Counts, one a lane: a bare number where there is one lane."""
    return str(counts[0]) if len(counts) == 1 else f"({', '.join(map(str, counts))})"


def words_of(schedule: Schedule, action: Action, before: State, after: State) -> Deed:
    """An action that led from `before` to `after`, in words."""
    old, new = before.ranks[action.rank], after.ranks[action.rank]
    issued, consumed = range(old.issued + 1, new.issued + 1), range(old.consumed + 1, new.consumed + 1)
    results = ", ".join(f"r{number}: {_result(schedule, before, action.rank, number)}" for number in consumed)
    popped = _popped(old, new)
    match action:
        case Wait():
            words = f"wait {results}" if consumed else "wait"
        case Pop():
            words = f"pop {popped or 'nothing'}"
        case Count():
            words = f"count {vector(new.counted)}"
        case Issue():
            words = "issue " + (" ".join(f"r{number}" for number in issued) or "nothing")
        case _:
            pops = f"pops {popped}" if popped and not isinstance(action, Reset) else ""
            effects = ", ".join(part for part in (f"takes {results}" if consumed else "", pops) if part)
            words = _name(action) + (f" ({effects})" if effects else "")
    if new.error and not isinstance(action, Crash | Throw) and not consumed:
        words += f": {new.error}"
    idle = isinstance(action, Wait | Pop) and not (consumed or popped or new.error)
    return Deed(words, issued, consumed, new.issued - new.consumed, idle)


def _name(action: Action) -> str:
    """What the engine does, by the name of the action and what it is done to."""
    kind = type(action).__name__.lower()
    if isinstance(action, Evict):
        return f"{kind} {letter(action.lane)}"
    lane, ack = getattr(action, "lane", None), getattr(action, "ack", None)
    return kind if lane is None or ack is None else f"{kind} {ack_name(lane, ack)}"


def _result(schedule: Schedule, state: State, rank: int, number: int) -> str:
    """What a round gives to a rank: the agreed counts, or the guard word that differs."""
    result = outcome(schedule.model, state, rank, number)
    assert not isinstance(result, Disabled)  # it was consumed, so that all had issued it
    return f"{result.differs} differs" if result.differs else vector(result.agreed)


def _popped(old: RankState, new: RankState) -> str:
    """The acks that are popped in one state and not yet in the other, and how many were to be popped besides."""
    names = []
    if old.epoch == new.epoch:
        for lane, (one, other) in enumerate(zip(old.lanes, new.lanes, strict=True)):
            names += [ack_name(lane, ack) for ack in other.popped[len(one.popped) :]]
    too_many = new.missing - old.missing
    return " and ".join(filter(None, [" ".join(names), f"{too_many} too many" if too_many else ""]))


def _rows(schedule: Schedule, run: Run) -> Iterator[Row]:
    pending: list[Deed] = []
    first = 0
    for index, action in enumerate(schedule.actions[: len(run.states) - 1]):
        before, after = run.states[index], run.states[index + 1]
        if pending and action.rank != schedule.actions[first].rank:
            yield _turn(schedule, run, first, pending)
            pending = []
        if not pending:
            first = index
        pending.append(words_of(schedule, action, before, after))
        marks: list[Row] = [*_agreements(schedule, before, after), *_falls(schedule, run, index)]
        if marks:
            yield _turn(schedule, run, first, pending)
            yield from marks
            pending = []
    if pending:
        yield _turn(schedule, run, first, pending)
    if run.stopped:
        yield Stop(run.stopped.reason)


def _turn(schedule: Schedule, run: Run, first: int, deeds: list[Deed]) -> Turn:
    flying = tuple(rank.issued - rank.consumed for rank in run.states[first].ranks)
    return Turn(schedule.actions[first].rank, first + 1, first + len(deeds), tuple(deeds), flying)


def _agreements(schedule: Schedule, before: State, after: State) -> Iterator[Agreement]:
    """The rounds that the last of the ranks which agree has just issued."""
    scenario = schedule.model.scenario
    for voters in dict.fromkeys(scenario.voters(rank) for rank in range(scenario.ranks)):
        settled = min(before.ranks[rank].issued for rank in voters)
        for number in range(settled + 1, min(after.ranks[rank].issued for rank in voters) + 1):
            result = outcome(schedule.model, after, voters[0], number)
            assert not isinstance(result, Disabled)
            offers = tuple(after.ranks[rank].offer_of(number) for rank in voters)
            put_in = f"{schedule.model.protocol.reduces}({', '.join(map(vector, offers))})"
            words = f"r{number}: {put_in} = {vector(result.agreed)}"
            if result.differs:
                words += f", {result.differs} differs"
            yield Agreement(number, voters, offers, result.agreed, words)


def _falls(schedule: Schedule, run: Run, index: int) -> Iterator[Fall]:
    """What fell in an action: where that is what the schedule is about, the others are only named beside it."""
    falls = new_falls(run, index)
    for fall in falls:
        if fall.property == schedule.breaks:
            yield Fall(fall.property, fall.says, tuple(other.property for other in falls if other is not fall))
            return
    for fall in falls:
        yield Fall(fall.property, fall.says)


def new_falls(run: Run, index: int) -> list[Violation]:
    """What fell in an action, without what has been said of an earlier one in the same words."""
    said = {(fall.property, fall.says) for fall in run.violations if fall.index < index}
    return [fall for fall in run.violations if fall.index == index and (fall.property, fall.says) not in said]
