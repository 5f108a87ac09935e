"""What is proved of ranks that move alone: the interleaving invariant, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rankproof.model.protocol import Phase, Protocol
from rankproof.proofs import interleaved_claims as claims
from rankproof.proofs.between_steps import drain, evict, reset
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.obligation import Goals, Hypotheses, Obligation


def one_in_flight_or_watermarks(protocol: Protocol) -> bool:
    """More than one remainder in flight breaks the round invariant; this reading does not state it."""
    return protocol.lag <= 1 or protocol.offers == "cumulative"


def _in_flight_between_steps(protocol: Protocol) -> bool:
    return protocol.lag >= 1 and one_in_flight_or_watermarks(protocol)


def _obligation(
    name: str,
    says: str,
    state: Callable[[EveryRank, Protocol], tuple[Hypotheses, Goals]],
    needs: tuple[str, ...] = (),
    applies: Callable[[Protocol], bool] = one_in_flight_or_watermarks,
) -> Obligation:
    return Obligation(name, name.split("/")[0], says, needs, state, applies=applies)


INTERLEAVED: tuple[Obligation, ...] = (
    _obligation("interleaving-invariant/start", "an epoch begins with nothing issued, popped or allowed", claims.start),
    *(
        _obligation(
            f"interleaving-invariant/{phase}",
            f"a {phase} of one rank keeps the invariant of ranks that move alone",
            partial(claims.phase, phase=phase),
        )
        for phase in Phase
    ),
    _obligation(
        "interleaving-invariant/finish",
        "an ack that finishes on one rank keeps the invariant of ranks that move alone",
        claims.finish,
        ("only-accumulate",),
    ),
    _obligation(
        "interleaving-invariant/drain",
        "a round that one rank consumes between two steps keeps the invariant of ranks that move alone",
        partial(claims.between, act=drain),
        applies=_in_flight_between_steps,
    ),
    _obligation(
        "interleaving-invariant/evict",
        "a blocking eviction on one rank keeps the invariant of ranks that move alone",
        partial(claims.between, act=evict),
        ("aligned-enqueue",),
    ),
    _obligation(
        "interleaving-invariant/reset",
        "a reset of one rank keeps the invariant of ranks that move alone",
        partial(claims.between, act=reset),
        ("aligned-enqueue",),
    ),
    _obligation(
        "finished-before-pop/interleaved",
        "at the moment of a pop, all that is popped is finished on every rank, and no pop is undone",
        partial(claims.finished_before_pop, act=claims.popping),
    ),
    _obligation(
        "finished-before-pop/drain",
        "and so is all that is popped by a drain, before an eviction, a reset, a flush or a close",
        partial(claims.finished_before_pop, act=drain),
        applies=_in_flight_between_steps,
    ),
    _obligation(
        "same-pops/interleaved",
        "ranks that have consumed as many rounds have popped as many acks, and at each place the same",
        claims.same_pops,
        ("same-order",),
    ),
    _obligation(
        "bounded-skew/interleaved", "no rank is more than a window of rounds ahead of another", claims.bounded_skew
    ),
    _obligation(
        "one-owner/interleaved",
        "at most a window of rounds is in flight, and what they hold is neither read nor written before the wait",
        claims.one_owner,
    ),
    _obligation(
        "no-deadlock/interleaved",
        "some rank can always take its next phase",
        claims.no_deadlock,
        ("everyone-steps", "every-ack-finishes"),
    ),
    _obligation(
        "exact-delay/bridge",
        "what the rounds up to one come to is the MIN of what ranks had when they counted for it, as in lockstep",
        claims.bridge,
    ),
    _obligation(
        "exact-delay/interleaved",
        "a rank that has popped in step t + lag has popped the MIN of what ranks had in step t, as blocking has",
        claims.exact_delay,
    ),
    _obligation(
        "bounded-lag/interleaved",
        "a rank that has consumed a round may pop all that every rank had finished when it counted for it",
        claims.bounded_lag,
    ),
    _obligation(
        "named-divergence/popped-digest-age",
        "what a rank has popped by the end of a round that it has consumed is the same on every rank, flushed or not",
        claims.marked,
    ),
    _obligation(
        "clean-lifecycle/change",
        "a rank that counts for a round has consumed the one a window before, so that a change of lanes or mode which "
        "all asked for there is made by all before the same round",
        claims.settled,
    ),
    _obligation(
        "clean-lifecycle/attach",
        "a rank that attaches or detaches storage has nothing in flight then",
        claims.attach,
    ),
    _obligation(
        "matched-collectives/interleaved",
        "in a step that two ranks have gone through, both have issued its round, and with the same length",
        claims.matched_collectives,
    ),
)
