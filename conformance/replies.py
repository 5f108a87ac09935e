"""What a subject answered, and how a run ends that cannot go on: it differs from the model, or nothing can be said."""

from __future__ import annotations

from dataclasses import dataclass

from rankproof.conformance.comparing import Acks
from rankproof.conformance.outcome import Outcome
from rankproof.conformance.subject import Observation
from rankproof.model.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Reply:
    """What a rank answered to a call, and the observation that was expected, where it gave one to compare.

    Both are as they were compared: without what the subject's capabilities leave open.

    early  whether it ended a step in which it was to wait for acks of its own
    due    why the model's rank has ended, where the subject was to raise; or empty
    """

    rank: int
    name: str
    outcome: Outcome
    expected: Observation | None = None
    early: bool = False
    due: str = ""


class Mismatch(AssertionError):
    """The subject did what the model does not.

    schedule  what the model was taken through until then
    reply     what was asked of which rank, what it answered, and what was expected; None where the model itself fell
    """

    def __init__(self, text: str, schedule: Schedule, reply: Reply | None = None) -> None:
        super().__init__(text)
        self.schedule = schedule
        self.reply = reply


class HarnessLost(BaseException):
    """The processes are gone, or could not be made ready, for a reason that says nothing about the subject.

    Not an Exception, so that hypothesis passes it on at once: it is not to be shrunk.
    """


@dataclass(frozen=True, slots=True)
class Compared:
    """A command whose reply was what the model expects; `popped` holds the acks that it popped, one tuple a lane."""

    rank: int
    name: str
    popped: Acks
