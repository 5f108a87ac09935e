"""The agreement on acks, one call a step: blocking, pipelined by one step, or with several rounds in flight.

Each rank of a group calls `step()` once in each pass of its scheduler. A step has four parts, which are four methods
here. The pipelined order is that of sglang#39903; the right column says what that change does in its place.

    _wait    take the agreed counts of the       waits for the Work that it kept in the step before, which is normally
             round that is in flight             complete by then; the result is not looked at before
    _pop     pop that many from each head        pops by position, so that it frees what the ranks agreed on
    _count   count what is left in each lane     finished prefix of write and load acks, queue size of the storage
                                                 lanes; after the pops, or it would count the popped acks again
    _issue   start the next round with those     MIN all_reduce with async_op=True; Work and tensor are kept to the wait
    RANKPROOF_ASYNC=0 (see `plan`)               an environment switch brings blocking back everywhere

How it travels is the transport's business: the MIN all_reduce of that change (`transport`), or an exchange out of which
each rank takes the MIN by itself (`exchange`), which gloo does in fewer messages; either is one collective a step.
Where rounds are in flight, a thread of their own may issue them and wait for them (`rounds`).

Popping a step later is safe because acks only accumulate between two steps. What that change leaves open is closed
here: guard words in the same vector show on every rank where ranks differ (`guards`); a reset, an eviction or a close
first consumes the round in flight; a round in which ranks were in different epochs pops nothing; a change of lanes or
mode is made by all ranks before the same round; each wait has a deadline; and after a failure the object is broken
(`frame`), instead of one round behind.

The acks that were popped are returned, and the caller releases them after the call. So nothing of the caller's can
throw between a wait and the next issue, except an event, and then the call hands out nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from rankproof.impl.acks import Ack, Identity, LaneKind
from rankproof.impl.board import Board
from rankproof.impl.changes import Agenda, Change, attaching, detaching
from rankproof.impl.digests import word_of
from rankproof.impl.errors import Misuse
from rankproof.impl.frame import Frame, StepResult
from rankproof.impl.guards import NO_STEP_NUMBER, Agreement, Offer, mode_name, require_epochs_to_meet
from rankproof.impl.lanes import Lanes
from rankproof.impl.rounds import CarriedRounds, Rounds
from rankproof.impl.transport import Transport, check_transport

__all__ = ["AckSync", "BlockingAckSync", "PipelinedAckSync", "StepResult"]


class AckSync:
    """One rank's part in the agreement on which acks to pop.

    Every call but `enqueue` comes from one thread. A call that fails hands out nothing and breaks the object: its
    transport is let go of, so that peers learn of it, and each later call raises the first cause again.
    """

    def __init__(
        self,
        transport: Transport,
        lanes: Mapping[str, LaneKind],
        lag: int = 1,
        *,
        cumulative: bool = False,
        carrier: bool = False,
        board: Board | None = None,
        plan: str = "",
    ) -> None:
        """Takes over the transport; `lanes` gives each lane's kind, in the same order on every rank.

        lag         steps between a count and the pop that it allows; more than 1 needs cumulative counts
        cumulative  whether rounds count all that is ready or was popped in this generation of the lanes
        carrier     whether a thread of its own carries the rounds (see `rounds`); of no use where the lag is 0
        board       where this rank leaves word when it leaves, and finds that of the others after a failure
        plan        how ranks agree, in words that must be the same on every rank

        Raises Misuse where there is no lane, a kind is unknown, the lag is impossible, or the transport is none or
        joins fewer than two ranks.
        """
        if type(lag) is not int or lag < 0 or (lag > 1 and not cumulative):
            raise Misuse(f"a lag of {lag!r} cannot be: it is 0 or 1, or with cumulative counts also more")
        check_transport(transport)
        self._transport = transport
        self._lanes = Lanes(lanes, cumulative)
        self._lag = lag
        self._window = max(lag, 1)  # of rounds that may be in flight
        self._plan = f"{plan} {'cumulative' if cumulative else 'remaining'}"
        self._layout = self._layout_word()
        self._epoch = 0
        self._issued = 0
        self._in_flight: deque[Offer] = deque()
        self._voids = 0
        self._idle = False
        self._agenda = Agenda()
        inline = Rounds(transport, self._lanes.ledger)
        self._rounds: Rounds | CarriedRounds = CarriedRounds(inline, lag) if carrier and lag else inline
        self._frame = Frame(self._lanes, lambda: self._rounds.close(), self.state, board)

    @property
    def mode(self) -> str:
        """Blocking, pipelined, or depth k."""
        return mode_name(self._lag)

    @property
    def epoch(self) -> int:
        """The generation of the lanes; a reset and a change of lanes or mode start the next."""
        return self._epoch

    @property
    def in_flight(self) -> int:
        """How many rounds are issued and not yet consumed."""
        return 0 if self._frame.broken else len(self._in_flight)

    @property
    def idle(self) -> bool:
        """Whether all ranks were idle when they issued the round that was last consumed here.

        Idle is a rank whose lanes are empty and that asks for no change. Every rank reads the same after the same
        round, so that where nothing more is to come all may stop after the same step, and then `drain`. In a pipeline
        it speaks of a later stage as it was some rounds before (see `chain`), for each stage on the way.
        """
        return self._idle

    @property
    def lanes(self) -> dict[str, LaneKind]:
        """The kind of each lane that ranks agree on now, by name."""
        return self._lanes.kinds

    def waiting(self, lane: str) -> tuple[Identity, ...]:
        """The identities in a lane, head first. Raises Misuse for an unknown lane."""
        return self._lanes[lane].waiting

    def state(self) -> str:
        """One line that says where this rank is; it may be asked for at any time, also from another thread."""
        where = f"rank {self._transport.rank} of {self._transport.world}, {self.mode}, epoch {self._epoch}"
        rounds = f"issued {self._issued}, consumed {self._issued - len(self._in_flight)}"
        return f"{where}: {rounds}; {self._lanes}{self._agenda}"

    def enqueue(self, lane: str, ack: Ack) -> None:
        """Puts an ack at the end of a lane; every rank enqueues the same acks in the same order (see `acks`).

        Raises Misuse for an unknown lane, and for an identity that waits in the lane already.
        """
        if self._frame.over:
            self._frame.admit("enqueue")
        self._lanes[lane].enqueue(ack)

    def step(self, number: int | None = None) -> StepResult:
        """One step; every rank calls it equally often, whatever its lanes hold.

        number  the caller's own number of the step, such as its count of forward passes, 0 or more. Ranks compare it,
                so that a step which one of them left out is found; given on every rank, or on none.

        Raises StepTimeout or PeerLost where the group fails, RankDivergence where ranks do not run the same, StepFailed
        where an event raised, and Misuse for a number that is none.
        """
        if number is not None and (type(number) is not int or not 0 <= number < 1 << 63):
            self._frame.admit("step")
            raise Misuse(f"a step's number is a whole number of 0 or more that fits in 64 bits, not {number!r}")
        with self._frame.call("step") as result:
            self._consume(self._window - 1, result)
            if self._agenda.word and (change := self._agenda.due(self._issued + 1)):
                self._make(change, result)
            self._issue(self._count(), NO_STEP_NUMBER if number is None else number, result)
            if not self._lag:
                self._consume(0, result)
        return result

    def drain(self) -> StepResult:
        """Consumes what is in flight and pops it; issues nothing. Raises as `step` does."""
        with self._frame.call("drain") as result:
            self._consume(0, result)
        return result

    def reset(self) -> StepResult:
        """Drains, forgets every ack that still waits, and starts the next epoch; returns what the drain popped.

        Ranks need not reset between the same steps: rounds that find them in different epochs pop nothing. But until
        all have, none may enqueue: a late reset forgets on that rank alone what the others keep, and lanes then differ.
        In a pipeline ranks do reset between the same steps; a stage that does not follow the first raises
        RankDivergence. Raises as `step` does.
        """
        with self._frame.call("reset") as result:
            self._consume(0, result)
            self._lanes.clear()
            self._epoch += 1
        return result

    def evict(self, lane: str) -> StepResult:
        """Drains, then waits for every ack in `lane` and pops it, without a round: the blocking write-back eviction.

        Every rank evicts the same lane between the same steps. Raises as `step` does, StepTimeout for an ack that does
        not finish within the transport's deadline, and Misuse for an unknown lane.
        """
        self._frame.admit("evict")
        chosen = self._lanes[lane]
        with self._frame.call("evict") as result:
            self._consume(0, result)
            self._lanes.ledger.read()  # or notes would grow for as long as nobody steps
            chosen.pop(chosen.wait_for(None, self._transport.timeout), result.popped[lane])
        return result

    def attach(self, lanes: Mapping[str, LaneKind]) -> None:
        """Asks for more lanes; they are there when a step says so in `StepResult.changed`, on every rank in the same.

        That is before the first round that can be issued after one in which every rank asked for the same, in whatever
        steps they did. Raises Misuse for a lane that is there, for an unknown kind, and while a change is asked for.
        """
        with self._frame.turn("attach"):
            self._ask("attach", attaching(lanes, self.lanes))

    def detach(self, *lanes: str) -> None:
        """Asks for lanes to go, as `attach` does for others to come; what still waits in them is handed back then.

        Raises Misuse for an unknown lane, where none would be left, and while a change is asked for.
        """
        with self._frame.turn("detach"):
            self._ask("detach", detaching(lanes, self.lanes))

    def fall_back(self) -> None:
        """Asks for the blocking mode; raises Misuse while a change is asked for, and in a pipeline, which has it."""
        with self._frame.turn("fall_back"):
            self._ask("fall_back", Change(fall_back=True))

    def close(self) -> StepResult:
        """Drains and lets go of the transport; what the drain popped is returned. Raises as `step` does.

        Closing again does nothing.
        """
        if self._frame.closed:
            return StepResult()
        with self._frame.call("close") as result:
            self._consume(0, result)
            self._frame.leave(f"closed after round {self._issued}")
        return result

    def _ask(self, call: str, change: Change) -> None:
        """Offers the change from the next round on, until every rank asks for it."""
        self._agenda.ask(call, change)

    def _consume(self, left: int, result: StepResult) -> None:
        """Waits for rounds and pops what they agree on, oldest first, until only so many are in flight."""
        while len(self._in_flight) > left:
            offer = self._in_flight[0]
            agreed = self._wait(offer)
            self._in_flight.popleft()
            self._idle = agreed.idle
            if agreed.request:
                self._agenda.agreed(offer.round, self._window)
            if agreed.epochs is not None and agreed.void:
                self._voids += 1
                require_epochs_to_meet(offer.round, self._voids, agreed.epochs)
            else:
                self._voids = 0
                self._pop(agreed, result)
            self._lanes.consumed(offer.round)
            result.consumed.append(offer.round)

    def _wait(self, offer: Offer) -> Agreement:
        """Waits for the round in which `offer` was made, and reads what was agreed."""
        return self._rounds.agreed(offer)

    def _pop(self, agreed: Agreement, result: StepResult) -> None:
        """Takes the agreed number of acks from the head of each lane."""
        popped, counts = result.popped, result.agreed
        for lane, count in self._lanes.to_pop(agreed.counts):
            name = lane.name
            counts[name] = counts.get(name, 0) + count
            if count:
                lane.pop(count, popped[name])

    def _count(self) -> tuple[int, ...]:
        """What this rank could pop from each lane now."""
        return self._lanes.counts()

    def _issue(self, counts: tuple[int, ...], step: int, result: StepResult) -> None:
        """Starts the next round with those counts; also when all are zero, since the other ranks' may not be."""
        number = self._issued + 1
        request = self._agenda.word
        idle = not request and self._lanes.empty
        offer = Offer(counts, idle, request, number, self._lag, self._layout, step, self._epoch, self._lanes.each)
        self._rounds.begin(offer)
        self._issued = number
        self._in_flight.append(offer)
        result.issued = number

    def _make(self, change: Change, result: StepResult) -> None:
        """Makes the change that all ranks asked for, with nothing in flight, and so starts the next epoch."""
        self._consume(0, result)
        result.detached = self._lanes.replace(dict(change.attach), change.detach)
        result.popped |= {name: [] for name, _ in change.attach}
        result.changed = str(change)
        if change.fall_back:
            self._lag, self._window = 0, 1
            self._rounds = self._rounds.in_this_thread()
        self._layout = self._layout_word()
        self._epoch += 1

    def _layout_word(self) -> int:
        return word_of(f"{self._plan} {self._transport.world} {list(self.lanes.items())}")


class BlockingAckSync(AckSync):
    """Counts, reduces and pops in the same step, and so waits for the slowest rank in each."""

    def __init__(
        self, transport: Transport, lanes: Mapping[str, LaneKind], *, board: Board | None = None, plan: str = ""
    ) -> None:
        """As `AckSync`."""
        super().__init__(transport, lanes, lag=0, board=board, plan=plan)


class PipelinedAckSync(AckSync):
    """Pops in each step what the step before has counted, so that the reduce runs while the engine works."""

    def __init__(
        self,
        transport: Transport,
        lanes: Mapping[str, LaneKind],
        *,
        carrier: bool = False,
        board: Board | None = None,
        plan: str = "",
    ) -> None:
        """As `AckSync`."""
        super().__init__(transport, lanes, lag=1, carrier=carrier, board=board, plan=plan)
