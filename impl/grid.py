"""MIN over the ranks of a grid, in one direction after the other: a transport made of one transport a direction."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

from rankproof.impl.transport import Transport


class GridTransport:
    """MIN over the first direction, and of its results over the next; see `Transport` for the calls.

    As every line of the grid comes to its own MIN first, the last direction gives the MIN over all. The second
    collective can begin only when the first has ended, within `agreed`; that is why a grid is not pipelined.
    """

    def __init__(self, directions: Sequence[Transport], rank: int, world: int) -> None:
        """Takes over this rank's transport in each direction; `rank` and `world` are those of the grid.

        The deadline is that of the first direction; there is one wait a direction.
        """
        self._directions: Final = tuple(directions)
        self.rank: Final = rank
        self.world: Final = world
        self.timeout: Final = self._directions[0].timeout

    def offer(self, round_number: int, vector: Sequence[int]) -> None:
        """Offers in the first direction."""
        self._directions[0].offer(round_number, vector)

    def agreed(self, round_number: int) -> tuple[int, ...]:
        """Waits for the first direction, then offers and waits in each other."""
        vector = self._directions[0].agreed(round_number)
        for direction in self._directions[1:]:
            direction.offer(round_number, vector)
            vector = direction.agreed(round_number)
        return vector

    def close(self) -> None:
        """Closes every direction, also where one of them raises."""
        with ExitStack() as closing:
            for direction in reversed(self._directions):
                closing.callback(direction.close)
