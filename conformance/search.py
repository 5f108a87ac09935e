"""The search for a random schedule on which a subject differs from the model, wherever its ranks are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis.errors import Flaky
from hypothesis.stateful import run_state_machine_as_test

from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.driver import Command, HarnessLost, Mismatch
from rankproof.conformance.machine import Enough, Failure, Findings, Unusable, machine_for
from rankproof.conformance.ranks import Pool
from rankproof.conformance.shrink import Fails, rerun, smaller
from rankproof.model.errors import BadInput
from rankproof.model.interleaving import Model
from rankproof.model.properties import CHECKED, Property


@dataclass(frozen=True, slots=True)
class Ran:
    """How much ran.

    examples, commands, steps, popped  schedules run, commands compared with the model, scheduler steps among them,
              and acks that these popped
    taken     how often each of the model's actions was taken
    seconds   how long it took
    """

    examples: int = 0
    commands: int = 0
    steps: int = 0
    popped: int = 0
    taken: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    @classmethod
    def of(cls, findings: Findings, seconds: float) -> Ran:
        """What the findings have counted."""
        counts = (findings.examples, findings.commands, findings.steps, findings.popped)
        return cls(*counts, dict(findings.taken), seconds)


def search(
    model: Model,
    pool: Pool,
    findings: Findings,
    capabilities: Capabilities,
    *,
    examples: int,
    seed: int | str,
    shrink_seconds: float = 20.0,
    checked: Sequence[Property] = CHECKED,
    more: Sequence[Model] = (),
) -> str:
    """Runs random schedules until one fails, and makes that smaller; gives why there is no answer, or an empty text.

    The same seed gives the same schedules. `checked` is what the model itself is held against on the way, and `more`
    other worlds of as many ranks, in which an example may run instead. Raises BadInput where the subject does, before
    anything has failed.
    """
    machine = hypothesis.seed(seed)(machine_for(model, pool, findings, capabilities, checked, more, seed))
    lost = ""
    try:
        run_state_machine_as_test(machine, settings=_settings(examples))
    except (Mismatch, Enough):
        pass  # `findings` has the failure, if there is one
    except Flaky as error:
        if not findings.are_enough:  # hypothesis also says so of an end in the middle of its examples
            lost = f"a schedule did not run twice in the same way: {findings.trouble or error}"
    except HarnessLost as error:
        return str(error)
    except Unusable as error:
        raise BadInput(str(error)) from error
    except Exception:
        if not findings.trouble:
            raise
        lost = findings.trouble  # it came twice in the same way, and is the harness's all the same
    if findings.failure is None:
        return lost
    if shrink_seconds:
        findings.failure = shrunk(findings.failure, pool, capabilities, checked, shrink_seconds)
    return ""


def shrunk(
    found: Failure, pool: Pool, capabilities: Capabilities, checked: Sequence[Property], seconds: float
) -> Failure:
    """The smallest failure of the same kind that is found within so many seconds; whatever happens, there is one."""
    try:
        return smaller(found, _fresh(found.schedule.model, pool, capabilities, checked), seconds)
    except (HarnessLost, Exception) as error:  # what was found stays found, and is shown as it is
        return replace(found, ended_early=f"making it smaller ended with {type(error).__name__}: {error}")


def _fresh(model: Model, pool: Pool, capabilities: Capabilities, checked: Sequence[Property]) -> Fails:
    """Gives commands to subjects that are new each time."""

    def fails(commands: Sequence[Command]) -> Failure | None:
        pool.regroup()
        return rerun(model, pool, capabilities, commands, checked)

    return fails


def _settings(examples: int) -> settings:
    """Nothing here depends on how fast this machine is: no deadline for an example, no database, no health check."""
    return settings(
        max_examples=examples,
        stateful_step_count=1,
        deadline=None,
        database=None,
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.normal,
        phases=(Phase.generate,),  # hypothesis knows less of the commands than `shrink` does
        suppress_health_check=list(HealthCheck),
    )
