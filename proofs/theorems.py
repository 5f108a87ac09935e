"""Every obligation, by topic, in the order in which they are proved, and the claims that only sound right."""

from __future__ import annotations

from rankproof.proofs.any_depth import ANY_DEPTH
from rankproof.proofs.closed_loop import CLOSED_LOOP
from rankproof.proofs.commute import COMMUTE, FALSE_OF_COMMUTE
from rankproof.proofs.epochs import EPOCHS, FALSE_OF_EPOCHS
from rankproof.proofs.failure import FAILURE, FALSE_OF_FAILURE
from rankproof.proofs.groups import FALSE_OF_GROUPS, GROUPS
from rankproof.proofs.guards import FALSE_OF_GUARDS, GUARDS
from rankproof.proofs.interleaved import INTERLEAVED
from rankproof.proofs.lifecycle import FALSE_OF_LIFECYCLE, LIFECYCLE
from rankproof.proofs.lockstep import LOCKSTEP
from rankproof.proofs.named import NAMED
from rankproof.proofs.obligation import LOGIC, Obligation
from rankproof.proofs.stopping import FALSE_OF_STOPPING, STOPPING

OBLIGATIONS: tuple[Obligation, ...] = (
    *LOCKSTEP,
    *INTERLEAVED,
    *ANY_DEPTH,
    *EPOCHS,
    *GUARDS,
    *NAMED,
    *LIFECYCLE,
    *STOPPING,
    *FAILURE,
    *CLOSED_LOOP,
    *GROUPS,
    *COMMUTE,
)
"""Every obligation; each holds for every number of ranks."""

OF_THE_PROTOCOL: tuple[Obligation, ...] = (
    *LOCKSTEP,
    *INTERLEAVED,
    *EPOCHS,
    *(each for each in GUARDS if each.logic == LOGIC),
    *NAMED,
    *LIFECYCLE,
    *STOPPING,
    *FAILURE,
    *GROUPS,
)
"""Those that read the choices of the protocol as they are; the others repeat them, or speak of something beside it.

One word of bits is the same whatever the protocol, and takes long.
"""

FALSE_CLAIMS: tuple[Obligation, ...] = (
    *FALSE_OF_GUARDS,
    *FALSE_OF_EPOCHS,
    *FALSE_OF_LIFECYCLE,
    *FALSE_OF_STOPPING,
    *FALSE_OF_FAILURE,
    *FALSE_OF_GROUPS,
    *FALSE_OF_COMMUTE,
)
"""Claims that someone may well make; each has a counterexample, of any number of ranks."""
