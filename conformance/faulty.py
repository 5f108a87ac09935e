"""Every fault of the catalogue as a subject: the reference implementation with that fault, and what it is held to.

`rankproof.conformance.faulty:count_before_pop` is the factory of the fault count-before-pop, without guard words, as in
the engines in which it was seen; `...:count_before_pop.guarded` is the same with them. Where the engine is at fault and
not the implementation, the subject is the reference implementation, and the fault is among the commands it is given.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias, cast

import torch
import torch.distributed as dist
from torch.distributed import ProcessGroupGloo

from rankproof.conformance import faulty_steps as steps
from rankproof.conformance import faulty_wires as wires
from rankproof.conformance.capabilities import Capabilities, Lane
from rankproof.conformance.reference import Opened, ReferenceSubject
from rankproof.conformance.rendezvous import join
from rankproof.conformance.subject import Observation, SubjectConfig
from rankproof.conformance.worlds import guarded
from rankproof.impl.acks import LaneKind
from rankproof.impl.chain import ChainTransport, StageAckSync
from rankproof.impl.lanes import Lanes
from rankproof.impl.sync import AckSync
from rankproof.impl.transport import GlooTransport, Transport
from rankproof.model.errors import unknown_name
from rankproof.model.protocol import BLOCKING, PIPELINED, Protocol, depth
from rankproof.model.system import Model

Opens: TypeAlias = Callable[[SubjectConfig, Mapping[str, LaneKind], bool], AckSync]
"""Makes one rank's part, given whether it is to compare guard words."""

ENGINE = Capabilities().scenario(2)
"""What the engine does where it does nothing wrong."""

TIMEOUT = 0.6
"""Seconds for a wait of a faulty subject: many of them end in one."""


class FaultySubject(ReferenceSubject):
    """One rank of the reference implementation with a fault, or in an engine with one.

    lost   "enqueue" or "finish": on the last rank that fails, unnoticed, for the first ack of the first lane; or empty
    tells  whether it says how many rounds are in flight. An engine does not: else it gives what a right one would, so
           that what is found is what the fault does, to acks or to a rank
    """

    def __init__(self, opened: Opened, capabilities: Capabilities, kind: LaneKind, lost: str, tells: bool) -> None:
        super().__init__(opened, kind, capabilities.storage)
        self.capabilities = capabilities
        self._lost = lost
        self._tells = tells

    def setup(self, config: SubjectConfig) -> None:
        """Opens this rank's part; returns when all ranks have."""
        super().setup(config)
        self._last = config.rank == config.world - 1

    def enqueue(self, lane: int, ack: int) -> None:
        """Puts an ack with an unfinished event into the lane, unless that fails here."""
        if not self._fails("enqueue", lane, ack):
            super().enqueue(lane, ack)

    def finish(self, lane: int, ack: int) -> None:
        """Finishes the event of an ack, unless that fails here, or the ack never came."""
        if not self._fails("finish", lane, ack) and (lane, ack) in self._events:
            super().finish(lane, ack)

    def step(self) -> Observation:
        """One step of the implementation."""
        return self._told(super().step(), self.capabilities.lag)

    def flush(self) -> Observation:
        """Consumes what is in flight and issues nothing."""
        return self._told(super().flush(), 0)

    def reset(self) -> Observation:
        """Clears every lane."""
        return self._told(super().reset(), 0)

    def evict(self, lane: int) -> Observation:
        """Pops all that is in a lane."""
        return self._told(super().evict(lane), 0)

    def _told(self, seen: Observation, rightly: int) -> Observation:
        return seen if self._tells else replace(seen, in_flight=rightly)

    def _fails(self, call: str, lane: int, ack: int) -> bool:
        return self._last and self._lost == call and (lane, ack) == (0, 0)


