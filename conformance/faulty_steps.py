"""The reference implementation with one fault each: what a rank does wrong in its step, or between two steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from rankproof.conformance.faulty_wires import AskedTransport, KeptTransport
from rankproof.impl.acks import Ack, LaneKind
from rankproof.impl.chain import FollowerAckSync
from rankproof.impl.digests import EMPTY, extended
from rankproof.impl.frame import Frame
from rankproof.impl.guards import NO_STEP_NUMBER, Agreement, Offer, Spread
from rankproof.impl.lanes import Lanes
from rankproof.impl.ledger import Ledger
from rankproof.impl.rounds import Rounds
from rankproof.impl.sync import AckSync, StepResult
from rankproof.impl.transport import Transport
from rankproof.model.words import complement


class Pipelined(AckSync):
    """The reference implementation, which compares the guard words only where it `compares`."""

    def __init__(
        self,
        transport: Transport,
        lanes: Mapping[str, LaneKind],
        compares: bool,
        lag: int = 1,
        made: Callable[[Mapping[str, LaneKind]], Lanes] | None = None,
    ) -> None:
        """`made` makes its lanes in another way."""
        super().__init__(transport, lanes, lag, cumulative=lag > 1)
        self._compares = compares
        if made:
            self._lanes = made(lanes)
            self._rounds = Rounds(transport, self._lanes.ledger)
            self._frame = Frame(self._lanes, self._rounds.close, self.state, None)

    def _wait(self, offer: Offer) -> Agreement:
        return super()._wait(offer) if self._compares else uncompared(self, offer, self._transport.agreed(offer.round))


def step_word(number: int | None) -> int:
    """What a rank puts into a round for the caller's own number of the step."""
    return NO_STEP_NUMBER if number is None else number


def uncompared(sync: AckSync, offer: Offer, vector: tuple[int, ...]) -> Agreement:
    """What comes out of a round to a rank that takes a count for each lane that it has, and looks at nothing else."""
    own = Spread(offer.epoch, complement(offer.epoch), offer.epoch)
    return Agreement(vector[: len(sync.lanes)], vector[len(sync.lanes)] == 1, own, 0)


class CountsFirst(Pipelined):
    """Counts what it is about to pop."""

    def step(self, number: int | None = None) -> StepResult:
        with self._frame.call("step") as result:
            counts = self._count()
            self._consume(0, result)
            self._issue(counts, step_word(number), result)
        return result


class PopsItsOwn(Pipelined):
    """Pops the counts that it offered."""

    def _wait(self, offer: Offer) -> Agreement:
        return replace(super()._wait(offer), counts=offer.counts)


class SkipsWhenEmpty(Pipelined):
    """Issues no round where it has nothing to offer."""

    def _issue(self, counts: tuple[int, ...], step: int, result: StepResult) -> None:
        if any(counts):
            super()._issue(counts, step, result)


class IssuesTwice(Pipelined):
    """Issues one more round in a step in which it has something to offer."""

    def _issue(self, counts: tuple[int, ...], step: int, result: StepResult) -> None:
        super()._issue(counts, step, result)
        if any(counts):
            super()._issue(counts, step, result)


class ResetsInFlight(Pipelined):
    """Clears its lanes with a round in flight."""

    def reset(self) -> StepResult:
        with self._frame.call("reset") as result:
            self._lanes.clear()
            self._epoch += 1
        return result


class EvictsInFlight(Pipelined):
    """Pops a whole lane with a round in flight that has counted it."""

    def evict(self, lane: str) -> StepResult:
        with self._frame.call("evict") as result:
            chosen = self._lanes[lane]
            result.popped[lane] += chosen.pop(len(chosen))
        return result


class SplitsInFlight(Pipelined):
    """An ack that comes to a lane takes the place of the head that the round in flight has counted."""

    def enqueue(self, lane: str, ack: Ack) -> None:
        counted = any(offer.counts[list(self.lanes).index(lane)] for offer in self._in_flight)
        moved = self._lanes[lane].pop(1) if counted else []
        for each in (ack, *moved):
            super().enqueue(lane, each)


