"""The closed loop: an engine that gives a lane its next acks only when earlier ones are popped, in lockstep."""

from __future__ import annotations

from rankproof.model import rounds
from rankproof.model.protocol import BLOCKING, Protocol
from rankproof.model.reading import Ints


def popped_in_closed_loop(protocol: Protocol, window: int, demand: int, steps: int) -> tuple[int, ...]:
    """How many acks have been popped after each of some steps.

    Before each step the engine enqueues up to `demand` acks, as long as no more than `window` are in the lane; they are
    finished by the count of that step. All ranks are alike, so one stands for them.
    Raises ValueError for a window or a demand below 1.
    """
    if min(window, demand) < 1:
        raise ValueError("a closed loop needs a window and a demand of 1 or more")
    reading = Ints(1)
    at = rounds.start(protocol)
    enqueued = 0
    popped: list[int] = []
    for _ in range(steps):
        enqueued = min(enqueued + demand, at(0).popped + window)
        at = rounds.step(reading, protocol, at, lambda rank, finished=enqueued: finished)  # type: ignore[misc]
        popped.append(at(0).popped)
    return tuple(popped)


def keeps_up(protocol: Protocol, window: int, demand: int, steps: int) -> bool:
    """Whether the protocol pops, `lag` steps later, exactly what blocking pops with the same window and demand."""
    late = popped_in_closed_loop(protocol, window, demand, steps)
    blocking = popped_in_closed_loop(BLOCKING, window, demand, steps)
    return late == ((0,) * protocol.lag + blocking)[:steps]


def least_window(protocol: Protocol, demand: int, steps: int = 50) -> int:
    """The smallest window with which the protocol keeps up with blocking, as seen over so many steps."""
    window = 1
    while not keeps_up(protocol, window, demand, steps):
        window += 1
    return window
