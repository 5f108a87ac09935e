"""What an obligation is: one claim, with the hypotheses that it may use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from rankproof.model.protocol import Protocol
from rankproof.model.reading import Truth
from rankproof.proofs.everyrank import EveryRank

Hypotheses: TypeAlias = dict[str, Truth]
"""What an obligation may use, by name; the assumptions among them have the names that the design gives them."""


ASSUMPTIONS = frozenset(
    {
        "same-order",
        "aligned-enqueue",
        "only-accumulate",
        "everyone-steps",
        "same-layout",
        "same-mode",
        "open-loop",
        "one-group",
    }
)
"""What the engine must give; a hypothesis of another name is part of the argument, and proved elsewhere."""


Goals: TypeAlias = dict[str, Truth]
"""What is to be proved, all of it; a conjunct of an invariant has the same name here and among the hypotheses."""


@dataclass(frozen=True, slots=True)
class Obligation:
    """One thing to prove.

    name      the property, a slash, and which part of its argument this is
    property  the name of the property, or "round-invariant"
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
    logic: str = "QF_UFLIA"
    applies: Callable[[Protocol], bool] = lambda protocol: True
