"""What is proved of ranks that move alone: the interleaving invariant, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial

from rankproof.model import rules
from rankproof.model.protocol import Phase, Protocol
from rankproof.model.reading import Number, Rank, Truth
from rankproof.proofs.alone_invariant import invariant
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.obligation import Goals, Hypotheses, Obligation
from rankproof.proofs.ranks_alone import History, Place, Places, any_place, moved, popped, take


def world(
    reading: EveryRank, protocol: Protocol, only: Collection[str] | None = None
) -> tuple[History, Places, Rank, list[Number], Hypotheses]:
    """Ranks between two actions, one of them that acts next, and what is known of them: the invariant, or part of it.

    What is known of single rounds is known of one that is not special, `some_round`, and of those that the actor is
    about to deal with. Round 0 is the one before the first, and has nothing in it.
    """
    history, at, actor = History(reading, protocol), any_place(reading), reading.rank("actor")
    me = at(actor)
    numbers = [reading.number("some_round"), me.consumed, me.consumed + 1, me.issued]
    known = invariant(history, at, numbers, only)
    if only is None or "round-0" in only:
        known["round-0"] = reading.every_rank(lambda rank: history.offer(rank, 0) == 0)
    return history, at, actor, numbers[:1], known


def _start(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    history, finished = History(reading, protocol), reading.family("finished")
    numbers = [reading.number("some_round")]
    at: Places = lambda rank: Place(0, finished(rank), 0, 0, 0, 0, 0, 0)  # noqa: E731
    hypotheses = {
        "history": history.at(1),
        "round-0": reading.every_rank(lambda rank: history.offer(rank, 0) == 0),
        "counts": reading.every_rank(lambda rank: 0 <= finished(rank)),
    }
    return hypotheses, invariant(history, at, numbers)


def _phase(reading: EveryRank, protocol: Protocol, *, phase: Phase) -> tuple[Hypotheses, Goals]:
    history, before, actor, numbers, known = world(reading, protocol)
    guard, after = take(history, phase, before, actor)
    if protocol.offers == "cumulative":  # a watermark is compared with the one before it
        guard["history-before"] = history.at(before(actor).consumed)
    return known | guard, invariant(history, moved(reading, before, actor, after), numbers)


def _finish(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    history, before, actor, numbers, known = world(reading, protocol)
    finished = reading.number("finished_now")
    hypotheses = known | {"only-accumulate": before(actor).finished <= finished}
    after = replace(before(actor), finished=finished)
    return hypotheses, invariant(history, moved(reading, before, actor, after), numbers)


def _finished_before_pop(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    history, before, actor, _, known = world(
        reading, protocol, ("window", "ahead", "ledger", "held", "backed", "round-0")
    )
    guard, after = take(history, Phase.POP, before, actor)
    now = {"history-now": history.at(before(actor).consumed)}
    goal = reading.every_rank(lambda rank: after.popped <= before(rank).finished)
    return known | guard | now, {"goal": reading.both(goal, before(actor).popped <= after.popped)}


def _same_pops(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    _, at, _, _, known = world(reading, protocol, ("ledger",))
    ack, place = reading.table("ack"), reading.number("place")
    known["same-order"] = reading.every_pair(lambda one, other: ack(one, place) == ack(other, place))

    def same(one: Rank, other: Rank) -> Truth:
        mine, theirs = at(one), at(other)
        settled = reading.both(mine.consumed == theirs.consumed, mine.allowed == 0, theirs.allowed == 0)
        both_popped = reading.both(place < mine.popped, place < theirs.popped)
        return reading.both(
            reading.implies(settled, mine.popped == theirs.popped),
            reading.implies(both_popped, ack(one, place) == ack(other, place)),
        )

    return known, {"goal": reading.every_pair(same)}


def _bounded_skew(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    _, at, _, _, known = world(reading, protocol, ("window", "ahead"))
    goal = reading.every_pair(lambda one, other: at(one).issued <= at(other).issued + protocol.window)
    return known, {"goal": goal}


def _one_owner(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """What the model's check of one-owner looks at in the phases of a step; evictions are `round-invariant/evict`."""
    _, at, _, _, known = world(reading, protocol, ("window",))
    pop, count = (protocol.phases.index(phase) for phase in (Phase.POP, Phase.COUNT))
    reads_early, keeps = protocol.reads == "before-wait", protocol.buffers == "kept"

    def few(rank: Rank) -> Truth:
        return rules.in_flight(at(rank).issued, at(rank).consumed) <= protocol.window

    def not_read(rank: Rank) -> Truth:
        me = at(rank)
        reads = reading.both(me.phase == pop, rules.due(protocol, me.issued, me.consumed))
        return reading.negate(reads) if reads_early else reading.both()

    def not_written(rank: Rank) -> Truth:
        me = at(rank)
        writes = reading.both(me.phase == count, 1 <= rules.in_flight(me.issued, me.consumed))
        return reading.negate(writes) if keeps else reading.both()

    goals = {"few": few, "not-read": not_read, "not-written": not_written}
    return known, {name: reading.every_rank(goal) for name, goal in goals.items()}


