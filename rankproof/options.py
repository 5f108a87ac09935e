"""Options that several verbs have, and the forms of their reports."""

from __future__ import annotations

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


SourceOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", parser=folder, help="The unpacked source of the engine that the subject drives."),
]
OutOption = Annotated[
    Path | None, typer.Option(metavar="DIR", parser=folder, help="Write each schedule into this folder.")
]
CheckOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", parser=folder, help="Run nothing: judge what ranks under torchrun recorded there."),
]
ExportOption = Annotated[
    Path | None, typer.Option(metavar="DIR", parser=folder, help="Write each obligation into it, as SMT-LIB.")
]
