"""Where a report goes: lines for a person as they come, or one JSON document at the end, never both."""

from __future__ import annotations

import json
import os
import textwrap
from enum import StrEnum
from typing import IO, Any, NoReturn

from rich.console import Console
from rich.text import Text

import rankproof
from rankproof.model.verdict import Verdict

FORMAT = "rankproof report"
VERSION = 1

TO_ASCII = str.maketrans({"│": "|", "┌": "+", "└": "+", "├": "+", "╞": "+", "╡": "+", "═": "=", "✗": "x"})
"""The signs of a report for a stream that cannot hold them."""

STICKY = "\N{NO-BREAK SPACE}"
"""A space at which a paragraph is not broken; it is written as a plain one."""

WIDEST = 100
"""Columns beyond which lines become hard to read, however wide the terminal is."""

STYLES = {
    "holds": "green",
    "violated": "bold red",
    "undetermined": "yellow",
    "title": "bold",
    "quiet": "dim",
    "head": "bold",
    "turn": "",
    "agreement": "cyan",
    "fall": "bold red",
    "stop": "bold red",
}
"""How each kind of text looks on a terminal; without colours all of it is plain."""


class Form(StrEnum):
    """What a report looks like: lines for a person, one document, or what a CI system reads."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
    SARIF = "sarif"
    GITHUB = "github"


class OutputClosed(Exception):
    """Whoever read the report has stopped reading."""


NO_TERMINAL = 80
"""Columns where there is no terminal to say how many it has."""

CONTROLS = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000)], "\N{REPLACEMENT CHARACTER}")
"""Characters from a file or a subject that would act on a terminal, or that no stream can take."""


class _Terminal(Console):
    def on_broken_pipe(self) -> NoReturn:
        """Rich would end the process here, with the code that stands for "violated"."""
        raise OutputClosed


class Output:
    """A report on its way to a stream, standard output unless another is given.

    The verb says its lines and gives its document; which of the two is written depends on the form. Colours are for
    terminals, and NO_COLOR turns them off; a stream that cannot hold the picture's lines gets them in ASCII.
    """

    def __init__(self, form: Form = Form.TEXT, stream: IO[str] | None = None) -> None:
        self.form = form
        self.console = _Terminal(
            file=stream,
            width=None if os.environ.get("COLUMNS") != "0" else NO_TERMINAL,
            color_system=None if os.environ.get("NO_COLOR") else "auto",
            highlight=False,
            markup=False,
            emoji=False,
        )
        self._is_plain = not self.console.is_terminal

    @property
    def width(self) -> int:
        """Columns that a line may fill: the terminal's, within reason, and 80 where there is none."""
        return min(self.console.width, WIDEST) if self.console.is_terminal else NO_TERMINAL

    def say(self, *parts: str | tuple[str, str]) -> None:
        """One line of a text report; a part may come with the name of its style."""
        if self.form is Form.TEXT and self._is_plain:  # what is below comes to this there, in 20 times as long
            self._write("".join(self._fit(words.translate(CONTROLS)) for words in map(_words, parts)) + "\n")
        elif self.form is Form.TEXT:
            text = Text()
            for part in parts:
                words, style = (part, "") if isinstance(part, str) else part
                text.append(self._fit(words.translate(CONTROLS)), STYLES.get(style, style))
            self.console.print(text, soft_wrap=True)

    def paragraph(self, text: str, indent: int = 0, hang: int = 0, style: str = "") -> None:
        """Some sentences of a text report, wrapped; lines after the first are indented by `hang` more."""
        wrapped = textwrap.wrap(
            text,
            self.width,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + hang),
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in wrapped:
            self.say((line.replace(STICKY, " "), style))

    def verbatim(self, text: str) -> None:
        """Text in another language, such as SVG, as it is."""
        self._write(self._fit(text))

    def document(self, verb: str, verdict: Verdict, content: dict[str, Any]) -> None:
        """The JSON report: `format`, `version`, `rankproof` (which one), `verb`, `verdict`, and the verb's content."""
        if self.form is Form.JSON:
            frame = {
                "format": FORMAT,
                "version": VERSION,
                "rankproof": rankproof.__version__,
                "verb": verb,
                "verdict": verdict,
            }
            self._write(json.dumps(frame | content, indent=2) + "\n")

    def _write(self, text: str) -> None:
        try:
            self.console.file.write(text)
            self.console.file.flush()
        except BrokenPipeError as error:
            raise OutputClosed from error

    def _fit(self, text: str) -> str:
        if self.console.encoding.startswith("utf"):
            return text
        return text.translate(TO_ASCII).encode("ascii", "replace").decode("ascii")


def _words(part: str | tuple[str, str]) -> str:
    """A part of a line without its style."""
    return part if isinstance(part, str) else part[0]


def counted(count: int, word: str) -> str:
    """A number of things: "1 ack", "2 acks", "2 flushes"."""
    plural = word if count == 1 else word + ("es" if word.endswith("sh") else "s")
    return f"{count:,} {plural}"
