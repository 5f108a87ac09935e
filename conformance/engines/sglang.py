"""A published SGLang as a subject: the methods of its cache that count and pop, unmodified, on a real gloo group."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rankproof.conformance.capabilities import Capabilities, Lane, Operation
from rankproof.conformance.engines.hicache import LOAD, STORAGE_LANES, WRITE, HiCache
from rankproof.conformance.engines.published import Published
from rankproof.conformance.engines.rehearsal import rehearsed
from rankproof.conformance.engines.source import find_source, named_source
from rankproof.conformance.reference import OwnedEvent
from rankproof.conformance.rendezvous import join
from rankproof.conformance.subject import Observation, SubjectConfig
from rankproof.model.errors import BadInput

CLASSES: Mapping[str, str] = {"unified": "UnifiedRadixCache", "hiradix": "HiRadixCache"}
"""The published class behind each factory."""

_LANES = (Lane(WRITE), Lane(LOAD, evicts=False))
_STORAGE_LANES = tuple(Lane(name, "size", evicts=False) for name in STORAGE_LANES)


class EngineSubject:
    """One rank of a published cache; its events and queues are the harness's."""

    def __init__(self, taken: Published, storage: bool) -> None:
        """With `storage` the storage lanes are there too, and counted in the same or a further reduce."""
        self._taken: Final = taken
        self._storage: Final = storage
        lanes = _LANES + (_STORAGE_LANES if storage else ())
        lag = 1 if taken.cache.needs.asynchronous else 0
        # No release has a flush; where a reduce is waited for in the step that starts it there is nothing to flush.
        supports: frozenset[Operation] = frozenset({"reset", "evict"} if taken.resets_when_busy else {"evict"})
        self.capabilities: Final = Capabilities(lag=lag, lanes=lanes, supports=supports)
        self.driven: Final = _driven(taken)
        self._events: dict[tuple[int, int], OwnedEvent] = {}
        self._waited_unfinished: list[tuple[int, int]] = []

    def setup(self, config: SubjectConfig) -> None:
        """Joins the group. Raises BadInput for a lane that this cache has not."""
        names = self.capabilities.names
        if unknown := [lane for lane in config.lanes if lane not in names]:
            raise BadInput(f"{self._taken.where} has the lanes {', '.join(names)}, and not {', '.join(unknown)}")
        self._lanes = config.lanes
        self._cache = HiCache(self._taken, join(config), config.world, self._storage)

    def enqueue(self, lane: int, ack: int) -> None:
        """Puts an ack with an unfinished event into a lane, or what a storage thread has finished into its queue."""
        event = self._events[lane, ack] = OwnedEvent(lane, ack, self._waited_unfinished)
        self._cache.enqueue(self._lanes[lane], ack, event)

    def finish(self, lane: int, ack: int) -> None:
        """Finishes the event of an ack."""
        self._events[lane, ack].finished = True

    def step(self) -> Observation:
        """The published `check_hicache_events`."""
        before = self._waiting()
        self._cache.step()
        return self._observe(before)

    def flush(self) -> Observation:
        """Raises ValueError: no release has a way to consume a round without a further step."""
        raise ValueError(f"{self._taken.where} has no flush")

    def reset(self) -> Observation:
        """The published `reset`, which drops what is in the lanes; it pops nothing."""
        self._cache.reset()
        return self._observe(tuple(() for _ in self._lanes))

    def evict(self, lane: int) -> Observation:
        """The published `writing_check(write_back=True)`; raises ValueError for another lane than that of writes."""
        if self._lanes[lane] != WRITE:
            raise ValueError(f"{self._taken.where} evicts from {WRITE} only, not from {self._lanes[lane]}")
        before = self._waiting()
        self._cache.evict()
        return self._observe(before)

    def reconfigure(self, key: str, value: object) -> None:
        """Changes on this rank alone what the engine has at run time; raises ValueError for anything else.

        "storage", a truth value: whether storage is attached, which changes the length or the number of the reduces.
        "digest", an int: what the tree says of the order in which it reclaimed host copies.
        """
        match key, value:
            case "storage", bool():
                self._cache.set_storage(value)
            case "digest", int():
                self._cache.set_digest(value)
            case _:
                raise ValueError(f"cannot set {key!r} to {value!r}; there are 'storage' (bool) and 'digest' (int)")

    def close(self) -> None:
        """Waits for what is in flight, so that the group, which is the harness's, can be used again."""
        for work in self._cache.in_flight():
            work.wait()

    def _waiting(self) -> tuple[tuple[int, ...], ...]:
        return tuple(self._cache.waiting(lane) for lane in self._lanes)

    def _observe(self, before: tuple[tuple[int, ...], ...]) -> Observation:
        left = self._waiting()
        waited = tuple(self._waited_unfinished)
        self._waited_unfinished.clear()
        popped = tuple(tuple(ack for ack in acks if ack not in still) for acks, still in zip(before, left, strict=True))
        return Observation(popped, left, waited, len(self._cache.in_flight()))


def _driven(taken: Published) -> str:
    """What is real, and what is stood in for, in one line; `docs/engines.md` has all of it."""
    methods = ", ".join(name for name, _ in taken.cache.methods)
    return (
        f"{taken.where}; real: {methods}, {taken.ack.made.__name__}; stood in for: the tree, its locks and digest, the "
        "controller around its queues, events, metrics, CP, PP"
    )


def unified() -> EngineSubject:
    """A rank of the named engine's `UnifiedRadixCache`, with its write and load lanes."""
    return _subject("unified", storage=False)


def hiradix() -> EngineSubject:
    """A rank of the named engine's `HiRadixCache`, with its write and load lanes."""
    return _subject("hiradix", storage=False)


def unified_storage() -> EngineSubject:
    """A rank of the named engine's `UnifiedRadixCache` with storage attached."""
    return _subject("unified", storage=True)


def hiradix_storage() -> EngineSubject:
    """A rank of the named engine's `HiRadixCache` with storage attached."""
    return _subject("hiradix", storage=True)


def check_source(path: str | Path, factory: str, storage: bool = False) -> Published:
    """What is taken of the engine at `path` for the factory "unified" or "hiradix".

    Raises BadInput, in one line, for a path without the engine, a release without that cache, and a shape that is not
    known.
    """
    return rehearsed(find_source(path), CLASSES[factory], storage)


def _subject(factory: str, storage: bool) -> EngineSubject:
    return EngineSubject(rehearsed(named_source(), CLASSES[factory], storage), storage)
