"""Random schedules of a subject: searched in memory, where that is fast, and held against real processes.

A failure that is found in memory is made smaller there, and the smallest schedule is then run on real processes. Where
memory shows none, or the subject cannot live there, the processes are searched.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from rankproof.conformance.apart import Job, Searched, search_apart
from rankproof.conformance.blame import broken_property, differences_of, remark_on, rests_on_time
from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.commands import Command
from rankproof.conformance.confirming import confirmed, with_patience
from rankproof.conformance.driver import HarnessLost
from rankproof.conformance.fuzzed import Fuzzing, Place
from rankproof.conformance.given import give, world_of
from rankproof.conformance.launcher import Launcher
from rankproof.conformance.machine import Failure, Findings
from rankproof.conformance.outcome import as_opened
from rankproof.conformance.pool import MOST_RANKS, SETUP_WITHIN, RankPool
from rankproof.conformance.program import program_of
from rankproof.conformance.search import Ran, search, shrunk
from rankproof.conformance.shrink import rerun
from rankproof.conformance.worker import Factory, check_factory, factory_name
from rankproof.model.errors import BadInput
from rankproof.model.properties import CHECKED
from rankproof.model.verdict import Verdict

TRANSPORTS: tuple[Place, ...] = ("memory", "processes")

_SHARE_OF_MEMORY = 1 / 3
"""The part of the seconds that memory has."""

_MOST_LATE = 3
"""Schedules that fail by time alone before the search is given up."""


def fuzz(
    subject: Factory,
    *,
    capabilities: Capabilities | None = None,
    fallback: Capabilities = Capabilities(),  # noqa: B008 # frozen
    ranks: int = 2,
    examples: int = 50,
    seconds: float | None = None,
    seed: int = 0,
    timeout: float = 3.0,
    shrink_seconds: float = 20.0,
    transports: Sequence[Place] = TRANSPORTS,
    setup_within: float = SETUP_WITHIN,
    launcher: Launcher | None = None,
    progress: Callable[[int, Place], None] | None = None,
    commands: Sequence[Command] = (),
) -> Fuzzing:
    """Runs random schedules of a subject, "package.module:factory" or an importable callable, on so many ranks.

    The subject is held to `capabilities` where they are given, else to what it declares itself, else to `fallback`. Up
    to `examples` schedules run in memory, and then as many others on real processes; `seconds`, if given, end the
    search before that, and a third of them is for memory. The same seed gives the same schedules. A wait of the subject
    is to end within `timeout` seconds, and a reply is given up after three times that; a failure is made smaller for
    `shrink_seconds`. Setting up the ranks may take `setup_within` seconds, or as long as a reply; half of that in
    memory, since a setup that hangs there is tried on processes. A `launcher` saves the time to start one. `progress`
    is told the schedules done, and where, now and then; and 0 when ranks are to be set up. Where there are `commands`,
    nothing is searched: these are given, in memory and, where nothing differs there, on processes. Raises BadInput for
    a factory that cannot be used, for a number of ranks that a pool cannot have, wherever they are to be, and for a
    command that is impossible where it stands.
    """
    began = time.monotonic()
    check_factory(subject)
    if not 1 <= ranks <= MOST_RANKS:
        raise BadInput(f"a run has 1 to {MOST_RANKS} ranks, each a thread or a process on this machine, not {ranks}")
    tell = progress or (lambda _done, _place: None)
    with ExitStack() as undo:
        launched = launcher or undo.enter_context(Launcher())
        job = Job(
            factory=subject,
            ranks=ranks,
            capabilities=capabilities,
            fallback=fallback,
            examples=examples if "memory" in transports else 0,
            seconds=None if seconds is None else seconds * _SHARE_OF_MEMORY,
            seed=seed,
            timeout=timeout,
            shrink_seconds=shrink_seconds,
            setup_within=setup_within,
            commands=tuple(commands),
        )
        if job.examples:
            tell(0, "memory")
        searched = search_apart(job, launched, lambda done: tell(done, "memory"))
        name = factory_name(subject).strip("'")
        can, note, driven = searched.capabilities, searched.note, searched.driven
        found = Fuzzing(name, ranks, Verdict.UNDETERMINED, can, 0.0, searched.ran, note=note, driven=driven)
        if "processes" not in transports:
            found = _in_memory_alone(found, searched, timeout)
        else:
            pool = RankPool(
                ranks,
                factory=subject,
                lanes=searched.capabilities.names,
                timeout=timeout,
                reply_within=3 * timeout,
                setup_within=setup_within,
                launcher=launched,
            )
            tell(0, "processes")
            if searched.failure:
                found = _again(_with_failure(found, searched.failure, "memory", timeout), searched.failure, pool)
            else:
                spent = time.monotonic() - began
                left = None if seconds is None else max(seconds - spent, seconds * _SHARE_OF_MEMORY)
                with pool:  # the time runs from here, when the ranks are up
                    findings = Findings(lambda done: tell(done, "processes"), left, examples)
                    if commands:
                        found = _given_on_processes(found, findings, pool, commands, timeout)
                    else:
                        found = _on_processes(found, findings, pool, examples, seed, timeout, shrink_seconds)
    return replace(found, seconds=time.monotonic() - began)


def _in_memory_alone(found: Fuzzing, searched: Searched, timeout: float) -> Fuzzing:
    if searched.failure:
        return _with_failure(found, searched.failure, "memory", timeout)
    whole = found.commands and not searched.note
    verdict = Verdict.HOLDS if whole else Verdict.UNDETERMINED
    return replace(found, verdict=verdict, failure=searched.note)


def _again(found: Fuzzing, failure: Failure, pool: RankPool) -> Fuzzing:
    """What was found in memory, and whether processes do the same; whatever becomes of these, it stays found."""
    try:
        with pool:
            there = rerun(failure.schedule.model, pool, found.capabilities, failure.commands)
    except (HarnessLost, BadInput) as lost:
        return replace(found, on_processes=str(lost))
    except Exception as error:
        return replace(found, on_processes=f"{type(error).__name__}: {error}")
    if there is None:
        return replace(found, reproduced=False, on_processes="every reply was the model's")
    if rests_on_time(there.reply) and not rests_on_time(failure.reply):
        return replace(found, on_processes=f"another failure came there first, which may be a busy host: {there.says}")
    return replace(found, reproduced=True, on_processes=there.says)


def _given_on_processes(
    found: Fuzzing, findings: Findings, pool: RankPool, commands: Sequence[Command], timeout: float
) -> Fuzzing:
    """The same for commands that are known; what rests on time alone counts only if it comes again here, too."""
    began = time.monotonic()
    held_to = found.capabilities
    try:
        failure = give(world_of(held_to, found.ranks, commands), pool, held_to, commands, findings)
    except HarnessLost as lost:
        return replace(found, failure=str(lost))
    looked = failure and confirmed(failure, lambda: with_patience(pool, failure, held_to, CHECKED, timeout))
    found = replace(found, processes=Ran.of(findings, time.monotonic() - began))
    if isinstance(looked, Failure):
        return _with_failure(found, looked, "processes", timeout)
    if looked:
        return replace(found, failure=_too_late([f"it {looked}"], findings.examples, timeout))
    return replace(found, verdict=Verdict.HOLDS if findings.commands else Verdict.UNDETERMINED)


def _on_processes(
    found: Fuzzing,
    findings: Findings,
    pool: RankPool,
    examples: int,
    seed: int,
    timeout: float,
    shrink_seconds: float,
) -> Fuzzing:
    """The search there. What rests on time alone counts only if it comes again with more of it: a host may be busy."""
    began = time.monotonic()
    held_to = found.capabilities
    model, *more = held_to.models(found.ranks)
    lost = ""
    late: list[str] = []

    def look(failure: Failure) -> Failure | str:
        return confirmed(failure, lambda: with_patience(pool, failure, held_to, CHECKED, timeout))

    while not lost:
        lost = search(
            model,
            pool,
            findings,
            held_to,
            examples=examples,
            seed=f"{seed} after {len(late)} that came too late" if late else seed,
            shrink_seconds=0.0,
            more=more,
        )
        first = findings.failure
        if first is None or lost:
            break
        found_here = look(first)
        if isinstance(found_here, Failure):
            smallest = look(shrunk(first, pool, held_to, CHECKED, shrink_seconds))
            findings.failure = smallest if isinstance(smallest, Failure) else found_here
            break
        late.append(f"it {found_here}: {first.says.splitlines()[0]}")
        findings.failure = None
        if findings.are_enough or len(late) == _MOST_LATE:
            break
    found = replace(found, processes=Ran.of(findings, time.monotonic() - began))
    if findings.failure:
        return _with_failure(found, findings.failure, "processes", timeout)
    if late and not lost:
        return replace(found, failure=_too_late(late, findings.examples, timeout))
    verdict = Verdict.HOLDS if findings.commands and not lost else Verdict.UNDETERMINED
    return replace(found, verdict=verdict, failure=lost)


def _too_late(late: Sequence[str], examples: int, timeout: float) -> str:
    return (
        f"a wait of {timeout:g} s ran out in {len(late)} of {examples} schedules, which says nothing of the subject "
        f"alone: is this host busy? give waits more time by --timeout\n" + "\n".join(f"  {each}" for each in late)
    )


def _with_failure(found: Fuzzing, failure: Failure, place: Place, timeout: float) -> Fuzzing:
    reply = failure.reply
    return replace(
        found,
        verdict=Verdict.VIOLATED,
        failure=failure.says,
        ended_early=failure.ended_early,
        found_in=place,
        breaks=broken_property(failure.schedule, reply),
        differences=differences_of(reply),
        remark=remark_on(reply),
        last_words=as_opened(getattr(reply.outcome, "last_words", "")) if reply else "",
        program=program_of(found.subject, found.ranks, found.capabilities, failure, place, timeout),
        smallest=failure.commands,
        schedule=failure.schedule,
    )
