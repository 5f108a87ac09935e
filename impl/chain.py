"""Pipeline stages: the first agrees and sends what it agreed on down a chain; each later one follows, and answers.

    first stage, round r   counts the answers to round r - OUTSTANDING into its offer, agrees, and sends the result down
    later stage, round r   takes the result, compares, sends it down, and answers up the column together with what the
                           stage below it answered to round r - OUTSTANDING; then it waits for its own acks, and pops

So what a rank of stage s asks for has its part in the MIN s * OUTSTANDING rounds later, and a difference that it finds
is raised by every other rank in that round. No stage waits for one below it any longer than for room to send: to have
sent round r, the stage below must have taken round r - OUTSTANDING, and it answers when it takes it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, TypeAlias

import torch
from torch._C._distributed_c10d import ProcessGroupGloo, Work

from rankproof.impl.acks import LaneKind
from rankproof.impl.answers import LENGTH, NOTHING_FOUND, SILENCE, Answer, Finding, counted_in
from rankproof.impl.board import Board
from rankproof.impl.changes import Change
from rankproof.impl.errors import Misuse, PeerLost, RankDivergence, StepTimeout, SyncError
from rankproof.impl.frame import StepResult
from rankproof.impl.guards import Agreement, Offer, agreement, found_below, word_names
from rankproof.impl.sync import BlockingAckSync
from rankproof.impl.transport import Transport, gloo_failure
from rankproof.model.words import complement

_Call: TypeAlias = Callable[[list[torch.Tensor], int, int], Work]
"""The send or the receive of a group: a tensor in a list, the stage at the other end, and a tag."""

OUTSTANDING = 4
"""Sends that a stage may have on the way before it waits for the oldest to be received: how far it may run ahead."""


class _Travelling(NamedTuple):
    """A send or a receive on its way. It holds the tensor, which gloo reads or writes until the wait is over."""

    round: int
    tensor: torch.Tensor
    work: Work


class ChainTransport:
    """One rank's column of stages, point to point; see `Transport` for the calls.

    The rank of the first stage offers to the ranks beside it and sends on what comes out. Every other receives from the
    stage before it, sends on, and answers. A send holds a tensor of its own, and at most OUTSTANDING are on the way. A
    receive for the answer is there before the round that is answered is sent: so an answer arrives also where the rank
    that sent it leaves at once.
    """

    def __init__(self, column: ProcessGroupGloo, beside: Transport | None, rank: int, world: int) -> None:
        """Takes the group of the column, in which a rank's number is its stage, and takes over the transport `beside`.

        beside  joins the ranks of the first stage; None in every other stage, and where the first has one rank
        rank, world  of all stages together
        """
        self._column: ProcessGroupGloo | None = column
        self.stage: Final = column.rank()
        self._stages = column.size()
        self._beside = beside
        self.rank: Final = rank
        self.world: Final = world
        self.timeout: Final = float(column.options._timeout.total_seconds())
        self._round = 0
        self._own: tuple[int, ...] = ()
        self._result: tuple[int, ...] = ()
        self._sent: deque[_Travelling] = deque()  # results, to the stage below
        self._told: deque[_Travelling] = deque()  # answers, to the stage above
        self._awaited: deque[_Travelling] = deque()  # answers that are to come from below
        self._kept: deque[tuple[int, Answer]] = deque()  # those of a stage below that is gone, by their round
        self._last = SILENCE
        self._is_gone = False
        self._lanes: deque[tuple[int, tuple[str, ...]]] = deque(maxlen=2)  # more than one change takes longer
        self._changes = -1
        self.found: Finding | None = None
        """The difference that some rank of a later stage has found, as the round last agreed on says."""

    def begin(self, lanes: Sequence[str]) -> None:
        """These are the lanes from the next round on; each time but the first it is a change."""
        self._lanes.append((self._round + 1, tuple(lanes)))
        self._changes += 1

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        """Offers beside, on the first stage, with the answers to an earlier round; waits for these.

        Raises StepTimeout and PeerLost for an answer that does not come.
        """
        self._round = round_number
        self._own = (*vector, *NOTHING_FOUND)
        if self.stage == 0:
            self._own = counted_in(vector, self._answer_to(round_number - OUTSTANDING), self._changes)
        if self._beside is not None:
            self._beside.offer(round_number, self._own)

    def agreed(self, round_number: int) -> tuple[int, ...]:
        """What the first stage agreed on; `pass_on` comes next."""
        column = self._open_column()
        if self.stage > 0:
            doing = f"stage {self.stage} waited for the counts of stage {self.stage - 1}"
            tensor = torch.empty(len(self._own), dtype=torch.int64)
            begun = self._begun(column.recv, tensor, self.stage - 1, round_number, doing)  # type: ignore[attr-defined]
            self._result = self._ended(begun, doing)
        else:
            self._result = self._own if self._beside is None else self._beside.agreed(round_number)
        self.found = Finding.read(self._result[-len(NOTHING_FOUND) :], round_number)
        return self._result[: -len(NOTHING_FOUND)]

    def pass_on(self, offer: Offer, finding: Finding | None = None) -> None:
        """Sends the result of the round down, and answers it up; `finding` is what this rank found in it.

        Raises StepTimeout and PeerLost, but for a stage below that said what it found before it left.
        """
        column = self._open_column()
        slots = finding.slots() if finding else NOTHING_FOUND
        if self.stage + 1 < self._stages and not self._is_gone:
            tail = map(min, self._result[-len(slots) :], slots)
            self._send_down(column, offer.round, (*self._result[: -len(slots)], *tail))
        if self.stage > 0:
            answer = Answer(int(offer.idle), offer.request, complement(offer.request), self._changes, slots)
            if self.stage + 1 < self._stages:
                answer = answer.with_that_of(self._answer_to(offer.round - OUTSTANDING))
            self._tell(column, offer.round, answer)

    def difference(self, round_number: int, finding: Finding) -> RankDivergence:
        """What this rank raises for what another found."""
        lanes = next((names for first, names in reversed(self._lanes) if first <= finding.round), self._lanes[0][1])
        word, agreed, other = word_names(lanes)[finding.word], finding.agreed, finding.own
        return found_below(round_number, finding.round, finding.rank, word, agreed, other)

    def close(self) -> None:
        """Waits until the next stage has what was sent and has answered it, and drops the groups also where it is gone.

        Raises StepTimeout and PeerLost, as the next stage then lacks what this one has popped, and RankDivergence for
        what the last answers say.
        """
        try:
            for told in self._told:
                with suppress(RuntimeError):  # the stage above has left: it takes no answer any more
                    told.work.wait()
            self._wait_for_sends(left=0)
            while self._awaited or self._kept:
                answer = self._answer_to(self._awaited[0].round if self._awaited else self._round)
                if finding := Finding.read(answer.finding, self._round):
                    raise self.difference(self._round, finding)
        finally:
            for travelling in (self._sent, self._told, self._awaited):
                travelling.clear()
            self._column = None
            if self._beside is not None:
                self._beside.close()

    def _open_column(self) -> ProcessGroupGloo:
        if self._column is None:
            raise Misuse("the transport is closed")
        return self._column

    def _send_down(self, column: ProcessGroupGloo, round_number: int, vector: tuple[int, ...]) -> None:
        """Sends what was agreed on, with a receive for the answer to it there before."""
        below = self.stage + 1
        try:
            self._wait_for_sends(left=OUTSTANDING - 1)
            doing = f"stage {self.stage} could not send to stage {below}"
            answer = torch.empty(LENGTH, dtype=torch.int64)
            self._awaited.append(self._begun(column.recv, answer, below, round_number, doing))  # type: ignore[attr-defined]
            tensor = torch.tensor(vector, dtype=torch.int64)
            self._sent.append(self._begun(column.send, tensor, below, round_number, doing))  # type: ignore[attr-defined]
        except (PeerLost, StepTimeout):
            self._keep_what_was_said()
            said = [self._last, *(answer for _, answer in self._kept)]
            if all(answer.finding == NOTHING_FOUND for answer in said):
                self._kept.clear()
                raise
            self._is_gone = True
            self._sent.clear()

    def _wait_for_sends(self, left: int) -> None:
        while len(self._sent) > left:
            doing = f"stage {self.stage} waited for stage {self.stage + 1} to take its counts"
            self._ended(self._sent.popleft(), doing)

    def _tell(self, column: ProcessGroupGloo, round_number: int, answer: Answer) -> None:
        doing = f"stage {self.stage} could not answer stage {self.stage - 1}"
        while len(self._told) >= OUTSTANDING:
            self._ended(self._told.popleft(), doing)
        tensor = torch.tensor(answer.vector(), dtype=torch.int64)
        self._told.append(self._begun(column.send, tensor, self.stage - 1, round_number, doing))  # type: ignore[attr-defined]

    def _answer_to(self, round_number: int) -> Answer:
        """What the stage below answered to a round, each of which is asked for once, in order.

        A stage that is gone has said why in its last answer, which then stands for those that it did not give.
        """
        if self._is_gone:
            if self._kept and self._kept[0][0] <= round_number:
                _, self._last = self._kept.popleft()
        elif round_number > 0 and self.stage + 1 < self._stages:
            doing = f"stage {self.stage} waited for the answer of stage {self.stage + 1} to round {round_number}"
            self._last = Answer.read(self._ended(self._awaited.popleft(), doing))
        return self._last

    def _keep_what_was_said(self) -> None:
        """Takes the answers that the stage below had sent when it was lost; none of these waits takes any time."""
        with suppress(PeerLost, StepTimeout):
            while self._awaited:
                awaited = self._awaited.popleft()
                self._kept.append((awaited.round, Answer.read(self._ended(awaited, ""))))
        self._awaited.clear()

    def _begun(self, call: _Call, tensor: torch.Tensor, stage: int, round_number: int, doing: str) -> _Travelling:
        try:
            return _Travelling(round_number, tensor, call([tensor], stage, 0))
        except RuntimeError as error:
            raise gloo_failure(error, round_number, doing, self.timeout) from error

    def _ended(self, travelling: _Travelling, doing: str) -> tuple[int, ...]:
        try:
            travelling.work.wait()
        except RuntimeError as error:
            raise gloo_failure(error, travelling.round, doing, self.timeout) from error
        return tuple(travelling.tensor.tolist())


class StageAckSync(BlockingAckSync):
    """A rank of the first stage of a pipeline, which counts in what the later stages answer.

    A change of lanes is made by every stage before the same round. What the later stages ask for counts OUTSTANDING
    rounds late for each stage on the way, and so does what they say of being idle. The stages reset between the same
    steps: a rank whose epoch is not that of the first stage raises RankDivergence.
    """

    def __init__(
        self,
        transport: ChainTransport,
        lanes: Mapping[str, LaneKind],
        *,
        board: Board | None = None,
        plan: str = "",
    ) -> None:
        """As `AckSync`; takes over the transport."""
        super().__init__(transport, lanes, board=board, plan=plan)
        self._chain = transport
        transport.begin(tuple(self.lanes))

    def fall_back(self) -> None:
        """Raises Misuse: a pipeline is blocking as it is."""
        with self._frame.turn("fall_back"):
            raise Misuse("fall_back() in a pipeline: it is blocking already, whatever depth was asked for")

    def _wait(self, offer: Offer) -> Agreement:
        vector = self._chain.agreed(offer.round)
        try:
            agreed = self._read(offer, vector)
            if self._chain.found:
                raise self._chain.difference(offer.round, self._chain.found)
        except RankDivergence as error:
            with suppress(SyncError):  # a loss that shows only now is no first cause
                self._chain.pass_on(offer, self._finding(offer, error))
            raise
        self._chain.pass_on(offer)
        return agreed

    def _read(self, offer: Offer, vector: tuple[int, ...]) -> Agreement:
        """Reads what came out of the round."""
        return agreement(offer, vector)

    def _finding(self, offer: Offer, error: RankDivergence) -> Finding | None:  # noqa: ARG002 # the vector shows it
        """What the others cannot see unless this rank says it."""
        return None

    def _make(self, change: Change, result: StepResult) -> None:
        super()._make(change, result)
        self._chain.begin(tuple(self.lanes))


class FollowerAckSync(StageAckSync):
    """A rank of a later stage: it pops what the first stage agreed on, and waits for its own acks before it does.

    It has no part in the MIN of a round; where it differs, it says so in its answer to the round.
    """

    def _read(self, offer: Offer, vector: tuple[int, ...]) -> Agreement:
        return agreement(offer, vector, follows=True)

    def _finding(self, offer: Offer, error: RankDivergence) -> Finding | None:
        if self._chain.found:
            return None
        word = word_names(list(self.lanes)).index(error.word)
        return Finding(word, self._chain.rank, offer.round, error.lowest, error.own)

    def _pop(self, agreed: Agreement, result: StepResult) -> None:
        """Pops when each of the acks is there and finished on this rank. Raises StepTimeout for one that is not."""
        begun = time.monotonic()
        for lane, count in self._lanes.to_pop(agreed.counts):
            lane.wait_for(count, self._transport.timeout, begun)
        super()._pop(agreed, result)
