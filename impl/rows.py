"""Tensors for rounds: each belongs to one round from its issue to its wait, and to a later one only then.

A tensor of its own is what keeps rounds in flight apart: gloo reads and writes it until the wait is over, and no more
then. To make one takes torch a tenth of a step after a forward in which the core was idle; so none is made where an
earlier round has left one.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

import torch


class Row(NamedTuple):
    """An int64 tensor, and its memory, which is read and written without torch."""

    tensor: torch.Tensor
    words: memoryview[int]


class Rows:
    """Lends int64 tensors, each with memory of its own; what is given back is lent again."""

    def __init__(self) -> None:
        self._format = Struct("0q")
        self._length = 0
        self._free: list[Row] = []

    def take(self, length: int) -> Row:
        """A tensor of that many words, 1 or more, that no other round has; what they are is left open."""
        if length != self._length:
            self._free.clear()
            self._format, self._length = Struct(f"{length}q"), length
        return self._free.pop() if self._free else _made(length)

    def filled(self, words: Sequence[int]) -> Row:
        """A tensor that holds these words. Raises struct.error for what is no whole number of 64 bits."""
        row = self.take(len(words))
        self._format.pack_into(row.words, 0, *words)
        return row

    def read(self, row: Row) -> tuple[int, ...]:
        """What a tensor holds, which is then given back."""
        words = self._format.unpack(row.words) if len(row.words) == self._length else tuple(row.words)
        self.give_back(row)
        return words

    def give_back(self, row: Row) -> None:
        """Lets another round have a tensor, of which gloo must have let go; one of a former length is dropped."""
        if len(row.words) == self._length:
            self._free.append(row)


def _made(length: int) -> Row:
    words = memoryview(array("q", bytes(8 * length)))
    return Row(torch.frombuffer(words, dtype=torch.int64), words)
