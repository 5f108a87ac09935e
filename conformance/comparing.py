"""What a subject is expected to say after a command, and how what it says differs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral
from typing import Any

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


def as_compared(model: Observation, subject: object, capabilities: Capabilities | None) -> tuple[Observation, object]:
    """What is expected and what the subject gave, both without what its capabilities leave open."""
    if capabilities is None or not isinstance(subject, Observation):
        return model, subject
    if capabilities.order == "identity":
        model, subject = _unordered(model), _unordered(subject)
    return model, replace(subject, waited_unfinished=()) if capabilities.waits else subject


def differing(model: Observation, subject: Observation) -> Iterator[tuple[str, object, object]]:
    """The name of each field that differs, what the model has there, and what the subject gave."""
    for name in Observation.__dataclass_fields__:
        ours, theirs = getattr(model, name), getattr(subject, name)
        if not _are_equal(ours, theirs):
            yield name, ours, theirs


def differences(model: Observation, subject: object) -> Iterator[str]:
    """Each field in which the subject differs from the model, in a line; nothing where the two agree."""
    if not isinstance(subject, Observation):
        yield f"  it gave {subject!r}"
        return
    for name, ours, theirs in differing(model, subject):
        yield f"  {name}: model {ours!r} | subject {theirs!r}"


def has_the_shape_of(model: Observation, subject: Observation) -> bool:
    """Whether what the subject gave can be read as what its fields hold: numbers, in one tuple for each lane."""
    lanes, number = len(model.popped), subject.in_flight
    in_lanes = all(_is_rows(rows) and len(rows) == lanes for rows in (subject.popped, subject.left))
    return in_lanes and _is_rows(subject.waited_unfinished) and isinstance(number, Integral)


def _are_equal(ours: object, theirs: object) -> bool:
    try:
        return bool(ours == theirs)
    except Exception:  # an array compares each of its elements; it is not what the contract asks for
        return False


def _is_rows(rows: object) -> bool:
    return isinstance(rows, tuple) and all(_is_row(row) for row in rows)


def _is_row(row: object) -> bool:
    return isinstance(row, tuple) and all(isinstance(ack, Integral) for ack in row)


def _unordered(seen: Observation) -> Observation:
    return replace(seen, popped=_sorted(seen.popped), left=_sorted(seen.left))


def _sorted(rows: Any) -> Any:
    """The acks of each lane in order; what is no tuple of acks stays, and is shown as it is."""
    if not isinstance(rows, tuple):
        return rows
    return tuple(tuple(sorted(row)) if _is_row(row) else row for row in rows)
