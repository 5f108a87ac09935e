"""Chooses how ranks agree: from their topology and the settings to a plan that says why."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rankproof.impl.errors import Misuse
from rankproof.model.errors import BadInput

ASYNC_VARIABLE = "RANKPROOF_ASYNC"
"""Set to 0 it brings blocking back everywhere. It must be the same on every rank."""


class Place(NamedTuple):
    """Where a rank stands in its topology, each from 0."""

    pp: int
    cp: int
    tp: int


@dataclass(frozen=True, slots=True)
class Topology:
    """How many ranks there are in each direction; ranks are numbered with `tp` fastest and `pp` slowest.

    tp, cp  tensor and context parallel ranks: each pops the same acks at the same step
    pp      pipeline stages: the first agrees, and each of the others follows the stage before it
    """

    tp: int = 1
    cp: int = 1
    pp: int = 1

    def __post_init__(self) -> None:
        """Raises Misuse for a number below 1, and for a single rank."""
        for name in ("tp", "cp", "pp"):
            number = getattr(self, name)
            if type(number) is not int or number < 1:
                raise Misuse(f"{name} is a whole number of 1 or more, not {number!r}")
        if self.world < 2:
            raise Misuse("a group of one has nobody to agree with; it needs 2 ranks or more")

    @property
    def world(self) -> int:
        """The number of ranks."""
        return self.tp * self.cp * self.pp

    def place(self, rank: int) -> Place:
        """Raises Misuse for a rank outside."""
        if type(rank) is not int or not 0 <= rank < self.world:
            raise Misuse(f"rank {rank!r} is outside the group; ranks are 0 to {self.world - 1}")
        return Place(rank // (self.cp * self.tp), rank // self.tp % self.cp, rank % self.tp)

    def __str__(self) -> str:
        return f"tp {self.tp}, cp {self.cp}, pp {self.pp}"


@dataclass(frozen=True, slots=True)
class Plan:
    """How the ranks of a topology agree.

    path    one group; or a grid, where MIN goes over the CP group and then over the TP group; or a chain of stages
    lag     steps between a count and the pop that it allows: 0 blocking, 1 pipelined, k depth k
    reason  why that path and that lag, in words
    """

    topology: Topology
    path: Literal["group", "grid", "chain"]
    lag: int
    reason: str

    @property
    def cumulative(self) -> bool:
        """Whether counts are cumulative, as they must be where several rounds are in flight."""
        return self.lag > 1

    def __str__(self) -> str:
        """What must be the same on every rank; it goes into the layout word of each round."""
        return f"{self.topology}: {self.path}"


def plan_for(topology: Topology, depth: int = 1, environment: Mapping[str, str] = os.environ) -> Plan:
    """The plan for a topology; `depth` is how many rounds may be in flight where nothing demands blocking.

    Only a topology that agrees in one collective a step can be pipelined: a round in flight is that collective.
    Raises BadInput where RANKPROOF_ASYNC is neither 0, 1 nor unset, and Misuse for a depth below 1.
    """
    if type(depth) is not int or depth < 1:
        raise Misuse(f"a depth is a whole number of 1 or more, not {depth!r}")
    switch = environment.get(ASYNC_VARIABLE, "1")
    if switch not in ("0", "1"):
        raise BadInput(f"{ASYNC_VARIABLE} is {switch!r}; set it to 0 for blocking or 1 for pipelined")
    if topology.pp > 1:
        reason = (
            f"blocking: {topology.pp} pipeline stages; the first agrees and sends its counts down the chain, "
            "and counts in what the others have answered to an earlier round"
        )
        return Plan(topology, "chain", 0, reason)
    if topology.cp > 1 and topology.tp > 1:
        return Plan(topology, "grid", 0, "blocking: MIN over CP and then over TP takes two collectives a step")
    one = f"one collective a step, over {topology.world} {'TP' if topology.tp > 1 else 'CP'} ranks"
    if switch == "0":
        return Plan(topology, "group", 0, f"blocking: {ASYNC_VARIABLE}=0")
    if depth > 1:
        return Plan(topology, "group", depth, f"depth {depth}, as was asked for: {one}")
    return Plan(topology, "group", 1, f"pipelined: {one}")
