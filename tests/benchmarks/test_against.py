"""What is measured against pops what the implementation pops: only the checks are missing."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import pytest

from rankproof.benchmarks import fuzzing_cost
from rankproof.benchmarks.bare import Alone, BareSync
from rankproof.benchmarks.echo import EchoTransport
from rankproof.benchmarks.frame import Lost
from rankproof.benchmarks.scheduler import Clock, Part, Transfer
from rankproof.benchmarks.unguarded import UnguardedSync
from rankproof.conformance.memory import MemoryRanks
from rankproof.impl.acks import Ack, LaneKind
from rankproof.impl.sync import PipelinedAckSync
from rankproof.impl.transport import Transport

LANES: dict[str, LaneKind] = {"write": "aligned", "load": "aligned"}
STEPS = 60


class Watching(EchoTransport):
    """Keeps what is offered."""

    def __init__(self) -> None:
        super().__init__()
        self.vectors: list[tuple[int, ...]] = []

    def offer(self, round_number: int, vector: object) -> None:
        assert isinstance(vector, tuple | list)
        self.vectors.append(tuple(vector))
        super().offer(round_number, vector)


def counts_of(opened: Callable[[Transport, Mapping[str, LaneKind]], Part]) -> tuple[list[tuple[int, ...]], int]:
    """The counts offered in each step of the same work, and how many words a vector has."""
    transport, clock, draw = Watching(), Clock(), random.Random(7)
    part = opened(transport, LANES)
    for step in range(STEPS):
        clock.step = step
        for lane in LANES:
            part.enqueue(lane, Ack(step, Transfer(clock, step + draw.randint(0, 6))))
        part.step()
    part.drain()
    part.close()
    return [vector[: len(LANES)] for vector in transport.vectors], len(transport.vectors[0])


@pytest.mark.parametrize("opened", [UnguardedSync, BareSync])
def test_it_counts_and_pops_as_the_implementation_does(
    opened: Callable[[Transport, Mapping[str, LaneKind]], Part],
) -> None:
    counts, words = counts_of(opened)
    implementation, guarded_words = counts_of(PipelinedAckSync)
    assert counts == implementation
    assert any(map(any, counts))
    assert words == len(LANES) < guarded_words


def test_alone_pops_what_has_finished_here() -> None:
    clock, part = Clock(), Alone(LANES)
    asked = []

    class Asked(Transfer):
        def query(self) -> bool:
            asked.append(clock.step)
            return super().query()

    for number, due in enumerate((1, 1, 3)):
        part.enqueue("write", Ack(number, Asked(clock, due)))
    for step in (1, 2, 3, 4):
        clock.step = step
        part.step()
    assert asked == [1, 1, 1, 2, 3]  # two finished and one not; then that one, until it has


def test_fuzzing_on_processes_leaves_the_model_unchecked_as_fuzzing_in_memory_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[object] = []

    def search(*_: object, checked: object = "the default", **__: object) -> str:
        asked.append(checked)
        return "nothing ran"

    monkeypatch.setattr(fuzzing_cost, "search", search)
    with pytest.raises(Lost, match="nothing ran"):
        fuzzing_cost._searched(MemoryRanks(2, factory=fuzzing_cost.SUBJECT), 2, examples=1, seed=0)
    assert asked == [()]
