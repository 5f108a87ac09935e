"""The page and its plots come from the results file, and the page in docs is the one that its file gives."""

from __future__ import annotations

import random
import re
import struct
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from rankproof.benchmarks import carrying, guardwords, overlap, plots
from rankproof.benchmarks.frame import Effort
from rankproof.benchmarks.fuzzing_cost import WAYS
from rankproof.benchmarks.items import ITEMS
from rankproof.benchmarks.page import page
from rankproof.benchmarks.plots import DRAWINGS
from rankproof.benchmarks.proving_cost import COMMANDS
from rankproof.benchmarks.results import Measured, Results, Sample, Value, load
from rankproof.benchmarks.sections import sections
from rankproof.benchmarks.simulation import LAGS, RANKS
from rankproof.benchmarks.tables import Table, short

DOCS = Path(__file__).parents[2] / "docs"


def in_turn(kinds: tuple[str, ...], draw: random.Random) -> Iterator[Sample]:
    """Turns of a scheduler loop."""
    parts = ("loop_s", "step_s", "core_s", "all_s")
    for turn, (place, kind) in product(range(5), enumerate(kinds)):
        yield {"turn": turn, "kind": kind, **{part: 0.01 + 0.001 * place + 1e-4 * draw.random() for part in parts}}


def samples_of(item: str, case: str, parameters: dict[str, object], draw: random.Random) -> Iterator[Sample]:
    """Samples such as a case of an item gives."""
    match item, case:
        case "overlap", _:
            yield from in_turn(overlap.KINDS, draw)
        case "carrier", _:
            yield from in_turn(carrying.KINDS, draw)
        case "guards", _:
            yield from in_turn(guardwords.KINDS, draw)
        case "growth", _ if parameters["over"] == "waiting":
            yield from ({"counting_s": 1e-5, "popping_s": 2e-5 + 1e-6 * draw.random()} for _ in range(5))
        case "growth", _:
            yield from in_turn(("blocking", "pipelined"), draw)
        case "simulation", _:
            yield from ({"measured_s": 0.0005 + 1e-4 * draw.random()} for _ in range(120))
            for network, ranks in product(("here", "there"), RANKS):
                lags: dict[str, Value] = {f"lag {lag}": 1 - 0.5 / (1 + lag) for lag in LAGS}
                yield {"network": network, "forward_ms": 10.7, "stragglers": True, "ranks": ranks} | lags
        case _, "proofs":
            for turn, obligation in product(range(2), ("one", "two")):
                yield {"turn": turn, "obligation": obligation, "z3_s": 0.01, "cvc5_s": draw.random()}
        case _, "the command":
            for turn, command in product(range(3), COMMANDS):
                yield {"turn": turn, "command": command, "took_s": 1 + draw.random()}
        case _, "explorer, reduced":
            world = {"ranks": 3, "lanes": 2, "acks": 3, "states": 7_000_000}
            yield {**world, "whole": True, "seconds_s": 29.0, "grown_bytes": 126_000_000}
        case _, "explorer":
            for acks, whole, states in ((1, True, 464), (4, False, 90_000)):
                world = {"ranks": 2, "lanes": 1, "acks": acks, "states": states}
                yield {**world, "whole": whole, "seconds_s": 1.5, "grown_bytes": 9_000_000}
        case _, "fuzzing":
            for way in WAYS:
                yield {"way": way, "examples": 10, "steps": 200, "took_s": 1 + draw.random()}
        case _, "faults":
            yield {"fault": "count-before-pop", "actions": 23, "states": 497, "explorer_s": 0.1, "solver_s": 0.5}
            yield {"fault": "no-deadline", "actions": 5, "states": 156, "explorer_s": 0.2}
        case _, "faults on processes":
            yield {"fault": "count-before-pop", "found": True, "examples": 3, "hunt_s": 0.25}
            yield {"fault": "no-deadline", "found": False}


