"""Which schedules stand for all others: acks come just before their count, and a rank once begun goes on to its issue.

Take any schedule whose last action is the first to break a property, and make another of it.
1. Leave out what the last action does not rest on. A rank sees of others what they have issued, and nothing else; and
   so do the properties, or they fall all the more where another rank has done less. (same-pops looks at pops, but
   where all acks come in one order and none is taken out, what a rank pops is always a prefix of the same.)
2. So the last thing that any other rank does there is an issue. What it does before that sees nothing of others but in
   a wait, and may be put off until just before: actions of different ranks commute (`commutation/...`).
3. What is not yet popped a rank looks at only when it counts, and no further than the finished prefix. So each ack may
   be enqueued and finish just before the first count of it (`commutation/finish-and-its-own-step`), and is left out
   where nothing counts it. Offers and pops are the same then, and at each pop fewer acks are finished: if the schedule
   breaks finished-before-pop it still does, in the same pop or in an earlier one.
What comes out is a schedule of the protocol too, and no longer. So of properties among which is finished-before-pop,
the first to fall does so at the same length in a search of these schedules and in one of all; or none does in either.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from rankproof.model.actions import Action, Enqueue, Finish
from rankproof.model.protocol import Phase, Protocol
from rankproof.model.scenario import Scenario
from rankproof.model.state import RankState
from rankproof.model.system import Model

NEEDED = "finished-before-pop"
"""The property that tells where pops are no longer the same, so that nothing else may be looked at behind."""

KNOWN = frozenset(
    {
        *(NEEDED, "same-pops", "exact-delay", "bounded-lag", "matched-collectives", "bounded-skew", "no-deadlock"),
        *("one-owner", "clean-lifecycle"),
    }
)
"""The properties that see no more of another rank than is said above."""


def why_not(model: Model, properties: Collection[str]) -> str | None:
    """Why those schedules do not stand for all others, for the properties of these names; None where they do."""
    scenario = model.scenario
    plain = Scenario(
        ranks=scenario.ranks,
        lanes=scenario.lanes,
        acks=scenario.acks,
        ahead=scenario.ahead,
        flushes=scenario.flushes,
        topology=scenario.topology,
    )
    if NEEDED not in properties:
        return f"{NEEDED} is not among the properties"
    if others := sorted(set(properties) - KNOWN):
        return f"{others[0]} may look at more of another rank than its issues"
    if scenario != plain or scenario.topology == "pipeline":
        return "a rank may see more of the scenario than what others issue and what it counts"
    return "a rank sees guard words of others" if model.protocol.guards else None


def worth_trying(model: Model, me: RankState, rank: int, actions: Iterable[Action]) -> Iterator[Action]:
    """Those of a rank's actions that are not too early: an ack comes before the count, and must then finish first."""
    phases = model.protocol_of(rank).phases
    counts_next, unfinished = phases[me.phase] is Phase.COUNT, _has_unfinished(me)
    for action in actions:
        match action:
            case Enqueue():
                if counts_next and not unfinished:
                    yield action
            case Finish():
                yield action  # of the one ack that is not
            case _:
                if not unfinished:
                    yield action


def goes_on(protocol: Protocol, me: RankState) -> bool:
    """Whether a rank has begun what it must go on with before another moves: to finish an ack, and to its next issue.

    It rests between two steps, behind an issue within one, and short of a wait, which may have to wait.
    """
    before, then = protocol.phases[me.phase - 1], protocol.phases[me.phase]
    rests = me.phase == 0 or before is Phase.ISSUE or then is Phase.WAIT
    return _has_unfinished(me) or not rests


def _has_unfinished(me: RankState) -> bool:
    return any(lane.finished_prefix < len(lane.waiting) for lane in me.lanes)
