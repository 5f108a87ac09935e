"""What happens around the steps, all ranks together: reset, flush, and how a lane empties."""

from __future__ import annotations

from rankproof.model import rounds
from rankproof.model.protocol import Protocol
from rankproof.proofs.everyrank import EveryRank
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


def _drains(reading: EveryRank, protocol: Protocol, steps: int) -> tuple[Hypotheses, Goals]:
    """All that is enqueued, on every rank as much, is finished; after so many steps nothing is left to pop."""
    before, enqueued, finished = (
        any_state(reading, protocol),
        reading.family("enqueued"),
        reading.family("finished_next"),
    )
    after = before
    for _ in range(steps):
        after = rounds.step(reading, protocol, after, finished)
    hypotheses = invariant(reading, protocol, before) | {
        "aligned-enqueue": reading.every_pair(lambda one, other: enqueued(one) == enqueued(other)),
        "every-ack-finishes": reading.every_rank(lambda rank: finished(rank) == enqueued(rank)),
    }
    return hypotheses, {"goal": reading.every_rank(lambda rank: after(rank).popped == enqueued(rank))}


def _drains_in_time(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    return _drains(reading, protocol, protocol.lag + 1 if protocol.idles == "stepping" else 0)


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


def _pipelined(protocol: Protocol) -> bool:
    return protocol.lag >= 1


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
        "drains-to-empty/steps",
        "drains-to-empty",
        "when all is finished and ranks keep stepping, every lane is empty after lag + 1 steps",
        ("aligned-enqueue", "every-ack-finishes"),
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
)
