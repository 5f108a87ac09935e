"""When ranks issue their rounds, for any number of them: the recurrences of the model's waits, on arrays of times.

A rank issues round k and works; then it waits for the round that is due, if one is, and issues the next. A wait is over
once every rank has issued that round and its latency has passed. That is all that the model says of time (its `due` and
`complete`), and a test holds these arrays against the model, action by action.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Times: TypeAlias = NDArray[np.float64]
"""Seconds."""


def issued(work: Times, latency: Times, lag: int | None, *, meets: bool = False) -> Times:
    """When each rank issues each round, in seconds, of shape [rounds, ranks].

    work     of shape [rounds, ranks]: what each rank does between a step and the next
    latency  of shape [rounds]: from the last rank's issue of a round to its result
    lag      steps between a count and its pop: 0 blocking, 1 pipelined, k depth k; None for no agreement at all
    meets    whether all ranks begin the work together once the last is there, as ranks do that share a forward
    """
    rounds, ranks = work.shape
    times: Times = np.empty((rounds, ranks))
    there: Times = np.empty(rounds)
    arrives: Times = np.zeros(ranks)
    for number in range(rounds):
        if lag and number >= lag:
            arrives = np.maximum(arrives, there[number - lag])
        times[number] = arrives
        there[number] = arrives.max() + latency[number]
        if lag == 0:
            arrives = np.full(ranks, there[number])
        begins = np.full(ranks, arrives.max()) if meets else arrives
        arrives = begins + work[number]
    return times


def throughput(work: Times, latency: Times, lag: int | None, *, meets: bool = False) -> float:
    """Steps a second of the slowest rank, after the first tenth, in which the pipeline fills."""
    last = issued(work, latency, lag, meets=meets).max(axis=1)
    first = len(last) // 10
    return float((len(last) - 1 - first) / (last[-1] - last[first]))
