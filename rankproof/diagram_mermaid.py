"""A space-time picture as a Mermaid sequence diagram, for an issue, a pull request or a page that renders one."""

from __future__ import annotations

from collections.abc import Iterator

from rankproof.diagram import Agreement, Diagram, Fall, Stop, Turn

_MEETING = "agree"
_ESCAPES = str.maketrans({"#": "#35;", ";": "#59;"})


def mermaid(picture: Diagram) -> str:
    """The picture as Mermaid text; the rounds are a participant of their own, in the middle of the ranks."""
    ranks = [f"participant R{rank} as rank {rank}" for rank in range(picture.ranks)]
    middle = (picture.ranks + 1) // 2
    participants = [*ranks[:middle], f"participant {_MEETING} as all ranks", *ranks[middle:]]
    return "\n".join(["sequenceDiagram", *(f"    {line}" for line in (*participants, *_messages(picture)))]) + "\n"


def _messages(picture: Diagram) -> Iterator[str]:
    everyone = "R0" if picture.ranks == 1 else f"R0,R{picture.ranks - 1}"
    yield f"Note over {everyone}: {_text(picture.legend)}"
    for row in picture.rows:
        match row:
            case Turn():
                yield from _turn(row)
            case Agreement(words=words):
                yield f"Note over {_MEETING}: {_text(words)}"
            case Fall(words=words) | Stop(words=words):
                yield f"Note over {everyone}: {_text(words)}"


def _turn(turn: Turn) -> Iterator[str]:
    """Notes for what a rank does by itself, an arrow to the rounds for an issue and one back for what it takes."""
    shown = [deed for deed in turn.deeds if not deed.idle] or list(turn.deeds)
    alone: list[str] = []
    for deed in shown:
        if alone and (deed.issued or deed.consumed):
            yield f"Note over R{turn.rank}: {_text(', '.join(alone))}"
            alone = []
        if deed.consumed:
            yield f"{_MEETING}-->>R{turn.rank}: {_text(deed.words)}"
        elif deed.issued:
            yield f"R{turn.rank}-){_MEETING}: {_text(deed.words)}"
        else:
            alone.append(deed.words)
    if alone:
        yield f"Note over R{turn.rank}: {_text(', '.join(alone))}"


def _text(words: str) -> str:
    """Words in which nothing is a sign of Mermaid's: a semicolon ends a statement there, a hash begins a character."""
    return words.translate(_ESCAPES)
