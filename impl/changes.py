"""A change of lanes or of mode at run time, as a word that ranks agree on before any of them makes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rankproof.impl.acks import Lane, LaneKind
from rankproof.impl.digests import word_of
from rankproof.impl.errors import Misuse
from rankproof.model.words import NOTHING_ASKED, due


@dataclass(frozen=True, slots=True)
class Change:
    """What one rank asks for; it is made when every rank has asked for the same.

    attach     lanes that come after those there are, with their kinds, in this order
    detach     lanes that go
    fall_back  whether the mode becomes blocking
    """

    attach: tuple[tuple[str, LaneKind], ...] = ()
    detach: tuple[str, ...] = ()
    fall_back: bool = False

    @property
    def word(self) -> int:
        """What is offered for it, 1 or more; 0 stands for no change, and is the lowest of all."""
        return 1 + (word_of(str(self)) & (1 << 62) - 1)

    def __str__(self) -> str:
        parts = [f"attach {name} ({kind})" for name, kind in self.attach]
        parts += [f"detach {name}" for name in self.detach]
        return ", ".join(parts + ["fall back to blocking"] * self.fall_back)


def attaching(lanes: Mapping[str, LaneKind], present: Mapping[str, LaneKind]) -> Change:
    """The change that adds those lanes. Raises Misuse for none, for one that is there, and for a kind that is none."""
    if not hasattr(lanes, "items") or not lanes:
        raise Misuse("attach(): give at least one lane, as a mapping from its name to its kind")
    for name, kind in lanes.items():
        if name in present:
            raise Misuse(f"attach(): lane {name!r} is there already")
        Lane(name, kind)
    return Change(attach=tuple(lanes.items()))


def detaching(lanes: tuple[str, ...], present: Mapping[str, LaneKind]) -> Change:
    """The change that takes those lanes away. Raises Misuse for none, for an unknown one, and where none would stay."""
    for name in lanes:
        if name not in present:
            raise Misuse(f"detach(): there is no lane {name!r}; lanes are {', '.join(present)}")
    if not lanes or len(set(lanes)) == len(present):
        raise Misuse("detach(): name at least one lane, and leave at least one")
    return Change(detach=tuple(sorted(set(lanes))))


class Agenda:
    """The change that this rank asks for, and the round before which it is to be made once all ranks ask for it."""

    def __init__(self) -> None:
        self._asked: Change | None = None
        self._due: int | None = None
        self.word = NOTHING_ASKED
        """What this rank offers: the word of the change, or NOTHING_ASKED where it asks for none."""

    def ask(self, call: str, change: Change) -> None:
        """Raises Misuse while another change is asked for."""
        if self._asked:
            raise Misuse(f"{call}() while this rank asks to {self._asked}; one change at a time")
        self._asked, self.word = change, change.word

    def agreed(self, round_number: int, window: int) -> None:
        """All ranks asked for it in that round; see `rankproof.model.words.due` for when it is made."""
        if self._asked and self._due is None:
            self._due = due(round_number, window)

    def due(self, round_number: int) -> Change | None:
        """The change to be made before that round is issued, which is then asked for no more."""
        if self._due != round_number:
            return None
        change, self._asked, self._due, self.word = self._asked, None, None, NOTHING_ASKED
        return change

    def __str__(self) -> str:
        return f"; asks to {self._asked}" if self._asked else ""
