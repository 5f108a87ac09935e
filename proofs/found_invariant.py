"""The protocol for a fixed number of ranks as a transition system, for which Spacer finds an invariant by itself."""

from __future__ import annotations

from typing import Any

import z3

from rankproof.model import rounds
from rankproof.model.protocol import PIPELINED, Protocol
from rankproof.model.rounds import Position, Positions
from rankproof.model.verdict import Verdict
from rankproof.proofs.lockstep import invariant
from rankproof.proofs.terms import Terms


def spacer_finds(ranks: int, protocol: Protocol = PIPELINED, timeout_s: float = 30.0) -> tuple[Verdict, Any]:
    """Whether finished-before-pop holds in lockstep for that many ranks, and the invariant that shows it, or None.

    Spacer is given the first state, the step and the property, and nothing of our invariant. What it finds is a term
    over the variables of `variables`.
    """
    engine = z3.Fixedpoint()
    engine.set(engine="spacer", timeout=int(timeout_s * 1000))
    engine.set("spacer.random_seed", 0)
    now, after = variables(ranks, protocol), [z3.Int(f"next_{index}") for index in range(ranks)]
    state = z3.Function("state", *([z3.IntSort()] * len(now)), z3.BoolSort())
    bad = z3.Function("bad", z3.BoolSort())
    for relation in (state, bad):
        engine.register_relation(relation)
    engine.declare_var(*now, *after)
    engine.rule(state(*_flat(rounds.start(protocol), ranks)))
    at = positions(now, ranks)
    stepped = rounds.step(Terms(ranks), protocol, at, lambda rank: after[rank])
    accumulates = [at(rank).finished <= after[rank] for rank in range(ranks)]
    engine.rule(state(*_flat(stepped, ranks)), [state(*now), *accumulates])
    engine.rule(bad(), [state(*now), z3.Not(safe(at, ranks))])
    answer = engine.query(bad())
    if answer == z3.sat:
        return Verdict.VIOLATED, None
    if answer == z3.unknown:
        return Verdict.UNDETERMINED, None
    return Verdict.HOLDS, engine.get_cover_delta(-1, state)


def variables(ranks: int, protocol: Protocol) -> list[Any]:
    """One variable for each number of each rank: finished, popped, and the offers in flight."""
    names = ["finished", "popped", *(f"offered_{age}" for age in range(protocol.lag))]
    return [z3.Int(f"{name}_of_{rank}") for rank in range(ranks) for name in names]


def positions(values: list[Any], ranks: int) -> Positions:
    """The ranks whose numbers these are."""
    width = len(values) // ranks
    of_rank = [values[rank * width : (rank + 1) * width] for rank in range(ranks)]
    return lambda rank: Position(of_rank[rank][0], of_rank[rank][1], tuple(of_rank[rank][2:]))


def safe(at: Positions, ranks: int) -> Any:
    """Finished-before-pop, and no more: nobody has popped more than each rank has finished."""
    return Terms(ranks).every_pair(lambda one, other: at(one).popped <= at(other).finished)


def ours(at: Positions, ranks: int, protocol: Protocol = PIPELINED) -> Any:
    """Our invariant of the rounds, on the same variables."""
    return z3.And(*invariant(Terms(ranks), protocol, at).values())


def _flat(at: Positions, ranks: int) -> list[Any]:
    numbers = []
    for rank in range(ranks):
        place = at(rank)
        numbers += [place.finished, place.popped, *place.in_flight]
    return [each if z3.is_expr(each) else z3.IntVal(each) for each in numbers]
