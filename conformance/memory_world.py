"""What torch.distributed takes for "this process", for each rank of several in one process.

The default group, and what is known of every group, torch keeps in one object a process, `_world`, which it calls an
extension point to override. While ranks live in memory, each rank's thread has one of its own there, so that a subject
may say `dist.all_reduce(tensor)` or `dist.get_rank()`, as it may in a process. Every other thread has what it had.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d


class Worlds:
    """Stands for torch's one world, and is on each thread the world that this thread has entered."""

    def __init__(self, outside: object) -> None:
        vars(self).update(_outside=outside, _here=threading.local())

    def enter(self, group: dist.ProcessGroup) -> None:
        """Makes `group` the default group of the calling thread."""
        self._here.world = SimpleNamespace(
            default_pg=group,
            pg_map={group: (dist.Backend.GLOO, None)},
            pg_names={group: "memory"},
            pg_group_ranks={group: {rank: rank for rank in range(group.size())}},
            pg_backend_config={group: "cpu:gloo"},
            group_count=1,
            tags_to_pg={},
            pg_to_tag={group: ""},
            pg_coalesce_state={},
            comms=[],
            pg_config_info=[],
        )

    def _now(self) -> object:
        return getattr(self._here, "world", self._outside)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._now(), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._now(), name, value)


@contextmanager
def worlds_apart() -> Iterator[Worlds]:
    """While it lasts, threads may enter worlds of their own."""
    outside = distributed_c10d._world
    worlds = Worlds(outside)
    distributed_c10d._world = worlds  # type: ignore[assignment] # it is one by all that torch asks of it
    try:
        yield worlds
    finally:
        distributed_c10d._world = outside
