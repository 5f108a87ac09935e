"""The search in memory, in one process apart, so that a subject that ends it takes no harness along."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.channel import Channel
from rankproof.conformance.commands import Command
from rankproof.conformance.confirming import PATIENCE, confirmed
from rankproof.conformance.given import give, world_of
from rankproof.conformance.launcher import Launcher, Process
from rankproof.conformance.machine import Failure, Findings
from rankproof.conformance.memory import MemoryRanks
from rankproof.conformance.outcome import Died, last_line
from rankproof.conformance.pool import SETUP_WITHIN
from rankproof.conformance.search import Ran, search
from rankproof.conformance.shrink import rerun
from rankproof.conformance.worker import Factory, factory_name, look_up, make_subject
from rankproof.model.errors import BadInput

_TARGET = "rankproof.conformance.apart:serve"
_TELL_EVERY = 0.1
_DECLARED_WITHIN = 120.0  # a fresh interpreter that imports torch or an engine on a busy machine
_SPARE = 60.0
_SPARE_OF_SETUP = 30.0

_SHARE_OF_SETUP = 1 / 2
"""The part of the limit of a setup that it has in memory: a hang there is looked at on processes."""


@dataclass(frozen=True)
class Job:
    """What is to be searched; each field is as for `fuzz`. With no examples only the subject is asked.

    Where there are `commands`, these alone are given, and nothing is searched. `directory` is for short-lived files,
    and is somebody else's to remove: a process that is killed cannot.
    """

    factory: Factory
    ranks: int
    capabilities: Capabilities | None
    fallback: Capabilities
    examples: int
    seconds: float | None
    seed: int
    timeout: float
    shrink_seconds: float
    setup_within: float = SETUP_WITHIN
    commands: tuple[Command, ...] = ()
    directory: str | None = None


@dataclass(frozen=True)
class Searched:
    """What came of a job.

    capabilities  what the subject is held to
    ran           how much ran in memory; None where nothing did
    failure       the smallest schedule that failed
    note          why memory gave no answer, or empty
    driven        what of it is real, and what stood in for, as the subject says it; or empty
    """

    capabilities: Capabilities
    ran: Ran | None = None
    failure: Failure | None = None
    note: str = ""
    driven: str = ""


def search_apart(job: Job, launcher: Launcher, progress: Callable[[int], None] | None = None) -> Searched:
    """Carries a job out in a process of its own; `progress` is told the schedules done, now and then.

    Raises BadInput for a factory that cannot be used.
    """
    process = launcher.start(_TARGET)
    try:
        process.channel.send(replace(job, directory=launcher.directory))
        return _followed(job, process, progress or (lambda _done: None))
    finally:
        process.end()


def _followed(job: Job, process: Process, progress: Callable[[int], None]) -> Searched:
    held_to: Capabilities | None = None
    within = _DECLARED_WITHIN
    while True:
        try:
            message = process.channel.receive(within)
        except TimeoutError:
            words = f"the process of all ranks said nothing for {within:g} s"
        except EOFError:
            process.wait(5.0)
            last = last_line(process.last_words())
            words = f"the process of all ranks {Died(process.code)}" + (f" ({last})" if last else "")
        else:
            match message:
                case BadInput():
                    raise message
                case Capabilities():
                    held_to = message
                    within = max(_SHARE_OF_SETUP * job.setup_within, 3 * job.timeout) + _SPARE_OF_SETUP
                case int():
                    within = 3 * (1 + PATIENCE) * job.timeout + job.shrink_seconds + _SPARE
                    progress(message)
                case Searched():
                    return message
            continue
        if held_to is None:
            raise BadInput(f"factory {factory_name(job.factory)}: {words} while a subject was made")
        return Searched(held_to, note=words)


def serve(channel: Channel) -> None:
    """Carries out the one job that comes, and tells what it is held to, how far it has come, and what was found."""
    job = channel.receive()
    assert isinstance(job, Job)
    try:
        own, driven = said_by(job.factory)
        held_to = job.capabilities or own or job.fallback
    except BadInput as bad:
        channel.send(bad)
        return
    channel.send(held_to)
    if not held_to.in_memory:
        searched = Searched(held_to, note="the subject says that its ranks cannot share a process")
    else:
        searched = _search(job, held_to, channel) if job.examples else Searched(held_to)
    channel.send(replace(searched, driven=driven))


def declared(factory: Factory) -> Capabilities | None:
    """What a subject of the factory, or the factory, says that it can; None where it says nothing.

    Raises BadInput for a factory that cannot be used, or that says something else.
    """
    return said_by(factory)[0]


def said_by(factory: Factory) -> tuple[Capabilities | None, str]:
    """The same, and what of an engine is driven: the subject's attribute `driven`, one line of text; else empty."""
    subject = make_subject(factory)
    driven = getattr(subject, "driven", "")
    driven = driven if isinstance(driven, str) else ""
    made_by = look_up(factory) if isinstance(factory, str) else factory
    found = getattr(subject, "capabilities", None) or getattr(made_by, "capabilities", None)
    if found is None or isinstance(found, Capabilities):
        return found, driven
    where = f"factory {factory_name(factory)}"
    raise BadInput(f"{where}: its capabilities are a {type(found).__name__}, not rankproof.conformance's Capabilities")


