"""Results in GitHub Actions: workflow commands that become annotations, and a job summary in Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rankproof.diagram_mermaid import mermaid
from rankproof.model.verdict import Verdict
from rankproof.results import Result, verdict_of
from rankproof.results_text import drawn, fit

MOST_BYTES = 1_000_000
"""A job summary may have a mebibyte for each step; one that is larger is not shown at all."""

MOST_SHOWN = 20
"""Findings that a summary shows in full; the table above them has all."""

_LEVELS = {Verdict.VIOLATED: "error", Verdict.UNDETERMINED: "warning"}
_SIGNS = {Verdict.HOLDS: "✅", Verdict.VIOLATED: "❌", Verdict.UNDETERMINED: "❓"}


def workflow_commands(results: Sequence[Result]) -> str:
    """One workflow command a line: an error for what is violated, a warning where there is no answer, else a notice."""
    shown = [result for result in results if result.verdict is not Verdict.HOLDS]
    lines = [_command(_LEVELS[result.verdict], result) for result in shown]
    if not shown:
        count = f"{len(results)} checks hold" if len(results) != 1 else f"{results[0].name}: {results[0].says}"
        lines = [f"::notice title={_property('rankproof holds')}::{_message(count)}"]
    return "".join(f"{line}\n" for line in lines)


def _command(level: str, result: Result) -> str:
    where = {"file": result.place.path, "line": str(result.place.line)} if result.place else {}
    properties = {"title": f"rankproof {result.title}", **where}
    words = [result.says, *result.details, f"again: {result.again}" if result.again else ""]
    named = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {named}::{_message(chr(10).join(filter(None, words)))}"


def _message(text: str) -> str:
    """Text in which nothing ends the command or is a code of its own."""
    return fit(text).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def summary(verb: str, results: Sequence[Result]) -> str:
    """The job summary: a table of all checks, and each that does not hold with its picture."""
    verdict = verdict_of(results)
    head = [f"## {_SIGNS[verdict]} rankproof {verb}: {verdict}", "", "| verdict | check | |", "|---|---|---|"]
    table = [f"| {_SIGNS[each.verdict]} {each.verdict} | {_cell(each.name)} | {_cell(each.says)} |" for each in results]
    text = "\n".join([*head, *table]) + "\n"
    shown = [result for result in results if result.verdict is not Verdict.HOLDS]
    for place, result in enumerate(shown):
        part = finding(result)
        if place == MOST_SHOWN or len((text + part).encode()) > MOST_BYTES:
            return text + f"\n{len(shown) - place} more are not shown.\n"
        text += part
    return text


def finding(result: Result) -> str:
    """A check that does not hold, as Markdown for a summary, an issue or a pull request."""
    parts = [f"### {_cell(result.title)}", _cell(result.says)]
    if result.details:
        parts.append(_fenced("text", "\n".join(result.details)))
    if result.again:
        parts += ["Again:", _fenced("sh", result.again)]
    if result.picture:
        parts += [_fenced("mermaid", mermaid(result.picture).rstrip()), "<details><summary>As text</summary>"]
        parts += [_fenced("text", "\n".join(drawn(result))), "</details>"]
    if result.program:
        parts += ["<details><summary>As a program</summary>", _fenced("python", result.program), "</details>"]
    return "\n" + "\n\n".join(parts) + "\n"


def _fenced(language: str, text: str) -> str:
    """A block that the text cannot end: its fence is longer than any run of backticks in it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{fit(text)}\n{fence}"


def _cell(text: str) -> str:
    """Text for one line of Markdown, in which nothing is a sign of its own."""
    return re.sub(r"([\\`*_{}\[\]<>|#~])", r"\\\1", " ".join(fit(text).split()))
