"""The model and a subject side by side: each command goes to both, and each reply is held against the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.commands import Command, Step, calls_of, candidates, first_unfinished, is_by_size
from rankproof.conformance.comparing import Acks, as_compared, differences, expected
from rankproof.conformance.outcome import Died, Hung, Ok, Outcome, Raised, where
from rankproof.conformance.ranks import Ranks, Unruly
from rankproof.conformance.subject import Observation
from rankproof.conformance.underway import Begun, next_due, noticed, path_of
from rankproof.model.actions import Action, Crash, Evict, Finish, Flush, Pop, Reset, Throw
from rankproof.model.errors import BadInput
from rankproof.model.interleaving import Disabled, Model, apply, next_phase, promise
from rankproof.model.properties import CHECKED, Property, Transition
from rankproof.model.schedule import Schedule
from rankproof.model.state import CLOSED, State

__all__ = ["Command", "Compared", "Driver", "HarnessLost", "Mismatch", "Ranks", "Step", "Unruly"]


EARLY = 0.02
"""Seconds within which a rank is seen to have ended a step in which it was to wait for its own acks."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a rank answered to a call, and the observation that was expected, where it gave one to compare.

    Both are as they were compared: without what the subject's capabilities leave open.

    early  whether it ended a step in which it was to wait for acks of its own
    """

    rank: int
    name: str
    outcome: Outcome
    expected: Observation | None = None
    early: bool = False


class Mismatch(AssertionError):
    """The subject did what the model does not.

    schedule  what the model was taken through until then
    reply     what was asked of which rank, what it answered, and what was expected; None where the model itself fell
    """

    def __init__(self, text: str, schedule: Schedule, reply: Reply | None = None) -> None:
        super().__init__(text)
        self.schedule = schedule
        self.reply = reply


class HarnessLost(BaseException):
    """The processes are gone, or could not be made ready, for a reason that says nothing about the subject.

    Not an Exception, so that hypothesis passes it on at once: it is not to be shrunk.
    """


@dataclass(frozen=True, slots=True)
class Compared:
    """A command whose reply was what the model expects; `popped` holds the acks that it popped, one tuple a lane."""

    rank: int
    name: str
    popped: Acks


class Driver:
    """Drives a model and its subject through the same commands.

    A command whose wait cannot return yet leaves its rank busy: the model keeps the rest of its actions until another
    rank's command lets it go on, and the subject's reply is awaited only then. Every reply is compared with the model:
    the identities popped, what is left in the lanes, the rounds in flight, and that no unfinished ack was waited for.
    Where the model's rank ends in an error the subject must raise, and raise again when it is asked for more.

    Once a rank is gone, the others may learn of it in any wait, and must in one that needs that rank.

    `actions` is what the model was taken through, and `compared` the commands whose reply was held against it.
    """

    def __init__(
        self,
        model: Model,
        ranks: Ranks,
        capabilities: Capabilities | None = None,
        *,
        checked: Sequence[Property] = CHECKED,
    ) -> None:
        """Begins where the model does.

        capabilities  says where the model's picture of the subject is not to be taken literally, if anywhere
        checked       what the model itself is held against on the way, which takes longer than what it does
        """
        self.model = model
        self.state: State = model.start
        self.actions: list[Action] = []
        self.compared: list[Compared] = []
        self._ranks = ranks
        self._capabilities = capabilities
        self._checked = checked
        self._busy: dict[int, Begun] = {}

    def is_busy(self, rank: int) -> bool:
        """Whether a command to this rank has not ended."""
        return rank in self._busy

    def waits_for_own(self, rank: int) -> bool:
        """Whether a rank is busy because it follows others in a pipeline and its own acks have not finished."""
        return rank in self._busy and isinstance(self._busy[rank].next(self.model, self.state), Pop)

    def why_not(self, command: Command) -> str | None:
        """Why the command cannot be given now, or None where it can; one that must wait for a peer can be given."""
        rank = command.rank
        me = self.state.ranks[rank]
        if isinstance(command, Crash) and not isinstance(self._ranks, Unruly):
            return "these ranks cannot be killed"
        if rank in self._busy:
            within = isinstance(command, Crash) or (isinstance(command, Finish) and self.waits_for_own(rank))
            if not within or not isinstance(self._ranks, Unruly):
                return f"rank {rank} has not ended its {self._busy[rank].name}"
        throws = self._happened("throws") < self.model.scenario.throws and first_unfinished(me) is not None
        if isinstance(command, Throw) and not throws:
            return f"the scenario lets no event throw on rank {rank} now"
        if isinstance(command, Evict) and self._capabilities and not self._capabilities.lanes[command.lane].evicts:
            return f"the subject does not evict lane {command.lane}"
        if isinstance(command, Finish) and is_by_size(command.lane, self._capabilities):
            lane = me.lanes[command.lane]
            if command.ack != next((ack for ack in lane.waiting if ack not in lane.finished), None):
                return "a lane that is counted by its size is filled in one order"
        first = Begun(command, "", me.steps, ()).next(self.model, self.state)
        assert first is not None or me.error
        outcome = apply(self.model, self.state, first or next_phase(self.model, self.state, rank))
        if isinstance(outcome, Disabled) and not outcome.waits_for:
            return outcome.reason
        return None

    def possible(self) -> list[Command]:
        """Every command that can be given now."""
        return [command for command in candidates(self.model, self.state) if self.why_not(command) is None]

    def give(self, command: Command) -> None:
        """Gives a command to its rank, and takes every rank as far as it now gets.

        Raises Mismatch where a reply differs from the model, ValueError for a command that `why_not` rules out, and
        BadInput where the subject raises it.
        """
        if reason := self.why_not(command):
            raise ValueError(f"{command}: {reason}")
        if command.rank in self._busy:
            self._give_within(command)
        else:
            self._begin(command)
        while any(self._advance(busy_rank) for busy_rank in sorted(self._busy)):
            pass  # one rank's round may be what another waits for

    def catch_up(self) -> None:
        """Takes every rank through all that another has gone through, so that no wait is left open.

        Where a rank has ended in an error, those that need it are taken on until they have too.
        """
        while late := [rank for rank in range(len(self.state.ranks)) if self._is_late(rank)]:
            free = [rank for rank in late if not self.is_busy(rank) or self.waits_for_own(rank)]
            if not free:
                raise ValueError("every rank that is behind waits for another; this model cannot go on")
            self.give(self.next_due(free[0]))

    def next_due(self, rank: int) -> Command:
        """The next command that takes `rank`, which is behind, through what another has gone through."""
        if self.waits_for_own(rank):
            lane, ack = first_unfinished(self.state.ranks[rank]) or (0, 0)
            return Finish(rank, lane, ack)
        return next_due(self.model, self.state, rank)

    def schedule(self, breaks: str | None = None, origin: str = "driver") -> Schedule:
        """What the model was taken through so far."""
        return Schedule(self.model, tuple(self.actions), origin, breaks)

    def _happened(self, mishap: str) -> int:
        return sum(me.mishaps.count(mishap) for me in self.state.ranks)

    def _is_late(self, rank: int) -> bool:
        """Whether there is more for a rank to go through: another has, or it needs one that has ended."""
        ranks = self.state.ranks
        if ranks[rank].error:
            return False
        needs = {peer for peer in self.model.scenario.voters(rank) if ranks[peer].error not in ("", CLOSED)}
        behind = ranks[rank].steps < max(peer.steps for peer in ranks)
        return bool(needs or self.state.ahead_of(rank)) or behind or self.waits_for_own(rank)

    def _begin(self, command: Command) -> None:
        rank = command.rank
        me = self.state.ranks[rank]
        *before, (name, arguments) = calls_of(command, me, self._capabilities) or (("", ()),)
        for method, given in before:
            self._ranks.send(rank, method, *given)
            self._require_ok(rank, method, self._ranks.receive(rank))
        if isinstance(command, Crash) and isinstance(self._ranks, Unruly):
            self._ranks.kill(rank)
        if name:
            self._ranks.send(rank, name, *arguments)
        busy = self._busy[rank] = Begun(command, name, me.steps, ((),) * len(me.lanes))
        first = busy.next(self.model, self.state)
        assert first is not None
        if isinstance(apply(self.model, self.state, first), Disabled):
            self.state = promise(self.model, self.state, first)

    def _give_within(self, command: Command) -> None:
        """Kills a rank that is within a command, or finishes an ack for which it waits there."""
        assert isinstance(self._ranks, Unruly)
        rank = command.rank
        if isinstance(command, Crash):
            self._ranks.kill(rank)
            if self._busy.pop(rank).name:
                self._ranks.receive(rank)  # that it died, or the last that it said
        else:
            if not isinstance(early := self._ranks.receive(rank, EARLY), Hung):
                text = f"rank {rank}, step: the subject ended it ({early}) before its own acks had finished"
                raise Mismatch(text, self.schedule(), Reply(rank, "step", early, early=True))
        for method, given in calls_of(command, self.state.ranks[rank], self._capabilities):
            self._ranks.aside(rank, method, *given)
        assert isinstance(command, Crash | Finish)
        after = apply(self.model, self.state, command)
        assert isinstance(after, State)
        self._take(command, after)

    def _advance(self, rank: int) -> bool:
        """Takes the model's actions of a busy rank as far as they are enabled; whether it got any further."""
        busy = self._busy[rank]
        path, ended = path_of(self.model, self.state, busy)
        outcome: Outcome = Ok()
        if ended and busy.name:
            outcome = self._ranks.receive(rank)
            if isinstance(outcome, Raised) and path and not path[-1][1].ranks[rank].error:
                path = noticed(self.model, self.state, rank, path)
        for action, after in path:
            busy.take(self.model, self.state, action, after)
            self._take(action, after)
        if ended:
            del self._busy[rank]
            self._compare(rank, busy, outcome)
        return ended or bool(path)

    def _take(self, action: Action, after: State) -> None:
        """Takes the model through an action, each part of which must keep the properties."""
        step = Transition(self.model, self.state, action, after)
        self.actions.append(action)
        for each in self._checked:
            if says := each.broken(step):
                text = f"not the subject, but the protocol on this schedule breaks {each.name}: {says}"
                raise Mismatch(text, self.schedule(each.name))
        self.state = after

    def _compare(self, rank: int, busy: Begun, outcome: Outcome) -> None:
        if not busy.name:
            return
        me = self.state.ranks[rank]
        if me.error and me.error != CLOSED:
            self._require_raised(rank, busy.name, me.error, outcome)
            self._ranks.send(rank, "flush")
            self._require_raised(rank, "flush", me.error, self._ranks.receive(rank))
            self.compared.append(Compared(rank, busy.name, ((),) * len(me.lanes)))
            return
        value = self._require_ok(rank, busy.name, outcome)
        if isinstance(busy.command, Step | Flush | Reset | Evict):
            model, seen = as_compared(expected(me, busy.popped, self._capabilities), value, self._capabilities)
            if lines := list(differences(model, seen)):
                differs = "\n".join([f"rank {rank}, {busy.name}: the subject differs from the model", *lines])
                raise Mismatch(differs, self.schedule(), Reply(rank, busy.name, Ok(seen), model))
            self.compared.append(Compared(rank, busy.name, busy.popped))

    def _require_raised(self, rank: int, name: str, error: str, outcome: Outcome) -> None:
        _require_seen(rank, outcome)
        if not isinstance(outcome, Raised):
            text = f"rank {rank}, {name}: the subject goes on ({outcome}) where the model's rank has ended: {error}"
            raise Mismatch(text, self.schedule(), Reply(rank, name, outcome))

    def _require_ok(self, rank: int, name: str, outcome: Outcome) -> object:
        _require_seen(rank, outcome)
        if isinstance(outcome, Raised) and outcome.kind == BadInput.__name__:
            raise BadInput(outcome.message)
        if not isinstance(outcome, Ok):
            words = where(outcome)
            text = f"rank {rank}, {name}: the subject {outcome}{f' ({words})' if words else ''}"
            raise Mismatch(text, self.schedule(), Reply(rank, name, outcome))
        return outcome.value


def _require_seen(rank: int, outcome: Outcome) -> None:
    if outcome == Died(None):
        raise HarnessLost(f"nobody saw how rank {rank} ended")
