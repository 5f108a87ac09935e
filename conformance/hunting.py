"""Looks for each fault on real processes by random schedules: how soon it is found, and what it did there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from statistics import median

from rankproof.conformance.commands import Command
from rankproof.conformance.driver import HarnessLost
from rankproof.conformance.faulty import TIMEOUT, faulty_named
from rankproof.conformance.launcher import Launcher
from rankproof.conformance.machine import Failure, Findings
from rankproof.conformance.outcome import Died, Hung, Ok, Outcome, Raised
from rankproof.conformance.pool import RankPool
from rankproof.conformance.search import search
from rankproof.conformance.shrink import rerun, smaller
from rankproof.conformance.subject import Observation

SECONDS = 30.0
"""In which each fault is to be found."""

EXAMPLES = 10_000
"""More schedules than are run in that time."""

AS_THE_MODEL = "as the model"

_NEXT = 1_000
"""From the seed of one search to that of the next."""


@dataclass(frozen=True, slots=True)
class Find:
    """One search: the schedules that were run, the last of which failed, and the seconds from the first to that."""

    examples: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Hunt:
    """What became of the searches for one fault.

    finds    one a seed, None where it was not found in time
    failure  the smallest that one of them came to
    note     why a search ended early, or empty
    """

    fault: str
    finds: tuple[Find | None, ...]
    failure: Failure | None
    note: str = ""

    @property
    def is_found(self) -> bool:
        """Whether every search found it."""
        return bool(self.finds) and None not in self.finds

    @property
    def examples(self) -> float:
        """The median; infinite where half of the searches found nothing."""
        return median(find.examples if find else float("inf") for find in self.finds)

    @property
    def seconds(self) -> float:
        """The median; infinite where half of the searches found nothing."""
        return median(find.seconds if find else float("inf") for find in self.finds)


def hunt(
    fault: str,
    *,
    seeds: Sequence[int] = range(5),
    seconds: float = SECONDS,
    shrink_seconds: float = 5.0,
    launcher: Launcher | None = None,
    progress: Callable[[str], None] | None = None,
) -> Hunt:
    """Looks for a fault of the catalogue once a seed, on as many real processes as it needs to show.

    Each search has so many `seconds`, without the start of the processes; the smallest failure is then made smaller for
    `shrink_seconds`. A `launcher` saves the time to start one. `progress` is told which search it is. Raises BadInput
    for an unknown fault.
    """
    finds: list[Find | None] = []
    smallest: Failure | None = None
    note = ""
    with ranks_with(fault, launcher) as pool:
        for place, seed in enumerate(seeds, 1):
            if progress:
                progress(f"seed {place} of {len(seeds)}")
            find, failure, ended = _search(fault, pool, seed, seconds)
            finds.append(find)
            note = note or ended
            if failure and (smallest is None or len(failure.commands) < len(smallest.commands)):
                smallest = failure
        if smallest:
            smallest = _smaller(fault, smallest, pool, shrink_seconds)
    return Hunt(fault, tuple(finds), smallest, note)


def _search(fault: str, pool: RankPool, seed: int, seconds: float) -> tuple[Find | None, Failure | None, str]:
    """One search. Ranks that race may not do the same twice, which ends one; then there is another, by another seed."""
    faulty = faulty_named(fault)
    began = time.monotonic()
    examples, ended = 0, ""
    while (left := seconds - (time.monotonic() - began)) > 0:
        findings = Findings(seconds=left)
        ended = search(
            faulty.model,
            pool,
            findings,
            faulty.capabilities,
            examples=EXAMPLES,
            seed=seed,
            shrink_seconds=0.0,
            checked=(),
        )
        examples += findings.examples
        if findings.failure:
            return Find(examples, time.monotonic() - began), findings.failure, ""
        seed += _NEXT
    return None, None, ended


def _smaller(fault: str, failure: Failure, pool: RankPool, seconds: float) -> Failure:
    def fails(commands: Sequence[Command]) -> Failure | None:
        pool.regroup()
        return rerun(faulty_named(fault).model, pool, faulty_named(fault).capabilities, commands, ())

    with suppress(HarnessLost, ValueError):  # then what was found is small enough
        return smaller(failure, fails, seconds)
    return failure


def again(fault: str, commands: Sequence[Command], *, guarded: bool, launcher: Launcher | None = None) -> str:
    """What subjects with a fault do when these commands are given to them once more, in words (see `happened`).

    guarded  whether they compare guard words

    Where they do as the model does there is a second try and a third, for ranks may race.
    """
    faulty = faulty_named(fault)
    try:
        with ranks_with(fault, launcher, guarded=guarded) as pool:
            for _ in range(3):
                if failure := rerun(faulty.model, pool, faulty.capabilities, commands, ()):
                    return happened(failure)
                pool.regroup()
    except (HarnessLost, ValueError) as lost:
        return f"no answer: {lost}"
    return AS_THE_MODEL


def happened(failure: Failure) -> str:
    """What a fault did, in words: what was seen of it, which is what a caller would see, and what was not said."""
    reply = failure.reply
    if reply is None:
        return failure.says
    match reply.outcome:
        case Ok(Observation() as seen) if reply.expected is not None:
            return f"silent: {_silent(reply.expected, seen)}"
        case Ok():
            return f"silent: goes on where it should raise ({failure.says.rpartition(': ')[2]})"
        case other:
            return _loud(other)


def _loud(outcome: Outcome) -> str:
    match outcome:
        case Hung():
            return "hang: no error either"
        case Died():
            return f"abort: {str(outcome).removeprefix('died: ')}"
        case Raised("StepTimeout"):
            return "hang, until the deadline"
        case Raised("RankDivergence", message):
            return f"named: {message.split(' [')[0]}"
        case Raised(kind, message):
            return f"error: {kind}: {message.split(' [')[0]}"
        case _:
            return str(outcome)


def _silent(expected: Observation, seen: Observation) -> str:
    if seen.popped != expected.popped:
        return f"pops {_acks(seen)}, and not {_acks(expected)}"
    if seen.left != expected.left:
        return f"holds {seen.left}, and not {expected.left}"
    if seen.waited_unfinished != expected.waited_unfinished:
        return "pops an ack that is not finished"
    return f"rounds in flight: {seen.in_flight}, and not {expected.in_flight}"


def _acks(seen: Observation) -> str:
    named = [f"{ack} of lane {lane}" for lane, acks in enumerate(seen.popped) for ack in acks]
    return f"ack {', '.join(named)}" if named else "nothing"


@contextmanager
def ranks_with(fault: str, launcher: Launcher | None, *, guarded: bool = False) -> Iterator[RankPool]:
    """Real processes with a fault of the catalogue; raises BadInput for an unknown one."""
    faulty = faulty_named(fault)
    with RankPool(
        faulty.ranks,
        factory=f"{type(faulty).__module__}:{fault.replace('-', '_')}{'.guarded' if guarded else ''}",
        lanes=faulty.model.scenario.lanes,
        timeout=TIMEOUT,
        reply_within=3 * TIMEOUT,
        launcher=launcher,
    ) as pool:
        yield pool
