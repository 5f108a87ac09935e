"""Acks and the lanes that hold them: what a rank counts, what it pops, and the digest of both.

The kind of a lane says how it is filled, and from that follow what is counted and what ranks can compare:

    aligned  every rank enqueues the same acks before the same step (write and load in HiCache). Counted by the finished
             prefix; ranks compare all that was ever enqueued, before anything of it is popped
    prefix   the same acks in the same order, each rank at its own time. Counted by the finished prefix; ranks compare
             what was popped, since what was enqueued may differ in length without any fault
    size     as `prefix`, but filled by a background thread, and only with what has finished (the storage lanes).
             Counted by the length
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, get_args

from rankproof.impl.digests import EMPTY, folded, identity_word
from rankproof.impl.errors import Misuse, StepTimeout

Identity: TypeAlias = int | str
LaneKind: TypeAlias = Literal["aligned", "prefix", "size"]

MOST_BITS, MOST_CHARACTERS = 256, 256
"""The longest identities, an int's and a str's: each is hashed, and shown in errors."""

_POLL = 0.0005
"""Seconds between two looks at an event that a call must wait for; a blocking eviction and a PP follower do."""


class Event(Protocol):
    """Tells whether one transfer has finished on this rank; a `torch.cuda.Event` is one."""

    def query(self) -> bool:
        """Whether it has finished; never blocks, and once true stays true."""
        ...

    def synchronize(self) -> None:
        """Returns when it has finished."""
        ...


class _Finished:
    """The event of an ack that had finished before it was enqueued."""

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        return None

    def __repr__(self) -> str:
        return "FINISHED"


FINISHED: Event = _Finished()
"""For the acks of a `size` lane, which have no event of their own."""


@dataclass(frozen=True, slots=True)
class Ack:
    """One entry of a lane. Ranks must use the same identity for the same ack; it is unique among those that wait."""

    identity: Identity
    event: Event

    def __post_init__(self) -> None:
        """Raises Misuse for an identity that is no short int or str (a bool is neither), and for what is no event."""
        identity = self.identity
        if type(identity) is not int and type(identity) is not str:
            raise Misuse(f"an ack's identity is an int or a str, not {identity!r}")
        if len(identity) > MOST_CHARACTERS if isinstance(identity, str) else identity.bit_length() > MOST_BITS:
            raise Misuse(f"an ack's identity has at most {MOST_BITS} bits or {MOST_CHARACTERS} characters")
        if not (hasattr(self.event, "query") and hasattr(self.event, "synchronize")):
            raise Misuse(f"ack {identity!r}: an event has query() and synchronize(), which {self.event!r} has not")


class Lane:
    """A FIFO of acks on one rank.

    `enqueue` may come from another thread than the other calls, which is why each call holds the lock.
    """

    def __init__(self, name: str, kind: LaneKind) -> None:
        """Raises Misuse for an unknown kind, and for a name that is no short text."""
        if type(name) is not str or not 0 < len(name) <= MOST_CHARACTERS:
            raise Misuse(
                f"a lane's name is a str of 1 to {MOST_CHARACTERS} characters, not {name!r:.{MOST_CHARACTERS}}"
            )
        if kind not in get_args(LaneKind):
            raise Misuse(f"lane {name!r} is of kind {kind!r}; a lane is of kind {' or '.join(get_args(LaneKind))}")
        self.name = name
        self.kind = kind
        self._acks: deque[Ack] = deque()
        self._words: dict[Identity, int] = {}  # of the acks that wait: what stands for each in a digest
        self._lock = threading.Lock()
        self._shut = False
        self._enqueued_digest = EMPTY
        self.popped_digest = EMPTY
        """Of the acks that were popped since the last `clear`."""
        self.popped_count = 0
        """How many acks were popped since the last `clear`."""

    def __len__(self) -> int:
        return len(self._acks)

    @property
    def waiting(self) -> tuple[Identity, ...]:
        """The identities in the lane, head first."""
        with self._lock:
            return tuple(ack.identity for ack in self._acks)

    def enqueue(self, ack: Ack) -> None:
        """Puts `ack` at the end.

        Raises Misuse where its identity waits here already, where it is no `Ack`, and once the lane is shut.
        """
        if not isinstance(ack, Ack):
            raise Misuse(f"lane {self.name!r}: an Ack is enqueued, not {ack!r}")
        word = identity_word(ack.identity)
        with self._lock:
            if self._shut:
                raise Misuse(f"lane {self.name!r} is detached: ack {ack.identity!r} came too late for it")
            if ack.identity in self._words:
                raise Misuse(f"lane {self.name!r}: ack {ack.identity!r} waits here already; enqueue it once")
            self._words[ack.identity] = word
            self._acks.append(ack)
            if self.kind == "aligned":
                self._enqueued_digest = folded(self._enqueued_digest, word)

    def ready_count(self) -> int:
        """How many acks may be popped as far as this rank knows; asks no event behind the first unfinished one."""
        with self._lock:
            if self.kind == "size":
                return len(self._acks)
            count = 0
            for ack in self._acks:
                if not ack.event.query():
                    break
                count += 1
            return count

    def pop(self, count: int) -> list[Ack]:
        """Takes `count` acks from the head. Raises Misuse for a count that is no whole number from 0 to the length."""
        with self._lock:
            if type(count) is not int or not 0 <= count <= len(self._acks):
                raise Misuse(f"lane {self.name!r}: cannot pop {count!r} of {len(self._acks)} acks")
            acks, digest = [], self.popped_digest
            for _ in range(count):
                ack = self._acks.popleft()
                digest = folded(digest, self._words.pop(ack.identity))
                acks.append(ack)
            self.popped_digest = digest
            self.popped_count += count
            return acks

    def shut(self) -> list[Ack]:
        """Takes every ack, and lets none in any more: not one of a thread that had looked the lane up before either."""
        with self._lock:
            self._shut = True
            acks = list(self._acks)
            self._acks.clear()
            self._words.clear()
            return acks

    def digest(self, popped_digest: int) -> int:
        """What ranks compare: `popped_digest`, and in an `aligned` lane also all that was ever enqueued."""
        return folded(self._enqueued_digest, popped_digest) if self.kind == "aligned" else popped_digest

    def put_back(self, acks: Sequence[Ack]) -> None:
        """Undoes the pops, or the shutting, that gave `acks`, in the order in which they came out."""
        with self._lock:
            self._shut = False
            self._acks.extendleft(reversed(acks))
            self._words.update((ack.identity, identity_word(ack.identity)) for ack in acks)

    def wait_for(self, count: int | None, seconds: float, since: float | None = None) -> int:
        """Waits until the first `count` acks, or all that are in the lane now, have finished; gives their number.

        since  when those seconds began, by the monotonic clock, where several waits share them

        Raises StepTimeout naming the first that has not after that many seconds.
        """
        deadline = (time.monotonic() if since is None else since) + seconds
        wanted = len(self) if count is None else count
        for position in range(wanted):
            while (ack := self._at(position)) is None or not ack.event.query():
                if time.monotonic() > deadline:
                    what = f"ack {position + 1} to be enqueued" if ack is None else f"ack {ack.identity!r} to finish"
                    raise StepTimeout(f"lane {self.name!r}: waited {seconds:g} s for {what} on this rank")
                time.sleep(_POLL)
            ack.event.synchronize()
        return wanted

    def clear(self) -> None:
        """Forgets every ack, finished or not, and what was popped; what follows is the lane's next generation."""
        with self._lock:
            self._acks.clear()
            self._words.clear()
            self._enqueued_digest = self.popped_digest = EMPTY
            self.popped_count = 0

    def _at(self, position: int) -> Ack | None:
        with self._lock:
            return self._acks[position] if position < len(self._acks) else None
