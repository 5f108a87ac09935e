"""The MIN of a round out of one exchange: every rank sends its vector to every other, and takes the MIN by itself.

gloo reduces around a ring: a vector is cut into twice as many pieces as there are ranks, of a word at least, and each
piece goes around twice. So over N ranks it takes 2 (N - 1) hops one after the other, and a message in each for every
piece that is not empty: each guard word is one more piece to send, until there are 2 N. An exchange is one hop, with
N (N - 1) messages however long the vector is: guard words cost no message, and a round ends when the slowest pair of
ranks has met (docs/gloo.md has the figures). A rank that is lost is also a neighbour of each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch._C._distributed_c10d import AllToAllOptions, ProcessGroup, ProcessGroupGloo

from rankproof.impl.transport import Backend, GlooTransport, Round

_EVEN: list[int] = []
"""Every rank is sent as much as every other."""


class ExchangeTransport(GlooTransport):
    """One all_to_all a round on a gloo group that nothing else uses; otherwise as `GlooTransport`."""

    def __init__(self, group: ProcessGroup | ProcessGroupGloo) -> None:
        """As `GlooTransport`."""
        super().__init__(group)
        self._exchange = AllToAllOptions()

    def _begun(self, backend: Backend, round_number: int, vector: Sequence[int]) -> Round:
        given = self._rows.filled((*vector,) * self.world)
        result = self._rows.take(len(given.words))
        work = backend.alltoall_base(result.tensor, given.tensor, _EVEN, _EVEN, self._exchange)
        return Round(round_number, work, result, given)

    def _result(self, words: tuple[int, ...]) -> tuple[int, ...]:
        length = len(words) // self.world
        vectors = [words[at : at + length] for at in range(0, len(words), length)]
        first = vectors[0]
        if vectors.count(first) == self.world:
            return first
        # Behind the first third there are guard words only: where all ranks hold the same, these are their own MIN.
        shared = length // 3
        tail = first[shared:]
        if any(vector[shared:] != tail for vector in vectors):
            return tuple(map(min, *vectors))
        return (*map(min, *[vector[:shared] for vector in vectors]), *tail)
