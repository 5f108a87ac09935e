"""One rank of a pool: its process, how far the conversation with it has come, and how a reply or its end is taken."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass

from rankproof.conformance.launcher import Process
from rankproof.conformance.outcome import Died, Hung, Outcome
from rankproof.conformance.worker import Command, Reply

LOOK_EVERY = 0.5
"""Seconds after which a rank that does not answer is looked at: a child that it left may hold its channel open."""

_DEATH_WITHIN = 5.0


@dataclass
class RankProcess:
    """A rank's process and what is known of it.

    sequence     the number of the command last sent
    owes         the method whose reply is outstanding, or None
    has_subject  whether a subject is made and not closed
    closed       what became of its subject's close
    died         how it ended, once that is seen
    stopped      whether it was stopped by a signal, and not continued
    """

    process: Process
    sequence: int = 0
    owes: str | None = None
    has_subject: bool = False
    closed: Outcome | None = None
    died: Died | None = None
    stopped: bool = False

    @property
    def is_idle(self) -> bool:
        """Whether it lives, is not stopped, and owes no reply."""
        return self.died is None and not self.stopped and self.owes is None and not self.process.wait(0)

    def send(self, method: str, arguments: tuple[object, ...]) -> None:
        """Lets it begin to call a method; it owes no reply before, and owes one afterwards also if it has died."""
        self.sequence += 1
        self.owes = method
        self.has_subject = self.has_subject and method != "close"
        try:
            self.process.channel.send(Command(self.sequence, method, arguments))
        except EOFError:
            pass  # it died since the last reply: `receive` says so
        except Exception:
            self.owes = None
            raise

    def receive(self, within: float) -> Outcome:
        """The reply that it owes, or what became of it instead; after `Hung` it is still owed."""
        if self.died is None:
            try:
                outcome = self._reply(within)
            except TimeoutError:
                if not self.process.wait(0):
                    return Hung(within, self.process.last_words())
                self.died = self._death()
            except EOFError:
                self.died = self._death()
            else:
                self.closed = outcome if self.owes == "close" else None
                self.owes = None
                return outcome
        self.owes = None
        return self.died

    def _reply(self, within: float) -> Outcome:
        deadline = time.monotonic() + within
        gone = False
        while True:
            left = 0.0 if gone else max(0.0, deadline - time.monotonic())
            try:
                reply = self.process.channel.receive(min(left, LOOK_EVERY))
            except TimeoutError:
                if left <= LOOK_EVERY:
                    raise
                gone = self.process.wait(0)  # then what it sent is there already, or never comes
                continue
            assert isinstance(reply, Reply)
            if reply.sequence == self.sequence:  # a subject that forks may answer twice
                return reply.outcome

    def _death(self) -> Died:
        if not self.process.wait(_DEATH_WITHIN):
            self.process.signal(signal.SIGKILL)  # it closed its channel and goes on
        return Died(self.process.code, self.process.last_words())
