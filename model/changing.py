"""Changes of storage that ranks agree on: each asks in its rounds, and all make the change before the same round."""

from __future__ import annotations

from dataclasses import replace

from rankproof.model.protocol import Phase, Protocol
from rankproof.model.scenario import Scenario
from rankproof.model.state import LaneState, RankState


def due(protocol: Protocol, me: RankState, request: int, round_number: int) -> int:
    """The round before which a rank makes the change that it asks for, or 0, once it has consumed a round.

    request  the lowest layout that a rank asked for in that round, so 0 where some rank asked for none

    All ranks asked in the same round, and each has surely consumed it when it issues the one `window` later: so that
    is the same round on every rank, whatever each has drained in between.
    """
    if request and me.asks and not me.due:
        return round_number + protocol.window
    return me.due


def is_due(protocol: Protocol, me: RankState) -> bool:
    """Whether the next thing that the rank does is to make its change: it comes to the count of that round."""
    return me.due == me.issued + 1 and protocol.phases[me.phase] is Phase.COUNT


def changed(scenario: Scenario, me: RankState) -> RankState:
    """The rank with storage attached where it was not, or detached; then its storage lanes are new, or gone."""
    lanes = tuple(
        LaneState(next=lane.next) if scenario.is_storage(number) else lane for number, lane in enumerate(me.lanes)
    )
    return replace(me, lanes=lanes, layout=me.layout + 1, asks=0, due=0, marks=())


def is_attached(me: RankState) -> bool:
    """Whether the rank has storage."""
    return me.layout % 2 == 1
