"""The lockstep reading: delays between protocols, and the bridge to the interleaving."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof.model import rounds
from rankproof.model.actions import Action, Enqueue, Evict, Finish, Flush
from rankproof.model.interleaving import Model, apply, next_phase
from rankproof.model.protocol import BLOCKING, PIPELINED, Phase, Protocol, depth
from rankproof.model.reading import Ints
from rankproof.model.rounds import Positions
from rankproof.model.scenario import Scenario
from rankproof.model.state import State

MOST = 12
"""Acks in the lane of each rank, more than a run of the tests here finishes."""

CORRECT = (BLOCKING, PIPELINED, depth(1), depth(2), depth(3))
WRONG = (
    replace(PIPELINED, counts="before-pop"),
    replace(PIPELINED, pops="own"),
    replace(PIPELINED, reduces="max"),
    replace(PIPELINED, reads="before-wait"),
    replace(PIPELINED, lag=2),
)


@st.composite
def completions(draw: st.DrawFn) -> list[list[int]]:
    """For each of some steps, how many acks each rank has finished at its count; they only accumulate."""
    ranks, steps = draw(st.integers(1, 3)), draw(st.integers(1, 6))
    new = [draw(st.lists(st.integers(0, 2), min_size=steps, max_size=steps)) for _ in range(ranks)]
    return [list(row) for row in zip(*(accumulate(each) for each in new), strict=True)]


def popped(protocol: Protocol, finished: Iterable[list[int]]) -> list[list[int]]:
    """What each rank has popped after each step, in lockstep."""
    rows = list(finished)
    reading = Ints(len(rows[0]))
    at: Positions = rounds.start(protocol)
    after = []
    for row in rows:
        at = rounds.step(reading, protocol, at, row.__getitem__)
        after.append([at(rank).popped for rank in range(reading.ranks)])
    return after


class Lockstep:
    """The interleaving, with every rank taking each phase before any rank takes the next."""

    def __init__(self, protocol: Protocol, ranks: int) -> None:
        self.model = Model(protocol, Scenario(ranks=ranks, acks=MOST, evicts=1, flushes=1))
        self.state = self.model.start
        for rank in range(ranks):
            for ack in range(MOST):
                self.do(Enqueue(rank, 0, ack))

    def do(self, action: Action) -> None:
        after = apply(self.model, self.state, action)
        assert isinstance(after, State), after
        self.state = after

    def each_rank(self, action: Callable[[int], Action]) -> None:
        for rank in range(len(self.state.ranks)):
            self.do(action(rank))

    def finish_to(self, finished: list[int]) -> None:
        for rank, total in enumerate(finished):
            lane = self.state.ranks[rank].lanes[0]
            for ack in lane.waiting:
                if ack < total and ack not in lane.finished:
                    self.do(Finish(rank, 0, ack))

    def step(self, finished: list[int]) -> None:
        for phase in self.model.protocol.phases:
            if phase is Phase.COUNT:
                self.finish_to(finished)
            self.each_rank(lambda rank: next_phase(self.model, self.state, rank))

    @property
    def popped(self) -> list[int]:
        return [len(rank.lanes[0].popped) for rank in self.state.ranks]

    @property
    def over_popped(self) -> bool:
        return any(rank.missing for rank in self.state.ranks)


@given(completions())
def test_blocking_pops_in_each_step_what_every_rank_has_finished(finished: list[list[int]]) -> None:
    assert popped(BLOCKING, finished) == [[min(row)] * len(row) for row in finished]


@pytest.mark.parametrize("lag", [1, 2, 3])
@given(finished=completions())
def test_depth_k_pops_k_steps_later_exactly_what_blocking_pops(lag: int, finished: list[list[int]]) -> None:
    nothing = [[0] * len(finished[0])] * lag
    assert popped(depth(lag), finished) == (nothing + popped(BLOCKING, finished))[: len(finished)]


@given(completions())
def test_pipelined_pops_one_step_later_exactly_what_blocking_pops(finished: list[list[int]]) -> None:
    assert popped(PIPELINED, finished) == popped(depth(1), finished)


def test_remaining_counts_over_pop_from_two_rounds_in_flight() -> None:
    assert popped(PIPELINED, [[1]] * 4)[-1] == [1]
    assert popped(replace(PIPELINED, lag=2), [[1]] * 4) == [[0], [0], [1], [2]]


def test_counting_before_popping_counts_the_same_ack_twice() -> None:
    assert popped(replace(PIPELINED, counts="before-pop"), [[1]] * 3) == [[0], [1], [2]]


@pytest.mark.parametrize("protocol", CORRECT + WRONG)
@given(finished=completions())
def test_a_lockstep_run_of_the_interleaving_pops_what_the_rounds_pop(
    protocol: Protocol, finished: list[list[int]]
) -> None:
    lockstep = Lockstep(protocol, len(finished[0]))
    for row, expected in zip(finished, popped(protocol, finished), strict=True):
        lockstep.step(row)
        assert not lockstep.over_popped
        assert lockstep.popped == expected
        if any(total > reached for total, reached in zip(expected, row, strict=True)):
            return  # it popped an unfinished ack; what is finished behind it is no longer what the rounds were told


@pytest.mark.parametrize("protocol", CORRECT)
@given(finished=completions())
def test_a_flush_pops_what_draining_the_rounds_pops(protocol: Protocol, finished: list[list[int]]) -> None:
    ranks = len(finished[0])
    at, lockstep = rounds.start(protocol), Lockstep(protocol, ranks)
    for row in finished:
        at = rounds.step(Ints(ranks), protocol, at, row.__getitem__)
        lockstep.step(row)
    lockstep.each_rank(Flush)
    drained = rounds.drain(Ints(ranks), protocol, at)
    assert lockstep.popped == [drained(rank).popped for rank in range(ranks)] == [min(finished[-1])] * ranks


@pytest.mark.parametrize("protocol", CORRECT)
@given(finished=completions())
def test_after_an_eviction_interleaving_and_rounds_go_on_alike(protocol: Protocol, finished: list[list[int]]) -> None:
    ranks = len(finished[0])
    at, lockstep = rounds.start(protocol), Lockstep(protocol, ranks)
    for row in finished:
        at = rounds.step(Ints(ranks), protocol, at, row.__getitem__)
        lockstep.step(row)
    lockstep.finish_to([MOST] * ranks)
    lockstep.each_rank(lambda rank: Evict(rank, 0))
    at = rounds.evict(protocol, at, lambda rank: MOST)
    assert lockstep.popped == [at(rank).popped for rank in range(ranks)] == [MOST] * ranks
    for _ in range(2):
        at = rounds.step(Ints(ranks), protocol, at, lambda rank: MOST)
        lockstep.step([MOST] * ranks)
        assert lockstep.popped == [at(rank).popped for rank in range(ranks)]
        assert not lockstep.over_popped


def test_a_stale_round_is_carried_into_the_next_epoch_only_without_the_drain() -> None:
    unsafe = replace(PIPELINED, resets="in-flight")
    assert rounds.start(PIPELINED, lambda rank: 2)(0).in_flight == (0,)
    assert rounds.start(unsafe, lambda rank: 2)(0).in_flight == (2,)
