"""What happens around the steps: reset, flush, epochs, a crash, and how a lane empties."""

from __future__ import annotations

from rankproof.model import rounds, rules
from rankproof.model.protocol import Protocol
from rankproof.model.reading import Number, Rank, Truth
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.interleaved import world
from rankproof.proofs.lockstep import any_state, claims, invariant
from rankproof.proofs.obligation import Goals, Hypotheses, Obligation


def _reset(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """The first steps of an epoch pop nothing that was counted in the one before."""
    stale, finished = reading.family("stale"), reading.family("finished_next")
    hypotheses = {
        "counts": reading.every_rank(lambda rank: 0 <= stale(rank)),
        "nothing-yet": reading.every_rank(lambda rank: finished(rank) == 0),
    }
    after = rounds.start(protocol, stale)
    for _ in range(max(protocol.lag, 1)):
        after = rounds.step(reading, protocol, after, finished)
    return hypotheses, {"goal": reading.every_rank(lambda rank: after(rank).popped == 0)}


def _flush(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A flush consumes what is in flight and issues nothing; what it leaves in flight pops nothing."""
    before = any_state(reading, protocol)
    after = rounds.drain(reading, protocol, before)
    last = reading.minimum(lambda rank: claims(protocol, before(rank))[-1])
    exactly = reading.every_rank(lambda rank: after(rank).popped == last)
    nothing = reading.every_rank(
        lambda rank: reading.both(*(each == after(rank).popped for each in claims(protocol, after(rank))))
    )
    return invariant(reading, protocol, before), {"goal": exactly, "nothing-in-flight": nothing}


def _epoch_word(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """Ranks reset in different steps, without draining; each offer goes with the epoch in which it was counted.

    A rank pops only where the epoch word is the same for all ranks and is the rank's own epoch. Only an offer of a
    rank's own epoch is backed: what was offered before a reset says nothing about the acks after it.
    """
    epoch, counted_in = reading.family("epoch"), reading.family("counted_in")
    offered, popped, finished = reading.family("offered_0"), reading.family("popped"), reading.family("finished")
    least = rules.agree(reading, protocol, offered)
    newest, oldest = reading.maximum(counted_in), reading.minimum(counted_in)

    def amount(rank: Rank) -> Number:
        accepted = reading.both(newest == oldest, newest == epoch(rank))
        return reading.choose(accepted, rules.allowed(protocol, offered(rank), least, popped(rank)), 0)

    def backed(rank: Rank) -> Truth:
        promised = reading.both(0 <= offered(rank), popped(rank) + offered(rank) <= finished(rank))
        return reading.both(popped(rank) <= finished(rank), reading.implies(counted_in(rank) == epoch(rank), promised))

    def agree(one: Rank, other: Rank) -> Truth:
        return reading.implies(epoch(one) == epoch(other), popped(one) == popped(other))

    def agree_after(one: Rank, other: Rank) -> Truth:
        equal = popped(one) + amount(one) == popped(other) + amount(other)
        return reading.implies(epoch(one) == epoch(other), equal)

    hypotheses = {"agree": reading.every_pair(agree), "backed": reading.every_rank(backed)}
    return hypotheses, {
        "finished": reading.every_rank(lambda rank: popped(rank) + amount(rank) <= finished(rank)),
        "agree-after": reading.every_pair(agree_after),
    }


def _crash(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A crash is a rank that takes no further action, so the invariant stays; the others get no further than this."""
    _, at, crashed, _, known = world(reading, protocol, ("window", "ahead"))

    def held_up(rank: Rank) -> Truth:
        return reading.both(
            at(rank).issued <= at(crashed).issued + protocol.window, at(rank).consumed <= at(crashed).issued
        )

    return known, {"goal": reading.every_rank(held_up)}


def _drains(reading: EveryRank, protocol: Protocol, steps: int) -> tuple[Hypotheses, Goals]:
    """All that is enqueued, on every rank as much, is finished; after so many steps nothing is left to pop."""
    before, enqueued = any_state(reading, protocol), reading.family("enqueued")
    aligned = reading.every_pair(lambda one, other: enqueued(one) == enqueued(other))
    after = before
    for _ in range(steps):
        after = rounds.step(reading, protocol, after, enqueued)
    hypotheses = invariant(reading, protocol, before) | {"aligned-enqueue": aligned}
    return hypotheses, {"goal": reading.every_rank(lambda rank: after(rank).popped == enqueued(rank))}


def _drains_in_time(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    return _drains(reading, protocol, protocol.lag + 1)


def _drains_sooner(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    return _drains(reading, protocol, protocol.lag)


def _stuck_head(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """An ack that never finishes, or was never got, on one rank ends what is popped on every rank."""
    before, finished = any_state(reading, protocol), reading.family("finished_next")
    stuck, head = reading.rank("stuck"), reading.number("head")
    after = rounds.step(reading, protocol, before, finished)
    hypotheses = invariant(reading, protocol, before) | {
        "head": reading.both(finished(stuck) == head, before(stuck).finished <= head)
    }
    return hypotheses, {"goal": reading.every_rank(lambda rank: after(rank).popped <= head)}


def _raised_between(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A rank that raises between its wait and its issue has gone through the step without a round of its own."""
    _, at, actor, _, known = world(reading, protocol, ("in-step",))
    known["raised"] = at(actor).phase == len(protocol.phases) - 1
    return known, {"goal": at(actor).issued == at(actor).steps + 1}


def _pipelined(protocol: Protocol) -> bool:
    return protocol.lag >= 1


def _pipelined_remainder(protocol: Protocol) -> bool:
    return protocol.lag == 1 and protocol.offers == "remaining"


LIFECYCLE: tuple[Obligation, ...] = (
    Obligation(
        "clean-lifecycle/reset",
        "clean-lifecycle",
        "the first steps of an epoch pop nothing that was counted in the one before",
        (),
        _reset,
    ),
    Obligation(
        "clean-lifecycle/flush",
        "clean-lifecycle",
        "a flush pops exactly the MIN of the last counts, and leaves nothing in flight",
        (),
        _flush,
        applies=_pipelined,
    ),
    Obligation(
        "clean-lifecycle/epoch-word",
        "clean-lifecycle",
        "with an epoch word, ranks may reset in different steps and leave a round in flight",
        (),
        _epoch_word,
        applies=_pipelined_remainder,
    ),
    Obligation(
        "bounded-skew/crash",
        "bounded-skew",
        "no rank issues more than a window of rounds beyond one that has stopped, or consumes what that did not issue",
        (),
        _crash,
        applies=lambda protocol: protocol.lag <= 1 or protocol.offers == "cumulative",
    ),
    Obligation(
        "drains-to-empty/steps",
        "drains-to-empty",
        "when all is finished, every lane is empty after lag + 1 steps",
        ("aligned-enqueue",),
        _drains_in_time,
    ),
    Obligation(
        "drains-to-empty/stuck-head",
        "drains-to-empty",
        "an ack that does not finish on one rank ends what any rank pops",
        (),
        _stuck_head,
    ),
)

FALSE_OF_LIFECYCLE: tuple[Obligation, ...] = (
    Obligation(
        "false/drains-sooner",
        "drains-to-empty",
        "when all is finished, every lane is empty after lag steps",
        (),
        _drains_sooner,
        applies=_pipelined,
    ),
    Obligation(
        "false/raising-is-a-step",
        "matched-collectives",
        "a rank that raised between wait and issue has issued as many rounds as it has gone through steps",
        (),
        _raised_between,
    ),
)
