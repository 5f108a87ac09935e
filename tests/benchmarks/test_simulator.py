"""The simulator's recurrences are the model's: the model is run action by action, with a clock on each rank."""

from __future__ import annotations

import random

import numpy as np
import pytest

from rankproof.benchmarks.simulator import Times, issued, throughput
from rankproof.model.actions import Issue, Wait
from rankproof.model.interleaving import Disabled, apply, next_phase
from rankproof.model.protocol import BLOCKING, PIPELINED, Protocol, depth
from rankproof.model.scenario import Scenario
from rankproof.model.system import Model

STEPS = 7


def on_the_model(protocol: Protocol, work: Times, latency: Times) -> Times:
    """When each rank issues each round where the model says which wait may return, and nothing else."""
    rounds, ranks = work.shape
    model = Model(protocol, Scenario(ranks=ranks, acks=1, ahead=rounds + 1))
    state = model.start
    clocks = [0.0] * ranks
    steps = [0] * ranks
    taken = [0] * ranks
    times = np.full((rounds, ranks), np.nan)
    while min(steps) < rounds:
        moved = False
        for rank in range(ranks):
            action = next_phase(model, state, rank)
            before, after = state.ranks[rank], apply(model, state, action)
            if steps[rank] == rounds or isinstance(after, Disabled):
                continue
            moved, state = True, after
            if isinstance(action, Wait) and after.ranks[rank].consumed > before.consumed:
                number = before.consumed  # rounds are counted from 0 in the arrays
                clocks[rank] = max(clocks[rank], float(times[number].max()) + float(latency[number]))
            if isinstance(action, Issue):
                times[before.issued, rank] = clocks[rank]
            taken[rank] += 1
            if taken[rank] % len(protocol.phases) == 0:
                clocks[rank] += float(work[steps[rank], rank])
                steps[rank] += 1
        assert moved, "no rank of the model can go on"
    return times


def drawn(ranks: int, seed: int) -> tuple[Times, Times]:
    """Work and latencies in whole seconds, so that sums are exact; some latencies are longer than several steps."""
    draw = random.Random(seed)
    work = np.array([[draw.randint(1, 9) for _ in range(ranks)] for _ in range(STEPS)], dtype=float)
    return work, np.array([draw.choice((0, 1, 4, 30)) for _ in range(STEPS)], dtype=float)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize(("lag", "protocol"), [(0, BLOCKING), (1, PIPELINED), (2, depth(2)), (4, depth(4))])
def test_every_round_is_issued_when_the_model_lets_it_be(lag: int, protocol: Protocol, ranks: int, seed: int) -> None:
    work, latency = drawn(ranks, seed)
    assert issued(work, latency, lag).tolist() == on_the_model(protocol, work, latency).tolist()


def test_the_model_tells_another_lag_apart() -> None:
    work, latency = drawn(3, 0)
    assert issued(work, latency, 2).tolist() != on_the_model(PIPELINED, work, latency).tolist()


def test_blocking_pays_the_slowest_rank_and_the_latency_in_each_step() -> None:
    work, latency = drawn(3, 1)
    begins = issued(work, latency, 0).max(axis=1)
    assert np.diff(begins).tolist() == (work.max(axis=1) + latency)[:-1].tolist()


def test_without_agreement_a_rank_waits_for_nobody() -> None:
    work, latency = drawn(2, 2)
    assert issued(work, latency, None)[1:].tolist() == np.cumsum(work, axis=0)[:-1].tolist()


def test_ranks_that_meet_in_a_forward_leave_it_by_their_own_work() -> None:
    work, latency = drawn(2, 3)
    times = issued(work, latency, None, meets=True)
    assert (times[1:] - times[:-1].max(axis=1, keepdims=True)).tolist() == work[:-1].tolist()


def test_a_reduce_that_is_shorter_than_the_forward_costs_a_pipelined_engine_nothing() -> None:
    work, latency = np.full((100, 4), 10.0), np.full(100, 9.0)
    assert throughput(work, latency, 1) == pytest.approx(throughput(work, latency, None))
    assert throughput(work, latency, 0) == pytest.approx(1 / 19)


def test_a_reduce_as_long_as_two_forwards_needs_depth_2() -> None:
    work, latency = np.full((100, 4), 10.0), np.full(100, 20.0)
    assert throughput(work, latency, 1) == pytest.approx(1 / 20)
    assert throughput(work, latency, 2) == pytest.approx(1 / 10)
