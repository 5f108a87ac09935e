"""What proofs cost: every obligation put to each solver in turn, and the command as whoever runs it waits for it.

The first is what the solvers do, in one process that has started. The command starts besides, refutes the false claims
and makes a report; and it takes less than the sum of it all, for it works on all cores.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

from rankproof.benchmarks.frame import Case, Lost, Samples
from rankproof.benchmarks.results import Value
from rankproof.conformance.launcher import Launcher
from rankproof.model.protocol import PIPELINED
from rankproof.proofs.question import denial
from rankproof.proofs.solvers import Answer, cvc5_answers_both, z3_answers_both
from rankproof.proofs.theorems import OBLIGATIONS

SOLVERS: dict[str, Callable[[str], tuple[Answer, Answer]]] = {"z3": z3_answers_both, "cvc5": cvc5_answers_both}
"""What each says of both questions about an obligation, as `rankproof prove` asks: in one text, which it reads once."""

COMMANDS: dict[str, tuple[str, ...]] = {"prove": ("prove",), "prove --cross-check": ("prove", "--cross-check")}
"""The commands that prove all of it: by z3 alone, and by z3 and cvc5."""

TURNS = 3
SECONDS_A_TURN = 8.0

COMMAND_TURNS = 7
SECONDS_A_COMMAND_TURN = 6.0

DEADLINE_S = 120.0
"""Seconds after which a command is given up."""


def case(turns: int) -> Case:
    """So many turns of all obligations; a sample is one obligation in one turn."""
    return Case("proofs", {"turns": turns}, SECONDS_A_TURN * turns, partial(_prove, turns=turns))


def command_case(turns: int) -> Case:
    """So many turns of both commands; a sample is one command in one turn."""
    return Case("the command", {"turns": turns}, SECONDS_A_COMMAND_TURN * turns, partial(_run, turns=turns))


def _prove(_: Launcher, turns: int) -> Samples:
    """A sample has `turn`, `obligation`, `stating_s` (making the text), and for each solver its seconds for both.

    Both are that the negation has no model, and that the hypotheses have one. Raises Lost where one says
    otherwise.
    """
    for turn in range(turns):
        for obligation in OBLIGATIONS:
            if not obligation.applies(PIPELINED):
                continue
            began = time.perf_counter()
            text = denial(obligation, PIPELINED).both_text()
            stating = time.perf_counter() - began
            took: dict[str, Value] = {"turn": turn, "obligation": obligation.name, "stating_s": stating}
            for name, answers in SOLVERS.items():
                began = time.perf_counter()
                said = answers(text)
                took[f"{name}_s"] = time.perf_counter() - began
                if said != (Answer.UNSAT, Answer.SAT):
                    raise Lost(f"{name} says {said[0]} and {said[1]} of {obligation.name}")
            yield took


def _run(_: Launcher, turns: int) -> Samples:
    """A sample has `turn`, `command` and `took_s`: from before its process is started until that has ended.

    Raises Lost where a command does not say that all of it holds.
    """
    for turn in range(turns):
        for name, arguments in COMMANDS.items():
            began = time.perf_counter()
            try:
                ended = subprocess.run(
                    [sys.executable, "-m", "rankproof", *arguments],
                    capture_output=True,
                    text=True,
                    timeout=DEADLINE_S,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise Lost(f"rankproof {name} did not end within {DEADLINE_S:.0f} s") from error
            took = time.perf_counter() - began
            if ended.returncode != 0:
                last = (ended.stdout or ended.stderr).strip().splitlines()[-1:]
                raise Lost(f"rankproof {name} ended with exit code {ended.returncode}: {' '.join(last)}")
            yield {"turn": turn, "command": name, "took_s": took}
