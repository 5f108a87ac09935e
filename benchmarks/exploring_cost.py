"""What exploring costs: worlds of growing size, each in a process of its own, until the time is spent."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from rankproof.benchmarks.frame import Case, Lost, Samples
from rankproof.conformance.channel import Channel
from rankproof.conformance.launcher import Launcher
from rankproof.model.explorer import explore
from rankproof.model.properties import CHECKED
from rankproof.model.protocol import PIPELINED
from rankproof.model.reduction import KNOWN
from rankproof.model.scenario import Scenario
from rankproof.model.system import Model

TARGET = "rankproof.benchmarks.exploring_cost:serve"

LADDER = (
    (2, 1, 1),
    (2, 1, 2),
    (2, 1, 3),
    (2, 2, 1),
    (3, 1, 1),
    (2, 1, 4),
    (2, 2, 2),
    (3, 1, 2),
    (2, 2, 3),
    (3, 2, 1),
    (3, 1, 3),
    (4, 1, 1),
    (3, 2, 2),
    (3, 2, 3),
)
"""Ranks, lanes and acks a lane; those that come late are larger than a minute may be enough for."""

SECONDS = 60.0
QUICK_SECONDS = 10.0

MOST_OF_IT = 0.5
"""How much of the time that is left one world may take, so that one which is too large does not hide the next."""


@dataclass(frozen=True)
class Seen:
    """How far the search of one world has come.

    whole  whether this is its end
    grown  bytes of memory by which the process has grown since it began
    """

    states: int
    depth: int
    seconds: float
    grown: int
    whole: bool


def case(seconds: float) -> Case:
    """Every world of the ladder that the time is enough for; a sample is one world."""
    return Case("explorer", {"seconds": seconds}, seconds, partial(_explore, seconds=seconds))


STANDARD = (3, 2, 3)
"""The standard scenario: ranks, lanes and acks a lane."""

REDUCED_SECONDS = 180.0


def reduced_case(seconds: float = REDUCED_SECONDS) -> Case:
    """The standard scenario by the schedules that stand for all others, once; a sample is as of `case`."""
    return Case("explorer, reduced", {"seconds": seconds}, seconds, partial(_explore_reduced, seconds=seconds))


def _explore_reduced(launcher: Launcher, seconds: float) -> Samples:
    yield from _sample(launcher, *STANDARD, within=seconds, reduced=True)


def _explore(launcher: Launcher, seconds: float) -> Samples:
    """A sample has `ranks`, `lanes`, `acks`, `whole` (whether all of it was seen in time), and what `Seen` has."""
    until = time.monotonic() + seconds
    for ranks, lanes, acks in LADDER:
        left = until - time.monotonic()
        if left < 1.0:
            return
        yield from _sample(launcher, ranks, lanes, acks, within=MOST_OF_IT * left)


def _sample(launcher: Launcher, ranks: int, lanes: int, acks: int, *, within: float, reduced: bool = False) -> Samples:
    """The sample of one world, or none where nothing was heard of its search in so many seconds."""
    names = tuple(f"lane{number}" for number in range(lanes))
    model = Model(PIPELINED, Scenario(ranks=ranks, lanes=names, acks=acks))
    told = list(_watched(launcher, model, reduced, within))
    if told:
        seen = told[-1]
        yield {
            "ranks": ranks,
            "lanes": lanes,
            "acks": acks,
            "whole": seen.whole,
            "states": seen.states,
            "depth": seen.depth,
            "seconds_s": seen.seconds,
            "grown_bytes": seen.grown,
        }


def _watched(launcher: Launcher, model: Model, reduced: bool, within: float) -> Iterator[Seen]:
    """What a process tells of its search; it is ended after so many seconds."""
    process = launcher.start(TARGET)
    deadline = time.monotonic() + within
    try:
        process.channel.send((model, reduced))
        while True:
            told = process.channel.receive(max(0.0, deadline - time.monotonic()))
            if not isinstance(told, Seen):
                raise Lost(str(told))
            yield told
            if told.whole:
                return
    except TimeoutError:
        return
    except EOFError as error:
        raise Lost(f"the process that explores is gone ({process.last_words(1)})") from error
    finally:
        process.end()


def serve(channel: Channel) -> None:
    """Explores the model that comes, reduced or not, and tells how far it has come at each depth."""
    asked: Any = channel.receive()
    model, reduced = asked
    checked = [each for each in CHECKED if not reduced or each.name in KNOWN]
    before = _peak_bytes()
    began = time.perf_counter()

    def tell(depth: int, states: int, whole: bool = False) -> None:
        channel.send(Seen(states, depth, time.perf_counter() - began, _peak_bytes() - before, whole))

    explored = explore(model, checked, limit=sys.maxsize, progress=tell, reduced=reduced)
    if explored.broken is None:
        tell(explored.depth, explored.states, whole=True)
    else:
        channel.send(f"{explored.broken.property} fell: {explored.broken.says}")


def _peak_bytes() -> int:
    """The most memory that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
