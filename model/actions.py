"""The named actions that a schedule is made of: what the engine does, and what the protocol does on one rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from rankproof.model.protocol import Phase


@dataclass(frozen=True, slots=True)
class Enqueue:
    """The engine on `rank` puts `ack`, the next of its lane, at the end of `lane`."""

    rank: int
    lane: int
    ack: int


@dataclass(frozen=True, slots=True)
class Lose:
    """The engine on `rank` fails to enqueue `ack`, the next of its lane, and carries on without it."""

    rank: int
    lane: int
    ack: int


@dataclass(frozen=True, slots=True)
class Finish:
    """The transfer of `ack`, which waits in `lane`, finishes on `rank`."""

    rank: int
    lane: int
    ack: int


@dataclass(frozen=True, slots=True)
class Wait:
    """`rank` waits for the round that is due, if one is, and takes the agreed counts."""

    rank: int


@dataclass(frozen=True, slots=True)
class Pop:
    """`rank` pops from the head of each lane what it may."""

    rank: int


@dataclass(frozen=True, slots=True)
class Count:
    """`rank` counts the finished prefix of each lane."""

    rank: int


@dataclass(frozen=True, slots=True)
class Issue:
    """`rank` issues the next round with what it counted."""

    rank: int


@dataclass(frozen=True, slots=True)
class Reset:
    """The engine on `rank` clears every lane, between two steps, and begins the next epoch."""

    rank: int


@dataclass(frozen=True, slots=True)
class Evict:
    """The engine on `rank` waits, between two steps, for all that is in `lane` and pops it without a round."""

    rank: int
    lane: int


@dataclass(frozen=True, slots=True)
class Flush:
    """`rank` consumes, between two steps, what it has in flight, pops it, and issues nothing."""

    rank: int


@dataclass(frozen=True, slots=True)
class Attach:
    """The engine on `rank` attaches storage, between two steps, which changes the layout of its vector.

    Where changes are agreed on it only asks for it, and the rank makes a `Change` once every rank has asked.
    """

    rank: int


@dataclass(frozen=True, slots=True)
class Detach:
    """The engine on `rank` detaches storage, between two steps, as `Attach` attaches it; what waits there is gone."""

    rank: int


@dataclass(frozen=True, slots=True)
class Change:
    """`rank` consumes, before it counts, what it has in flight, and takes on the layout that every rank asked for."""

    rank: int


@dataclass(frozen=True, slots=True)
class Close:
    """`rank` consumes, between two steps, what it has in flight, pops it, and leaves."""

    rank: int


@dataclass(frozen=True, slots=True)
class Swap:
    """The engine on `rank` enqueues the next two acks of `lane` in the other order; `ack` is the first of them."""

    rank: int
    lane: int
    ack: int


@dataclass(frozen=True, slots=True)
class Withdraw:
    """The engine on `rank` takes `ack`, which waits in `lane`, out of it again."""

    rank: int
    lane: int
    ack: int


@dataclass(frozen=True, slots=True)
class Stall:
    """The transfer of `ack`, which waits in `lane`, fails on `rank`: it will never finish."""

    rank: int
    lane: int
    ack: int


@dataclass(frozen=True, slots=True)
class Decline:
    """The engine on `rank` leaves a step out."""

    rank: int


@dataclass(frozen=True, slots=True)
class Throw:
    """Popping or counting throws on `rank`, which then pops nothing in that step, and takes nothing more of it."""

    rank: int


@dataclass(frozen=True, slots=True)
class Crash:
    """`rank` dies."""

    rank: int


@dataclass(frozen=True, slots=True)
class Notice:
    """`rank` learns, in a wait that could have ended well, that another one is gone; then it is gone too."""

    rank: int


Engine: TypeAlias = Enqueue | Lose | Swap | Finish | Stall | Withdraw
"""What the engine does to a lane, at any moment."""

Between: TypeAlias = Reset | Evict | Flush | Attach | Detach | Decline | Close
"""What happens between two steps."""

Quarter: TypeAlias = Wait | Pop | Count | Issue
"""What a step is made of."""

Action: TypeAlias = Engine | Between | Quarter | Change | Throw | Crash | Notice

KINDS: dict[str, type[Action]] = {
    kind.__name__.lower(): kind
    for kind in (
        *(Enqueue, Lose, Swap, Finish, Stall, Withdraw),
        *(Reset, Evict, Flush, Attach, Detach, Decline, Close),
        *(Wait, Pop, Count, Issue, Change),
        *(Throw, Crash, Notice),
    )
}
"""Every action by its name in a schedule file."""

OF_PHASE: dict[Phase, type[Quarter]] = {
    Phase.WAIT: Wait,
    Phase.POP: Pop,
    Phase.COUNT: Count,
    Phase.ISSUE: Issue,
}
"""The action by which a rank takes each phase."""
