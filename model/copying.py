"""A copy of a frozen dataclass with some fields changed, as fast as Python can make one: a model does little else."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from dataclasses import replace  # a type checker knows what this one takes: the fields, and their types
else:
    T = TypeVar("T")

    def replace(whole: T, /, **changes: object) -> T:
        """As `dataclasses.replace`, in a tenth of its time.

        It is for classes whose fields are all that they hold: no slots, no field that is not initialized, nothing that
        is worked out or checked when one is made. Raises TypeError for what is no field.
        """
        copy = object.__new__(type(whole))
        held = copy.__dict__
        held.update(whole.__dict__)
        held.update(changes)
        if len(held) != len(whole.__dict__):
            strange = ", ".join(changes.keys() - whole.__dict__.keys())
            raise TypeError(f"{type(whole).__name__} has no field {strange}")
        return copy


__all__ = ["replace"]
