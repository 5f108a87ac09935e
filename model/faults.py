"""The catalogue of faults: one wrong choice each, what it breaks, and where it was seen in public."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from rankproof.model.errors import unknown_name
from rankproof.model.interleaving import Model
from rankproof.model.protocol import PIPELINED, UNCOMPARED, Protocol
from rankproof.model.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Fault:
    """One wrong choice in the protocol, or one wrong thing that the engine does.

    says        what is done wrong, in one sentence
    breaks      the properties that fall, the one that tells most first
    references  public reports of it, as "project #number"; empty where none is known
    protocol    the protocol with the fault; `base` where the engine is at fault
    drops       the assumption that the engine breaks, or None
    scenario    the smallest scenario in which it shows
    base        the right protocol, of which a faulty one replaces one field
    """

    name: str
    says: str
    breaks: tuple[str, ...]
    references: tuple[str, ...]
    protocol: Protocol = PIPELINED
    drops: str | None = None
    scenario: Scenario = Scenario(acks=1)
    base: Protocol = PIPELINED

    @property
    def model(self) -> Model:
        """The faulty protocol in its scenario."""
        return Model(self.protocol, self.scenario)

    @property
    def choice(self) -> str:
        """The one field of the protocol that is wrong, as "field=value"; else what the engine does."""
        for field in fields(Protocol):
            value = getattr(self.protocol, field.name)
            if value != getattr(self.base, field.name):
                return f"{field.name}={'+'.join(value) if isinstance(value, tuple) else value}"
        return f"without {self.drops}"


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
            ("finished-before-pop", "exact-delay"),
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
        Fault(
            "remaining-counts-at-depth-2",
            "two rounds in flight count what remains, so the second counts again what the first is about to pop",
            ("finished-before-pop",),
            (),
            replace(PIPELINED, lag=2),
        ),
        Fault(
            "reordered-enqueue",
            "two acks are enqueued in the other order on one rank: totals are equal, and pops are not",
            ("named-divergence", "same-pops"),
            ("sglang #33777",),
            UNCOMPARED,
            drops="same-order",
            scenario=Scenario(swaps=1),
            base=UNCOMPARED,
        ),
        Fault(
            "withdrawn-in-flight",
            "an ack that a round in flight counts is taken out of its lane, or split, so that the pop takes another",
            ("exact-delay", "same-pops", "finished-before-pop", "bounded-lag"),
            ("sglang #27072",),
            drops="only-accumulate",
            scenario=Scenario(withdrawals=1),
        ),
        Fault(
            "ack-never-enqueued",
            "an ack that one rank never got keeps the agreed count at zero",
            ("drains-to-empty",),
            ("sglang #27489",),
            drops="same-order",
            scenario=Scenario(acks=1, losses=1),
        ),
        Fault(
            "transfer-without-ack",
            "a transfer that fails posts no ack: the head of its lane never finishes, and an eviction waits for ever",
            ("drains-to-empty", "no-deadlock"),
            ("bytedance-iaas sglang #646",),
            drops="every-ack-finishes",
            scenario=Scenario(acks=1, evicts=1, stalls=1),
        ),
        Fault(
            "idle-without-flush",
            "an idle scheduler does not step, so the last round is never consumed",
            ("drains-to-empty",),
            ("sglang #20560", "sglang #38504"),
            replace(PIPELINED, idles="stopped"),
        ),
        Fault(
            "skipped-round",
            "one rank leaves a step out, and every later round pairs its step k with the others' step k + 1",
            ("named-divergence", "matched-collectives"),
            ("vllm #43547", "torchcomms #2964"),
            UNCOMPARED,
            drops="everyone-steps",
            scenario=Scenario(acks=1, declines=1),
            base=UNCOMPARED,
        ),
        Fault(
            "second-round-on-own-event",
            "a helper that looks at the rank's own acks runs one more round within the step",
            ("one-owner", "matched-collectives"),
            ("sglang #29483", "sglang #29819", "sglang #30760", "sglang #33029", "sglang #38273"),
            replace(PIPELINED, issues="twice-when-nonempty"),
        ),
        Fault(
            "vector-by-layout",
            "the vector grows where storage is attached, which one rank does a step before another",
            ("named-divergence", "matched-collectives"),
            ("sglang #35269", "sglang #32817", "sglang #39267"),
            replace(UNCOMPARED, vector="by-layout"),
            scenario=Scenario(acks=1, attaches=1, aligned_attach=False),
            base=UNCOMPARED,
        ),
        Fault(
            "attach-in-flight",
            "storage is attached while a round of the old layout is in flight",
            ("clean-lifecycle",),
            ("sglang #35269",),
            replace(PIPELINED, attaches="in-flight"),
            scenario=Scenario(acks=1, attaches=1),
        ),
        Fault(
            "reset-in-another-step",
            "ranks reset in steps of their own, with nothing in flight: a round is a MIN over lanes of two epochs",
            ("finished-before-pop", "exact-delay", "bounded-lag"),
            (),
            drops="aligned-reset",
            scenario=Scenario(resets=1, aligned_resets=False),
        ),
        Fault(
            "mixed-modes",
            "one rank is blocking and the other pipelined: no hang, and a step of skew for ever",
            ("named-divergence",),
            ("sglang #29258", "bytedance-iaas sglang #634"),
            UNCOMPARED,
            drops="same-mode",
            scenario=Scenario(acks=1, blocking_ranks=1),
            base=UNCOMPARED,
        ),
        Fault(
            "ready-digest",
            "the digest is of the ready prefix, which differs between ranks without any fault",
            ("named-divergence",),
            (),
            replace(PIPELINED, guards=("ready",)),
        ),
        Fault(
            "enqueued-digest-unaligned",
            "the digest is of the enqueued prefix of a lane that ranks fill at different times: a false alarm",
            ("named-divergence",),
            (),
            replace(PIPELINED, guards=("enqueued",)),
            drops="aligned-enqueue",
            base=replace(PIPELINED, guards=("enqueued",)),
        ),
        Fault(
            "no-deadline",
            "a wait for a dead rank has no deadline, or one of 30 minutes",
            ("contained-failure",),
            ("sglang #39469", "pytorch #13056", "pytorch #130345"),
            replace(PIPELINED, deadline="none"),
            scenario=Scenario(acks=1, crashes=1),
        ),
        Fault(
            "carry-on-after-throw",
            "a rank whose pop throws leaves out the rest of its step and carries on with the next",
            ("drains-to-empty", "matched-collectives"),
            ("alibaba tair-kvcache #102",),
            replace(PIPELINED, throws="carries-on"),
            scenario=Scenario(acks=1, throws=1),
        ),
        Fault(
            "kept-buffer",
            "one tensor is kept for all rounds, and filled again while its round is in flight",
            ("one-owner", "finished-before-pop"),
            (),
            replace(PIPELINED, buffers="kept"),
        ),
        Fault(
            "unbounded-issue",
            "a rank issues round after round and waits for none that is not complete",
            ("one-owner", "bounded-skew"),
            ("sglang #28916",),
            replace(PIPELINED, bounds="none"),
        ),
        Fault(
            "follower-pops-at-once",
            "a rank of a pipeline pops what the leader counted before its own acks are finished, or are there",
            ("exact-delay", "finished-before-pop"),
            ("sglang #27285", "sglang #29109"),
            replace(PIPELINED, follows="at-once"),
            scenario=Scenario(acks=1, topology="pipeline"),
        ),
        Fault(
            "agreement-in-halves",
            "ranks that share lanes agree in two groups, each on its own",
            ("bounded-skew", "finished-before-pop"),
            ("sglang #20460",),
            drops="one-group",
            scenario=Scenario(acks=1, topology="halves"),
        ),
        Fault(
            "two-reduces-in-one-round",
            "the two reduces of a grid, of which the second needs what the first gives, are issued together",
            ("finished-before-pop",),
            ("sglang #39903",),
            replace(PIPELINED, joins="together"),
            scenario=Scenario(ranks=4, acks=1, topology="grid", ahead=2),
        ),
    )
}
"""Every fault, by name."""
