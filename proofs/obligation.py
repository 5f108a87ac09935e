"""What an obligation is: one claim, with the hypotheses that it may use, and what the form of all of them supposes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from rankproof.model.protocol import Protocol
from rankproof.model.reading import Truth
from rankproof.proofs.everyrank import EveryRank

Hypotheses: TypeAlias = dict[str, Truth]
"""What an obligation may use, by name.

One with the name of an assumption (`rankproof.model.assumptions`) is what the engine must give; one of another name is
part of the argument, and proved elsewhere.
"""


BUILT_IN: dict[str, str] = {
    "everyone-steps": "in lockstep all ranks take each step, and a rank that moves alone leaves no phase out",
    "same-layout": "every rank has the one lane that there is",
    "same-mode": "one protocol is what every rank runs",
    "one-group": "the MIN is over all ranks that there are",
}
"""The assumptions that are in the form of most terms, so that no obligation made of these can go without them; how."""


Goals: TypeAlias = dict[str, Truth]
"""What is to be proved, all of it; a conjunct of an invariant has the same name here and among the hypotheses."""


LOGIC = "QF_UFLIA"
"""The SMT-LIB logic of all that is not about words of bits: integers, functions of them and of ranks, no quantifier."""


@dataclass(frozen=True, slots=True)
class Obligation:
    """One thing to prove.

    name      the property, a slash, and which part of its argument this is
    property  the property that it is a part of; or a lemma, "round-invariant", "interleaving-invariant", "commutation"
    says      the obligation in one sentence
    needs     the names of the assumptions among its hypotheses
    state     from a reading and a protocol, the hypotheses and the goals
    logic     the SMT-LIB logic that it is in
    applies   whether the obligation says anything of a protocol; most say something of every one
    """

    name: str
    property: str
    says: str
    needs: tuple[str, ...]
    state: Callable[[EveryRank, Protocol], tuple[Hypotheses, Goals]]
    logic: str = LOGIC
    applies: Callable[[Protocol], bool] = lambda protocol: True
