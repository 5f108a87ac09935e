"""Whether a proof rests on luck: the same obligations under other seeds and other orders of their assertions."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from rankproof.model.protocol import PIPELINED, Protocol
from rankproof.model.verdict import Verdict, combine
from rankproof.proofs.obligation import Obligation
from rankproof.proofs.question import questions
from rankproof.proofs.solvers import Answer, z3_answers
from rankproof.proofs.theorems import OBLIGATIONS


@dataclass(frozen=True, slots=True)
class Sweep:
    """One obligation, proved again and again, each time in a context of its own.

    answers   how often each answer came out under another seed and order; all should be unsat
    worst_s   the longest of them, in seconds
    control   the answers with the same seed and order, as often: where these differ, the sweep shows nothing
    spread_s  the longest time of the control less the shortest: what the machine alone makes of it
    """

    obligation: str
    answers: dict[Answer, int]
    worst_s: float
    control: dict[Answer, int]
    spread_s: float

    @property
    def verdict(self) -> Verdict:
        """Holds where every answer, of the control too, was a proof."""
        if Answer.SAT in self.answers:
            return Verdict.VIOLATED
        proved = set(self.answers) == set(self.control) == {Answer.UNSAT}
        return Verdict.HOLDS if proved else Verdict.UNDETERMINED


def sweep(
    seeds: int,
    protocol: Protocol = PIPELINED,
    *,
    obligations: Sequence[Obligation] = OBLIGATIONS,
    timeout_s: float = 30.0,
    progress: Callable[[str], None] | None = None,
) -> tuple[Sweep, ...]:
    """Each obligation that applies to `protocol`, `seeds` times; `progress` is told the name of the next one.

    Raises ValueError for fewer than one seed.
    """
    if seeds < 1:
        raise ValueError(f"a sweep needs at least 1 seed, not {seeds}")
    sweeps = []
    for obligation in obligations:
        if not obligation.applies(protocol):
            continue
        if progress:
            progress(obligation.name)
        question = questions(obligation, protocol)[0]
        varied = [_timed(question.text(Random(seed)), timeout_s, seed) for seed in range(1, seeds + 1)]
        same = [_timed(question.text(Random(1)), timeout_s, 1) for _ in range(seeds)]
        times = [seconds for _, seconds in same]
        sweeps.append(
            Sweep(
                obligation.name,
                _tally(varied),
                max(seconds for _, seconds in varied),
                _tally(same),
                max(times) - min(times),
            )
        )
    return tuple(sweeps)


def overall(sweeps: Sequence[Sweep]) -> Verdict:
    """The verdict on all of them together."""
    return combine(each.verdict for each in sweeps)


def _timed(text: str, timeout_s: float, seed: int) -> tuple[Answer, float]:
    began = time.monotonic()
    return z3_answers(text, timeout_s, seed), time.monotonic() - began


def _tally(answers: Sequence[tuple[Answer, float]]) -> dict[Answer, int]:
    seen = [answer for answer, _ in answers]
    return {answer: seen.count(answer) for answer in Answer if answer in seen}
