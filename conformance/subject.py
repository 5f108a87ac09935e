"""What an implementation must offer to be held against the model: the subject contract."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class SubjectConfig:
    """What `setup` is told: this rank, the number of ranks, lane names in order, the limit of a wait in seconds.

    `store_file` is the path through which the ranks of this group find each other; no other group is given the same.
    """

    rank: int
    world: int
    lanes: tuple[str, ...]
    timeout: float
    store_file: str


@dataclass(frozen=True)
class Observation:
    """What one call did on one rank, as seen from outside.

    `popped` and `left` hold one tuple of acks per lane, head first: the acks that this call popped, and those still
    in the lane after it. `waited_unfinished` holds (lane, ack) for each ack whose event the subject waited for
    although the ack was not finished on this rank. `in_flight` is the number of rounds issued and not consumed.
    `error` is the text of an error that the subject reports instead of raising. Lists and deques in the place of tuples
    are made into tuples, so that a subject may give its own queue.
    """

    popped: tuple[tuple[int, ...], ...]
    left: tuple[tuple[int, ...], ...]
    waited_unfinished: tuple[tuple[int, int], ...] = ()
    in_flight: int = 0
    error: str | None = None

    def __post_init__(self) -> None:
        for name in _ROWS:
            rows = getattr(self, name)
            if type(rows) is tuple and set(map(type, rows)) <= _TUPLES:
                continue  # as nearly always; one is made in each step
            if isinstance(rows, list | tuple | deque):  # anything else differs from the model, and is shown as it is
                plain = tuple(tuple(row) if isinstance(row, list | deque) else row for row in rows)
                object.__setattr__(self, name, plain)


_ROWS = ("popped", "left", "waited_unfinished")
_TUPLES: frozenset[type] = frozenset({tuple})


class Subject(Protocol):
    """An implementation under test, one object per rank; lanes are 0..L-1, acks are ints, unique within a run.

    The driver gives one command to one rank at a time. Any method may raise, block or end the process: each is an
    outcome of that rank, and none is an error of the harness.
    """

    def setup(self, config: SubjectConfig) -> None:
        """Make ready; called once, before anything else, on all ranks at about the same time.

        `rankproof.conformance.rendezvous.join(config)` gives the gloo group of all ranks.
        """
        ...

    def enqueue(self, lane: int, ack: int) -> None:
        """Put `ack`, unfinished, at the tail of `lane`."""
        ...

    def finish(self, lane: int, ack: int) -> None:
        """Let `ack`, enqueued before, be finished on this rank."""
        ...

    def step(self) -> Observation:
        """Run one pass of the scheduler; blocks at most `config.timeout` seconds in each wait.

        `popped` holds what was popped by what the ranks agreed on. A lane that holds fewer acks than that is an error:
        raise, and pop nothing.
        """
        ...

    def flush(self) -> Observation:
        """Consume the rounds in flight, pop what they agreed on, and issue none; `popped` holds these pops."""
        ...

    def reset(self) -> Observation:
        """Consume the rounds in flight and pop what they agreed on, then empty all lanes and start the next epoch.

        `popped` holds the pops of the first part alone: what is thrown away was not popped, and nothing is `left`.
        """
        ...

    def evict(self, lane: int) -> Observation:
        """Consume the rounds in flight and pop what they agreed on, then empty `lane` without a collective.

        So an eviction under memory pressure does, which waits for the whole lane; here every ack in it is finished.
        `popped` holds the pops of the first part and behind them, in `lane`, all that was still in it.
        """
        ...

    def reconfigure(self, key: str, value: object) -> None:
        """Change a setting on this rank only."""
        ...

    def close(self) -> None:
        """Leave nothing in flight; called at most once, and last. The group that `join` gave stays the harness's."""
        ...


def missing_methods(candidate: object) -> list[str]:
    """The names of the contract's methods that `candidate` does not have, in the contract's order."""
    contract = [name for name in vars(Subject) if not name.startswith("_")]
    return [name for name in contract if not callable(getattr(candidate, name, None))]
