"""Tensors for rounds: each is used in one round and in no other, and many are made at a time.

A fresh tensor a round is what keeps rounds apart: gloo reads and writes it until the wait is over. To make one takes
torch a tenth of a step after a forward in which the core was idle; to make BLOCK at once takes hardly longer, since
the code is then in the caches.
"""

from __future__ import annotations

from array import array
from typing import Final

import torch

BLOCK: Final = 32
"""Tensors made at a time."""


class Rows:
    """Hands out int64 tensors, each with memory of its own, which is read and written without torch."""

    def __init__(self) -> None:
        self._length = 0
        self._left: list[tuple[torch.Tensor, memoryview[int]]] = []

    def take(self, length: int) -> tuple[torch.Tensor, memoryview[int]]:
        """A tensor of that many words, 1 or more, which nobody has had, and its memory."""
        if length != self._length or not self._left:
            memory = memoryview(array("q", bytes(8 * BLOCK * length)))
            tensors = torch.frombuffer(memory, dtype=torch.int64).view(BLOCK, length).unbind()
            places = range(0, BLOCK * length, length)
            self._left = [(each, memory[at : at + length]) for each, at in zip(tensors, places, strict=True)]
            self._length = length
        return self._left.pop()
