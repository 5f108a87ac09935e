"""The model and a subject side by side: each command goes to both, and each reply is held against the model."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.catching_up import is_behind, next_due, own_due
from rankproof.conformance.commands import (
    TIMING,
    Command,
    Continue,
    Freeze,
    Idle,
    Step,
    Stop,
    calls_of,
    candidates,
    first_unfinished,
    is_by_size,
    kinds,
)
from rankproof.conformance.judging import Judge
from rankproof.conformance.outcome import Ok, Outcome, Raised
from rankproof.conformance.ranks import Ranks, Unruly
from rankproof.conformance.replies import Compared, HarnessLost, Mismatch, Reply
from rankproof.conformance.underway import Begun, noticed, path_of
from rankproof.model.actions import Action, Crash, Enqueue, Evict, Finish, Flush, Pop, Reset, Throw
from rankproof.model.checks import will_pop_another
from rankproof.model.interleaving import Disabled, Model, apply, next_phase, promise
from rankproof.model.properties import CHECKED, Property, Transition
from rankproof.model.schedule import Schedule
from rankproof.model.state import CLOSED, RankState, State

__all__ = ["Command", "Compared", "Driver", "HarnessLost", "Mismatch", "Ranks", "Reply", "Step", "Unruly"]


_TIMING = tuple(TIMING.values())
_ENDS = (Crash, Freeze)

_SIGNAL: dict[type[Command], signal.Signals] = {Crash: signal.SIGKILL, Freeze: signal.SIGSTOP}


class Driver:
    """Drives a model and its subject through the same commands.

    A command whose wait cannot return yet leaves its rank busy: the model keeps the rest of its actions until another
    rank's command lets it go on, and the subject's reply is awaited only then. Every reply is compared with the model:
    the identities popped, what is left in the lanes, the rounds in flight, and that no unfinished ack was waited for.
    Where the model's rank ends in an error the subject must raise, and raise again when it is asked for more.

    Once a rank is gone, the others may learn of it in any wait, and must in one that needs that rank.

    While a rank is stopped no reply is awaited, for it may wait for that rank, whatever the model says: gloo needs both
    processes until a reduce is over. Each other rank then takes one command; all are compared once the rank continues.

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
        self._unruly = ranks if isinstance(ranks, Unruly) else None
        self._capabilities = capabilities
        self._checked = checked
        self._judge = Judge(capabilities, self._unruly, self.schedule)
        self._busy: dict[int, Begun] = {}
        self._held: dict[int, Begun] = {}
        self._stopped: int | None = None
        self._idle = False
        self._withheld: Mismatch | None = None
        self._outcomes: dict[Action, State | Disabled] = {}
        self._outcomes_of: State | None = None

    def is_busy(self, rank: int) -> bool:
        """Whether a command to this rank has not ended, or its reply is not awaited yet."""
        return rank in self._busy or rank in self._held

    def waits_for_own(self, rank: int) -> bool:
        """Whether a rank is busy because it follows others in a pipeline and its own acks have not finished."""
        return rank in self._busy and isinstance(self._busy[rank].next(self.model, self.state), Pop)

    def why_not(self, command: Command) -> str | None:
        """Why the command cannot be given now, or None where it can; one that must wait for a peer can be given."""
        rank = command.rank
        me = self.state.ranks[rank]
        if isinstance(command, _TIMING):
            return self._why_not_timing(command)
        if isinstance(command, _ENDS) and not self._unruly:
            return "these ranks cannot be killed"
        if self._stopped is not None and (rank == self._stopped or isinstance(command, (*_ENDS, Throw))):
            return f"rank {self._stopped} is stopped"
        if self.is_busy(rank):
            more = isinstance(command, (Finish, Enqueue)) and self.waits_for_own(rank) and self._stopped is None
            if not (more or isinstance(command, _ENDS)) or not self._unruly:
                return f"rank {rank} has not ended its {(self._busy.get(rank) or self._held[rank]).name}"
        if self._idle and isinstance(command, (Step, Throw)) and not self._is_late(rank):
            return "no further step comes"
        if isinstance(command, Throw) and not self._may_throw(me):
            return f"the scenario lets no event throw on rank {rank} now"
        if isinstance(command, Evict) and self._capabilities and not self._capabilities.lanes[command.lane].evicts:
            return f"the subject does not evict lane {command.lane}"
        if isinstance(command, Finish) and is_by_size(command.lane, self._capabilities):
            lane = me.lanes[command.lane]
            if command.ack != next((ack for ack in lane.waiting if ack not in lane.finished), None):
                return "a lane that is counted by its size is filled in one order"
        first = Begun(command, "", me.steps, ()).next(self.model, self.state)
        assert first is not None or me.error
        outcome = self._apply(self.state, first or next_phase(self.model, self.state, rank))
        if isinstance(outcome, Disabled) and not outcome.waits_for:
            return outcome.reason
        return None

    def _why_not_timing(self, command: Stop | Continue | Idle) -> str | None:
        rank = command.rank
        if isinstance(command, Continue):
            return None if rank == self._stopped else f"rank {rank} is not stopped"
        if self._stopped is not None:
            return f"rank {self._stopped} is stopped"
        if any(each.error for each in self.state.ranks):
            return "a rank has ended"
        if isinstance(command, Idle):
            return "no further step comes already" if self._idle else None
        return None if self._unruly else "these ranks cannot be stopped"

    def possible(self) -> list[Command]:
        """Every command that can be given now and is something to the model."""
        return [command for kind in kinds(self.model) for rank in self._all for command in self.possible_of(kind, rank)]

    def possible_of(self, kind: str, rank: int) -> list[Command]:
        """Those of one kind, by the lower-case name of its class, on one rank."""
        return [each for each in candidates(kind, self.state, rank) if self.why_not(each) is None]

    def give(self, command: Command) -> None:
        """Gives a command to its rank, and takes every rank as far as it now gets.

        Raises Mismatch where a reply differs from the model, ValueError for a command that `why_not` rules out, and
        BadInput where the subject raises it.
        """
        if reason := self.why_not(command):
            raise ValueError(f"{command}: {reason}")
        match command:
            case Idle():
                self._idle = True
            case Stop(rank):
                assert self._unruly
                self._unruly.kill(rank, signal.SIGSTOP)
                self._stopped = rank
            case Continue(rank):
                self._go_on(rank)
            case _ if command.rank in self._busy:
                self._give_within(command)
            case _:
                self._begin(command)
        while any(self._advance(busy_rank) for busy_rank in sorted(self._busy)):
            pass  # one rank's round may be what another waits for

    def _go_on(self, rank: int) -> None:
        """Lets a stopped rank go on, and compares what ranks were told to do meanwhile."""
        assert self._unruly
        self._unruly.kill(rank, signal.SIGCONT)
        self._stopped = None
        held, self._held = self._held, {}
        for other, begun in sorted(held.items()):
            self._compare(other, begun, self._ranks.receive(other))

    def catch_up(self) -> None:
        """Takes every rank through all that another has gone through, so that no wait is left open.

        Where a rank has ended in an error, those that need it are taken on until they have too. One that is stopped
        goes on first.
        """
        if self._stopped is not None:
            self.give(Continue(self._stopped))
        while late := [rank for rank in range(len(self.state.ranks)) if self._is_late(rank)]:
            free = [rank for rank in late if not self.is_busy(rank) or self.waits_for_own(rank)]
            if not free:
                raise ValueError("every rank that is behind waits for another; this model cannot go on")
            self.give(self.next_due(free[0]))

    def next_due(self, rank: int) -> Command:
        """The next command that takes `rank`, which is behind, through what another has gone through."""
        if self.waits_for_own(rank):
            return own_due(self.state, rank)
        due = next_due(self.model, self.state, rank)
        # A rank that follows others may first need acks of its own, also for what it consumes between two steps.
        follows = rank not in self.model.scenario.voters(rank)
        return own_due(self.state, rank) if follows and self.why_not(due) else due

    def schedule(self, breaks: str | None = None, origin: str = "driver") -> Schedule:
        """What the model was taken through so far."""
        return Schedule(self.model, tuple(self.actions), origin, breaks)

    @property
    def _all(self) -> range:
        return range(len(self.state.ranks))

    def _may_throw(self, me: RankState) -> bool:
        """Whether one more event may throw, and this rank has one that has not finished."""
        thrown = sum(each.mishaps.count("throws") for each in self.state.ranks)
        return thrown < self.model.scenario.throws and first_unfinished(me) is not None

    def _is_late(self, rank: int) -> bool:
        """Whether there is more for a rank to go through, it waits for its own acks, or another waits for it.

        That one waits for it although it is as far is so where it has left a step out.
        """
        needed = any(rank in self._waits_for(other) for other in self._busy)
        return is_behind(self.model, self.state, rank) or self.waits_for_own(rank) or needed

    def _waits_for(self, rank: int) -> tuple[int, ...]:
        """The ranks that a busy one waits for."""
        coming = self._busy[rank].next(self.model, self.state)
        outcome = self._apply(self.state, coming) if coming else None
        return outcome.waits_for if isinstance(outcome, Disabled) else ()

    def _begin(self, command: Command) -> None:
        rank = command.rank
        me = self.state.ranks[rank]
        *before, (name, arguments) = calls_of(command, me, self._capabilities) or (("", ()),)
        for method, given in before:
            self._ranks.send(rank, method, *given)
            self._judge.require_ok(rank, method, self._ranks.receive(rank), self._busy | self._held)
        if isinstance(command, _ENDS) and self._unruly:
            self._unruly.kill(rank, _SIGNAL[type(command)])
        if name:
            self._ranks.send(rank, name, *arguments)
        busy = self._busy[rank] = Begun(command, name, me.steps, ((),) * len(me.lanes))
        first = busy.next(self.model, self.state)
        assert first is not None
        if isinstance(self._apply(self.state, first), Disabled):
            self.state = promise(self.model, self.state, first)

    def _give_within(self, command: Command) -> None:
        """Ends a rank that is within a command, or gives it the acks for which it waits there."""
        assert self._unruly
        rank = command.rank
        if isinstance(command, _ENDS):
            self._unruly.kill(rank, _SIGNAL[type(command)])
            if self._busy.pop(rank).name and isinstance(command, Crash):
                self._unruly.receive(rank)  # that it died, or the last that it said
        else:
            self._judge.require_still_within(rank)
        for method, given in calls_of(command, self.state.ranks[rank], self._capabilities):
            self._unruly.aside(rank, method, *given)
        action = Crash(rank) if isinstance(command, Freeze) else command
        assert isinstance(action, Crash | Finish | Enqueue)
        after = apply(self.model, self.state, action)
        assert isinstance(after, State)
        self._take(action, after)

    def _advance(self, rank: int) -> bool:
        """Takes the model's actions of a busy rank as far as they are enabled; whether it got any further."""
        busy = self._busy[rank]
        path, ended = path_of(self.model, self.state, busy, self._apply)
        outcome: Outcome = Ok()
        awaited = ended and bool(busy.name) and self._stopped is None
        if awaited:
            outcome = self._ranks.receive(rank)
            if isinstance(outcome, Raised) and path and not path[-1][1].ranks[rank].error:
                path = noticed(self.model, self.state, rank, path)
        for action, after in path:
            busy.take(self.model, self.state, action, after)
            self._take(action, after)
        if ended:
            del self._busy[rank]
            if busy.name and not awaited:
                self._held[rank] = busy
            else:
                self._compare(rank, busy, outcome)
        return ended or bool(path)

    def _apply(self, state: State, action: Action) -> State | Disabled:
        """The model's `apply`, which is asked for the same action more than once before it is taken."""
        if state is not self._outcomes_of:
            self._outcomes_of, self._outcomes = state, {}
        if action not in self._outcomes:
            self._outcomes[action] = apply(self.model, state, action)
        return self._outcomes[action]

    def _take(self, action: Action, after: State) -> None:
        """Takes the model through an action, each part of which must keep the properties."""
        step = Transition(self.model, self.state, action, after)
        self.actions.append(action)
        for each in self._checked:
            if says := each.broken(step):
                text = f"not the subject, but the protocol on this schedule breaks {each.name}: {says}"
                fallen = Mismatch(text, self.schedule(each.name))
                if each.name != "finished-before-pop" or not will_pop_another(step):
                    raise fallen
                # No peer finishes what it never got: what it breaks is same-pops, where it pops what it has there.
                self._withheld = self._withheld or fallen
        self.state = after
        if self._withheld and not any(map(self._is_late, range(len(after.ranks)))):
            raise self._withheld  # no peer is left that would pop

    def _compare(self, rank: int, busy: Begun, outcome: Outcome) -> None:
        """Holds a reply against the model; a rank that has ended must raise, and again when it is asked for more."""
        if not busy.name:
            return
        me = self.state.ranks[rank]
        if me.error and me.error != CLOSED:
            self._judge.require_raised(rank, busy.name, me.error, outcome)
            self._ranks.send(rank, "flush")
            self._judge.require_raised(rank, "flush", me.error, self._ranks.receive(rank))
            self.compared.append(Compared(rank, busy.name, ((),) * len(me.lanes)))
            return
        value = self._judge.require_ok(rank, busy.name, outcome, self._busy | self._held)
        if isinstance(busy.command, Step | Flush | Reset | Evict):
            self._judge.require_same(rank, busy, me, value)
            self.compared.append(Compared(rank, busy.name, busy.popped))