@dataclass(frozen=True, slots=True)
class Faulty:
    """A fault of the catalogue on the implementation: the factory of a subject that has it.

    opens         makes one rank's part, given whether it compares guard words
    at            whether the fault is in the implementation, or in what the engine does: commands of the schedule
    model         what the subject is held to: the right protocol, and what the engine may do
    capabilities  of the subject
    kind          of its lanes
    lost          what fails on the last rank, unnoticed, or empty
    tells         whether it says how many rounds are in flight (see `FaultySubject`)
    needs_words   whether the fault is in the guard words, so that it has them in any case
    """

    opens: Opens
    at: Literal["implementation", "engine"] = "implementation"
    model: Model = Model(PIPELINED, ENGINE)
    capabilities: Capabilities = Capabilities()
    kind: LaneKind = "aligned"
    lost: str = ""
    tells: bool = False
    needs_words: bool = False

    @property
    def ranks(self) -> int:
        """On how many ranks it shows."""
        return self.model.scenario.ranks

    def __call__(self) -> FaultySubject:
        """A rank with the fault that compares no guard words, unless the fault is in these."""
        return self._make(self.needs_words)

    def guarded(self) -> FaultySubject:
        """A rank with the fault that compares guard words."""
        return self._make(True)

    def _make(self, compares: bool) -> FaultySubject:
        def opened(config: SubjectConfig, lanes: Mapping[str, LaneKind]) -> AckSync:
            return self.opens(config, lanes, compares)

        return FaultySubject(opened, self.capabilities, self.kind, self.lost, self.tells)


def _on_group(config: SubjectConfig) -> ProcessGroupGloo:
    return cast(ProcessGroupGloo, join(config)._get_backend(torch.device("cpu")))


def _with(kind: Callable[[Transport, Mapping[str, LaneKind], bool], AckSync]) -> Opens:
    """A part of that kind on the harness's group."""
    return lambda config, lanes, compares: kind(GlooTransport(_on_group(config)), lanes, compares)


def _over(wire: Callable[[ProcessGroupGloo], Transport]) -> Opens:
    """The right part on that transport."""
    return lambda config, lanes, compares: steps.Pipelined(wire(_on_group(config)), lanes, compares)


def _never_waits(config: SubjectConfig, lanes: Mapping[str, LaneKind], compares: bool) -> AckSync:
    return steps.NeverWaits(wires.AskedTransport(_on_group(config)), lanes, compares)


def _fills_again(config: SubjectConfig, lanes: Mapping[str, LaneKind], compares: bool) -> AckSync:
    return steps.FillsAgain(wires.KeptTransport(_on_group(config)), lanes, compares)


def _remaining_at_depth_2(config: SubjectConfig, lanes: Mapping[str, LaneKind], compares: bool) -> AckSync:
    made = partial(Lanes, cumulative=False)
    return steps.Pipelined(GlooTransport(_on_group(config)), lanes, compares, lag=2, made=made)


def _ready_digest(config: SubjectConfig, lanes: Mapping[str, LaneKind], compares: bool) -> AckSync:
    made = partial(steps.ReadyLanes, cumulative=False)
    return steps.Pipelined(GlooTransport(_on_group(config)), lanes, compares, made=made)


def _mixed_modes(config: SubjectConfig, lanes: Mapping[str, LaneKind], compares: bool) -> AckSync:
    lag = 0 if config.rank == config.world - 1 else 1
    return steps.Pipelined(GlooTransport(_on_group(config)), lanes, compares, lag=lag)


def _follower_at_once(config: SubjectConfig, lanes: Mapping[str, LaneKind], compares: bool) -> AckSync:
    chain = ChainTransport(_on_group(config), None, config.rank, config.world)
    if config.rank == 0:
        return StageAckSync(chain, lanes)
    return steps.PopsAtOnce(chain, lanes) if compares else steps.UncomparedPopsAtOnce(chain, lanes)


def _two_reduces(config: SubjectConfig, lanes: Mapping[str, LaneKind], compares: bool) -> AckSync:
    """A grid of two rows; every rank makes every group, in one order, as torch demands."""
    join(config)
    columns = config.world // 2
    rows = [[*range(columns)], [*range(columns, config.world)]]
    limit = datetime.timedelta(seconds=config.timeout)
    directions: list[Transport] = []
    for members in (*rows, *zip(*rows, strict=True)):
        group = dist.new_group(members, limit, "gloo")
        if config.rank in members:
            directions.append(GlooTransport(group))
    return steps.Pipelined(wires.TogetherTransport(directions, config.rank, config.world), lanes, compares)


def _held(protocol: Protocol = PIPELINED, **bounds: Any) -> Model:
    return Model(protocol, replace(ENGINE, **bounds))


_NAMED = guarded(PIPELINED, "request")
"""What ranks are held to where the engine is at fault: to name it."""

_IN_EPOCHS = guarded(PIPELINED, "request", "enqueued")
"""The same where what is enqueued cannot be compared, as ranks reset each in a step of its own: nothing is popped then
in a round of two epochs, and no error is due."""

