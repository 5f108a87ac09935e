"""Holds a rank's reply against what the model expects, and raises what it comes to where the two differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.comparing import as_compared, differences, expected
from rankproof.conformance.outcome import Died, Hung, Ok, Outcome, Raised, where
from rankproof.conformance.ranks import Unruly
from rankproof.conformance.replies import HarnessLost, Mismatch, Reply
from rankproof.conformance.underway import Begun
from rankproof.model.errors import BadInput
from rankproof.model.schedule import Schedule
from rankproof.model.state import RankState

EARLY = 0.02
"""Seconds within which a rank is seen to have ended a call in which it was to wait."""


class Judge:
    """Judges the replies of the ranks of one run; `schedule` gives what the model was taken through until then.

    Each check raises Mismatch where the subject did what the model does not, and HarnessLost where nobody can say.
    """

    def __init__(
        self, capabilities: Capabilities | None, unruly: Unruly | None, schedule: Callable[[], Schedule]
    ) -> None:
        self._capabilities = capabilities
        self._unruly = unruly
        self._schedule = schedule

    def require_ok(self, rank: int, name: str, outcome: Outcome, beside: Mapping[int, Begun]) -> object:
        """The value that a call returned. Raises BadInput where the subject did.

        beside  the ranks that are within a command, one of which may be the cause
        """
        _require_seen(rank, outcome)
        if isinstance(outcome, Raised) and outcome.kind == BadInput.__name__:
            raise BadInput(outcome.message)
        if not isinstance(outcome, Ok):
            words = where(outcome)
            text = f"rank {rank}, {name}: the subject {outcome}{f' ({words})' if words else ''}"
            raise self._mismatch("\n".join([text, *self._also(beside)]), Reply(rank, name, outcome))
        return outcome.value

    def require_raised(self, rank: int, name: str, error: str, outcome: Outcome) -> None:
        """A rank that has ended in `error` in the model raised an error, whichever."""
        _require_seen(rank, outcome)
        if not isinstance(outcome, Raised):
            text = f"rank {rank}, {name}: the subject goes on ({outcome}) where the model's rank has ended: {error}"
            raise self._mismatch(text, Reply(rank, name, outcome, due=error))

    def require_same(self, rank: int, busy: Begun, me: RankState, value: object) -> None:
        """What a call returned says what the model's rank popped in it, and how it is now."""
        model, seen = as_compared(expected(me, busy.popped, self._capabilities), value, self._capabilities)
        if lines := list(differences(model, seen)):
            differs = "\n".join([f"rank {rank}, {busy.name}: the subject differs from the model", *lines])
            raise self._mismatch(differs, Reply(rank, busy.name, Ok(seen), model))

    def require_still_within(self, rank: int) -> None:
        """A rank that waits for acks of its own has not ended the step in which it does."""
        assert self._unruly
        if not isinstance(early := self._unruly.receive(rank, EARLY), Hung):
            text = f"rank {rank}, step: the subject ended it ({early}) before its own acks had finished"
            raise self._mismatch(text, Reply(rank, "step", early, early=True))

    def _mismatch(self, text: str, reply: Reply) -> Mismatch:
        return Mismatch(text, self._schedule(), reply)

    def _also(self, beside: Mapping[int, Begun]) -> Iterator[str]:
        """What has become of the other ranks."""
        for rank, begun in sorted(beside.items()):
            if begun.name and self._unruly:
                outcome = self._unruly.receive(rank, EARLY)
                if not isinstance(outcome, Ok | Hung):
                    yield f"  rank {rank}, {begun.name}: {outcome}"


def _require_seen(rank: int, outcome: Outcome) -> None:
    if outcome == Died(None):
        raise HarnessLost(f"nobody saw how rank {rank} ended: the supervisor of the rank processes was killed too")
