"""One real rank of the process tests: opens its part of a plan, and does what it is told over a pipe.

Run by path with `runpy`, as a module of the tests cannot be imported in a child process. A command is the name of a
method of `Rank` with its arguments; for the answer see `Answer` in `ranks`.
"""

import os
import time
from array import array
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import FileStore, ReduceOp

from rankproof.impl.acks import Ack, LaneKind
from rankproof.impl.exchange import ExchangeTransport
from rankproof.impl.frame import StepResult
from rankproof.impl.opening import open_ack_sync
from rankproof.impl.plan import Topology, plan_for
from rankproof.impl.rounds import CarriedRounds
from rankproof.impl.rows import Row
from rankproof.impl.transport import GlooTransport, Round, Transport

KINDS: dict[str, LaneKind] = {"write": "aligned", "load": "prefix", "backup": "size"}
"""The lanes that a rank may open with, all of them where it is not told which."""


class Event:
    """Finishes when told, or raises from then on."""

    def __init__(self) -> None:
        self.finished = False
        self.spoiled = False

    def query(self) -> bool:
        if self.spoiled:
            raise RuntimeError("the event is spoiled")
        return self.finished

    def synchronize(self) -> None:
        return None


class Wrong:
    """A transport that uses gloo as it should, and of which each kind does one thing wrong."""

    def __init__(self, inner: GlooTransport) -> None:
        self.inner = inner
        self.rank, self.world, self.timeout = inner.rank, inner.world, inner.timeout

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        self.inner.offer(round_number, vector)

    def agreed(self, round_number: int) -> tuple[int, ...]:
        return self.inner.agreed(round_number)

    def close(self) -> None:
        self.inner.close()


class ReadsBeforeTheWait(Wrong):
    """Takes what the tensor holds, and never waits."""

    def agreed(self, round_number: int) -> tuple[int, ...]:
        self.dropped = self.inner._in_flight.popleft()  # kept, as gloo still writes into its tensor
        assert self.dropped.number == round_number
        return self.inner._result(tuple(self.dropped.result.words))


class KeepsItsBuffer(Wrong):
    """Writes what it will offer next into the tensor of the round that is in flight."""

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        self.inner.offer(round_number, vector)
        following = list(vector)
        word, complement = 5, 14  # of the round, where there are three lanes
        following[word] = round_number + 1
        following[complement] = ~following[word]
        last = self.inner._in_flight[-1]
        if last.given is None:
            last.tensor.copy_(torch.tensor(following))
        else:
            last.given.tensor.copy_(torch.tensor(following * self.world))


class DropsTheWork(Wrong):
    """Lets a round go by without its result."""

    def agreed(self, round_number: int) -> tuple[int, ...]:
        vector = list(self.inner.agreed(round_number))
        return (0, 0, 0, *vector[3:])


class SwapsTwoRounds(Wrong):
    """Issues the second round before the first."""

    held: Sequence[int] = ()

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        if round_number == 1:
            self.held = vector
        elif round_number == 2:
            self.inner.offer(1, vector)
            self.inner.offer(2, self.held)
        else:
            self.inner.offer(round_number, vector)


class SkipsARound(Wrong):
    """Issues nothing in the second round, and goes on counting."""

    skipped: Sequence[int] = ()

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        if round_number == 2:
            self.skipped = vector
        else:
            self.inner.offer(round_number - (round_number > 2), vector)

    def agreed(self, round_number: int) -> tuple[int, ...]:
        return tuple(self.skipped) if round_number == 2 else self.inner.agreed(round_number - (round_number > 2))


class Sums(Wrong):
    """Reduces with SUM."""

    def __init__(self, inner: GlooTransport) -> None:
        super().__init__(inner)
        inner._options.reduceOp = ReduceOp(ReduceOp.SUM)


class RunsAnotherCollective(Wrong):
    """Runs a broadcast before the second round."""

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        if round_number == 2:
            self.tensor = torch.tensor(vector)
            self.work = self.inner._backend.broadcast([self.tensor])  # type: ignore[union-attr]
        self.inner.offer(round_number, vector)


class OffersAnotherLength(Wrong):
    """Offers one word more than the others."""

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        self.inner.offer(round_number, (*vector, 0))

    def agreed(self, round_number: int) -> tuple[int, ...]:
        return self.inner.agreed(round_number)[:-1]


