"""The model and a subject side by side: each command goes to both, and each reply is held against the model."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from rankproof.conformance.outcome import Died, Ok, Outcome
from rankproof.conformance.subject import Observation
from rankproof.model.actions import Action, Enqueue, Evict, Finish, Flush, Lose, Reset
from rankproof.model.interleaving import Disabled, Model, apply, drain, next_phase, promise
from rankproof.model.properties import CHECKED, Transition
from rankproof.model.schedule import Schedule
from rankproof.model.state import LaneState, RankState, State


@dataclass(frozen=True, slots=True)
class Step:
    """The command to run one step of the scheduler on `rank`: all four phases, where an action is one of them."""

    rank: int


Command: TypeAlias = Step | Enqueue | Lose | Finish | Reset | Evict | Flush
"""What a driver can tell one rank to do."""


class Ranks(Protocol):
    """Where the subjects run: one command to one rank at a time, as `RankPool` does with real processes."""

    def send(self, rank: int, method: str, *arguments: object) -> None:
        """Lets a rank begin to call a method of its subject."""

    def receive(self, rank: int) -> Outcome:
        """What became of it, by a deadline."""


class Mismatch(AssertionError):
    """The subject did what the model does not.

    schedule  what the model was taken through until then
    """

    def __init__(self, text: str, schedule: Schedule) -> None:
        super().__init__(text)
        self.schedule = schedule


class HarnessLost(BaseException):
    """The processes are gone, or could not be made ready, for a reason that says nothing about the subject.

    Not an Exception, so that hypothesis passes it on at once: it is not to be shrunk.
    """


@dataclass(frozen=True, slots=True)
class Compared:
    """A command whose reply was what the model expects; `popped` holds the acks that it popped, one tuple a lane."""

    rank: int
    name: str
    popped: tuple[tuple[int, ...], ...]


@dataclass(slots=True)
class _Busy:
    """A command that was given to a rank and is not known to have ended."""

    name: str
    actions: deque[Action]
    popped_before: tuple[int, ...]
    last_lanes: tuple[LaneState, ...] = ()


class Driver:
    """Drives a model and its subject through the same commands.

    A command whose wait cannot return yet leaves its rank busy: the model keeps the rest of its actions until another
    rank's command lets it go on, and the subject's reply is awaited only then. Every reply is compared with the model:
    the identities popped, what is left in the lanes, the rounds in flight, and that no unfinished ack was waited for.

    `actions` is what the model was taken through, and `compared` the commands whose reply was held against it.
    """

    def __init__(self, model: Model, ranks: Ranks) -> None:
        self.model = model
        self.state: State = model.start
        self.actions: list[Action] = []
        self.compared: list[Compared] = []
        self._ranks = ranks
        self._busy: dict[int, _Busy] = {}

    def is_busy(self, rank: int) -> bool:
        """Whether a command to this rank has not ended."""
        return rank in self._busy

    def why_not(self, command: Command) -> str | None:
        """Why the command cannot be given now, or None where it can; one that must wait for a peer can be given."""
        if command.rank in self._busy:
            return f"rank {command.rank} has not ended its {self._busy[command.rank].name}"
        first = self._actions(command)[0]
        outcome = apply(self.model, self.state, first)
        if isinstance(outcome, Disabled) and not outcome.waits_for:
            return outcome.reason
        return None

    def possible(self) -> list[Command]:
        """Every command that can be given now."""
        commands: list[Command] = []
        for rank, me in enumerate(self.state.ranks):
            if self.is_busy(rank):
                continue
            commands += [Step(rank), Flush(rank), Reset(rank)]
            for lane, content in enumerate(me.lanes):
                commands += [Enqueue(rank, lane, content.next), Evict(rank, lane)]
                commands += [Finish(rank, lane, ack) for ack in content.waiting if ack not in content.finished]
        return [command for command in commands if self.why_not(command) is None]

    def give(self, command: Command) -> None:
        """Gives a command to its rank, and takes every rank as far as it now gets.

        Raises Mismatch where a reply differs from the model, and ValueError for a command that `why_not` rules out.
        """
        if reason := self.why_not(command):
            raise ValueError(f"{command}: {reason}")
        rank = command.rank
        name, arguments = _call(command)
        if name:
            self._ranks.send(rank, name, *arguments)
        before = tuple(len(lane.popped) for lane in self.state.ranks[rank].lanes)
        actions = deque(self._actions(command))
        self._busy[rank] = _Busy(name, actions, before)
        if isinstance(apply(self.model, self.state, actions[0]), Disabled):
            self.state = promise(self.model, self.state, actions[0])
        while sum(self._advance(busy_rank) for busy_rank in sorted(self._busy)):
            pass  # one rank's round may be what another waits for

    def catch_up(self) -> None:
        """Takes every rank through all that another has gone through, so that no wait is left open."""
        while late := [rank for rank in range(len(self.state.ranks)) if self.state.ahead_of(rank)]:
            free = [rank for rank in late if not self.is_busy(rank)]
            if not free:
                raise ValueError("every rank that is behind waits for another; this model cannot go on")
            self.give(self.next_due(free[0]))

    def next_due(self, rank: int) -> Command:
        """The next command that takes `rank`, which is behind, through what another has gone through."""
        event = self.state.ahead_of(rank)[0]
        lanes = self.state.ranks[rank].lanes
        for lane, content in enumerate(lanes):
            if event.enqueued is not None and content.next < event.enqueued[lane]:
                return Enqueue(rank, lane, content.next)
        if event.kind == "reset":
            return Reset(rank)
        if event.lane is None:
            return Step(rank)
        waiting = lanes[event.lane]
        unfinished = [ack for ack in waiting.waiting if ack not in waiting.finished]
        return Finish(rank, event.lane, unfinished[0]) if unfinished else Evict(rank, event.lane)

    def schedule(self, breaks: str | None = None, origin: str = "driver") -> Schedule:
        """What the model was taken through so far."""
        return Schedule(self.model, tuple(self.actions), origin, breaks)

    def _actions(self, command: Command) -> list[Action]:
        if not isinstance(command, Step):
            return [command]
        phases = len(self.model.protocol.phases)
        # Which phase comes first is the protocol's affair; the others follow in the order in which they come up.
        return [next_phase(self.model, self.state, command.rank)] * phases

    def _advance(self, rank: int) -> bool:
        """Takes the model's actions of a busy rank as far as they are enabled; whether it got any further."""
        busy = self._busy[rank]
        got_further = False
        while busy.actions:
            action = busy.actions[0] if busy.name != "step" else next_phase(self.model, self.state, rank)
            after = apply(self.model, self.state, action)
            if isinstance(after, Disabled):
                if not after.waits_for:
                    raise ValueError(f"the driver took rank {rank} where the model has no way on: {after.reason}")
                return got_further
            self._check(action, after)
            # A reset forgets what its drain has popped, so that is asked for by itself.
            drained = drain(self.model, self.state, rank) if isinstance(action, Reset) else after.ranks[rank]
            assert isinstance(drained, RankState)
            busy.last_lanes = drained.lanes
            self.state = after
            self.actions.append(action)
            busy.actions.popleft()
            got_further = True
        del self._busy[rank]
        self._compare(rank, busy)
        return True

    def _check(self, action: Action, after: State) -> None:
        step = Transition(self.model, self.state, action, after)
        for each in CHECKED:
            if says := each.broken(step):
                self.actions.append(action)
                text = f"not the subject, but the protocol on this schedule breaks {each.name}: {says}"
                raise Mismatch(text, self.schedule(each.name))

    def _compare(self, rank: int, busy: _Busy) -> None:
        if not busy.name:
            return
        outcome = self._ranks.receive(rank)
        if outcome == Died(None):
            raise HarnessLost(f"nobody saw how rank {rank} ended")
        if not isinstance(outcome, Ok):
            said = outcome.last_words.strip().splitlines()[-1:] if isinstance(outcome, Died) else []
            words = "".join(f" ({line})" for line in said)
            raise Mismatch(f"rank {rank}, {busy.name}: the subject {outcome}{words}", self.schedule())
        if busy.name in ("enqueue", "finish"):
            return  # they say nothing that could be compared
        expected = self._expected(rank, busy)
        seen = outcome.value
        if seen != expected:
            lines = "\n".join(_difference(expected, seen)) if isinstance(seen, Observation) else f"  it gave {seen!r}"
            raise Mismatch(f"rank {rank}, {busy.name}: the subject differs from the model\n{lines}", self.schedule())
        self.compared.append(Compared(rank, busy.name, expected.popped))

    def _expected(self, rank: int, busy: _Busy) -> Observation:
        me = self.state.ranks[rank]
        popped = tuple(lane.popped[start:] for lane, start in zip(busy.last_lanes, busy.popped_before, strict=True))
        return Observation(
            popped=popped,
            left=tuple(lane.waiting for lane in me.lanes),
            in_flight=me.issued - me.consumed,
        )


def _call(command: Command) -> tuple[str, tuple[object, ...]]:
    """The method of the subject that carries a command out, and its arguments; no method for an enqueue that fails."""
    match command:
        case Enqueue(_, lane, ack):
            return "enqueue", (lane, ack)
        case Finish(_, lane, ack):
            return "finish", (lane, ack)
        case Evict(_, lane):
            return "evict", (lane,)
        case Lose():
            return "", ()
        case Step() | Reset() | Flush():
            return type(command).__name__.lower(), ()


def _difference(expected: Observation, seen: Observation) -> Iterable[str]:
    for name in ("popped", "left", "waited_unfinished", "in_flight", "error"):
        model, subject = getattr(expected, name), getattr(seen, name)
        if model != subject:
            yield f"  {name}: model {model!r} | subject {subject!r}"
