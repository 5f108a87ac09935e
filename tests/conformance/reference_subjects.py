"""The reference subjects, which also say what carries their rounds; the ranks of a test import them by name."""

from __future__ import annotations

from rankproof.conformance import reference
from rankproof.conformance.reference import ReferenceSubject


def _telling(made: ReferenceSubject) -> ReferenceSubject:
    made.carried_by = lambda: type(made._sync._rounds).__name__  # type: ignore[attr-defined]
    return made


def pipelined() -> ReferenceSubject:
    return _telling(reference.pipelined())


def carried() -> ReferenceSubject:
    return _telling(reference.carried())


def carried_at_depth_2() -> ReferenceSubject:
    return _telling(reference.carried_at_depth_2())


def on_its_own_group() -> ReferenceSubject:
    return _telling(reference.on_its_own_group())
