"""Random schedules on real processes: a subject held against the model until it differs, or until enough has run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis.errors import Flaky
from hypothesis.stateful import run_state_machine_as_test

from rankproof.conformance.driver import Command, HarnessLost, Mismatch
from rankproof.conformance.launcher import Launcher
from rankproof.conformance.machine import Enough, Findings, machine_for
from rankproof.conformance.pool import RankPool
from rankproof.model.interleaving import Model
from rankproof.model.protocol import BLOCKING, PIPELINED, Protocol
from rankproof.model.scenario import Scenario
from rankproof.model.schedule import Schedule
from rankproof.model.verdict import Verdict

STEPS_AN_EXAMPLE = 30


@dataclass(frozen=True, slots=True)
class Fuzzing:
    """What random schedules on real processes have shown of one subject.

    examples, commands, steps, popped  schedules run, commands compared with the model, scheduler steps among them,
              and acks that these popped
    taken     how often each of the model's actions was taken
    failure   what differed, or why there is no verdict; empty where nothing differed
    program   a program that shows the smallest failure again, or empty
    schedule  what the model went through in it
    """

    subject: str
    ranks: int
    verdict: Verdict
    examples: int
    commands: int
    steps: int
    popped: int
    seconds: float
    taken: dict[str, int] = field(default_factory=dict)
    failure: str = ""
    program: str = ""
    schedule: Schedule | None = None


def scenario_for(ranks: int, lanes: tuple[str, ...] = ("write", "load")) -> Scenario:
    """A scenario that random schedules do not come to the end of; as in the engine, enqueues are aligned with steps."""
    plenty = 10 * STEPS_AN_EXAMPLE
    return Scenario(
        ranks=ranks,
        lanes=lanes,
        acks=plenty,
        resets=plenty,
        evicts=plenty,
        flushes=plenty,
        aligned_enqueue=True,
        ahead=plenty,
    )


def fuzz(
    subject: str,
    protocol: Protocol,
    *,
    ranks: int = 2,
    examples: int = 50,
    seed: int = 0,
    timeout: float = 3.0,
    shrink_seconds: float = 20.0,
    launcher: Launcher | None = None,
    progress: Callable[[int], None] | None = None,
) -> Fuzzing:
    """Runs `examples` random schedules of the subject, "package.module:factory", on as many real processes as ranks.

    The same seed gives the same schedules. A wait of the subject is to end within `timeout` seconds, and a reply is
    given up after three times that; a failure is made smaller for `shrink_seconds`. A `launcher` saves the time to
    start one. `progress` is told the examples done, after each.
    Raises BadInput for a factory that cannot be used.
    """
    began = time.monotonic()
    model = Model(protocol, scenario_for(ranks))
    findings = Findings(shrink_seconds, progress)
    lost = ""
    with RankPool(
        ranks,
        factory=subject,
        lanes=model.scenario.lanes,
        timeout=timeout,
        reply_within=3 * timeout,
        launcher=launcher,
    ) as pool:
        machine = hypothesis.seed(seed)(machine_for(model, pool, findings))
        try:
            run_state_machine_as_test(machine, settings=_settings(examples))
        except (Mismatch, Enough):
            pass  # `findings` has the failure
        except Flaky as error:
            # Processes that fail need not fail twice in the same way; then `findings` has a failure, and that counts.
            lost = f"the same schedule did not run twice in the same way: {error}"
        except HarnessLost as error:
            lost = str(error)
    found = findings.failure
    verdict = Verdict.HOLDS if findings.commands and not lost else Verdict.UNDETERMINED
    return Fuzzing(
        subject=subject,
        ranks=ranks,
        verdict=Verdict.VIOLATED if found else verdict,
        examples=findings.examples,
        commands=findings.commands,
        steps=findings.steps,
        popped=findings.popped,
        seconds=time.monotonic() - began,
        taken=dict(findings.taken),
        failure=found.says if found else lost,
        program=_program(subject, ranks, protocol, found.commands) if found else "",
        schedule=found.schedule if found else None,
    )


def _program(subject: str, ranks: int, protocol: Protocol, commands: Sequence[Command]) -> str:
    """A program that does it again, to be run as it stands."""
    named = {PIPELINED: "PIPELINED", BLOCKING: "BLOCKING"}.get(protocol) or repr(protocol)
    names = sorted({type(command).__name__ for command in commands} - {"Step"})
    actions = [f"from rankproof.model.actions import {', '.join(names)}"] if names else []
    return "\n".join(
        [
            "from rankproof.conformance.driver import Driver, Step",
            "from rankproof.conformance.fuzz import scenario_for",
            "from rankproof.conformance.pool import RankPool",
            *actions,
            "from rankproof.model.interleaving import Model",
            f"from rankproof.model.protocol import {named.partition('(')[0]}",
            "",
            f"model = Model({named}, scenario_for({ranks}))",
            f"with RankPool({ranks}, factory={subject!r}, lanes=model.scenario.lanes, timeout=3.0) as pool:",
            "    driver = Driver(model, pool)",
            *(f"    driver.give({command!r})" for command in commands),
            "    driver.catch_up()",
        ]
    )


def _settings(examples: int) -> settings:
    """Nothing here depends on how fast this machine is: no deadline for an example, no database, no health check."""
    return settings(
        max_examples=examples,
        stateful_step_count=STEPS_AN_EXAMPLE,
        deadline=None,
        database=None,
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.normal,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
