"""What is claimed of ranks that move alone: each claim as hypotheses and goals; `interleaved` has them by name."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TypeAlias

from rankproof.model import rules, words
from rankproof.model.protocol import Phase, Protocol
from rankproof.model.reading import Number, Rank, Truth
from rankproof.proofs.alone_invariant import invariant, is_past
from rankproof.proofs.between_steps import change
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.obligation import Goals, Hypotheses
from rankproof.proofs.ranks_alone import NOTHING, History, Place, Places, any_place, moved, popped, take

_Act: TypeAlias = Callable[[History, Places, Rank], tuple[Hypotheses, Place]]
"""An action of one rank: what must be so for it, and where the rank stands after it."""


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
    if protocol.bounds == "none":
        known.pop("window", None)  # a rank that passes a wait does not keep it: `interleaving-invariant/wait`
    if only is None or "round-0" in only:
        known["round-0"] = reading.every_rank(lambda rank: history.offer(rank, 0) == 0)
    if only is None or "script" in only:
        known["script"] = reading.both(
            *(history.script(number) for number in numbers),
            reading.every_rank(lambda rank: history.script(at(rank).consumed)),
        )
    return history, at, actor, numbers[:1], known


def start(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    history, finished = History(reading, protocol), reading.family("finished")
    numbers = [reading.number("some_round")]
    at: Places = lambda rank: Place(0, finished(rank), *(0,) * 8)  # noqa: E731 # a family, typed where it is made
    hypotheses = {
        "history": history.at(1),
        "round-0": reading.every_rank(lambda rank: history.offer(rank, 0) == 0),
        "counts": reading.every_rank(lambda rank: 0 <= finished(rank)),
    }
    return hypotheses, invariant(history, at, numbers)


def phase(reading: EveryRank, protocol: Protocol, *, phase: Phase) -> tuple[Hypotheses, Goals]:
    history, before, actor, numbers, known = world(reading, protocol)
    guard, after = take(history, phase, before, actor)
    if protocol.offers == "cumulative":  # a watermark is compared with the one before it
        guard["history-before"] = history.at(before(actor).consumed)
    return known | guard, invariant(history, moved(reading, before, actor, after), numbers)


def between(reading: EveryRank, protocol: Protocol, *, act: _Act) -> tuple[Hypotheses, Goals]:
    history, before, actor, numbers, known = world(reading, protocol)
    guard, after = act(history, before, actor)
    if protocol.offers == "cumulative":
        guard["history-before"] = history.at(before(actor).consumed)
    return known | guard, invariant(history, moved(reading, before, actor, after), numbers)


def finish(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    history, before, actor, numbers, known = world(reading, protocol)
    finished = reading.number("finished_now")
    hypotheses = known | {"only-accumulate": before(actor).finished <= finished}
    after = replace(before(actor), finished=finished)
    return hypotheses, invariant(history, moved(reading, before, actor, after), numbers)


def popping(history: History, before: Places, actor: Rank) -> tuple[Hypotheses, Place]:
    return take(history, Phase.POP, before, actor)


def finished_before_pop(reading: EveryRank, protocol: Protocol, *, act: _Act) -> tuple[Hypotheses, Goals]:
    history, before, actor, _, known = world(reading, protocol)
    guard, after = act(history, before, actor)
    now = {"history-now": history.at(before(actor).consumed)}
    # What it has evicted before need not be finished elsewhere, and is not popped now.
    everywhere = reading.every_rank(lambda rank: after.popped <= before(rank).finished)
    pops = before(actor).popped + 1 <= after.popped
    goal = reading.both(reading.implies(pops, everywhere), before(actor).popped <= after.popped)
    return known | guard | now, {"goal": goal}


def same_pops(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    history, at, _, _, known = world(reading, protocol, ("ledger",))
    ack, place = reading.table("ack"), reading.number("place")
    known["same-order"] = reading.every_pair(lambda one, other: ack(one, place) == ack(other, place))

    def same(one: Rank, other: Rank) -> Truth:
        mine, theirs = at(one), at(other)
        settled = reading.both(
            mine.consumed == theirs.consumed,
            is_past(history, at, one) == is_past(history, at, other),
            mine.allowed == 0,
            theirs.allowed == 0,
        )
        both_popped = reading.both(place < mine.popped, place < theirs.popped)
        return reading.both(
            reading.implies(settled, mine.popped == theirs.popped),
            reading.implies(both_popped, ack(one, place) == ack(other, place)),
        )

    return known, {"goal": reading.every_pair(same)}


def bounded_skew(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    _, at, _, _, known = world(reading, protocol, ("window", "ahead"))
    goal = reading.every_pair(lambda one, other: at(one).issued <= at(other).issued + protocol.window)
    return known, {"goal": goal}


def one_owner(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
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


def no_deadlock(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """Some rank can take its next phase, drain or evict; a round is complete where the fewest issued are not below it.

    An eviction waits besides for all that is in its own lane, which has finished by then.
    """
    _, at, _, _, known = world(reading, protocol, ())
    least, steps_on = reading.minimum(lambda rank: at(rank).issued), reading.family("steps_on")
    evicts, enqueued = reading.family("evicts"), reading.family("enqueued")
    known["everyone-steps"] = reading.every_rank(lambda rank: steps_on(rank) == 1)
    known["every-ack-finishes"] = reading.every_rank(lambda rank: enqueued(rank) <= at(rank).finished)

    def stuck(rank: Rank) -> Truth:
        me = at(rank)
        in_its_wait = reading.both(
            me.phase == protocol.phases.index(Phase.WAIT), rules.due(protocol, me.issued, me.consumed)
        )
        in_a_drain = reading.both(me.phase == 0, 1 <= rules.in_flight(me.issued, me.consumed))
        waits = reading.both(reading.either(in_its_wait, in_a_drain), reading.negate(me.consumed + 1 <= least))
        in_an_eviction = reading.both(me.phase == 0, evicts(rank) == 1, me.finished + 1 <= enqueued(rank))
        return reading.either(reading.negate(steps_on(rank) == 1), waits, in_an_eviction)

    number = reading.number("some_round")
    complete = rules.complete(reading, number, lambda rank: at(rank).issued)
    return known, {
        "complete": complete == (number + 1 <= least),
        "goal": reading.negate(reading.every_rank(stuck)),
    }


def bridge(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A round that every rank has issued; what it and the rounds before it come to."""
    history, at, _, (number,), known = world(reading, protocol, ("had",))
    known |= {
        "history-then": history.at(number),
        "issued-by-all": reading.every_rank(lambda rank: reading.both(1 <= number, number <= at(rank).issued)),
    }
    least = reading.minimum(lambda rank: history.had(rank, number))
    return known, {"goal": history.total(number) == least}


