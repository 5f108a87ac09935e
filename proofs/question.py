"""An obligation as SMT-LIB text: what both solvers are asked, and what a person can read and put to a third."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from random import Random

from rankproof.model.protocol import PIPELINED, Protocol
from rankproof.model.reading import Truth
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.obligation import Obligation
from rankproof.proofs.smt import CHECK, written


@dataclass(frozen=True, slots=True)
class Question:
    """One obligation about one protocol, as terms.

    declarations  every name, in SMT-LIB
    facts       what the constants in the hypotheses and the goal stand for, without quantifiers
    hypotheses  by name, without those that may not be used
    denied      the negation of the goal, or None where only the hypotheses are asked about
    """

    obligation: Obligation
    declarations: tuple[str, ...]
    facts: tuple[Truth, ...]
    hypotheses: tuple[tuple[str, Truth], ...]
    denied: Truth | None

    @property
    def assertions(self) -> list[tuple[str, Truth]]:
        """Every assertion, each with the comment that says what it is."""
        given = [("what the names stand for", fact) for fact in self.facts]
        given += [(f"hypothesis: {name}", truth) for name, truth in self.hypotheses]
        return given if self.denied is None else [*given, ("not the goal", self.denied)]

    def text(self, order: Random | None = None) -> str:
        """The question in SMT-LIB, up to and with `(check-sat)`; `order` shuffles its assertions."""
        assertions = self.assertions
        if order is not None:
            order.shuffle(assertions)
        return self._written(assertions, 1)

    def both_text(self) -> str:
        """Both questions about the obligation in one text: `(check-sat)` stands before the denial, and behind it.

        So a solver reads the hypotheses once, and knows what it has found out of them when it comes to the goal.
        Raises ValueError where nothing is denied, so that there is one question only.
        """
        if self.denied is None:
            raise ValueError(f"{self.obligation.name}: there is no goal to ask about")
        return self._written(self.assertions, 2)

    def _written(self, assertions: list[tuple[str, Truth]], checks: int) -> str:
        """The assertions in SMT-LIB; with two checks, the first one is before the last of them."""
        definitions, text_of = written([term for _, term in assertions])
        lines = [f"(set-logic {self.obligation.logic})", *self.declarations, *definitions]
        last = ""
        for place, (comment, term) in enumerate(assertions, 1):
            if checks == 2 and place == len(assertions):
                lines.append(CHECK)
            if comment != last:
                lines.append(f"; {comment}")
                last = comment
            lines.append(f"(assert {text_of(term)})")
        return "\n".join([*lines, CHECK, ""])


def denial(obligation: Obligation, protocol: Protocol = PIPELINED, *, without: Collection[str] = ()) -> Question:
    """The question that has a model where the obligation fails: the hypotheses, and not the goal.

    `without` names hypotheses that may not be used; goals of these names are not to be proved either.
    """
    reading = EveryRank()
    stated, goals = obligation.state(reading, protocol)
    hypotheses = tuple((name, reading.both(truth)) for name, truth in stated.items() if name not in without)
    proved = [truth for name, truth in goals.items() if name not in without]
    facts = tuple(reading.facts([truth for _, truth in hypotheses], proved))
    names = tuple(reading.declarations)  # of the facts too, which may have to name a rank
    return Question(obligation, names, facts, hypotheses, reading.negate(reading.both(*proved)))


def questions(
    obligation: Obligation, protocol: Protocol = PIPELINED, *, without: Collection[str] = ()
) -> tuple[Question, Question]:
    """The two questions about one obligation: its denial, and the same without the last assertion.

    The second has a model where the hypotheses do not contradict each other: what stands for the goals does not ask
    them to be false.
    """
    denied = denial(obligation, protocol, without=without)
    return denied, replace(denied, denied=None)
