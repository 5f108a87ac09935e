"""Options that several verbs have, and the forms of their reports."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rankproof.output import Form


class ReplayForm(StrEnum):
    """How a schedule is shown."""

    TEXT = "text"
    MERMAID = "mermaid"
    SVG = "svg"
    JSON = "json"


class PlainForm(StrEnum):
    """How a verb reports whose results no CI system has a form for."""

    TEXT = "text"
    JSON = "json"


FormOption = Annotated[PlainForm, typer.Option("--format", help="Lines for a person, or one JSON document.")]
CiFormOption = Annotated[
    Form, typer.Option("--format", help="Lines for a person, one JSON document, or what a CI system reads.")
]


def folder(given: str) -> Path:
    """A path from an option; an empty one, as an unset variable of a script leaves it, is not the folder one is in."""
    if not given:
        raise typer.BadParameter("it is empty; give the name of a folder")
    return Path(given)


def given(options: Mapping[str, object]) -> str:
    """Those options that were given, joined by "and"; empty where none was. One that was given as 0 was given."""
    return " and ".join(name for name, value in options.items() if value is not None and value is not False)


SourceOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", parser=folder, help="The unpacked source of the engine that the subject drives."),
]
OutOption = Annotated[
    Path | None, typer.Option(metavar="DIR", parser=folder, help="Write each schedule into this folder.")
]
LAG, SEED, SEARCHES, REPEAT = 1, 0, 5, 1
"""What lag, seed, searches for each fault and repetitions are where no option says so.

The options themselves are then None, so that a verb can refuse one that would change nothing.
"""

LagOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        show_default=str(LAG),
        help="Steps between a count and its pop: 0 blocking, 1 pipelined. What a subject declares itself wins.",
    ),
]
RanksOption = Annotated[
    int | None, typer.Option(min=2, help="So many ranks: first all in one process, then a process each.")
]
ExamplesOption = Annotated[
    int | None, typer.Option(min=1, help="Stop after so many random schedules in each place: memory, processes.")
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        min=0.1,
        show_default="3",
        help="Seconds that a wait of the subject may last on real processes; more for a host that is slow.",
    ),
]
ShrinkOption = Annotated[
    float | None,
    typer.Option(min=0.0, show_default="20", help="Seconds for which a failure is made smaller, in each place."),
]
CommandsOption = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Give only these commands, as the line 'again' of a report has them."),
]
FuzzSeedOption = Annotated[
    int | None, typer.Option(min=0, show_default=str(SEED), help="The same seed gives the same schedules.")
]
BenchSeedOption = Annotated[
    int | None,
    typer.Option(min=0, show_default=str(SEED), help="Of the work, of random schedules, of simulated times."),
]
SearchesOption = Annotated[
    int | None,
    typer.Option(metavar="K", min=1, show_default=str(SEARCHES), help="With --real: searches for each fault."),
]
RepeatOption = Annotated[
    int | None,
    typer.Option(metavar="K", min=1, show_default=str(REPEAT), help="Measure each case K times as long."),
]
CheckOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", parser=folder, help="Run nothing: judge what ranks under torchrun recorded there."),
]
ExportOption = Annotated[
    Path | None, typer.Option(metavar="DIR", parser=folder, help="Write each obligation into it, as SMT-LIB.")
]