def exact_delay(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A rank that has popped in step t + lag, both counted from 0: it has popped what blocking had after step t."""
    history, at, actor, _, known = world(reading, protocol, ("window", "full", "in-step", "ahead", "ledger", "had"))
    me, number = at(actor), reading.number("t") + 1
    known |= {
        "step-0-or-later": 1 <= number,
        "nothing-between": reading.both(me.drained <= number, history.event(number) == NOTHING),
        "script-then": history.script(number),
        "in-that-step": me.steps == number - 1 + protocol.window,
        "has-popped": reading.both(me.allowed == 0, reading.either(*(me.phase == index for index in popped(protocol)))),
        "history-then": history.at(number),
    }
    least = reading.minimum(lambda rank: history.had(rank, number))
    return known, {"goal": me.popped == least}


def bounded_lag(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A rank that has just consumed a round may pop, or has popped, all that every rank had when it counted for it."""
    history, at, actor, _, known = world(reading, protocol, ("ahead", "ledger", "had", "script"))
    me, amount = at(actor), reading.number("amount")
    known |= {
        "consumed-one": 1 <= me.consumed,
        "history-then": history.at(me.consumed),
        "had-by-all": reading.every_rank(lambda rank: amount <= history.had(rank, me.consumed)),
    }
    return known, {"goal": amount <= me.popped + me.allowed}


def matched_collectives(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
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


def attach(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    _, before, actor, _, known = world(reading, protocol, ("window",))
    guard, after = change(protocol, before, actor)
    return known | guard, {"goal": after.issued == after.consumed}


def settled(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A rank on its way from its count to its issue, where it knows what every other knows there.

    So a change of lanes that all ask for in one round, and make before they count for the round a window later, is made
    before the same round by all of them: none can have issued that one before it knew.
    """
    _, at, actor, _, known = world(reading, protocol, ("window",))
    me, asked = at(actor), reading.number("asked_in")
    places = range(protocol.phases.index(Phase.COUNT), protocol.phases.index(Phase.ISSUE) + 1)
    counts = reading.either(*(me.phase == index for index in places))
    due = reading.both(counts, words.settled(me.issued + 1, protocol.window) == asked)
    return known, {
        "knows": reading.implies(due, asked <= me.consumed),
        "not-too-late": reading.implies(
            me.consumed + 1 <= asked, words.settled(me.issued, protocol.window) + 1 <= asked
        ),
    }


def marked(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A rank consumes a round: what it has popped once it has popped that is a number of the round, on every rank."""
    history, before, actor, _, known = world(
        reading, protocol, ("window", "passed", "begun", "through", "ledger", "held", "script")
    )
    me = before(actor)
    guard, after = take(history, Phase.WAIT, before, actor)
    guard["due"] = rules.due(protocol, me.issued, me.consumed)
    return known | guard, {"goal": after.popped + after.allowed == history.total(me.consumed + 1)}
