"""What is proved of ranks in lockstep, alone, or gone, once more for watermarks: the depth is a term, any number."""

from __future__ import annotations

from rankproof.proofs.closed_loop_any_depth import CLOSED_LOOP_ANY_DEPTH
from rankproof.proofs.commute import COMMUTE_TOGETHER
from rankproof.proofs.depths import at_any_depth
from rankproof.proofs.epochs_watermarks import EPOCHS_WATERMARKS
from rankproof.proofs.failure import FAILURE
from rankproof.proofs.interleaved import INTERLEAVED
from rankproof.proofs.lockstep_any_depth import LOCKSTEP_ANY_DEPTH
from rankproof.proofs.obligation import Obligation
from rankproof.proofs.stopping import STOPPING

INTERLEAVED_ANY_DEPTH: tuple[Obligation, ...] = tuple(
    at_any_depth(each) for each in (*INTERLEAVED, *FAILURE, *STOPPING[:1])
)

EPOCHS_ANY_DEPTH: tuple[Obligation, ...] = tuple(at_any_depth(each) for each in EPOCHS_WATERMARKS)

COMMUTE_ANY_DEPTH: tuple[Obligation, ...] = tuple(at_any_depth(each) for each in COMMUTE_TOGETHER)

ANY_DEPTH: tuple[Obligation, ...] = (
    *LOCKSTEP_ANY_DEPTH,
    *CLOSED_LOOP_ANY_DEPTH,
    *INTERLEAVED_ANY_DEPTH,
    *EPOCHS_ANY_DEPTH,
    *COMMUTE_ANY_DEPTH,
)