_STORAGE = Capabilities(lanes=(Lane("write"), Lane("hits")), storage=1, supports=frozenset({"flush", "reconfigure"}))
_STAGES = Capabilities(lag=0, in_memory=False)
_PIPELINED = _with(steps.Pipelined)

right = Faulty(_PIPELINED)
"""No fault, and no guard words: what the faulty ones would be without their faults."""

FAULTY: dict[str, Faulty] = {
    "count-before-pop": Faulty(_with(steps.CountsFirst)),
    "pop-own-count": Faulty(_with(steps.PopsItsOwn)),
    "max-instead-of-min": Faulty(_over(wires.MaxTransport)),
    "use-before-wait": Faulty(_over(wires.EarlyTransport)),
    "skip-when-empty": Faulty(_with(steps.SkipsWhenEmpty)),
    "reset-without-drain": Faulty(_with(steps.ResetsInFlight), tells=True),
    "evict-in-flight": Faulty(_with(steps.EvictsInFlight)),
    "divergent-enqueue": Faulty(_PIPELINED, "engine", _held(_NAMED, losses=1)),
    "remaining-counts-at-depth-2": Faulty(
        _remaining_at_depth_2, model=_held(depth(2)), capabilities=Capabilities(lag=2, cumulative=True), tells=True
    ),
    "reordered-enqueue": Faulty(_PIPELINED, "engine", _held(_NAMED, swaps=1)),
    "withdrawn-in-flight": Faulty(_with(steps.SplitsInFlight)),
    "ack-never-enqueued": Faulty(_PIPELINED, lost="enqueue"),
    "transfer-without-ack": Faulty(_PIPELINED, lost="finish"),
    "idle-without-flush": Faulty(_with(steps.Idles)),
    "skipped-round": Faulty(_with(steps.LeavesAStepOut)),
    "second-round-on-own-event": Faulty(_with(steps.IssuesTwice)),
    "vector-by-layout": Faulty(
        _with(steps.AttachesAlone),
        model=Model(PIPELINED, replace(_STORAGE.scenario(2), aligned_attach=False)),
        capabilities=_STORAGE,
    ),
    "attach-in-flight": Faulty(
        _with(steps.AttachesInFlight), model=Model(PIPELINED, _STORAGE.scenario(2)), capabilities=_STORAGE
    ),
    "reset-in-another-step": Faulty(
        _PIPELINED,
        "engine",
        _held(_IN_EPOCHS, aligned_resets=False, aligned_enqueue=False, evicts=0),
        kind="prefix",
    ),
    "mixed-modes": Faulty(_mixed_modes),
    "ready-digest": Faulty(_ready_digest, needs_words=True),
    "enqueued-digest-unaligned": Faulty(
        _PIPELINED, "engine", _held(aligned_enqueue=False, evicts=0, resets=0), needs_words=True
    ),
    "no-deadline": Faulty(
        _over(wires.PatientTransport),
        model=_held(crashes=1, closes=0),
        capabilities=Capabilities(survives=frozenset({"crash"})),
    ),
    "carry-on-after-throw": Faulty(_with(steps.CarriesOn), model=_held(throws=1, closes=0)),
    "kept-buffer": Faulty(_fills_again),
    "unbounded-issue": Faulty(_never_waits),
    "follower-pops-at-once": Faulty(
        _follower_at_once,
        model=_held(BLOCKING, topology="pipeline", ahead=1, evicts=0, resets=0),
        capabilities=_STAGES,
    ),
    "agreement-in-halves": Faulty(_over(lambda group: wires.LoneTransport(GlooTransport(group)))),
    "two-reduces-in-one-round": Faulty(
        _two_reduces,
        model=_held(ranks=4, topology="grid", resets=0, evicts=0, flushes=0),
        capabilities=Capabilities(supports=frozenset(), in_memory=False),
    ),
}
"""Every fault of the catalogue, by its name there."""


def faulty_named(name: str) -> Faulty:
    """The subject of the fault of that name. Raises BadInput for an unknown one."""
    if name not in FAULTY:
        raise unknown_name("fault", name, FAULTY)
    return FAULTY[name]


def __getattr__(name: str) -> Faulty:
    """The factory of a fault, by its name with underscores."""
    try:
        return FAULTY[name.replace("_", "-")]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
