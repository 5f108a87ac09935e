"""Numbers as people read them: a table with its title, and each cell with its unit and interval."""

from __future__ import annotations

from dataclasses import dataclass

from rankproof.benchmarks.estimates import Estimate


@dataclass(frozen=True, slots=True)
class Table:
    """Some rows of words and numbers.

    title   what the table shows
    notes   sentences to be read with it
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def markdown(self) -> str:
        """The table as Markdown, without title and notes; what is not in the first column is set to the right."""
        lines = [self.columns, ("---", *("---:" for _ in self.columns[1:])), *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def lines(self) -> list[str]:
        """The table in columns of plain text."""
        widths = [max(map(len, column)) for column in zip(self.columns, *self.rows, strict=True)]
        return [
            "  ".join(
                cell.ljust(width) if place == 0 else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in (self.columns, *self.rows)
        ]


def percent(value: Estimate, digits: int = 1) -> str:
    """A fraction in percent, with its interval."""
    part = value.scaled(100)
    return f"{part.value:.{digits}f}% ({part.low:.{digits}f} to {part.high:.{digits}f})"


def seconds(value: Estimate) -> str:
    """Seconds, with their interval."""
    return f"{value.value:.2f} ({value.low:.2f} to {value.high:.2f})"


def milliseconds(value: Estimate) -> str:
    """Seconds in milliseconds, with their interval."""
    part = value.scaled(1e3)
    return f"{part.value:.2f} ({part.low:.2f} to {part.high:.2f})"


def microseconds(value: Estimate) -> str:
    """Seconds in microseconds, with their interval."""
    part = value.scaled(1e6)
    return f"{part.value:.0f} ({part.low:.0f} to {part.high:.0f})"


def rate(value: Estimate) -> str:
    """So many a second, with their interval, to three digits."""
    return f"{short(value.value)} ({short(value.low)} to {short(value.high)})"


def short(value: float) -> str:
    """A number to three digits, without an exponent."""
    return f"{round(value, 3 - len(str(int(value)))):,.0f}" if value >= 100 else f"{value:.3g}"
