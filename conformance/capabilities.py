"""What a subject says it does: its lag, its lanes, what may be asked of it; and the model that it is held against."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from rankproof.model.interleaving import Model
from rankproof.model.protocol import BLOCKING, PIPELINED, Protocol, Word
from rankproof.model.scenario import Scenario

Count: TypeAlias = Literal["prefix", "size"]
"""How a lane is counted: by its finished prefix, or by its length."""

Operation: TypeAlias = Literal["flush", "reset", "evict", "reconfigure"]
"""A method of the subject contract that an implementation need not have a counterpart of."""

Mishap: TypeAlias = Literal["lose", "swap", "stall", "throw", "crash", "freeze"]
"""What may go wrong on one rank: an enqueue fails, two acks trade places, a transfer posts no ack, an event throws when
it is asked, the process is killed, or it is stopped and never goes on."""

PLENTY = 300
"""More of everything than one random schedule comes to."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One lane: its name, how it is counted, and whether an eviction may empty it.

    A "prefix" lane is given acks that are unfinished, and `finish` tells when one finishes. A "size" lane is given only
    what has finished, each rank at its own time but all in one order, as background threads fill the storage lanes of
    an engine: there `enqueue` is all that the subject is told. To the model both are one thing: what it calls the
    enqueue of an ack says that the ack is to come, and what it calls its finish is in a size lane the moment at which
    the subject gets it.
    """

    name: str
    counts: Count = "prefix"
    evicts: bool = True


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a subject is held to; the defaults are those of the pipelined protocol with a write and a load lane.

    A subject, or the factory that makes it, says so in an attribute named `capabilities`.

    lag         steps between a count and the pop that it allows: 0 blocking, 1 pipelined, k for depth k
    cumulative  whether a round counts all that ever was ready (a watermark); any lag above 1 needs it
    lanes       the lanes, in the order of the numbers by which commands and observations name them
    order       whether acks are popped by position, so that their order counts; or by identity, as from a set: then
                the acks of one call are compared without their order
    waits       whether a pop may wait for an ack that is unfinished on its own rank, as a follower in a pipeline does
    supports    the operations that may be asked of it; the others are never sent
    storage     how many of the lanes, the last ones, are there only while `reconfigure("storage", True)` holds; it goes
                with "reconfigure" in `supports`, as nothing else is reconfigured
    attaches    whether `reconfigure` makes the change at once, or asks for it; then all make it before the same round
    guards      the guard words that its ranks compare in each round; a difference in one is then an error on every rank
    survives    what may go wrong on one rank and must be an error on the others, or no harm. Nothing, unless it is
                said: an implementation that compares no digest of its acks does not even see that an enqueue failed,
                and one that is not told to leave its group when it breaks leaves its peers to their deadline
    in_memory   whether its ranks may also share one process, where a wait that cannot end costs no time; False for a
                subject that keeps state in module globals, or makes groups of its own
    """

    lag: int = 1
    cumulative: bool = False
    lanes: tuple[Lane, ...] = (Lane("write"), Lane("load"))
    order: Literal["position", "identity"] = "position"
    waits: bool = False
    supports: frozenset[Operation] = frozenset({"flush", "reset", "evict"})
    storage: int = 0
    attaches: Literal["at-once", "agreed"] = "at-once"
    guards: tuple[Word, ...] = ()
    survives: frozenset[Mishap] = frozenset()
    in_memory: bool = True

    def __post_init__(self) -> None:
        """Raises ValueError, saying what to write instead, for a combination that no implementation can have."""
        if self.lag < 0:
            raise ValueError(f"lag must be 0 or more, not {self.lag}")
        if self.lag > 1 and not self.cumulative:
            raise ValueError(f"a lag of {self.lag} over-pops unless its counts are cumulative: say cumulative=True")
        if not self.lanes or len({lane.name for lane in self.lanes}) != len(self.lanes):
            raise ValueError("a subject has at least one lane, and each lane a name of its own")
        if not 0 <= self.storage <= len(self.lanes):
            raise ValueError(f"storage must be 0 to {len(self.lanes)} of the lanes, not {self.storage}")
        known = get_args(Operation)
        if unknown := sorted(set(self.supports).difference(known)):
            raise ValueError(f"supports names {', '.join(map(repr, unknown))}; there are {', '.join(known)}")
        if self.storage and "reconfigure" not in self.supports:
            raise ValueError(f'a storage of {self.storage} is never attached: add "reconfigure" to supports')
        if self.attaches == "agreed" and not self.storage:
            raise ValueError('attaches="agreed" is of storage lanes that come and go: say storage=1, or leave it out')
        for named, there in ((self.guards, get_args(Word)), (self.survives, get_args(Mishap))):
            if strange := sorted(set(named).difference(there)):
                raise ValueError(f"{', '.join(map(repr, strange))} is none of {', '.join(there)}")
        if self.survives & {"lose", "swap"} and not {"enqueued", "popped"} & set(self.guards):
            raise ValueError(
                'survives has "lose" or "swap", after which ranks pop other acks, and nothing tells: '
                'say which digest is compared, guards=("enqueued",) or ("popped",)'
            )
        if "reconfigure" in self.supports and not self.storage:
            raise ValueError('supports has "reconfigure", which attaches storage lanes: say storage=1, or leave it out')

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the lanes, as `SubjectConfig.lanes` gives them to the subject."""
        return tuple(lane.name for lane in self.lanes)

    @property
    def protocol(self) -> Protocol:
        """The right protocol of this lag."""
        right = BLOCKING if self.lag == 0 else PIPELINED if self.lag == 1 else replace(PIPELINED, lag=self.lag)
        if self.attaches == "agreed":
            asked: tuple[Word, ...] = () if "request" in self.guards else ("request",)
            right = replace(right, attaches="agreed", guards=(*asked, *self.guards))
        else:
            right = replace(right, guards=self.guards)
        return replace(right, offers="cumulative") if self.cumulative else right

    def scenario(self, ranks: int) -> Scenario:
        """A world that random schedules do not come to the end of; as in the engine, enqueues are aligned with steps.

        It holds none of what the subject does not support, and nothing goes wrong in it.
        """
        return Scenario(
            ranks=ranks,
            lanes=self.names,
            acks=PLENTY,
            resets=PLENTY if "reset" in self.supports else 0,
            evicts=PLENTY if "evict" in self.supports else 0,
            flushes=PLENTY if "flush" in self.supports else 0,
            attaches=PLENTY if self.storage else 0,
            storage=self.storage,
            closes=1,
            aligned_enqueue=True,
            aligned_attach=self.attaches == "at-once",
            ahead=PLENTY,
        )

    def mishaps(self, ranks: int) -> Scenario:
        """The same world where one thing of each kind that is survived goes wrong.

        There are no evictions in it, which would wait for an ack that never comes, and no storage or close, which all
        ranks do together.
        """
        return replace(
            self.scenario(ranks),
            evicts=0,
            attaches=0,
            closes=0,
            losses=int("lose" in self.survives),
            swaps=int("swap" in self.survives),
            stalls=int("stall" in self.survives),
            throws=int("throw" in self.survives),
            crashes=int(bool(self.survives & {"crash", "freeze"})),
        )

    def model(self, ranks: int) -> Model:
        """What the subject is held against on so many ranks."""
        return Model(self.protocol, self.scenario(ranks))

    def models(self, ranks: int) -> tuple[Model, ...]:
        """The same, and where something is survived, what it is held against while that goes wrong."""
        return (self.model(ranks), Model(self.protocol, self.mishaps(ranks)))[: 1 + bool(self.survives)]