class OffersAnotherType(Wrong):
    """Offers words of 32 bits."""

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        backend = self.inner._backend
        assert backend is not None
        if isinstance(self.inner, ExchangeTransport):
            tensor = torch.tensor([0] * len(vector) * self.world, dtype=torch.int32)
            self.given = tensor.clone()
            work = backend.alltoall_base(tensor, self.given, [], [], self.inner._exchange)
        else:
            tensor = torch.tensor([0] * len(vector), dtype=torch.int32)
            work = backend.allreduce([tensor], self.inner._options)
        self.inner._offered = round_number
        own = memoryview(array("q", [*vector] * self.world))
        self.inner._in_flight.append(Round(round_number, work, Row(tensor, own)))


WRONG: dict[str, type[Wrong]] = {
    kind.__name__: kind
    for kind in (
        ReadsBeforeTheWait,
        KeepsItsBuffer,
        DropsTheWork,
        SwapsTwoRounds,
        SkipsARound,
        Sums,
        RunsAnotherCollective,
        OffersAnotherLength,
        OffersAnotherType,
    )
}


class Rank:
    """What the test can tell one rank."""

    def __init__(self, rank: int, world: int, store: str, settings: dict[str, Any]) -> None:
        shape = Topology(**settings["topology"])
        plan = plan_for(shape, settings["depth"], {"RANKPROOF_ASYNC": settings["switch"]})
        lanes = {name: KINDS[name] for name in settings.get("lanes", KINDS)}
        self.sync = open_ack_sync(
            rank, plan, FileStore(store, world), lanes, settings["timeout"], carrier=settings["carrier"]
        )
        self.events: dict[str, Event] = {}

    def reduces(self) -> None:
        """From now on by an all_reduce, in the group in which it would exchange."""
        exchange = self.sync._transport
        assert isinstance(exchange, ExchangeTransport)
        self.group = exchange._backend
        self._replace(GlooTransport(self.group))  # type: ignore[arg-type] # a backend is a group

    def does_wrong(self, kind: str) -> None:
        inner = self.sync._transport
        assert isinstance(inner, GlooTransport)
        self._replace(WRONG[kind](inner))

    def _replace(self, transport: Transport) -> None:
        rounds = self.sync._rounds
        inline = rounds._inline if isinstance(rounds, CarriedRounds) else rounds
        self.sync._transport = inline._transport = transport

    def enqueue(self, identity: str) -> None:
        self.events[identity] = Event()
        self.sync.enqueue("write", Ack(identity, self.events[identity]))

    def finish(self, identity: str) -> None:
        self.events[identity].finished = True

    def spoil(self, identity: str) -> None:
        self.events[identity].spoiled = True

    def step(self) -> list[object]:
        return popped(self.sync.step())

    def drain(self) -> list[object]:
        return popped(self.sync.drain())

    def reset(self) -> list[object]:
        return popped(self.sync.reset())

    def evict(self) -> list[object]:
        return popped(self.sync.evict("write"))

    def close(self) -> list[object]:
        return popped(self.sync.close())

    def attach(self) -> None:
        self.sync.attach({"hits": "size"})

    def waiting(self) -> tuple[object, ...]:
        return self.sync.waiting("write")

    def in_flight(self) -> int:
        return self.sync.in_flight

    def mode(self) -> str:
        return self.sync.mode

    def default_group_is_free(self) -> bool:
        return not dist.is_initialized()

    def leave_without_a_word(self) -> None:
        os._exit(0)


def popped(result: StepResult) -> list[object]:
    return [ack.identity for acks in result.popped.values() for ack in acks]


def serve(pipe: Connection, arguments: tuple[Any, ...]) -> None:
    """Answers commands until the other end of the pipe is gone."""
    rank: Rank | None = None
    while True:
        try:
            name, *given = pipe.recv()
        except EOFError:
            return
        begun = time.monotonic()
        try:
            if name == "open":
                number, world, store, settings = arguments
                rank = Rank(number, world, store, settings | {"lanes": given} if given else settings)
                pipe.send(("ok", None))
            else:
                pipe.send(("ok", getattr(rank, name)(*given)))
        except Exception as error:
            pipe.send(("raised", type(error).__name__, str(error), time.monotonic() - begun))


if __name__ == "__rank__":
    serve(*globals()["RANK"])
