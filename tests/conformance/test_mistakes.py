"""What people get wrong who write such an agreement themselves, beside the faults of the catalogue, is found in memory.

Each is the example of the documentation with one method that is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rankproof.conformance.fuzz import fuzz
from rankproof.conformance.launcher import Launcher
from rankproof.model.verdict import Verdict
from tests.conformance.test_subject_doc import EXAMPLE

pytestmark = pytest.mark.processes

MISTAKES = {
    "counts what has finished wherever it stands": """
    def ready(self, lane):
        return sum(ack in self.finished[lane] for ack in self.lanes[lane])
""",
    "takes the largest count in its last lane": """
    def ready(self, lane):
        return super().ready(lane) * (-1 if lane else 1)

    def flush(self):
        if self.work:
            self.work.wait()
            self.counts = self.counts.abs()
        return super().flush()
""",
    "reduces each lane by itself, if something is ready in it": """
    def step(self):
        seen = self.flush()
        self.counts, self.work = torch.zeros(len(self.lanes), dtype=torch.int64), Works()
        for lane in range(len(self.lanes)):
            if self.ready(lane):
                count = self.counts[lane:lane + 1].fill_(self.ready(lane))
                self.work.append(dist.all_reduce(count, dist.ReduceOp.MIN, self.group, async_op=True))
        return Observation(seen.popped, self.lanes, in_flight=1)
""",
    "pops in a flush what has finished on this rank since": """
    def step(self):
        seen = Mine.flush(self)
        self.counts = torch.tensor([self.ready(lane) for lane in range(len(self.lanes))])
        self.work = dist.all_reduce(self.counts, dist.ReduceOp.MIN, self.group, async_op=True)
        return Observation(seen.popped, self.lanes, in_flight=1)

    def flush(self):
        seen = super().flush()
        more = [self.ready(lane) for lane in range(len(self.lanes))]
        popped = [(*acks, *lane[:count]) for acks, lane, count in zip(seen.popped, self.lanes, more)]
        self.lanes = [lane[count:] for lane, count in zip(self.lanes, more)]
        return Observation(popped, self.lanes)
""",
    "counts its lanes in one order and pops them in another": """
    def ready(self, lane):
        return super().ready(len(self.lanes) - 1 - lane)
""",
    "forgets in a reset what the round in flight agreed on": """
    def reset(self):
        seen = super().reset()
        return Observation([() for _ in seen.popped], self.lanes)
""",
    "evicts a lane beside the round in flight": """
    def evict(self, lane):
        popped = [tuple(acks) if at == lane else () for at, acks in enumerate(self.lanes)]
        self.lanes[lane] = []
        return Observation(popped, self.lanes)
""",
    "pops the acks of a round in another order": """
    def flush(self):
        seen = super().flush()
        return Observation([acks[::-1] for acks in seen.popped], self.lanes)
""",
    "counts two acks at most in a round": """
    def ready(self, lane):
        return min(2, super().ready(lane))
""",
    "leaves the last ack of a lane in which all have finished": """
    def ready(self, lane):
        count = super().ready(lane)
        return count - 1 if 2 < count == len(self.lanes[lane]) else count
""",
}
"""What a class does that is otherwise `Mine`, by what is wrong with it."""

WORKS = """
class Works(list):
    def __bool__(self):
        return True

    def wait(self):
        for work in self:
            work.wait()
"""


def source() -> Iterator[str]:
    """A module with a class for each mistake: `Mistake0`, `Mistake1` and so on, and with none in `Mine`."""
    yield EXAMPLE
    yield WORKS
    for number, wrong in enumerate(MISTAKES.values()):
        yield f"\n\nclass Mistake{number}(Mine):{wrong}"


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launcher]:
    """One whose processes find that module."""
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "mistakes.py").write_text("".join(source()))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        launcher = Launcher()
    with launcher:
        yield launcher


@pytest.mark.parametrize("number", range(len(MISTAKES)), ids=[name.replace(" ", "-") for name in MISTAKES])
def test_a_mistake_of_an_own_implementation_is_found_in_memory_and_made_small(number: int, launcher: Launcher) -> None:
    found = fuzz(
        f"mistakes:Mistake{number}", examples=400, seed=1, timeout=1.0, launcher=launcher, transports=("memory",)
    )
    assert (found.verdict, found.note) == (Verdict.VIOLATED, "")
    assert len(found.smallest) <= 18, "three acks on two ranks, which finish, and some steps"


def test_without_a_mistake_the_same_schedules_hold(launcher: Launcher) -> None:
    found = fuzz("mistakes:Mine", examples=60, seed=1, timeout=1.0, launcher=launcher, transports=("memory",))
    assert (found.verdict, found.failure) == (Verdict.HOLDS, "")
