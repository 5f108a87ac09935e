"""Changes of storage that ranks agree on: each asks in its rounds, and all make the change before the same round.

Where each rank has a part in the MIN, all have asked in the first round in which no request word is NOTHING_ASKED. In a
pipeline the later stages have none; what they ask for is counted in some rounds later (`counts_late`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rankproof.model import words
from rankproof.model.copying import replace
from rankproof.model.protocol import Phase, Protocol
from rankproof.model.scenario import Scenario
from rankproof.model.state import LaneState, RankState
from rankproof.model.system import Disabled, Model


def due(protocol: Protocol, me: RankState, request: int, round_number: int) -> int:
    """The round before which a rank makes the change that it asks for, or 0, once it has consumed a round.

    request  the lowest layout that a rank asked for in that round, so 0 where some rank asked for none

    It is the same round on every rank, whatever each has drained in between (`words.due`).
    """
    if request and me.asks and not me.due:
        return int(words.due(round_number, protocol.window))
    return me.due


def counts_late(model: Model) -> bool:
    """Whether later stages of a pipeline, which have no part in the MIN, have one in what is asked for, and late.

    A rank of the first stage counts into its offer of a round what they asked for `Scenario.ahead` rounds before: by
    then they have taken that round, as else it could not be so far ahead. So it waits for nothing more than it does.
    """
    return model.scenario.topology == "pipeline" and model.protocol.attaches == "agreed"


def asked_in(model: Model, rank: int, me: RankState, later: Callable[[], Sequence[RankState]]) -> RankState | Disabled:
    """The rank of such a pipeline once it has issued a round, with what it asks for in it; `later` gives later stages.

    That of the first stage is the lowest request of all stages, or the reason why it must wait for one.
    """
    scenario = model.scenario
    if rank >= scenario.leaders:
        return replace(me, asked=min(me.asked + 1, scenario.ahead + 1) if me.asks else 0)
    answered, request = me.issued - scenario.ahead, me.asks
    for number, peer in enumerate(later(), scenario.leaders):
        if peer.issued < answered:
            reason = f"rank {rank} waits for what rank {number} asks for in a round that it must issue first"
            return Disabled(reason, waits_for=(number,))
        then = peer.asks if answered > peer.issued - peer.asked else words.NOTHING_ASKED
        request = min(request, words.heard(then, peer.layout, me.layout))
    place, held = model.protocol.guards.index("request"), list(me.words[-1])
    held[place] = request
    return replace(me, words=(*me.words[:-1], tuple(held)))


def is_due(protocol: Protocol, me: RankState) -> bool:
    """Whether the next thing that the rank does is to make its change: it comes to the count of that round."""
    return me.due == me.issued + 1 and protocol.phases[me.phase] is Phase.COUNT


def changed(scenario: Scenario, me: RankState) -> RankState:
    """The rank with storage attached where it was not, or detached; then its storage lanes are new, or gone."""
    lanes = tuple(
        LaneState(next=lane.next) if scenario.is_storage(number) else lane for number, lane in enumerate(me.lanes)
    )
    return replace(me, lanes=lanes, layout=me.layout + 1, asks=0, due=0, asked=0, marks=())


def is_attached(me: RankState) -> bool:
    """Whether the rank has storage."""
    return me.layout % 2 == 1
