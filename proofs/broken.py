"""Which obligations a fault breaks, without asking about those that it cannot touch."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

from rankproof.model.faults import Fault
from rankproof.model.protocol import PIPELINED, Protocol
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.obligation import Obligation
from rankproof.proofs.question import denial
from rankproof.proofs.solvers import Answer, z3_answers
from rankproof.proofs.theorems import OF_THE_PROTOCOL

_FIELDS = frozenset(each.name for each in fields(Protocol))


class _Watched:
    """The right protocol, with a note of each choice that is read from it."""

    def __init__(self) -> None:
        self.read: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if name in _FIELDS:
            self.read.add(name)
            return getattr(PIPELINED, name)
        derived: Any = vars(Protocol)[name]  # a property or a method, which reads fields in its turn
        return derived.__get__(self)


@cache
def choices_read(obligation: Obligation) -> frozenset[str]:
    """The fields of the protocol that the obligation depends on, as long as it is stated of the pipelined one."""
    watched: Any = _Watched()
    obligation.state(EveryRank(), watched)
    return frozenset(watched.read)


def broken_by(fault: Fault) -> tuple[str, ...]:
    """The names of the obligations that do not hold with the fault, for every number of ranks.

    One that reads none of the choices in which the fault differs, and needs no assumption that it drops, is the same
    as for the right protocol, of which it is proved.
    """
    differs = {name for name in _FIELDS if getattr(fault.protocol, name) != getattr(PIPELINED, name)}
    return tuple(
        each.name
        for each in OF_THE_PROTOCOL
        if (differs & choices_read(each) or fault.drops in each.needs)
        and each.applies(fault.protocol)
        and is_refuted(each, fault)
    )


def is_refuted(obligation: Obligation, fault: Fault) -> bool:
    """Whether z3 finds a state in which the obligation fails with the fault."""
    without = (fault.drops,) if fault.drops else ()
    return z3_answers(denial(obligation, fault.protocol, without=without).text()) is Answer.SAT
