"""What does not matter: which of two ranks goes first, when an ack finishes before its count, and the order of lanes.

Two actions of different ranks commute where neither can tell whether the other came first. So it is enough to prove of
each action alone that it sees nothing of another rank but how many rounds that has issued, that more of them do not
stop it, and that it issues none back: whatever the other rank does then comes to the same before it and behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from rankproof.model import rules
from rankproof.model.protocol import Phase, Protocol
from rankproof.model.reading import Number, Rank, Truth
from rankproof.proofs.between_steps import change, drain, evict, reset
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.interleaved_claims import world
from rankproof.proofs.obligation import Goals, Hypotheses, Obligation
from rankproof.proofs.ranks_alone import History, Place, Places, any_place, moved, take

_Action: TypeAlias = Callable[[History, Places, Rank], tuple[Hypotheses, Place]]


def _of_phase(history: History, before: Places, actor: Rank, *, phase: Phase) -> tuple[Hypotheses, Place]:
    return take(history, phase, before, actor)


def _finish(history: History, before: Places, actor: Rank) -> tuple[Hypotheses, Place]:
    return {}, replace(before(actor), finished=history.reading.number("finished_now"))


def _change(history: History, before: Places, actor: Rank) -> tuple[Hypotheses, Place]:
    return change(history.protocol, before, actor)


@dataclass(frozen=True, slots=True)
class _TwoRanks:
    """An actor, and another rank before and after that has become whatever it likes, with no round taken back."""

    history: History
    before: Places
    later: Places
    actor: Rank
    meant: Hypotheses

    def of(self, action: _Action) -> tuple[Hypotheses, Goals]:
        """When the actor can take an action before the other has changed, and what then must be so behind that."""
        reading, protocol = self.history.reading, self.history.protocol
        me = self.before(self.actor)
        guard, after = action(self.history, self.before, self.actor)
        guard_later, after_later = action(self.history, self.later, self.actor)
        # What a round comes to is a fixed number in these terms, and here it is: whoever waits for it has all offers.
        reads = me.consumed + 1 <= self.before(reading.rank("other")).issued
        looked = reading.implies(guard["complete"], reads) if "complete" in guard else reading.both()
        return guard, {
            "still-enabled": reading.both(*guard_later.values()),
            "same-end": _same(reading, after, after_later),
            "no-round-back": me.issued <= after.issued,
            "no-offer-to-come": reading.implies(rules.due(protocol, me.issued, me.consumed), looked),
        }


def _two_ranks(reading: EveryRank, protocol: Protocol) -> _TwoRanks:
    before, actor, other = any_place(reading), reading.rank("actor"), reading.rank("other")
    changed = Place(*(reading.number(f"other_{name}") for name in Place.__dataclass_fields__))
    meant = {"two ranks": actor != other, "issues-no-round-back": before(other).issued <= changed.issued}
    return _TwoRanks(History(reading, protocol), before, moved(reading, before, other, changed), actor, meant)


def _sees_only_rounds(reading: EveryRank, protocol: Protocol, *, action: _Action) -> tuple[Hypotheses, Goals]:
    ranks = _two_ranks(reading, protocol)
    guard, goals = ranks.of(action)
    return {f"enabled: {name}": truth for name, truth in guard.items()} | ranks.meant, goals


def _all_see_only_rounds(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """The same of every action, each where it can be taken."""
    ranks, goals = _two_ranks(reading, protocol), Goals()
    for name, (action, _) in _ACTIONS.items():
        guard, of_one = ranks.of(action)
        goals[name] = reading.implies(reading.both(*guard.values()), reading.both(*of_one.values()))
    return ranks.meant, goals


def _same(reading: EveryRank, one: Place, other: Place) -> Truth:
    names = Place.__dataclass_fields__
    return reading.both(*(getattr(one, name) == getattr(other, name) for name in names))


def _waits_for_its_count(
    reading: EveryRank, protocol: Protocol, *, phases: tuple[Phase, ...]
) -> tuple[Hypotheses, Goals]:
    """An ack finishes on a rank, before or after that rank has taken a phase of its own step."""
    history, before, actor, _, _ = world(reading, protocol, ())
    finished = reading.number("finished_now")

    def finishing(at: Places) -> Places:
        return moved(reading, at, actor, replace(at(actor), finished=finished))

    hypotheses: Hypotheses = {}
    goals: Goals = {}
    for phase in phases:
        guard, after = take(history, phase, before, actor)
        guard_later, after_later = take(history, phase, finishing(before), actor)
        hypotheses |= {f"{phase}: {name}": reading.implies(guard["turn"], truth) for name, truth in guard.items()}
        ends = _same(reading, replace(after, finished=finished), after_later)
        goals[phase] = reading.implies(guard["turn"], reading.both(*guard_later.values(), ends))
    return hypotheses, goals


def _but_for_the_count(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    return _waits_for_its_count(reading, protocol, phases=(Phase.WAIT, Phase.POP, Phase.ISSUE))


def _with_the_count(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    return _waits_for_its_count(reading, protocol, phases=(Phase.COUNT,))


def _lanes(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """Any number of lanes, which each rank orders as it likes: place `slot` of its vector has lane `order(rank, slot)`.

    What one rank may pop of a lane is to be what it would with a round for that lane alone.
    """
    order, count = reading.table("order"), reading.table("count")
    me, slot = reading.rank("me"), reading.number("slot")
    lane, gone = order(me, slot), reading.number("gone")

    def may_pop(offers: Callable[[Rank], Number]) -> Number:
        return rules.allowed(protocol, count(me, lane), rules.agree(reading, protocol, offers), gone)

    together = may_pop(lambda rank: count(rank, order(rank, slot)))
    alone = may_pop(lambda rank: count(rank, lane))
    kept = {"same-layout": reading.every_pair(lambda one, other: order(one, slot) == order(other, slot))}
    return kept, {"goal": together == alone}


_ACTIONS: dict[str, tuple[_Action, str]] = {
    **{phase.value: (partial(_of_phase, phase=phase), f"a {phase}") for phase in Phase},
    "finish": (_finish, "an ack that finishes"),
    "drain": (drain, "a round that is consumed between two steps"),
    "evict": (evict, "an eviction"),
    "reset": (reset, "a reset"),
    "attach": (_change, "storage that is attached or detached"),
}

COMMUTE: tuple[Obligation, ...] = (
    *(
        Obligation(
            f"commutation/{name}",
            "commutation",
            f"{says} on one rank, and whatever another does, may change places",
            (),
            partial(_sees_only_rounds, action=action),
        )
        for name, (action, says) in _ACTIONS.items()
    ),
    Obligation(
        "commutation/finish-and-its-own-step",
        "commutation",
        "an ack that finishes may change places with a wait, a pop or an issue of its own rank",
        (),
        _but_for_the_count,
    ),
    Obligation(
        "commutation/lanes",
        "commutation",
        "lanes may stand in any order that is the same on every rank: what is popped of each does not depend on it",
        ("same-layout",),
        _lanes,
    ),
)

COMMUTE_TOGETHER: tuple[Obligation, ...] = (
    Obligation(
        "commutation/actions",
        "commutation",
        "whatever a rank does, and whatever another does, may change places",
        (),
        _all_see_only_rounds,
    ),
    *COMMUTE[len(_ACTIONS) :],
)
"""The same in fewer, of which each takes longer to read."""

FALSE_OF_COMMUTE: tuple[Obligation, ...] = (
    Obligation(
        "false/finish-and-its-own-count",
        "bounded-lag",
        "an ack that finishes may change places with the count of its own rank",
        (),
        _with_the_count,
    ),
)
