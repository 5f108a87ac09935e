"""The page about performance: Markdown and plots, made from one results file and nothing else."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from rankproof.benchmarks.plots import DRAWINGS, draw, remove
from rankproof.benchmarks.results import Results
from rankproof.benchmarks.sections import Section

WIDTH = 118


def page(results: Results, sections: Sequence[Section], folder: Path) -> str:
    """The page as Markdown; writes its plots into `folder`, beside it, and removes those of other runs."""
    lines = [*_head(results, sections)]
    drawn = set()
    for section in sections:
        lines += ["", f"## {section.title}", "", f"*{section.kind.capitalize()}.*"]
        for paragraph in section.says:
            lines += ["", _wrapped(paragraph)]
        for table in section.tables:
            lines += ["", f"**{table.title}**", "", table.markdown()]
            for note in table.notes:
                lines += ["", _wrapped(note)]
        for name in section.plots:
            if draw(name, results, folder):
                drawn.add(name)
                lines += ["", f"![{section.title}: {name}]({folder.name}/{name}.svg)"]
    for name in DRAWINGS.keys() - drawn:
        remove(name, folder)
    return "\n".join([*lines, *_tail(results)]) + "\n"


def _head(results: Results, sections: Sequence[Section]) -> Iterator[str]:
    quick = " It was a quick run: a first picture, with few repetitions." if results.settings.get("quick") else ""
    partly = "" if results.whole else " It was not measured to its end."
    yield "# Performance"
    yield ""
    yield _wrapped(
        "Written by `rankproof bench` from one results file, [results.json](performance/results.json), which holds "
        "every sample. Nothing here is a promise about another machine: times are this machine's, and what carries "
        f"over are the ratios within one interleaved run.{quick}{partly}"
    )
    yield ""
    yield "```console"
    yield "$ pip install '.[bench]'                       # in a checkout"
    yield "$ rankproof bench --out docs                   # measure everything again, and write this page"
    yield "$ rankproof bench --quick                      # a first picture in two minutes"
    yield "$ rankproof bench --render docs/performance/results.json --out docs   # this page from the file"
    yield "```"
    yield ""
    yield _wrapped(
        "Figures are medians; in brackets is the interval of 95% of a bootstrap over whole turns of an interleaved "
        "run. An interval that includes zero says that no difference was measured."
    )
    yield ""
    yield "| section | |"
    yield "| --- | --- |"
    for section in sections:
        yield f"| {section.title} | {section.kind} |"


def _tail(results: Results) -> Iterator[str]:
    yield ""
    yield "## The machine"
    yield ""
    yield "| | |"
    yield "| --- | --- |"
    yield f"| begun | {results.begun} |"
    for name, value in results.machine.items():
        yield f"| {name.replace('_', ' ')} | {value} |"
    for name, version in results.versions.items():
        yield f"| {name} | {version} |"
    for name, setting in results.settings.items():
        yield f"| {name} | {setting if setting != '' else 'as each item has it'} |"
    loads = [load for each in results.measured for load in each.load]
    if loads:
        yield f"| load average, lowest to highest | {min(loads):.2f} to {max(loads):.2f} |"
        yield f"| measuring took | {sum(each.seconds for each in results.measured) / 60:.1f} min |"
    failures = [each for each in results.measured if each.failure]
    if failures:
        yield ""
        yield "What could not be measured:"
        yield ""
        for each in failures:
            yield f"- {each.item}, {each.case}: {each.failure}"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)
