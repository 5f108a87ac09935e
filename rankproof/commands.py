"""The verbs of the command line and their options; what a verb does is in the module that it imports when it runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

import rankproof
from rankproof.model.errors import BadInput
from rankproof.model.verdict import Verdict
from rankproof.options import (
    LAG,
    REPEAT,
    SEARCHES,
    SEED,
    BenchSeedOption,
    CheckOption,
    CiFormOption,
    CommandsOption,
    ExamplesOption,
    ExportOption,
    FormOption,
    FuzzSeedOption,
    LagOption,
    OutOption,
    PlainForm,
    RanksOption,
    RepeatOption,
    ReplayForm,
    SearchesOption,
    ShrinkOption,
    SourceOption,
    TimeoutOption,
    folder,
    given,
)
from rankproof.output import Form, Output
from rankproof.profiles import budget
from rankproof.subjects import check_ranks, subject_of, working_directory

Task: TypeAlias = Callable[[], Verdict]
"""What a verb does once its options are read. It runs outside typer, which has exit codes of its own for errors."""

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Show that a step-pipelined MIN agreement between ranks is right, and catch it when it is not.",
    epilog="Exit codes: 0 holds, 1 violated, 2 bad usage or bad input, 3 undetermined.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rankproof {rankproof.__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[  # what it does is in its callback
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Say which version this is.")
    ] = False,
) -> None:
    """What every verb has."""


@app.command()
def verify(form: CiFormOption = Form.TEXT) -> Task:
    """Do all of it: prove, refute, see small worlds whole, and run real processes."""

    def task() -> Verdict:
        working_directory()
        from rankproof import verifying
        from rankproof.progress import shown

        output = Output(form)
        with shown(output) as progress:
            return verifying.report(output, progress)

    return task


@app.command()
def prove(
    cross_check: Annotated[bool, typer.Option("--cross-check", help="Put each text to cvc5 as well as to z3.")] = False,
    export: ExportOption = None,
    seeds: Annotated[
        int, typer.Option(metavar="K", min=0, help="Ask again by K seeds and orders, with a control.")
    ] = 0,
    witness: Annotated[bool, typer.Option("--witness", help="Show a state that has the hypotheses of each.")] = False,
    form: FormOption = PlainForm.TEXT,
) -> Task:
    """Prove the pipelined protocol for every number of ranks."""

    def task() -> Verdict:
        from rankproof import proving
        from rankproof.progress import shown

        output = Output(Form(form))
        with shown(output) as progress:
            return proving.report(
                output, progress, cross_check=cross_check, folder=export, seeds=seeds, witnesses=witness
            )

    return task


@app.command()
def refute(
    faults: Annotated[
        list[str] | None, typer.Argument(metavar="[FAULT]...", help="Names of faults; all without one.")
    ] = None,
    matrix: Annotated[bool, typer.Option("--matrix", help="Each fault against every property, as a table.")] = False,
    real: Annotated[bool, typer.Option("--real", help="Each fault on real processes, as a table (minutes).")] = False,
    seeds: SearchesOption = None,
    out: OutOption = None,
    form: FormOption = PlainForm.TEXT,
) -> Task:
    """Show that each known wrong variant is caught, by a shortest schedule that breaks a property."""
    if matrix and out:
        raise BadInput("--matrix writes no schedules; leave out --out, or --matrix")
    if matrix and real:
        raise BadInput("--matrix and --real are two tables; give one of them")
    if seeds is not None and not real:
        raise BadInput("--seeds is for searches on real processes; give --real as well")

    def on_processes() -> Verdict:
        from rankproof import refuting, refuting_real
        from rankproof.progress import shown

        output = Output(Form(form))
        named = refuting.faults_named(faults or ())
        with shown(output) as progress:
            return refuting_real.report(output, progress, named, out, seeds=SEARCHES if seeds is None else seeds)

    def task() -> Verdict:
        from rankproof import refuting
        from rankproof.matrix import report as table
        from rankproof.progress import shown

        output = Output(Form(form))
        named = refuting.faults_named(faults or ())
        with shown(output) as progress:
            return table(output, progress, named) if matrix else refuting.report(output, progress, named, out)

    return on_processes if real else task


@app.command()
def explore(
    ranks: Annotated[int, typer.Option(metavar="N", min=1, max=8, help="Ranks.")] = 2,
    lanes: Annotated[int, typer.Option(metavar="N", min=1, max=4, help="Lanes.")] = 2,
    acks: Annotated[int, typer.Option(metavar="N", min=0, max=8, help="Acks that come to each lane.")] = 1,
    lag: Annotated[int, typer.Option(metavar="K", min=0, max=8, help="Rounds in flight; 0 is blocking.")] = LAG,
    remaining: Annotated[
        bool, typer.Option("--remaining", help="Count what is left, also at --lag 2 or more, which is wrong.")
    ] = False,
    reduced: Annotated[
        bool, typer.Option("--reduced", help="Try only the schedules that stand for all others.")
    ] = False,
    form: FormOption = PlainForm.TEXT,
) -> Task:
    """See every state of one bounded world of the protocol, whose ranks move alone."""

    def task() -> Verdict:
        from rankproof import exploring
        from rankproof.model.scenario import Scenario
        from rankproof.progress import shown

        output = Output(Form(form))
        scenario = Scenario(ranks=ranks, lanes=("write", "load", "hits", "backup")[:lanes], acks=acks)
        with shown(output) as progress:
            return exploring.report(output, progress, scenario, lag=lag, remaining=remaining, reduced=reduced)

    return task


@app.command()
def explain(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="What to explain; all names without.")] = None,
    form: FormOption = PlainForm.TEXT,
) -> Task:
    """Say what a property, fault, assumption or obligation is, why it holds, or what breaks it."""

    def task() -> Verdict:
        from rankproof import catalogue, explaining

        output = Output(Form(form))
        return catalogue.report(output) if name is None else explaining.report(output, name)

    return task


@app.command()
def fuzz(
    subject: Annotated[
        str | None, typer.Option(metavar="MODULE:FACTORY", help="What to hold against the model; else the reference.")
    ] = None,
    lag: LagOption = None,
    profile: Annotated[
        str | None, typer.Option(metavar="dev|ci|nightly", help="How much to run, where nothing else says so.")
    ] = None,
    ranks: RanksOption = None,
    examples: ExamplesOption = None,
    seconds: Annotated[float | None, typer.Option(min=0.1, help="Stop after so many seconds in all.")] = None,
    seed: FuzzSeedOption = None,
    timeout: TimeoutOption = None,
    shrink_seconds: ShrinkOption = None,
    commands: CommandsOption = None,
    out: OutOption = None,
    source: SourceOption = None,
    check: CheckOption = None,
    form: CiFormOption = Form.TEXT,
) -> Task:
    """Drive an implementation, in memory and on real processes, and hold each reply against the model."""
    if check:
        others: dict[str, object] = {"--subject": subject, "--lag": lag, "--profile": profile, "--ranks": ranks}
        others |= {"--examples": examples, "--seconds": seconds, "--seed": seed, "--source": source}
        others |= {"--timeout": timeout, "--shrink-seconds": shrink_seconds, "--commands": commands}
        if useless := given(others):
            raise BadInput(f"--check judges records and runs nothing; leave out {useless}")
    if commands is not None:
        others = {"--profile": profile, "--examples": examples, "--seconds": seconds, "--seed": seed}
        if useless := given(others | {"--shrink-seconds": shrink_seconds}):
            raise BadInput(f"--commands searches nothing; leave out {useless}")

    def judge() -> Verdict:
        from rankproof import checking

        assert check
        return checking.report(Output(form), check, out)

    limit = budget(profile, examples=examples, seconds=seconds, ranks=ranks)

    def task() -> Verdict:
        working_directory()
        check_ranks(limit.ranks)
        steps = LAG if lag is None else lag
        named = subject_of(steps, subject)
        from rankproof import fuzzing
        from rankproof.progress import shown

        output = Output(form)
        plan = fuzzing.Plan(
            named,
            steps,
            limit,
            SEED if seed is None else seed,
            source,
            fuzzing.TIMEOUT if timeout is None else timeout,
            fuzzing.SHRINK if shrink_seconds is None else shrink_seconds,
            commands,
        )
        with shown(output) as progress:
            return fuzzing.report(output, progress, plan, out)

    return judge if check else task


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A schedule file.", show_default=False)],
    real: Annotated[
        bool, typer.Option("--real", help="Run it on real processes, and hold them against the model.")
    ] = False,
    subject: Annotated[
        str | None, typer.Option(metavar="MODULE:FACTORY", help="What --real runs; else the reference.")
    ] = None,
    source: SourceOption = None,
    form: Annotated[
        ReplayForm, typer.Option("--format", help="Steps and a picture, the picture alone, or one JSON document.")
    ] = ReplayForm.TEXT,
) -> Task:
    """Show a schedule step by step on the model, and which properties it breaks."""
    is_picture = form in (ReplayForm.MERMAID, ReplayForm.SVG)
    if real and is_picture:
        raise BadInput(f"--real writes text or json, not {form}")
    for option, value in (("--subject", subject), ("--source", source)):
        if value and not real:
            raise BadInput(f"{option} is for what runs on real processes; give --real as well")

    def on_the_model() -> Verdict:
        from rankproof import replaying
        from rankproof.diagram_mermaid import mermaid
        from rankproof.diagram_svg import svg

        language = {ReplayForm.MERMAID: mermaid, ReplayForm.SVG: svg}.get(form)
        return replaying.report(Output(Form.TEXT if is_picture else Form(form)), file, language)

    def on_processes() -> Verdict:
        working_directory()
        from rankproof import rerunning
        from rankproof.progress import shown

        output = Output(Form(form))
        with shown(output) as progress:
            return rerunning.report(output, progress, file, subject, source)

    return on_processes if real else on_the_model


@app.command()
def bench(
    items: Annotated[
        list[str] | None, typer.Argument(metavar="[ITEM]...", help="Names of items; all without one.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A first picture in under two minutes.")] = False,
    repeat: RepeatOption = None,
    ranks: Annotated[
        list[int] | None, typer.Option(metavar="N", help="Rank processes, in place of those of each item; repeatable.")
    ] = None,
    seed: BenchSeedOption = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", parser=folder, help="Where results, page and plots are written.")
    ] = Path("rankproof-bench"),
    render: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Measure nothing: page and plots of this results file.")
    ] = None,
    form: FormOption = PlainForm.TEXT,
) -> Task:
    """Measure what pipelining saves, what it costs to check, and how both grow."""
    if render:
        others = {"the items": items or None, "--quick": quick, "--repeat": repeat, "--ranks": ranks or None}
        if useless := given(others | {"--seed": seed}):
            raise BadInput(f"--render measures nothing; leave out {useless}")

    def task() -> Verdict:
        from rankproof import benching
        from rankproof.progress import shown

        output = Output(Form(form))
        if render:
            return benching.render(output, render, out)
        with shown(output) as progress:
            return benching.report(
                output,
                progress,
                items=items or (),
                quick=quick,
                repeat=REPEAT if repeat is None else repeat,
                ranks=ranks or (),
                seed=SEED if seed is None else seed,
                folder=out,
            )

    return task
