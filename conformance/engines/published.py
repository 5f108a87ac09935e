"""What is taken of a published SGLang: the cache's methods that count and pop, and the ack that they pop."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path

from rankproof.conformance.engines.extract import Extract, extract
from rankproof.conformance.engines.source import EngineSource
from rankproof.model.errors import BadInput

WANTED = frozenset(
    {
        "check_hicache_events",
        "writing_check",
        "loading_check",
        "_count_ready_acks",
        "_sync_hicache_ready_counts",
        "_all_reduce",
        "_all_reduce_attn_groups",
        "_pp_sync",
        "_drain_async_work",
        "_reap_completed_async_work",
        "drain_storage_control_queues",
        "_drain_storage_control_queues_impl",
        "flush_pending_backups",
        "flush_write_through_acks",
        "_finish_write_through_ack",
        "_log_write_ack_metrics",
        "reset",
        "_reset_full",
    }
)
"""The methods that count and pop; a release has some of them, and those are taken with their bodies as they are."""

TELLING = frozenset({"distributed", "ack_write_queue", "ack_load_queue", "wait"})
"""What gives away that a method which these call counts, reduces or pops too, under a name that is not known here."""

_REQUIRED = ("check_hicache_events", "writing_check", "loading_check")
_ACKS = ("srt/managers/cache_controller.py",)
_FILES = {
    "UnifiedRadixCache": ("srt/mem_cache/unified_radix_cache.py",),
    "HiRadixCache": ("srt/mem_cache/hiradix_cache.py",),
}
_FACTORIES = {"UnifiedRadixCache": "unified", "HiRadixCache": "hiradix"}


@dataclass(frozen=True)
class Published:
    """One cache class of one release, and its ack.

    resets_when_busy  whether its reset also forgets what it had noted of the acks that it drops; where it does not,
                      the engine may call it only when nothing is ongoing
    """

    source: EngineSource
    file: Path
    name: str
    cache: Extract
    ack: Extract
    resets_when_busy: bool = True

    @property
    def where(self) -> str:
        """The release and the class, for messages."""
        return f"sglang {self.source.version}, {self.name}"

    @property
    def ack_fields(self) -> dict[str, bool]:
        """The fields of an ack, and whether each has to be given."""
        parameters = inspect.signature(self.ack.made).parameters.values()
        return {each.name: each.default is each.empty for each in parameters}


def published(source: EngineSource, name: str) -> Published:
    """The class of that name, "UnifiedRadixCache" or "HiRadixCache", out of a source.

    Raises BadInput where the release has no such class, or one whose shape is not known: without the methods that
    count and pop, without acks that carry an event, or with a reduce that is not waited for where it is issued.
    """
    release = f"{source.package}: sglang {source.version}"
    acks = source.text(*_ACKS)
    ack = extract(acks[1], str(acks[0]), "HiCacheAck") if acks else None
    if ack is None:
        raise BadInput(f"{release} is not supported: its acks carry no event (there is no HiCacheAck in {_ACKS[0]})")
    found = source.text(*_FILES[name])
    cache = extract(found[1], str(found[0]), name, WANTED, TELLING) if found else None
    if found is None or cache is None:
        others = [factory for other, factory in _FACTORIES.items() if other != name and source.text(*_FILES[other])]
        mend = "; ".join(f"use rankproof.conformance.engines.sglang:{other}" for other in others)
        raise BadInput(f"{release} has no {name}" + (f"; {mend}" if mend else ", nor another cache that is known"))
    taken = {method for method, _ in cache.methods}
    where = f"{release}, {name} in {found[0].name}"
    if missing := [method for method in _REQUIRED if method not in taken]:
        raise BadInput(f"{where} is of a shape that is not known: it has no {', '.join(missing)}")
    if "tp_group" not in cache.needs.attributes:
        raise BadInput(f"{where} is of a shape that is not known: it reduces on no tp_group")
    return Published(source, found[0], name, cache, ack)
