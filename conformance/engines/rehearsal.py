"""A release is tried out on one rank before it is driven: a shape that is not known shows here, and not in a run."""

from __future__ import annotations

from dataclasses import replace
from functools import cache as kept

from rankproof.conformance.engines.hicache import LOAD, STORAGE_LANES, WRITE, HiCache
from rankproof.conformance.engines.published import Published, published
from rankproof.conformance.engines.source import EngineSource
from rankproof.conformance.engines.standins import StandInDecides
from rankproof.conformance.memory_board import Board
from rankproof.conformance.memory_group import MemoryGroup
from rankproof.conformance.reference import OwnedEvent
from rankproof.model.errors import BadInput

_OF_ANOTHER_SHAPE = (StandInDecides, AttributeError, ImportError, KeyError, NameError, TypeError, ValueError)
"""What a method raises that was given other than it expects; what else it raises may be its own fault, to be found."""


@kept  # a process makes a subject for each schedule, and reading a release anew would take most of its time
def rehearsed(source: EngineSource, name: str, storage: bool) -> Published:
    """What is taken of the class of that name, once a rank on its own has stepped, evicted and reset with it.

    Raises BadInput, in one line, for a release without the class and for one whose shape is not known.
    """
    taken = published(source, name)
    where = f"{taken.file}: {taken.where}"
    if missing := [lane for lane in STORAGE_LANES if storage and lane not in _alone(taken, storage).lanes()]:
        raise BadInput(f"{where}, counts no queue for {', '.join(missing)}; drive it without storage")
    cache = _alone(taken, storage)
    try:
        _rehearse(cache, (WRITE, LOAD, *(STORAGE_LANES if storage else ())))
    except _OF_ANOTHER_SHAPE as error:
        said = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise BadInput(f"{where}, is of a shape that is not known: a rank on its own raised {said}") from None
    except Exception:
        return taken  # it can be driven; what it does wrong is for the run to find
    return replace(taken, resets_when_busy=not cache.ongoing())


def _alone(taken: Published, storage: bool) -> HiCache:
    """The cache of a rank that is its own group, where every collective is complete at once."""
    return HiCache(taken, MemoryGroup(0, Board(1), 1.0, lambda ready, _: ready()), 1, storage)


def _rehearse(cache: HiCache, lanes: tuple[str, ...]) -> None:
    """Goes once through everything that a subject is asked for, and last through a reset with all lanes full."""
    finished = OwnedEvent(0, 0, [])
    finished.finished = True
    unfinished = OwnedEvent(0, 1, [])
    for lane in lanes:
        cache.enqueue(lane, 0, finished)
        cache.enqueue(lane, 1, unfinished)
    cache.step()
    unfinished.finished = True
    cache.step()
    cache.step()
    cache.enqueue(WRITE, 2, finished)
    cache.evict()
    for lane in lanes:
        cache.enqueue(lane, 3, finished)
    cache.reset()
