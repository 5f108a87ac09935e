"""Acks and the lanes that hold them: what a rank counts, and what it pops.

The kind of a lane says how it is filled, and from that follow what is counted and what ranks can compare:

    aligned  every rank enqueues the same acks before the same step (write and load in HiCache). Counted by the finished
             prefix; ranks compare all that was ever enqueued, before anything of it is popped
    prefix   the same acks in the same order, each rank at its own time. Counted by the finished prefix; ranks compare
             what was popped, since what was enqueued may differ in length without any fault
    size     as `prefix`, but filled by a background thread, and only with what has finished (the storage lanes).
             Counted by the length
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeAlias, get_args

from rankproof.impl.errors import Misuse, StepTimeout

Identity: TypeAlias = int | str
LaneKind: TypeAlias = Literal["aligned", "prefix", "size"]

Note: TypeAlias = tuple[Literal["enqueued", "popped", "forgotten", "consumed"], str, Any]
"""What happened to a lane, its name, and what it happened with, for the digests (see `ledger`).

enqueued, popped  the identity of one ack, the identities of several, head first
forgotten         the lane has lost its acks, and what was popped of it: nothing
consumed          of no lane: the round that was consumed, of which all is popped
"""

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


@dataclass(frozen=True, slots=True, eq=False)
class Ack:
    """One entry of a lane. Ranks must use the same identity for the same ack; it is unique among those that wait.

    Two are never equal: on one rank an ack is enqueued once.
    """

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

    `enqueue` may come from any thread, and the other calls from one, but for `waiting` and the length, which any may
    ask for. So an ack that is enqueued goes through an inbox, from which that one thread takes it into the lane when it
    counts. A lock would do as well, and cost a tenth of a step after a forward in which the core was idle; without one,
    each operation on a deque or a dict must be atomic, as the interpreter's own lock makes it.
    """

    def __init__(self, name: str, kind: LaneKind, note: Callable[[Note], None] | None = None) -> None:
        """`note` is told of acks that are taken into an `aligned` lane, of those popped from any, and of a new start.

        Raises Misuse for an unknown kind, and for a name that is no short text.
        """
        if type(name) is not str or not 0 < len(name) <= MOST_CHARACTERS:
            raise Misuse(
                f"a lane's name is a str of 1 to {MOST_CHARACTERS} characters, not {name!r:.{MOST_CHARACTERS}}"
            )
        if kind not in get_args(LaneKind):
            raise Misuse(f"lane {name!r} is of kind {kind!r}; a lane is of kind {' or '.join(get_args(LaneKind))}")
        self.name: Final = name
        self.kind: Final = kind
        self._inbox: deque[Ack] = deque()
        self._acks: deque[Ack] = deque()
        self._identities: dict[Identity, object] = {}  # of all that wait, each with a token of the call that put it in
        self._shut = False
        self._note = note or _unnoted
        self.popped_count = 0
        """How many acks were popped since the last `clear`."""

    def __len__(self) -> int:
        """How many acks wait; for another thread one that is being taken in may count twice."""
        return len(self._inbox) + len(self._acks)

    @property
    def waiting(self) -> tuple[Identity, ...]:
        """The identities in the lane, head first."""
        inbox = self._inbox.copy()  # first: what is taken in meanwhile is then seen twice, and not missed
        return tuple(dict.fromkeys([ack.identity for ack in (*self._acks.copy(), *inbox)]))

    def enqueue(self, ack: Ack) -> None:
        """Puts `ack` at the end.

        Raises Misuse where its identity waits here already, where it is no `Ack`, and once the lane is shut.
        """
        if not isinstance(ack, Ack):
            raise Misuse(f"lane {self.name!r}: an Ack is enqueued, not {ack!r}")
        identity = ack.identity
        token = object()
        if self._identities.setdefault(identity, token) is not token:
            raise Misuse(f"lane {self.name!r}: ack {identity!r} waits here already; enqueue it once")
        self._inbox.append(ack)
        if self._shut and self._taken_back(ack):
            raise Misuse(f"lane {self.name!r} is detached: ack {identity!r} came too late for it")

    def ready_count(self) -> int:
        """How many acks may be popped as far as this rank knows; asks no event behind the first unfinished one."""
        self._take_in()
        if self.kind == "size":
            return len(self._acks)
        count = 0
        for ack in self._acks:
            if not ack.event.query():
                break
            count += 1
        return count

    def pop(self, count: int, into: list[Ack] | None = None) -> list[Ack]:
        """Takes `count` acks from the head and adds them to `into`, one by one, so that an interrupt loses none.

        Raises Misuse for a count that is no whole number from 0 to the length.
        """
        if type(count) is not int or not 0 <= count <= len(self):
            raise Misuse(f"lane {self.name!r}: cannot pop {count!r} of {len(self)} acks")
        if count > len(self._acks):
            self._take_in()
        acks, identities = [] if into is None else into, []
        for _ in range(count):
            ack = self._acks[0]
            acks.append(ack)
            self._acks.popleft()
            identity = ack.identity
            del self._identities[identity]
            identities.append(identity)
        self.popped_count += count
        self._note(("popped", self.name, identities))
        return acks

    def shut(self) -> list[Ack]:
        """Takes every ack, and lets none in any more: not one of a thread that had looked the lane up before either."""
        self._shut = True
        self._take_in()
        acks = list(self._acks)
        self._forget()
        return acks

    def put_back(self, acks: Sequence[Ack]) -> None:
        """Undoes the pops, or the shutting, that gave `acks`, in the order in which they came out."""
        self._shut = False
        if acks and self._acks and acks[-1] is self._acks[0]:  # an interrupt came between the two steps of its pop
            acks = acks[:-1]
        self._acks.extendleft(reversed(acks))
        self._identities.update((ack.identity, ack) for ack in acks)

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
        self._take_in()
        self._forget()
        self.popped_count = 0

    def _taken_back(self, ack: Ack) -> bool:
        """Whether it is out of the inbox again; else whoever shut the lane has taken it, and has it."""
        try:
            self._inbox.remove(ack)
        except ValueError:
            return False
        del self._identities[ack.identity]
        return True

    def _take_in(self) -> None:
        """Takes what was enqueued by now into the lane."""
        inbox = self._inbox
        while inbox:
            ack = inbox[0]
            self._acks.append(ack)
            inbox.popleft()
            if self.kind == "aligned":
                self._note(("enqueued", self.name, ack.identity))

    def _forget(self) -> None:
        for ack in self._acks:
            del self._identities[ack.identity]
        self._acks.clear()
        self._note(("forgotten", self.name, None))

    def _at(self, position: int) -> Ack | None:
        self._take_in()
        return self._acks[position] if position < len(self._acks) else None


def _unnoted(note: Note) -> None:
    """Of a lane whose digest nobody asks for."""
