"""What a subject is expected to say after a command, and how what it says differs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.commands import is_by_size
from rankproof.conformance.subject import Observation
from rankproof.model.state import RankState

Acks = tuple[tuple[int, ...], ...]
"""Some acks of each lane."""


def expected(me: RankState, popped: Acks, capabilities: Capabilities | None) -> Observation:
    """The observation of a command that popped these acks and left the model's rank as it is now."""
    left = tuple(
        tuple(ack for ack in lane.waiting if ack in lane.finished or not is_by_size(number, capabilities))
        for number, lane in enumerate(me.lanes)
    )
    return Observation(popped=popped, left=left, in_flight=me.issued - me.consumed)


def differences(model: Observation, subject: object, capabilities: Capabilities | None) -> Iterator[str]:
    """Each field in which the subject differs from the model, in a line; nothing where the two agree."""
    if not isinstance(subject, Observation):
        yield f"  it gave {subject!r}"
        return
    if capabilities is not None and capabilities.order == "identity":
        model, subject = _unordered(model), _unordered(subject)
    if capabilities is not None and capabilities.waits:
        subject = replace(subject, waited_unfinished=())
    for name in ("popped", "left", "waited_unfinished", "in_flight", "error"):
        theirs, ours = getattr(subject, name), getattr(model, name)
        if theirs != ours:
            yield f"  {name}: model {ours!r} | subject {theirs!r}"


def _unordered(seen: Observation) -> Observation:
    in_order = [tuple(tuple(sorted(lane)) for lane in lanes) for lanes in (seen.popped, seen.left)]
    return replace(seen, popped=in_order[0], left=in_order[1])
