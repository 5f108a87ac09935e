"""A model of an obligation's terms, for a person: a state that has the hypotheses, or one that refutes the goal."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import z3

from rankproof.model.protocol import PIPELINED, Protocol
from rankproof.proofs.obligation import Obligation
from rankproof.proofs.question import Question, denial, questions
from rankproof.proofs.solvers import checked, z3_solver

TIMEOUT_S = 30.0
"""Seconds after which z3 gives up, as it does where it is asked for a verdict."""


def witness(
    obligation: Obligation, protocol: Protocol = PIPELINED, *, without: Collection[str] = ()
) -> tuple[str, ...] | None:
    """A state in which the hypotheses are true, one name a line, or None where z3 gives none."""
    return _state(questions(obligation, protocol, without=without)[1], z3.Context())


def counterexample(
    obligation: Obligation,
    protocol: Protocol = PIPELINED,
    *,
    without: Collection[str] = (),
    context: z3.Context | None = None,
) -> tuple[str, ...] | None:
    """A state in which the hypotheses are true and the goal is not, one name a line, or None where z3 gives none.

    It is asked in a context of its own unless one is given.
    """
    return _state(denial(obligation, protocol, without=without), context or z3.Context())


def _state(question: Question, context: z3.Context) -> tuple[str, ...] | None:
    text = question.text()
    solver = z3_solver(text, context)
    solver.set("timeout", int(TIMEOUT_S * 1000))
    solver.from_string(text)
    if checked(solver) != z3.sat:
        return None
    model = solver.model()
    ranks = [rank for sort in model.sorts() for rank in model.get_universe(sort)]
    declared = {line.split()[1] for line in question.declarations}
    lines = []
    for declaration in model.decls():
        name = declaration.name()
        if name not in declared:  # a part that the text names to write it once
            continue
        if declaration.arity() == 0 and declaration.range() not in model.sorts():
            if not name.startswith("every_"):
                lines.append(f"{name} = {_shown(model[declaration])}")
        elif declaration.arity() == 1 and declaration.domain(0) in model.sorts():
            values = (_shown(model.eval(declaration(rank), model_completion=True)) for rank in ranks)
            lines.append(f"{name} = {', '.join(f'{_name(rank)}: {value}' for rank, value in enumerate(values))}")
    return (f"ranks = {', '.join(_name(rank) for rank, _ in enumerate(ranks))}", *sorted(lines))


def _name(rank: int) -> str:
    return f"rank {rank}"


def _shown(value: Any) -> str:
    return str(value.as_signed_long()) if z3.is_bv_value(value) else str(value)
