"""The verbs of the command line and their options; what a verb does is in the module that it imports when it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from rankproof.model.errors import BadInput
from rankproof.model.verdict import Verdict
from rankproof.output import Form, Output

Task: TypeAlias = Callable[[], Verdict]
"""What a verb does once its options are read. It runs outside typer, which has exit codes of its own for errors."""

UsageError: type[Exception] = typer.BadParameter.__bases__[0]
"""Typer's errors about options and arguments; typer gives no public name to their common class."""

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Show that a step-pipelined MIN agreement between ranks is right, and catch it when it is not.",
    epilog="Exit codes: 0 holds, 1 violated, 2 bad usage or bad input, 3 undetermined.",
)


class ReplayForm(StrEnum):
    """How a schedule is shown."""

    TEXT = "text"
    MERMAID = "mermaid"
    SVG = "svg"
    JSON = "json"


FormOption = Annotated[Form, typer.Option("--format", help="Lines for a person, or one JSON document.")]


@app.command()
def verify(form: FormOption = Form.TEXT) -> Task:
    """Do all of it: prove, refute, explore, and run real processes."""

    def task() -> Verdict:
        from rankproof import verifying
        from rankproof.progress import shown

        output = Output(form)
        with shown(output) as progress:
            return verifying.report(output, progress)

    return task


@app.command()
def prove(
    cross_check: Annotated[bool, typer.Option("--cross-check", help="Put each text to cvc5 as well as to z3.")] = False,
    export: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write each obligation into this folder, as SMT-LIB.")
    ] = None,
    seeds: Annotated[
        int, typer.Option(metavar="K", min=0, help="Ask again by K seeds and orders, with a control.")
    ] = 0,
    witness: Annotated[bool, typer.Option("--witness", help="Show a state that has the hypotheses of each.")] = False,
    form: FormOption = Form.TEXT,
) -> Task:
    """Prove the pipelined protocol for every number of ranks."""

    def task() -> Verdict:
        from rankproof import proving
        from rankproof.progress import shown

        output = Output(form)
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
    out: Annotated[Path | None, typer.Option(help="Write each shortest schedule into this folder.")] = None,
    form: FormOption = Form.TEXT,
) -> Task:
    """Show that each known wrong variant is caught, by a shortest schedule that breaks a property."""
    if matrix and out:
        raise BadInput("--matrix writes no schedules; leave out --out, or --matrix")

    def task() -> Verdict:
        from rankproof import refuting
        from rankproof.matrix import report as table
        from rankproof.progress import shown

        output = Output(form)
        named = refuting.faults_named(faults or ())
        with shown(output) as progress:
            return table(output, progress, named) if matrix else refuting.report(output, progress, named, out)

    return task


@app.command()
def explain(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to explain.", show_default=False)],
    form: FormOption = Form.TEXT,
) -> Task:
    """Say what a property, fault, assumption or obligation is, why it holds, or what breaks it."""

    def task() -> Verdict:
        from rankproof import explaining

        return explaining.report(Output(form), name)

    return task


@app.command()
def fuzz(
    subject: Annotated[
        str | None, typer.Option(metavar="MODULE:FACTORY", help="What to hold against the model; else the reference.")
    ] = None,
    lag: Annotated[int, typer.Option(min=0, help="Steps between a count and its pop: 0 blocking, 1 pipelined.")] = 1,
    ranks: Annotated[int, typer.Option(min=2, help="Real processes.")] = 2,
    examples: Annotated[int, typer.Option(min=1, help="Random schedules to run.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same schedules.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write the schedule that differs into this folder.")] = None,
    form: FormOption = Form.TEXT,
) -> Task:
    """Drive an implementation on real processes, and hold each reply against the model."""

    def task() -> Verdict:
        from rankproof import fuzzing
        from rankproof.progress import shown

        output = Output(form)
        with shown(output) as progress:
            return fuzzing.report(
                output,
                progress,
                subject=subject,
                lag=lag,
                ranks=ranks,
                examples=examples,
                seed=seed,
                folder=out,
            )

    return task


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A schedule file.", show_default=False)],
    real: Annotated[
        bool, typer.Option("--real", help="Run it on real processes, and hold them against the model.")
    ] = False,
    subject: Annotated[
        str | None, typer.Option(metavar="MODULE:FACTORY", help="What --real runs; else the reference.")
    ] = None,
    form: Annotated[
        ReplayForm, typer.Option("--format", help="Steps and a picture, the picture alone, or one JSON document.")
    ] = ReplayForm.TEXT,
) -> Task:
    """Show a schedule step by step on the model, and which properties it breaks."""
    is_picture = form in (ReplayForm.MERMAID, ReplayForm.SVG)
    if real and is_picture:
        raise BadInput(f"--real writes text or json, not {form}")
    if subject and not real:
        raise BadInput("--subject is what runs on real processes; give --real as well")

    def on_the_model() -> Verdict:
        from rankproof import replaying
        from rankproof.diagram_mermaid import mermaid
        from rankproof.diagram_svg import svg

        language = {ReplayForm.MERMAID: mermaid, ReplayForm.SVG: svg}.get(form)
        return replaying.report(Output(Form.TEXT if is_picture else Form(form)), file, language)

    def on_processes() -> Verdict:
        from rankproof import rerunning
        from rankproof.progress import shown

        output = Output(Form(form))
        with shown(output) as progress:
            return rerunning.report(output, progress, file, subject)

    return on_processes if real else on_the_model


def run(arguments: Sequence[str]) -> int:
    """Does what the arguments say and gives the exit code of the verdict, or 0 for help.

    Raises BadInput, also for arguments that cannot be used, OutputClosed and KeyboardInterrupt.
    """
    command = typer.main.get_command(app)
    try:
        outcome: Task | int = command.main(args=list(arguments), prog_name="rankproof", standalone_mode=False)
    except UsageError as error:
        raise BadInput(_usage(error)) from error
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    if isinstance(outcome, int):
        return outcome
    return outcome().exit_code


def _usage(error: Exception) -> str:
    """Typer's words about an option or an argument, in one line, with where to read more."""
    words = " ".join(getattr(error, "format_message", error.__str__)().split()).replace("Value error, ", "")
    return f"{words[:1].lower()}{words[1:].rstrip('.')} (see rankproof --help)"
