"""One rank's cache: the published methods, on queues and events that the harness owns, and on a real group."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from copy import deepcopy
from queue import Queue
from typing import Any, Protocol

import torch

from rankproof.conformance.engines.published import Published
from rankproof.conformance.engines.standins import StandIn

WRITE, LOAD, BACKUP, RELEASE = "write", "load", "backup", "release"
STORAGE_LANES = (BACKUP, RELEASE)
"""The lanes of storage that can be driven, which background threads fill; the other queues of storage stay empty."""

_STORAGE_QUEUES = {BACKUP: "ack_backup_queue", RELEASE: "host_mem_release_queue"}
_ACK_VALUES = {"num_tokens": 0, "num_bytes": 0, "timing_enabled": False, "num_tokens_by_pool": None}


class Event(Protocol):
    """What an ack carries."""

    def query(self) -> bool:
        """Whether it has finished; never blocks."""
        ...

    def synchronize(self) -> None:
        """Waits until it has."""
        ...


class HiCache:
    """The published cache of one rank.

    Real are the methods taken, the ack, the reduces and the group. Stood in for are the controller (its queues are
    here, and what fills them is `enqueue`), the tree with its locks and its reclaim digest, pools, metrics, and what
    `__init__` would have set up. CP, PP and the linker are off.
    """

    def __init__(self, published: Published, group: object, world: int, storage: bool) -> None:
        """`group` is the TP group, of `world` ranks; with `storage` the storage queues are counted too."""
        self._published = published
        self._writes: list[Any] = []
        self._loads: list[Any] = []
        self._queues: dict[str, Queue[Any]] = {name: Queue() for name in published.cache.needs.sizes}
        self._controller: Any = StandIn(
            "cache_controller",
            ack_write_queue=self._writes,
            ack_load_queue=self._loads,
            extra_host_mem_release_queues={},
            enable_storage=storage,
            reset=self._clear,
            start_writing=_nothing,
            **self._queues,
        )
        self._tree: Any = StandIn("tree_core", write_back_duplicate_reclaim_digest=0)
        self._cache = object.__new__(published.cache.made)
        given = {
            "cache_controller": self._controller,
            "tree_core": self._tree,
            "tp_group": group,
            "tp_world_size": world,
            "attn_cp_group": None,
            "attn_tp_group": None,
            "pp_group": None,
            "pp_rank": 0,
            "pp_size": 1,
            "enable_storage": storage,
            "enable_storage_metrics": False,
            "metrics_collector": None,
            "tree_components": (),
            "device": "cpu",
            "work_list": [],
            "ongoing_write_through": {},
            "ongoing_load_back": {},
            "ongoing_prefetch": {},
            "ongoing_backup": {},
        }
        needs = published.cache.needs
        # None that no method asks about is what `__init__` fills in later on, and stands for nothing.
        literals = {name: value for name, value in needs.literals.items() if value is not None}
        vars(self._cache).update(dict.fromkeys(needs.optional) | deepcopy(literals) | given)

    def lanes(self) -> tuple[str, ...]:
        """The lanes that this release counts."""
        return (WRITE, LOAD, *(lane for lane in STORAGE_LANES if _STORAGE_QUEUES[lane] in self._queues))

    def waiting(self, lane: str) -> tuple[int, ...]:
        """The acks in a lane, head first, as the engine's queue has them."""
        match lane:
            case "write":
                return tuple(ack.node_ids[0] for ack in self._writes)
            case "load":
                return tuple(ack.node_ids[0] for ack in self._loads)
            case "backup":
                return tuple(operation.id for operation in self._queue(lane).queue)
            case _:
                return tuple(int(indices[0]) for indices in self._queue(lane).queue)

    def enqueue(self, lane: str, ack: int, event: Event) -> None:
        """Puts an ack into a lane, as the controller does when it starts a transfer or as its storage threads do."""
        match lane:
            case "write":
                self._note("ongoing_write_through", ack)
                self._writes.append(self._ack(ack, event))
            case "load":
                self._note("ongoing_load_back", ack)
                self._loads.append(self._ack(ack, event))
            case "backup":
                self._note("ongoing_backup", ack)
                self._queue(lane).put(StandIn("operation", id=ack, completed_tokens=0))
            case _:
                self._queue(lane).put(torch.tensor([ack]))  # the host indices to release; an ack is its own

    def step(self) -> None:
        """What the engine's scheduler calls once in each of its steps."""
        self._cache.check_hicache_events()

    def evict(self) -> None:
        """What the engine calls under memory pressure when it writes back: waits for all write acks and pops them."""
        self._cache.writing_check(write_back=True)

    def reset(self) -> None:
        """What a flush of the cache calls."""
        self._cache.reset()

    def ongoing(self) -> int:
        """How many acks are noted as ongoing, besides standing in a queue."""
        held = vars(self._cache)
        return len(held["ongoing_write_through"]) + len(held["ongoing_load_back"])

    def in_flight(self) -> list[torch.distributed.Work]:
        """The collectives that the cache has started and holds on to."""
        held = {name: value for name, value in vars(self._cache).items() if name != "work_list"}  # the sends of PP
        return list(_works(held))

    def set_storage(self, attached: bool) -> None:
        """Sets on this rank alone what attaching or detaching storage leaves behind: whether its queues are counted."""
        self._controller.enable_storage = self._cache.enable_storage = attached

    def set_digest(self, digest: int) -> None:
        """Sets on this rank alone the digest of the host copies that its tree has reclaimed."""
        self._tree.write_back_duplicate_reclaim_digest = digest

    def _queue(self, lane: str) -> Queue[Any]:
        return self._queues[_STORAGE_QUEUES[lane]]

    def _clear(self) -> None:
        self._writes.clear()
        self._loads.clear()
        for queue in self._queues.values():
            queue.queue.clear()

    def _ack(self, ack: int, event: Event) -> Any:
        known = _ACK_VALUES | {"start_event": event, "finish_event": event, "node_ids": [ack]}
        fields = {name: known.get(name) for name, needed in self._published.ack_fields.items() if needed}
        return self._published.ack.made(**fields)

    def _note(self, attribute: str, ack: int) -> None:
        """Notes an ack as ongoing: one part, or several, each of them what the method that takes it out calls it."""
        parts = tuple(_part(name, ack) for name in self._published.cache.needs.entries.get(attribute, ("entry",)))
        vars(self._cache)[attribute][ack] = parts[0] if len(parts) == 1 else parts


def _part(name: str, ack: int) -> Any:
    node: Any = ack if name.endswith(("_id", "_ids")) else StandIn("node", id=ack, write_through_pending_id=ack)
    if "publish" in name:
        return [node]
    if name.endswith("_len"):
        return 1
    return node


def _works(value: object) -> Iterator[torch.distributed.Work]:
    match value:
        case torch.distributed.Work():
            yield value
        case dict():
            for each in value.values():
                yield from _works(each)
        case list() | tuple() | deque():
            for each in value:
                yield from _works(each)


def _nothing() -> None:
    """There is never a transfer that was put off: an ack stands in its queue as soon as it is enqueued."""
