"""A space-time picture in text: ranks as columns, time downwards, each round a line that joins the ranks."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rankproof.diagram import Agreement, Deed, Diagram, Fall, Stop, Turn
from rankproof.output import Output

NARROWEST = 14
"""The least characters of a column's words; pictures of many ranks become wider than asked rather than unreadable."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the picture, and what it is: "head", "turn", "agreement", "fall" or "stop"."""

    text: str
    kind: str


def text_lines(picture: Diagram, width: int = 80) -> list[Line]:
    """The picture in lines of at most `width` characters, or more where the ranks are too many for that.

    A bracket stands beside a rank's words from the issue of a round to its wait; the double line is the moment at which
    the last rank has issued it. Actions that show nothing (a wait with nothing due, a pop of nothing) are left out of
    a row that shows something.
    """
    label = max((len(_label(row)) for row in picture.rows if isinstance(row, Turn)), default=0) + 1
    column = max((width - label) // picture.ranks, NARROWEST + 3)
    draw = _Drawing(picture.ranks, label, column, max(width, label + column * picture.ranks))
    lines = [Line(draw.row("", [f"  rank {rank}" for rank in range(picture.ranks)]), "head")]
    for row in picture.rows:
        match row:
            case Turn():
                lines += [Line(text, "turn") for text in draw.turn(row)]
            case Agreement(ranks=ranks, words=words):
                lines.append(Line(draw.agreement(ranks, words), "agreement"))
            case Fall(words=words):
                lines += [Line(text, "fall") for text in draw.remark(words)]
            case Stop(words=words):
                lines += [Line(text, "stop") for text in draw.remark(words)]
    return lines


def draw(output: Output, picture: Diagram, indent: int = 0) -> None:
    """The picture as part of a text report."""
    for line in text_lines(picture, output.width - indent):
        output.say(" " * indent, (line.text, line.kind))


@dataclass(frozen=True, slots=True)
class _Drawing:
    ranks: int
    label: int
    column: int
    width: int

    def row(self, label: str, cells: Sequence[str]) -> str:
        """A line with a cell, rail and words, for each rank."""
        body = "".join(cell.ljust(self.column) for cell in cells)
        return f"{label.rjust(self.label - 1)} {body}".rstrip()

    def turn(self, turn: Turn) -> Iterator[str]:
        shown = [deed for deed in turn.deeds if not deed.idle] or list(turn.deeds)
        flying = list(turn.flying)
        label = _label(turn)
        for deeds in self._wrapped(shown):
            was, flying[turn.rank] = flying[turn.rank], deeds[-1].in_flight
            touched = any(deed.issued or deed.consumed for deed in deeds)
            cells = ["│ " if each else "  " for each in flying]
            words = ", ".join(deed.words for deed in deeds) + ("" if deeds[-1] is shown[-1] else ",")
            cells[turn.rank] = f"{_rail(was, flying[turn.rank], touched)} {words}"
            yield self.row(label, cells)
            label = ""

    def _wrapped(self, deeds: Sequence[Deed]) -> Iterator[list[Deed]]:
        line: list[Deed] = []
        for deed in deeds:
            length = sum(len(each.words) + 2 for each in line) + len(deed.words) + 1
            if line and length > self.column - 3:
                yield line
                line = []
            line.append(deed)
        yield line

    def agreement(self, ranks: range, words: str) -> str:
        """A line from the first to the last of the ranks that agree; words that reach further have no end to it."""
        span = self.column * (len(ranks) - 1)
        inside = f"═ {words}" if len(words) + 3 > span else f"═ {words} ".ljust(span - 1, "═") + "╡"
        return " " * (self.label + self.column * ranks[0]) + "╞" + inside

    def remark(self, text: str) -> list[str]:
        indent = " " * self.label
        return textwrap.wrap(
            text, self.width, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False
        )


def _rail(before: int, after: int, touched: bool) -> str:
    """The sign beside a rank's words, from the rounds it has in flight before and after them."""
    if not touched:
        return "│" if after else " "
    if before and after:
        return "├"
    return "└" if before else "┌" if after else " "


def _label(turn: Turn) -> str:
    return str(turn.first) if turn.first == turn.last else f"{turn.first}-{turn.last}"