@cache
def everything() -> Results:
    """A run in which each case of each item has samples."""
    draw = random.Random(1)
    measured = tuple(
        Measured(
            item.name,
            case.name,
            case.parameters,
            tuple(samples_of(item.name, case.name, dict(case.parameters), draw)),
            2.0,
            (0.5, 0.7),
        )
        for item in ITEMS.values()
        for case in item.cases(Effort())
    )
    return Results("2026-01-01T00:00:00+00:00", {"cores": 2}, {"torch": "2.13.0"}, {"quick": False}, measured, True)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The page of that run; drawing its plots takes some seconds, and other tests draw."""
    monkeypatch.setattr("rankproof.benchmarks.page.draw", lambda name, results, folder: True)
    return page(everything(), sections(everything()), tmp_path / "performance")


def test_every_item_has_a_section_and_says_whether_it_was_measured_or_simulated() -> None:
    found = {section.name: section.kind for section in sections(everything())}
    assert found == dict.fromkeys(("targets", *ITEMS), "measured") | {"simulation": "simulated"}


def test_a_world_that_was_seen_by_representatives_says_so(written: str) -> None:
    assert "| 3, 2, 3 (reduced) | 7,000,000 | 29.00 | 241,000 | 18 | yes |" in written
    assert "stand for all others" in written


def test_every_plot_is_shown_in_one_section(written: str) -> None:
    assert sorted(re.findall(r"\(performance/(\w+)\.svg\)", written)) == sorted(DRAWINGS)


@pytest.mark.parametrize("name", DRAWINGS)
def test_every_plot_is_drawn_where_there_are_results_for_it_and_only_there(name: str) -> None:
    figure = DRAWINGS[name](everything())
    assert figure is not None
    assert all(axes.get_xlabel() and axes.has_data() for axes in figure.axes)
    assert DRAWINGS[name](Results("now", {}, {}, {})) is None


def test_no_number_of_a_page_is_nan_and_no_table_is_ragged(written: str) -> None:
    assert not re.search(r"\bnan\b|\binf\b|Estimate|None", written)
    for section in sections(everything()):
        for table in section.tables:
            assert {len(row) for row in table.rows} == {len(table.columns)}, table.title


def test_a_plot_is_png_and_svg_and_the_same_for_the_same_results(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        assert plots.draw("guards", everything(), folder)
    width, height = struct.unpack("!II", (folders[0] / "guards.png").read_bytes()[16:24])
    assert min(width, height) > 100
    assert ET.parse(folders[0] / "guards.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    one, two = ((folder / "guards.svg").read_bytes() for folder in folders)
    assert one == two


def test_a_run_of_one_item_has_one_section_and_its_plots_alone(tmp_path: Path) -> None:
    results = Results("now", {}, {}, {}, everything().of("guards"), True)
    text = page(results, sections(results), tmp_path)
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Targets",
        "## What the guard words cost",
        "## The machine",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["guards.png", "guards.svg"]


def test_what_could_not_be_measured_is_named(tmp_path: Path) -> None:
    failed = Measured("overlap", "2 ranks", {}, (), 1.0, (0.0, 0.0), "rank 1 is gone")
    text = page(Results("now", {}, {}, {}, (failed,)), [], tmp_path)
    assert "- overlap, 2 ranks: rank 1 is gone" in text
    assert "not measured to its end" in " ".join(text.split())


def test_a_plot_of_another_run_is_taken_away(tmp_path: Path) -> None:
    (tmp_path / "growth.png").touch()
    (tmp_path / "growth.svg").touch()
    page(Results("now", {}, {}, {}), [], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_page_in_docs_is_the_one_that_its_results_file_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankproof.benchmarks.page.draw", lambda name, results, folder: True)
    results = load(DOCS / "performance" / "results.json")
    folder = tmp_path / "performance"
    assert page(results, sections(results), folder) == (DOCS / "performance.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", DRAWINGS)
def test_each_plot_of_the_page_in_docs_is_there(name: str) -> None:
    assert (DOCS / "performance" / f"{name}.png").exists()
    assert (DOCS / "performance" / f"{name}.svg").exists()


def test_a_table_is_markdown_and_plain_text() -> None:
    table = Table("title", ("what", "how many"), (("acks", "12"), ("ranks", "3")))
    assert table.markdown().splitlines() == ["| what | how many |", "| --- | ---: |", "| acks | 12 |", "| ranks | 3 |"]
    assert table.lines() == ["what   how many", "acks         12", "ranks         3"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.01234, "0.0123"), (9.876, "9.88"), (123.4, "123"), (999.6, "1,000"), (12_345, "12,300"), (0.0, "0")],
)
def test_numbers_are_shown_to_three_digits(value: float, text: str) -> None:
    assert short(value) == text
