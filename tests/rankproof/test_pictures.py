"""The picture in Mermaid and in SVG: well formed, and with the same content as the text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from rankproof.diagram import Diagram, Fall, Stop, diagram
from rankproof.diagram_mermaid import mermaid
from rankproof.diagram_svg import svg
from rankproof.model.schedule import Schedule, run

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def picture(own_count: Schedule) -> Diagram:
    return diagram(own_count, run(own_count))


def texts(drawing: str) -> list[str]:
    return ["".join(element.itertext()) for element in ET.fromstring(drawing).iter(f"{SVG}text")]


def test_mermaid_sends_an_arrow_for_each_issue_and_one_back_for_each_wait(picture: Diagram) -> None:
    assert mermaid(picture).splitlines() == [
        "sequenceDiagram",
        "    participant R0 as rank 0",
        "    participant agree as all ranks",
        "    participant R1 as rank 1",
        "    Note over R0,R1: lane a = write#59; a0 = ack 0 of lane a#59; r1 = round 1",
        "    Note over R0: enqueue a0, finish a0, count 1",
        "    R0-)agree: issue r1",
        "    Note over R1: count 0",
        "    R1-)agree: issue r1",
        "    Note over agree: r1: min(1, 0) = 0",
        "    agree-->>R0: wait r1: 0",
        "    Note over R0: pop a0",
        "    Note over R0,R1: ✗ finished-before-pop: rank 0 pops ack 0 of lane 0, which is not finished on rank 1"
        " (also exact-delay)",
    ]


def test_mermaid_gets_no_sign_that_would_end_a_line_early(picture: Diagram) -> None:
    odd = replace(picture, rows=(Stop("a; b # c"),))
    assert mermaid(odd).splitlines()[-1] == "    Note over R0,R1: stops: a#59; b #35; c"


def test_svg_says_what_the_text_says(picture: Diagram) -> None:
    assert texts(svg(picture)) == [
        "lane a = write; a0 = ack 0 of lane a; r1 = round 1",
        "rank 0",
        "rank 1",
        "1-6",
        "enqueue a0, finish a0, count 1, issue r1",
        "7-10",
        "count 0, issue r1",
        "r1: min(1, 0) = 0",
        "11-12",
        "wait r1: 0, pop a0",
        "✗ finished-before-pop: rank 0 pops ack 0 of lane 0, which is not finished on rank 1 (also exact-delay)",
    ]


def test_svg_draws_a_flight_from_each_issue_to_its_wait_or_to_the_end(picture: Diagram) -> None:
    drawing = ET.fromstring(svg(picture))
    flights = [line for line in drawing.iter(f"{SVG}line") if line.get("class") == "flight"]
    spans = [(line.get("x1"), float(line.get("y1", 0)), float(line.get("y2", 0))) for line in flights]
    first, second = spans
    assert first[0] != second[0]
    assert first[1] < second[1] < first[2] < second[2]


def test_svg_keeps_every_word_within_its_frame(picture: Diagram) -> None:
    long = replace(picture, rows=(*picture.rows, Fall("same-pops", "words " * 60)))
    drawing = ET.fromstring(svg(long))
    right = max(float(e.get("x", 0)) + 7.25 * len("".join(e.itertext())) for e in drawing.iter(f"{SVG}text"))
    assert right <= float(drawing.get("width", 0))


def test_svg_takes_any_words(picture: Diagram) -> None:
    odd = replace(picture, legend='<lane> & "more"', rows=(Stop("a < b && c"),))
    assert texts(svg(odd))[0] == '<lane> & "more"'


@pytest.mark.parametrize("draw", [mermaid, svg])
def test_three_ranks_are_all_there(three_ranks: Schedule, draw: object) -> None:
    assert callable(draw)
    assert set(re.findall(r"rank \d", draw(diagram(three_ranks, run(three_ranks))))) == {"rank 0", "rank 1", "rank 2"}
