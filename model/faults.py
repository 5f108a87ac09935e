"""The catalogue of faults: one wrong choice each, what it breaks, and where it was seen in public."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from rankproof.model.errors import unknown_name
from rankproof.model.interleaving import Model
from rankproof.model.protocol import PIPELINED, Protocol
from rankproof.model.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Fault:
    """One wrong choice in the protocol, or one wrong thing that the engine does.

    says        what is done wrong, in one sentence
    breaks      the properties that fall, the one that tells most first
    references  public reports of it, as "project #number"; empty where none is known
    protocol    the protocol with the fault; the right one where the engine is at fault
    drops       the assumption that the engine breaks, or None where the protocol is at fault
    scenario    the smallest scenario in which it shows
    """

    name: str
    says: str
    breaks: tuple[str, ...]
    references: tuple[str, ...]
    protocol: Protocol = PIPELINED
    drops: str | None = None
    scenario: Scenario = Scenario(acks=1)

    @property
    def model(self) -> Model:
        """The faulty protocol in its scenario."""
        return Model(self.protocol, self.scenario)

    @property
    def choice(self) -> str:
        """The one field of the protocol that is wrong, as "field=value", or "without" the assumption that is broken."""
        wrong = [
            f"{field.name}={getattr(self.protocol, field.name)}"
            for field in fields(Protocol)
            if getattr(self.protocol, field.name) != getattr(PIPELINED, field.name)
        ]
        return ", ".join(wrong) or f"without {self.drops}"


def fault_named(name: str) -> Fault:
    """The fault of that name. Raises BadInput for an unknown one."""
    if name not in FAULTS:
        raise unknown_name("fault", name, FAULTS)
    return FAULTS[name]


FAULTS: dict[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault(
            "count-before-pop",
            "the next round counts acks that this step is about to pop, so they are counted twice",
            ("finished-before-pop",),
            ("sglang #39903",),
            replace(PIPELINED, counts="before-pop"),
        ),
        Fault(
            "pop-own-count",
            "a rank pops the counts that it offered, not the agreed ones",
            ("finished-before-pop",),
            ("sglang #29483", "sglang #29819"),
            replace(PIPELINED, pops="own"),
        ),
        Fault(
            "max-instead-of-min",
            "the ranks agree on the largest count",
            ("finished-before-pop",),
            (),
            replace(PIPELINED, reduces="max"),
        ),
        Fault(
            "use-before-wait",
            "the result is read before the wait, when the tensor still holds this rank's own offer",
            ("finished-before-pop", "one-owner"),
            ("fairscale #499", "pytorch #147309"),
            replace(PIPELINED, reads="before-wait"),
        ),
        Fault(
            "skip-when-empty",
            "a rank whose lanes have nothing ready issues no round in that step",
            ("matched-collectives",),
            ("sglang #26921", "sglang #26923", "sglang #27489", "sglang #28430", "sglang #10127"),
            replace(PIPELINED, issues="when-nonempty"),
        ),
        Fault(
            "reset-without-drain",
            "a reset clears the lanes and leaves a round in flight, whose result meets the next epoch",
            ("finished-before-pop", "clean-lifecycle"),
            ("sglang #20746", "sglang #26009", "sglang #26991"),
            replace(PIPELINED, resets="in-flight"),
            scenario=Scenario(acks=1, resets=1),
        ),
        Fault(
            "evict-in-flight",
            "a blocking eviction pops acks that the round in flight has counted",
            ("finished-before-pop", "one-owner"),
            ("sglang #40576", "bytedance-iaas sglang #748"),
            replace(PIPELINED, evicts="in-flight"),
            scenario=Scenario(acks=1, evicts=1),
        ),
        Fault(
            "divergent-enqueue",
            "an enqueue fails on one rank only, so that equal counts stand for other acks",
            ("same-pops", "finished-before-pop"),
            ("sglang #28429", "sglang #31425", "sglang #33442"),
            drops="same-order",
            scenario=Scenario(losses=1),
        ),
    )
}
"""Every fault, by name."""