def _ranks(job: Job, held_to: Capabilities, patience: int = 1) -> MemoryRanks:
    timeout = patience * job.timeout
    return MemoryRanks(
        job.ranks,
        factory=job.factory,
        lanes=held_to.names,
        timeout=timeout,
        reply_within=3 * timeout,
        setup_within=_SHARE_OF_SETUP * job.setup_within,
        directory=job.directory,
    )


def _search(job: Job, held_to: Capabilities, channel: Channel) -> Searched:
    began = told = time.monotonic()

    def tell(done: int) -> None:
        nonlocal told
        if time.monotonic() - told > _TELL_EVERY:
            told = time.monotonic()
            channel.send(done)

    findings = Findings(tell, job.seconds, job.examples)
    ranks = _ranks(job, held_to)
    try:
        with ranks:
            channel.send(0)  # they are set up
            note = _run(job, held_to, ranks, findings)
    except BadInput as bad:
        return Searched(held_to, note=str(bad))
    ran = Ran.of(findings, time.monotonic() - began)
    failure = findings.failure
    if ranks.unsupported:
        again = failure and _again(failure, job, held_to)
        return Searched(held_to, ran, again, note="" if again else ranks.unsupported)
    if failure is None:
        return Searched(held_to, ran, note=note)
    looked = confirmed(failure, lambda: _again(failure, job, held_to, PATIENCE))
    if isinstance(looked, Failure):
        return Searched(held_to, ran, looked, note)
    return Searched(held_to, ran, note=f"what went wrong in memory rests on time, and {looked}: {failure.says}")


def _run(job: Job, held_to: Capabilities, ranks: MemoryRanks, findings: Findings) -> str:
    """Searches, or gives the commands of the job; what is found is in the findings. Gives why there is no answer."""
    if job.commands:
        world = world_of(held_to, job.ranks, job.commands)
        findings.failure = give(world, ranks, held_to, job.commands, findings, checked=())
        return ""
    model, *more = held_to.models(job.ranks)
    return search(
        model,
        ranks,
        findings,
        held_to,
        examples=job.examples,
        seed=f"{job.seed} in memory",  # processes then run other schedules
        shrink_seconds=job.shrink_seconds,
        checked=(),
        more=more,
    )


def _again(failure: Failure, job: Job, held_to: Capabilities, patience: int = 1) -> Failure | None:
    """How a failure comes again in memory, on ranks that are not asked for what only processes have; None where not."""
    try:
        with _ranks(job, held_to, patience) as ranks:
            again = rerun(failure.schedule.model, ranks, held_to, failure.commands, checked=())
            return None if ranks.unsupported else again
    except (BadInput, ValueError):
        return None
