"""`assert_conforms`: an implementation is held against the model in one line of a test."""

from __future__ import annotations

from collections.abc import Iterator

from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.fuzz import fuzz
from rankproof.conformance.fuzzed import Fuzzing
from rankproof.conformance.launcher import Launcher
from rankproof.conformance.worker import Factory
from rankproof.model.properties import PROPERTIES
from rankproof.model.verdict import Verdict

_LAST_LINES = 12


def assert_conforms(
    factory: Factory,
    ranks: int = 2,
    *,
    capabilities: Capabilities | None = None,
    examples: int = 50,
    seconds: float | None = None,
    seed: int = 0,
    timeout: float = 3.0,
    launcher: Launcher | None = None,
) -> Fuzzing:
    """Holds what `factory` makes, one a rank, against the model; gives what was run.

    The factory is "package.module:callable", or a callable that other processes can import. The rest is as for `fuzz`.
    Raises AssertionError with a report where the subject differs, and where there is no answer; BadInput where the
    factory cannot be used.
    """
    __tracebackhide__ = True  # pytest then shows the line of the test, and what is wrong
    found = fuzz(
        factory,
        capabilities=capabilities,
        ranks=ranks,
        examples=examples,
        seconds=seconds,
        seed=seed,
        timeout=timeout,
        launcher=launcher,
    )
    if found.verdict is not Verdict.HOLDS:
        raise AssertionError(report_of(found))
    return found


def report_of(found: Fuzzing) -> str:
    """What a run came to, for people: what differed, which property that breaks, where, and how to see it again."""
    return "\n".join(_lines(found))


def _lines(found: Fuzzing) -> Iterator[str]:
    ran = f"{found.examples:,} schedules, {found.steps:,} steps, {found.popped:,} pops"
    if found.verdict is Verdict.HOLDS:
        yield f"{found.subject} on {found.ranks} ranks does what the model does: {ran}"
        return
    if found.verdict is Verdict.UNDETERMINED:
        why = found.failure or "nothing was compared"
        yield f"{found.subject} on {found.ranks} ranks: no answer after {ran}: {why}"
        return
    yield f"{found.subject} on {found.ranks} ranks differs from the model"
    yield f"  {found.failure}".replace("\n", "\n  ")
    if found.breaks:
        yield f"property: {found.breaks}: {PROPERTIES[found.breaks].says}"
    if found.remark:
        yield f"remark: {found.remark}"
    yield f"found in: {found.found_in}, after {ran}"
    if found.reproduced is not None:
        yield f"on processes: {'it fails too' if found.reproduced else 'it does not fail: ' + found.on_processes}"
    elif found.on_processes:
        yield f"on processes: no answer: {found.on_processes}"
    if found.reproduced is False:
        yield "  so it is a race that real ranks seldom lose, or ranks share what the subject keeps in module globals"
    if found.last_words:
        yield "last words:"
        yield from (f"  {line}" for line in found.last_words.rstrip().splitlines()[-_LAST_LINES:])
    yield "to see it again:"
    yield found.program
