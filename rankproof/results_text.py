"""What was seen in one check as lines of text: what came of it, what differed, how to see it again, a picture."""

from __future__ import annotations

from rankproof.diagram_text import text_lines
from rankproof.results import Result

_UNFIT = dict.fromkeys(
    [*(set(range(0x20)) - {0x9, 0xA}), *range(0x7F, 0xA0), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF],
    "\N{REPLACEMENT CHARACTER}",
)


def fit(text: str) -> str:
    """The text without characters that a page would act on, or that XML 1.0 cannot hold; a subject may say anything."""
    return text.translate(_UNFIT)


def lines(result: Result) -> list[str]:
    """What came of it, then each part that there is, with an empty line before it."""
    parts = [[result.says], list(result.details), _references(result), drawn(result)]
    return [line for part in parts if part for line in ("", *part)][1:]


def drawn(result: Result) -> list[str]:
    """The picture with its legend above it, or nothing."""
    if result.picture is None:
        return []
    return [result.picture.legend, *(line.text for line in text_lines(result.picture))]


def _references(result: Result) -> list[str]:
    named = {"violates": result.breaks, "again": result.again, "schedule": str(result.file or "")}
    return [f"{name}: {words}" for name, words in named.items() if words]
