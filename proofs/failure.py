"""Ranks that are gone: what becomes of the others, and of a rank whose step ends between its wait and its issue."""

from __future__ import annotations

from dataclasses import replace

from rankproof.model import rules
from rankproof.model.protocol import Phase, Protocol
from rankproof.model.reading import Number, Rank, Truth
from rankproof.proofs.alone_invariant import invariant
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.interleaved import one_in_flight_or_watermarks
from rankproof.proofs.interleaved_claims import world
from rankproof.proofs.obligation import Goals, Hypotheses, Obligation
from rankproof.proofs.ranks_alone import moved


def _crash(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A crash is a rank that takes no further action, so the invariant stays; the others get no further than this."""
    _, at, crashed, _, known = world(reading, protocol, ("window", "ahead"))

    def held_up(rank: Rank) -> Truth:
        return reading.both(
            at(rank).issued <= at(crashed).issued + protocol.window, at(rank).consumed <= at(crashed).issued
        )

    return known, {"goal": reading.every_rank(held_up)}


def _told(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A rank in its wait while another is gone: where the round due is one that it did not issue, it has an error.

    And with a window of rounds issued beyond the one that is gone, the round due is such a one, and always the same:
    the first that is missing. That a rank ever is that far, and in its wait, is not said here: it is as long as it
    keeps stepping (`everyone-steps`).
    """
    _, at, crashed, _, known = world(reading, protocol, ("window", "ahead"))
    me, alive = at(reading.rank("waits")), reading.family("alive")
    known |= {
        "gone": alive(crashed) == 0,
        "in-its-wait": me.phase == protocol.phases.index(Phase.WAIT),
    }
    is_due = rules.due(protocol, me.issued, me.consumed)
    lost = rules.lost(reading, protocol, me.consumed, lambda rank: at(rank).issued, lambda rank: alive(rank) == 1)
    never_comes = reading.negate(me.consumed + 1 <= at(crashed).issued)
    at_the_end = at(crashed).issued + protocol.window <= me.issued
    return known, {
        "told": reading.implies(never_comes, lost),
        "at-last": reading.implies(at_the_end, reading.both(is_due, never_comes)),
        "same-round": reading.implies(never_comes, me.consumed == at(crashed).issued),
    }


def _nobody_waits_for_ever(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """While some rank is alive, one that is can take its next phase, or drain, or is told that it never can.

    The least number of rounds issued by all ranks, and by those that are gone, say whether a round is there, or lost.
    """
    _, at, _, _, known = world(reading, protocol, ())
    alive, beyond = reading.family("alive"), reading.number("beyond")

    def issued(rank: Rank) -> Number:
        return at(rank).issued

    def issued_if_gone(rank: Rank) -> Number:
        return reading.choose(alive(rank) == 1, beyond, issued(rank))

    least, least_of_the_gone = reading.minimum(issued), reading.minimum(issued_if_gone)
    known["beyond-all"] = reading.every_rank(lambda rank: issued(rank) + 2 <= beyond)
    known["consumed-is-issued"] = reading.every_rank(lambda rank: at(rank).consumed <= issued(rank))
    known["some-rank-lives"] = reading.negate(reading.every_rank(lambda rank: reading.negate(alive(rank) == 1)))

    def stuck(rank: Rank) -> Truth:
        me = at(rank)
        in_its_wait = reading.both(
            me.phase == protocol.phases.index(Phase.WAIT), rules.due(protocol, me.issued, me.consumed)
        )
        in_a_drain = reading.both(me.phase == 0, 1 <= rules.in_flight(me.issued, me.consumed))
        ends = [me.consumed + 1 <= least]
        if protocol.deadline == "set":
            ends.append(reading.negate(me.consumed + 1 <= least_of_the_gone))
        waits = reading.both(reading.either(in_its_wait, in_a_drain), reading.negate(reading.either(*ends)))
        return reading.either(reading.negate(alive(rank) == 1), waits)

    number = reading.number("some_round")
    complete = rules.complete(reading, number, issued)
    lost = rules.lost(reading, protocol, number, issued, lambda rank: alive(rank) == 1)
    of_the_gone = reading.both(number + 1 <= beyond, reading.negate(number + 1 <= least_of_the_gone))
    goals: Goals = {
        "complete": complete == (number + 1 <= least),
        "goal": reading.negate(reading.every_rank(stuck)),
    }
    if protocol.deadline == "set":
        goals["lost"] = reading.implies(number + 1 <= beyond, lost == of_the_gone)
    return known, goals


def _throw(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """Something throws on a rank between its wait and its issue, and the rest of its step is not taken.

    What it leaves is whole: either all that the round allowed is popped or nothing of it, in no round does a rank rest
    on what this one had not finished, and the others get no further than the round that it does not issue. On the right
    protocol it takes nothing more; where it carries on (`carry-on-after-throw`) the invariant is gone.
    """
    history, before, actor, numbers, known = world(reading, protocol)
    me = before(actor)
    wait, issue = (protocol.phases.index(phase) for phase in (Phase.WAIT, Phase.ISSUE))
    known["thrown"] = reading.either(*(me.phase == index for index in range(wait + 1, issue + 1)))
    known["history-then"] = history.at(me.consumed)
    after = me  # it takes nothing more, and what it was allowed to pop it never pops
    if protocol.throws == "carries-on":
        after = replace(me, phase=0, allowed=0, steps=me.steps + 1)
    total, gone = history.total(me.consumed), after.popped
    nothing_of_it = reading.both(gone == total - me.allowed, gone <= me.finished)
    kept = invariant(history, moved(reading, before, actor, after), numbers)
    return known, kept | {
        "all-or-nothing": reading.either(me.allowed == 0, reading.both(nothing_of_it, total <= me.finished)),
        "others-stop": reading.every_rank(lambda rank: before(rank).consumed <= me.issued),
    }


def _raised_between(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A rank that raises between its wait and its issue has gone through the step without a round of its own."""
    _, at, actor, _, known = world(reading, protocol, ("in-step",))
    known["raised"] = at(actor).phase == len(protocol.phases) - 1
    return known, {"goal": at(actor).issued == at(actor).steps + 1}


FAILURE: tuple[Obligation, ...] = (
    Obligation(
        "bounded-skew/crash",
        "bounded-skew",
        "no rank issues more than a window of rounds beyond one that has stopped, or consumes what that did not issue",
        (),
        _crash,
        applies=one_in_flight_or_watermarks,
    ),
    Obligation(
        "contained-failure/told",
        "contained-failure",
        "in its wait a window of rounds beyond a rank that is gone, a rank has an error, all in the same round",
        (),
        _told,
        applies=one_in_flight_or_watermarks,
    ),
    Obligation(
        "contained-failure/nobody-waits-for-ever",
        "contained-failure",
        "while some rank is alive, one of them can go on or is told that it cannot",
        (),
        _nobody_waits_for_ever,
    ),
    Obligation(
        "contained-failure/throw",
        "contained-failure",
        "an exception between wait and issue leaves all of a round popped or nothing, and stops the others at the next",
        (),
        _throw,
        applies=lambda protocol: protocol.lag >= 1 and one_in_flight_or_watermarks(protocol),
    ),
)

FALSE_OF_FAILURE: tuple[Obligation, ...] = (
    Obligation(
        "false/raising-is-a-step",
        "matched-collectives",
        "a rank that raised between wait and issue has issued as many rounds as it has gone through steps",
        (),
        _raised_between,
    ),
)
