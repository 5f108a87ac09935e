"""The second look: a failure that rests on time alone counts only if it comes again with more of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from rankproof.conformance.blame import rests_on_time
from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.machine import Failure
from rankproof.conformance.pool import RankPool
from rankproof.conformance.replies import HarnessLost
from rankproof.conformance.shrink import rerun
from rankproof.model.errors import BadInput
from rankproof.model.properties import Property

PATIENCE = 4
"""How many times as long each wait may take in a second look."""


def confirmed(failure: Failure, look: Callable[[], Failure | None]) -> Failure | str:
    """The failure that counts, or why none does.

    What does not rest on time counts as it was found, though it may never come again. For the rest `look` runs the
    same commands once more, on ranks that wait `PATIENCE` times as long, and what it gives is what counts.
    """
    if not rests_on_time(failure.reply):
        return failure
    try:
        return look() or f"did not come again with {PATIENCE} times the limit"
    except (HarnessLost, BadInput) as lost:
        return f"could not be looked at again ({lost})"


def with_patience(
    pool: RankPool, failure: Failure, held_to: Capabilities, checked: Sequence[Property], timeout: float
) -> Failure | None:
    """How a failure's commands fail on the pool where waits may take longer; None where they do not.

    `timeout` is what the pool's waits have now, in seconds, and have again afterwards. Raises HarnessLost where ranks
    cannot be made ready, and BadInput for a factory that cannot be used any more.
    """
    pool.regroup(timeout=PATIENCE * timeout, reply_within=3 * PATIENCE * timeout)
    try:
        return rerun(failure.schedule.model, pool, held_to, failure.commands, checked)
    finally:
        with suppress(HarnessLost, BadInput):  # whoever uses the pool next meets it
            pool.regroup(timeout=timeout, reply_within=3 * timeout)
