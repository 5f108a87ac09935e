"""`rankproof verify`: every stage in turn, and a summary of what holds, under what, and what that does not show."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rankproof import exploring, fuzzing, proving, refuting
from rankproof.conformance.fuzzed import Fuzzing
from rankproof.conformance.launcher import Launcher
from rankproof.conformance.search import Ran
from rankproof.conformance.walking import Walked, walk
from rankproof.exploring import Seen
from rankproof.fuzzing import Plan
from rankproof.model.actions import KINDS
from rankproof.model.assumptions import ASSUMPTIONS
from rankproof.model.faults import FAULTS
from rankproof.model.properties import PROPERTIES
from rankproof.model.verdict import Verdict, combine
from rankproof.output import Output, counted
from rankproof.profiles import Budget
from rankproof.progress import Progress
from rankproof.proofs.prove import Proof
from rankproof.proofs.refute import Refutation
from rankproof.publishing import publish
from rankproof.results import Result
from rankproof.results_verify import of_faults, of_operations, of_proofs, of_worlds
from rankproof.subjects import REFERENCE

NOT_SHOWN = (
    "that an engine keeps these assumptions, or does what the model does: hold yours against it by rankproof fuzz",
    "what no proof covers, and no schedule of the bounded worlds or of the random runs has reached",
    "that each difference between ranks makes a guard word differ, or each failure an error: what is proved "
    "of named-divergence and contained-failure is what their obligations say, and no more",
    "that torch, gloo or the operating system keep their word in other schedules, or between several hosts",
    "how fast any of it is",
)
"""What a green run does not show."""


@dataclass(frozen=True, slots=True)
class Real:
    """One run of the reference implementation on real processes: its lag, how many, and how many random schedules."""

    lag: int
    ranks: int
    examples: int


REAL: tuple[Real, ...] = (Real(1, 2, 40), Real(0, 2, 20), Real(1, 4, 8))
"""A third of a minute on two cores, most of it for starting processes and for four ranks on two cores."""

OPERATIONS_S = 6.0
"""Seconds after which the worlds of every operation see no more random commands, but each its beginnings."""

SEED = 0


@dataclass(frozen=True, slots=True)
class Results:
    """What the stages came to."""

    proofs: Sequence[Proof]
    refutations: Sequence[Refutation]
    worlds: Sequence[Seen]
    runs: Sequence[Fuzzing]
    operations: Walked

    @property
    def verdict(self) -> Verdict:
        """Of all stages together; one in which nothing ran leaves it undetermined."""
        stages = (
            [proof.verdict for proof in self.proofs],
            [refuting.caught(each) for each in self.refutations],
            [seen.exploration.verdict for seen in self.worlds],
            [run.verdict for run in self.runs],
            [self.operations.verdict],
        )
        return combine(combine(stage) for stage in stages)


def report(output: Output, progress: Progress) -> Verdict:
    """Runs every stage, each shown as it goes, then the summary.

    The JSON document has `proofs`, `faults`, `worlds` and `runs` as the other verbs have them, `operations` (a row for
    each world of `rankproof.conformance.worlds`, with how often it took each action of the model), `assumptions` (name
    to meaning) and `not_shown`.
    """
    began = time.monotonic()
    results = run_stages(output, progress)
    summarize(output, results)
    output.say((results.verdict, results.verdict), f": everything above, in {time.monotonic() - began:.0f} s")
    output.document(
        "verify",
        results.verdict,
        {
            "proofs": proving.documents(results.proofs),
            "faults": [refuting.document(each) for each in results.refutations],
            "worlds": [exploring.document(seen) for seen in results.worlds],
            "runs": [fuzzing.document(run) for run in results.runs],
            "operations": results.operations.rows(),
            "assumptions": {name: ASSUMPTIONS[name].says for name in proving.assumptions(results.proofs)},
            "not_shown": NOT_SHOWN,
        },
    )
    publish(output, "verify", as_results(results))
    return results.verdict


def as_results(results: Results) -> list[Result]:
    """Each check of every stage."""
    runs = [fuzzing.result_of(run, plan_of(real)) for run, real in zip(results.runs, REAL, strict=True)]
    operations = of_operations(results.operations)
    stages = (of_proofs(results.proofs), of_faults(results.refutations), of_worlds(results.worlds), runs, operations)
    return [result for stage in stages for result in stage]


def run_stages(output: Output, progress: Progress) -> Results:
    """Every stage in turn: proofs, faults, bounded worlds, real processes."""
    with Launcher() as launcher:  # it loads torch in the background while the first stages run
        proofs = proving.prove_all(output, progress)
        output.say()
        output.say(("Known faults, each held against the property that it is to break", "title"))
        refutations = list(_refute(output, progress))
        output.say()
        output.say(("Bounded worlds, every interleaving of ranks that move alone", "title"))
        worlds = list(_explore(output, progress))
        output.say()
        output.say(("The reference implementation on real processes, against the model", "title"))
        runs = list(_run_real(output, progress, launcher))
        output.say()
        output.say(("Every operation and topology of it, on real processes", "title"))
        return Results(proofs, refutations, worlds, runs, _operate(output, progress, launcher))


def _refute(output: Output, progress: Progress) -> Iterator[Refutation]:
    for refutation in refuting.refute_all(list(FAULTS.values()), progress):
        verdict = refuting.caught(refutation)
        words = {Verdict.HOLDS: "caught", Verdict.VIOLATED: "not caught"}.get(verdict, verdict)
        length = f", {counted(len(refutation.schedule.actions), 'action')}" if refutation.schedule else ""
        found = (f"{refutation.property}{length}", "quiet")
        output.say(f"  {refutation.fault.name:<32} ", (f"{words:<12} ", verdict), found)
        yield refutation


def _explore(output: Output, progress: Progress) -> Iterator[Seen]:
    for seen in exploring.explore_all(progress):
        exploring.show(output, seen)
        yield seen


def _run_real(output: Output, progress: Progress, launcher: Launcher) -> Iterator[Fuzzing]:
    for real in REAL:
        found = fuzzing.run_fuzz(progress, plan_of(real), launcher)
        ran = found.processes or Ran()
        counts = f"{ran.examples:,} schedules, {ran.steps:,} steps"
        output.say(f"  {_who(found):<32} ", (f"{found.verdict:<12} ", found.verdict), (counts, "quiet"))
        if found.verdict is not Verdict.HOLDS:
            fuzzing.show(output, found)
        yield found


def _operate(output: Output, progress: Progress, launcher: Launcher) -> Walked:
    walked = walk(seed=SEED, seconds=OPERATIONS_S, launcher=launcher, progress=lambda world, _: progress(world.says))
    for row in walked.rows():
        failed = walked.failure is not None and walked.failure[0].says == row["world"]
        verdict = Verdict.VIOLATED if failed else Verdict.HOLDS if row["steps"] else Verdict.UNDETERMINED
        output.say(f"  {row['world']:<48} ", (f"{verdict:<12} ", verdict), (f"{row['steps']:6,} steps", "quiet"))
    if walked.failure:
        output.paragraph(walked.failure[1].says, indent=4, hang=2, style="violated")
    if walked.lost:
        output.paragraph(walked.lost, indent=4, hang=2, style="undetermined")
    return walked


def plan_of(real: Real) -> Plan:
    """One run of the reference implementation as a plan for the fuzzer."""
    return Plan(REFERENCE[real.lag], real.lag, Budget(real.examples, None, real.ranks), SEED)


def summarize(output: Output, results: Results) -> None:
    """What holds, for which N and under which assumptions; the faults as pictures; what ran; what is not shown."""
    output.say()
    for refutation in results.refutations:
        refuting.show(output, refutation)
        output.say()
    lacking = {proof.property for proof in results.proofs if proof.verdict is not Verdict.HOLDS}
    proved = Counter(proof.property for proof in results.proofs)
    holding = {name: f"{name} ({count})" for name, count in proved.items() if name not in lacking}
    output.say(("For every number of ranks, of acks and of steps", "title"))
    by_property = ", ".join(count for name, count in holding.items() if name in PROPERTIES) or "nothing"
    under_them = ", ".join(count for name, count in holding.items() if name not in PROPERTIES)
    rest = f"; what these stand on: {under_them}" if under_them else ""
    output.paragraph(f"{proving.summary(results.proofs)}; by property: {by_property}{rest}.", indent=2, hang=2)
    if lacking:
        output.paragraph(f"not proved: {', '.join(sorted(lacking))}", indent=2, hang=2, style="violated")
    output.say("  They assume:")
    for name in proving.assumptions(results.proofs):
        output.paragraph(f"{name}: {ASSUMPTIONS[name].says}", indent=4, hang=2)
    output.say(("Within bounds", "title"))
    output.paragraph(f"{_explored(results.worlds)}.", indent=2, hang=2)
    output.paragraph(f"{refuting.summary(results.refutations)}.", indent=2, hang=2)
    output.say(("On real processes", "title"))
    for found in results.runs:
        output.paragraph(f"{found.subject.rpartition(':')[2]}: {fuzzing.summary(found)}.", indent=2, hang=2)
    output.paragraph(f"{_operated(results.operations)}.", indent=2, hang=2)
    output.say(("What this does not show", "title"))
    for line in NOT_SHOWN:
        output.paragraph(f"- {line}", indent=2, hang=2)
    output.say()


def _explored(worlds: Sequence[Seen]) -> str:
    states = sum(seen.exploration.states for seen in worlds)
    whole = sum(seen.exploration.verdict is Verdict.HOLDS for seen in worlds)
    held = {name for seen in worlds for name in seen.world.properties}
    return (
        f"{whole} of {len(worlds)} worlds seen whole and right, {states:,} states, with ranks that move alone; held "
        f"against {len(held)} of the {len(PROPERTIES)} properties, each where it can fall"
    )


def _operated(walked: Walked) -> str:
    rows = walked.rows()
    total = {name: sum(row["taken"][name] for row in rows) for name in KINDS}
    schedules, steps = sum(row["schedules"] for row in rows), sum(row["steps"] for row in rows)
    missing = f", but for {', '.join(walked.not_taken)}" if walked.not_taken else ""
    taken = ", ".join(f"{name} {count:,}" for name, count in total.items())
    return (
        f"every operation and topology: {schedules:,} schedules, {steps:,} steps in {len(rows)} worlds; each action of "
        f"the model was taken{missing}: {taken}"
    )


def _who(found: Fuzzing) -> str:
    return f"{found.subject.rpartition(':')[2]} on {found.ranks} processes"
