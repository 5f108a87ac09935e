"""A small engine of our own in the shape of a published one, written to a folder as its unpacked source would be."""

from __future__ import annotations

from pathlib import Path

# What neither file's module imports is there: whatever imports one of them, instead of reading it, fails.
ACKS = """\
from typing import NamedTuple

import engine_device

class HiCacheAck(NamedTuple):
    start_event: engine_device.Event
    finish_event: engine_device.Event
    node_ids: list[int]
    size: int = 0
"""

CACHE = """\
import torch
from engine_tree import Level, TreeCache, traced

class UnifiedRadixCache(TreeCache):
    def __init__(self, params):
        self.tree = params.tree
        self.mode = "plain"
        self.observer = None

    @traced("events")
    def check_hicache_events(self):
        if self.mode == "plain" and self.observer is None and self.second_observer is None:
            self.writing_check()
            self.loading_check()

    def writing_check(self, write_back=False):
        writes = self.cache_controller.ack_write_queue
        if write_back:
            for ack in writes:
                self._finish_write_through_ack(ack)
            writes.clear()
            return
        for _ in range(self._all_reduce(self._count_ready_acks(writes))):
            self._finish_write_through_ack(writes.pop(0))

    def loading_check(self):
        loads = self.cache_controller.ack_load_queue
        for _ in range(self._all_reduce(self._count_ready_acks(loads))):
            for node in loads.pop(0).node_ids:
                self.tree.unlock(self.ongoing_load_back.pop(node))

    def _count_ready_acks(self, acks):
        return next((n for n, ack in enumerate(acks) if not ack.finish_event.query()), len(acks))

    def _all_reduce(self, own):
        agreed = torch.tensor(own)
        if self.tp_world_size > 1:
            torch.distributed.all_reduce(agreed, op=torch.distributed.ReduceOp.MIN, group=self.tp_group)
        return agreed.item()

    def _finish_write_through_ack(self, ack):
        ack.finish_event.synchronize()
        for node in ack.node_ids:
            lock, pages = self.ongoing_write_through.pop(node)
            self.tree.unlock(lock, pages, Level.HOST)

    def reset(self):
        self.cache_controller.reset()
        self.ongoing_write_through.clear()
        self.ongoing_load_back.clear()
        super().reset()

    def insert(self, key):
        raise AssertionError("not taken")
"""


def write(folder: Path, cache: str = CACHE, acks: str | None = ACKS, file: str = "unified_radix_cache.py") -> Path:
    """Writes the package as an unpacked wheel of release 9.9 has it, and gives the folder to name as the source."""
    package = folder / "sglang"
    for inner in ("srt/mem_cache", "srt/managers"):
        (package / inner).mkdir(parents=True)
    (package / "version.py").write_text('__version__ = "9.9"\n')
    (package / "srt" / "mem_cache" / file).write_text(cache)
    if acks is not None:
        (package / "srt" / "managers" / "cache_controller.py").write_text(acks)
    return folder


def changed(old: str, new: str) -> str:
    """The cache with one piece of its text replaced."""
    assert CACHE.count(old) == 1, old
    return CACHE.replace(old, new)


PIPELINED = (
    CACHE.replace(
        """\
            self.writing_check()
            self.loading_check()
""",
        """\
            counts = self._take() if self.started is not None else [0, 0]
            for _ in range(counts[0]):
                self._finish_write_through_ack(self.cache_controller.ack_write_queue.pop(0))
            self.loading_check(counts[1])
            self._start()

    def _take(self):
        agreed, work = self.started
        work.wait()
        return agreed.tolist()

    def _start(self):
        queues = self.cache_controller.ack_write_queue, self.cache_controller.ack_load_queue
        agreed = torch.tensor([self._count_ready_acks(queue) for queue in queues])
        work = torch.distributed.all_reduce(
            agreed, op=torch.distributed.ReduceOp.MIN, group=self.tp_group, async_op=True
        )
        self.started = agreed, work
""",
    )
    .replace("def loading_check(self):", "def loading_check(self, agreed):")
    .replace("for _ in range(self._all_reduce(self._count_ready_acks(loads))):", "for _ in range(agreed):")
)
"""The same with a reduce that is waited for in the next step."""

SKIPS = changed("        if write_back:", "        if not writes:\n            return\n        if write_back:")
"""The same, but a rank that holds no writes leaves their reduce out."""