def _no_deadlock(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """Some rank can take its next phase; a round is complete where the fewest rounds issued are not below it."""
    _, at, _, _, known = world(reading, protocol, ())
    least, steps_on = reading.minimum(lambda rank: at(rank).issued), reading.family("steps_on")
    known["everyone-steps"] = reading.every_rank(lambda rank: steps_on(rank) == 1)

    def stuck(rank: Rank) -> Truth:
        me = at(rank)
        waits = reading.both(
            me.phase == protocol.phases.index(Phase.WAIT),
            rules.due(protocol, me.issued, me.consumed),
            reading.negate(me.consumed + 1 <= least),
        )
        return reading.either(reading.negate(steps_on(rank) == 1), waits)

    number = reading.number("some_round")
    complete = rules.complete(reading, number, lambda rank: at(rank).issued)
    return known, {
        "complete": complete == (number + 1 <= least),
        "goal": reading.negate(reading.every_rank(stuck)),
    }


def _bridge(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A round that every rank has issued; what it and the rounds before it come to."""
    history, at, _, (number,), known = world(reading, protocol, ("had",))
    known |= {
        "history-then": history.at(number),
        "issued-by-all": reading.every_rank(lambda rank: reading.both(1 <= number, number <= at(rank).issued)),
    }
    least = reading.minimum(lambda rank: history.had(rank, number))
    return known, {"goal": history.total(number) == least}


def _exact_delay(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A rank that has popped in step t + lag, both counted from 0: it has popped what blocking had after step t."""
    history, at, actor, _, known = world(reading, protocol, ("window", "full", "in-step", "ahead", "ledger", "had"))
    me, number = at(actor), reading.number("t") + 1
    known |= {
        "step-0-or-later": 1 <= number,
        "in-that-step": me.steps == number - 1 + protocol.window,
        "has-popped": reading.both(me.allowed == 0, reading.either(*(me.phase == index for index in popped(protocol)))),
        "history-then": history.at(number),
    }
    least = reading.minimum(lambda rank: history.had(rank, number))
    return known, {"goal": me.popped == least}


def _bounded_lag(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A rank that has just consumed a round may pop, or has popped, all that every rank had when it counted for it."""
    history, at, actor, _, known = world(reading, protocol, ("ahead", "ledger", "had"))
    me, amount = at(actor), reading.number("amount")
    known |= {
        "consumed-one": 1 <= me.consumed,
        "history-then": history.at(me.consumed),
        "had-by-all": reading.every_rank(lambda rank: amount <= history.had(rank, me.consumed)),
    }
    return known, {"goal": amount <= me.popped + me.allowed}


def _matched_collectives(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """Round n is the call of step n, and has one length, whatever the layouts (attachments so far) of the ranks."""
    _, at, _, _, known = world(reading, protocol, ("in-step",))
    step, lanes, layout = reading.number("some_step"), reading.number("lanes"), reading.table("layout")

    def length(rank: Rank) -> Number:
        return lanes + layout(rank, step) if protocol.vector == "by-layout" else lanes

    def same(one: Rank, other: Rank) -> Truth:
        both_took = reading.both(step <= at(one).steps, step <= at(other).steps)
        called = reading.both(step <= at(one).issued, step <= at(other).issued)
        return reading.implies(both_took, reading.both(called, length(one) == length(other)))

    return known, {"goal": reading.every_pair(same)}


def _one_in_flight_or_watermarks(protocol: Protocol) -> bool:
    """More than one remainder in flight breaks the round invariant; this reading does not state it."""
    return protocol.lag <= 1 or protocol.offers == "cumulative"


def _obligation(
    name: str,
    says: str,
    state: Callable[[EveryRank, Protocol], tuple[Hypotheses, Goals]],
    needs: tuple[str, ...] = (),
) -> Obligation:
    return Obligation(name, name.split("/")[0], says, needs, state, applies=_one_in_flight_or_watermarks)


INTERLEAVED: tuple[Obligation, ...] = (
    _obligation("interleaving-invariant/start", "an epoch begins with nothing issued, popped or allowed", _start),
    *(
        _obligation(
            f"interleaving-invariant/{phase}",
            f"a {phase} of one rank keeps the invariant of ranks that move alone",
            partial(_phase, phase=phase),
        )
        for phase in Phase
    ),
    _obligation(
        "interleaving-invariant/finish",
        "an ack that finishes on one rank keeps the invariant of ranks that move alone",
        _finish,
        ("only-accumulate",),
    ),
    _obligation(
        "finished-before-pop/interleaved",
        "at the moment of a pop, all that is popped is finished on every rank, and no pop is undone",
        _finished_before_pop,
    ),
    _obligation(
        "same-pops/interleaved",
        "ranks that have consumed as many rounds have popped as many acks, and at each place the same",
        _same_pops,
        ("same-order",),
    ),
    _obligation("bounded-skew/interleaved", "no rank has issued a window more rounds than another", _bounded_skew),
    _obligation(
        "one-owner/interleaved",
        "at most a window of rounds is in flight, and what they hold is neither read nor written before the wait",
        _one_owner,
    ),
    _obligation(
        "no-deadlock/interleaved",
        "some rank can always take its next phase",
        _no_deadlock,
        ("everyone-steps",),
    ),
    _obligation(
        "exact-delay/bridge",
        "what the rounds up to one come to is the MIN of what ranks had when they counted for it, as in lockstep",
        _bridge,
    ),
    _obligation(
        "exact-delay/interleaved",
        "a rank that has popped in step t + lag has popped the MIN of what ranks had in step t, as blocking has",
        _exact_delay,
    ),
    _obligation(
        "bounded-lag/interleaved",
        "a rank that has consumed a round may pop all that every rank had finished when it counted for it",
        _bounded_lag,
    ),
    _obligation(
        "matched-collectives/interleaved",
        "in a step that two ranks have gone through, both have issued its round, and with the same length",
        _matched_collectives,
    ),
)