class Idles(Pipelined):
    """Leaves its steps out once all that it holds has finished, whatever is in flight."""

    def step(self, number: int | None = None) -> StepResult:
        ready = self._lanes.counts() == tuple(map(len, self._lanes))
        return StepResult() if self._in_flight and ready else super().step(number)


class LeavesAStepOut(Pipelined):
    """The last rank leaves its third step out."""

    _steps = 0

    def step(self, number: int | None = None) -> StepResult:
        self._steps += 1
        last = self._transport.rank == self._transport.world - 1
        return StepResult() if last and self._steps == 3 else super().step(number)


class CarriesOn(Pipelined):
    """Leaves the rest of a step out where an event raises, and goes on with the next."""

    def step(self, number: int | None = None) -> StepResult:
        with self._frame.call("step") as result:
            self._consume(0, result)
            try:
                counts = self._count()
            except RuntimeError:
                return result
            self._issue(counts, step_word(number), result)
        return result


class NeverWaits(Pipelined):
    """Issues a further round where the oldest is not complete."""

    def __init__(self, transport: AskedTransport, lanes: Mapping[str, LaneKind], compares: bool) -> None:
        super().__init__(transport, lanes, compares)
        self._asked = transport

    def step(self, number: int | None = None) -> StepResult:
        with self._frame.call("step") as result:
            if self._asked.complete:
                self._consume(len(self._in_flight) - 1, result)
            self._issue(self._count(), step_word(number), result)
        return result


class FillsAgain(Pipelined):
    """Fills the tensor of the round in flight with what it counts for the next."""

    def __init__(self, transport: KeptTransport, lanes: Mapping[str, LaneKind], compares: bool) -> None:
        super().__init__(transport, lanes, compares)
        self._kept = transport

    def step(self, number: int | None = None) -> StepResult:
        with self._frame.call("step") as result:
            counts = self._count()
            self._kept.fill(counts)
            self._consume(0, result)
            self._issue(counts, step_word(number), result)
        return result


class AttachesAlone(Pipelined):
    """Attaches and detaches storage when it is told to, so that its vector changes before that of the others."""

    _drains = True

    def attach(self, lanes: Mapping[str, LaneKind]) -> None:
        self._change("attach", lanes, ())

    def detach(self, *lanes: str) -> None:
        self._change("detach", {}, lanes)

    def _change(self, call: str, attach: Mapping[str, LaneKind], detach: tuple[str, ...]) -> None:
        with self._frame.call(call) as result:
            if self._drains:
                self._consume(0, result)
            self._lanes.replace(attach, detach)
            self._layout = self._layout_word()


class AttachesInFlight(AttachesAlone):
    """Attaches and detaches storage with a round of the old layout in flight."""

    _drains = False


class PopsAtOnce(FollowerAckSync):
    """Pops what the first stage has counted, and only then waits for its own acks, as the published engine does."""

    def _pop(self, agreed: Agreement, result: StepResult) -> None:
        AckSync._pop(self, agreed, result)
        for acks in result.popped.values():
            for ack in acks:
                ack.event.synchronize()


class UncomparedPopsAtOnce(PopsAtOnce):
    """The same, without a look at the guard words."""

    def _read(self, offer: Offer, vector: tuple[int, ...]) -> Agreement:
        return uncompared(self, offer, vector)


class ReadyLanes(Lanes):
    """Lanes whose digest is of the ready prefix."""

    def __init__(self, kinds: Mapping[str, LaneKind], cumulative: bool) -> None:
        super().__init__(kinds, cumulative, ReadyLedger())


class ReadyLedger(Ledger):
    """Of what is ready in a lane it lets others compare all, popped or not."""

    def digests(self, offer: Offer) -> tuple[int, ...]:
        super().digests(offer)
        words = []
        for lane in offer.lanes:
            word = self._popped.get(lane.name, EMPTY)
            for identity in lane.waiting[: lane.ready_count()]:
                word = extended(word, identity)
            words.append(word)
        return tuple(words)
