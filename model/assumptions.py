"""The assumptions: what the engine must give, and what breaks when one of them alone is dropped."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rankproof.model.errors import unknown_name
from rankproof.model.faults import FAULTS, Fault
from rankproof.model.scenario import Scenario
from rankproof.model.system import Model


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something that the engine must give.

    says     the assumption in one sentence
    needed   the properties that rest on it
    dropped  the fault that is to be without it, whose first property falls, and of which the explorer finds the
             shortest schedule; None where what is lost is no property of one run (`closedloop.first_loss`)
    kept     the scenario of that fault with the assumption kept, in which nothing breaks; as large otherwise
    """

    name: str
    says: str
    needed: tuple[str, ...]
    dropped: Fault | None = None
    kept: Scenario | None = None

    @property
    def model(self) -> Model | None:
        """The same protocol with the assumption kept."""
        if self.dropped is None or self.kept is None:
            return None
        return replace(self.dropped.model, scenario=self.kept)


def assumption_named(name: str) -> Assumption:
    """The assumption of that name. Raises BadInput for an unknown one."""
    if name not in ASSUMPTIONS:
        raise unknown_name("assumption", name, ASSUMPTIONS)
    return ASSUMPTIONS[name]


ASSUMPTIONS: dict[str, Assumption] = {
    each.name: each
    for each in (
        Assumption(
            "same-order",
            "every rank enqueues the same acks in a lane, in the same order",
            ("same-pops", "finished-before-pop", "named-divergence", "drains-to-empty"),
            FAULTS["reordered-enqueue"],
            Scenario(),
        ),
        Assumption(
            "aligned-enqueue",
            "every rank enqueues the same acks before the same step, so that an enqueued prefix can be compared",
            ("named-divergence",),
            FAULTS["enqueued-digest-unaligned"],
            Scenario(acks=1, aligned_enqueue=True),
        ),
        Assumption(
            "only-accumulate",
            "between two steps acks are only added and finished: none is taken out, split or unfinished",
            ("finished-before-pop", "same-pops", "exact-delay", "bounded-lag"),
            FAULTS["withdrawn-in-flight"],
            Scenario(),
        ),
        Assumption(
            "every-ack-finishes",
            "an ack that a rank has enqueued finishes there, sooner or later",
            ("drains-to-empty", "no-deadlock"),
            FAULTS["transfer-without-ack"],
            Scenario(acks=1, evicts=1),
        ),
        Assumption(
            "everyone-steps",
            "every rank goes through every step",
            ("matched-collectives", "named-divergence", "drains-to-empty"),
            FAULTS["skipped-round"],
            Scenario(acks=1),
        ),
        Assumption(
            "aligned-reset",
            "every rank resets between the same two steps, where no epoch word tells ranks apart",
            ("finished-before-pop", "exact-delay", "bounded-lag"),
            FAULTS["reset-in-another-step"],
            Scenario(resets=1),
        ),
        Assumption(
            "same-layout",
            "storage is attached and detached on every rank between the same two steps, where the vector grows with it",
            ("matched-collectives", "named-divergence", "clean-lifecycle"),
            FAULTS["vector-by-layout"],
            Scenario(acks=1, attaches=1),
        ),
        Assumption(
            "same-mode",
            "every rank runs the same protocol",
            ("named-divergence", "exact-delay"),
            FAULTS["mixed-modes"],
            Scenario(acks=1),
        ),
        Assumption(
            "open-loop",
            "which acks are enqueued, and when they finish, does not depend on pops",
            ("exact-delay",),
        ),
        Assumption(
            "one-group",
            "all ranks that share lanes agree in one group",
            ("finished-before-pop", "bounded-skew"),
            FAULTS["agreement-in-halves"],
            Scenario(acks=1),
        ),
    )
}
"""Every assumption, by name."""
