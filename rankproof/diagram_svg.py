"""A space-time picture as SVG: a line for each rank, thick while a round is in flight, and a bar for each round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from rankproof.diagram import Agreement, Diagram, Fall, Row, Stop, Turn

LINE = 22
"""Pixels from one row to the next."""

CHARACTER = 7.25
"""Pixels that a character takes at most, in 12 px monospace."""

_STYLE = (
    "text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1f2328}"
    ".head{font-weight:bold}.quiet{fill:#656d76}.fall{fill:#b42318;font-weight:bold}"
    ".life{stroke:#d0d7de}.flight{stroke:#0969da;stroke-width:4}"
    ".round{stroke:#0969da;stroke-dasharray:5 3}.agreed{fill:#0969da}"
)


def svg(picture: Diagram) -> str:
    """The picture as one SVG document, on white, of the size that its words need."""
    left = 20 + CHARACTER * max((len(_label(row)) for row in picture.rows if isinstance(row, Turn)), default=0)
    longest = max((len(_words(row)) for row in picture.rows if isinstance(row, Turn)), default=0)
    column = max(40 + CHARACTER * longest, 160)
    lives = [left + column * rank for rank in range(picture.ranks)]
    top = 3 * LINE
    rows = [(top + LINE * place, row) for place, row in enumerate(picture.rows)]
    bottom = top + LINE * len(rows)
    remarks = [len(picture.legend), *(len(row.words) for row in picture.rows if isinstance(row, Fall | Stop))]
    width = max(left + column * picture.ranks, left + 30 + CHARACTER * max(remarks))
    body = [
        f'<text class="quiet" x="{left:.0f}" y="{LINE}">{escape(picture.legend)}</text>',
        *(f'<text class="head" x="{x + 12:.0f}" y="{2 * LINE}">rank {rank}</text>' for rank, x in enumerate(lives)),
        *(_stroke("life", x, top - LINE, x, bottom - LINE / 2) for x in lives),
        *_flights(rows, lives, bottom - LINE / 2),
        *(part for y, row in rows for part in _row(row, y, lives)),
    ]
    size = f'width="{width:.0f}" height="{bottom:.0f}" viewBox="0 0 {width:.0f} {bottom:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{_STYLE}</style>'
    return "\n".join([head, '<rect width="100%" height="100%" fill="#fff"/>', *body, "</svg>"]) + "\n"


def _row(row: Row, y: float, lives: Sequence[float]) -> Iterator[str]:
    match row:
        case Turn(rank=rank):
            yield f'<text class="quiet" x="8" y="{y + 4:.0f}">{_label(row)}</text>'
            yield f'<circle cx="{lives[rank]:.0f}" cy="{y:.0f}" r="4" fill="#1f2328"/>'
            yield f'<text x="{lives[rank] + 12:.0f}" y="{y + 4:.0f}">{escape(_words(row))}</text>'
        case Agreement(ranks=ranks, words=words):
            left, right = lives[ranks[0]], lives[ranks[-1]]
            yield _stroke("round", left, y, right, y)
            yield f'<text class="agreed" x="{left + 12:.0f}" y="{y - 4:.0f}">{escape(words)}</text>'
        case Fall(words=words) | Stop(words=words):
            wide = 4 + CHARACTER * len(words)
            yield f'<rect x="{lives[0] + 8:.0f}" y="{y - 10:.0f}" width="{wide:.0f}" height="19" fill="#fff"/>'
            yield f'<text class="fall" x="{lives[0] + 12:.0f}" y="{y + 4:.0f}">{escape(words)}</text>'


def _flights(rows: Sequence[tuple[float, Row]], lives: Sequence[float], bottom: float) -> Iterator[str]:
    """For each rank the stretches of its life line in which some round is in flight."""
    for rank, x in enumerate(lives):
        since: float | None = None
        for y, row in rows:
            if not (isinstance(row, Turn) and row.rank == rank):
                continue
            for deed in row.deeds:
                if since is None and deed.in_flight:
                    since = y
                elif since is not None and not deed.in_flight:
                    yield _stroke("flight", x, since, x, y)
                    since = None
        if since is not None:
            yield _stroke("flight", x, since, x, bottom)


def _stroke(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}"/>'


def _label(turn: Turn) -> str:
    return str(turn.first) if turn.first == turn.last else f"{turn.first}-{turn.last}"


def _words(turn: Turn) -> str:
    return ", ".join(deed.words for deed in turn.deeds if not deed.idle) or ", ".join(deed.words for deed in turn.deeds)
