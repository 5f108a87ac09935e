"""What verification costs: proofs, exploring, fuzzing, and finding each fault."""

from __future__ import annotations

from collections.abc import Sequence

from rankproof.benchmarks import exploring_cost, finding_cost, fuzzing_cost, proving_cost
from rankproof.benchmarks.frame import Case, Effort, Item


def cases(effort: Effort) -> Sequence[Case]:
    """One for each of these; a quick run does not hunt on processes."""
    if effort.quick:
        return [
            proving_cost.case(1),
            proving_cost.command_case(1),
            exploring_cost.case(exploring_cost.QUICK_SECONDS),
            fuzzing_cost.case(fuzzing_cost.QUICK_TURNS),
            finding_cost.case(),
        ]
    return [
        proving_cost.case(proving_cost.TURNS * effort.repeat),
        proving_cost.command_case(proving_cost.COMMAND_TURNS * effort.repeat),
        exploring_cost.case(exploring_cost.SECONDS * effort.repeat),
        exploring_cost.reduced_case(exploring_cost.SECONDS * effort.repeat),
        fuzzing_cost.case(fuzzing_cost.TURNS * effort.repeat),
        finding_cost.case(),
        finding_cost.hunting_case(effort.seed, effort.repeat),
    ]


ITEM = Item("verification", "what proofs, exploring, fuzzing, and finding each fault cost", cases)
