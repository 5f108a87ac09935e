"""`rankproof bench`: measures, keeps every sample in one file, and writes a page with plots from that file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from rankproof import files
from rankproof.benchmarks import machine
from rankproof.benchmarks.frame import Effort, run
from rankproof.benchmarks.results import Results, dump, load
from rankproof.model.errors import BadInput
from rankproof.model.verdict import Verdict
from rankproof.output import Output, counted
from rankproof.progress import Progress

EXTRA = ("numpy", "matplotlib")
"""What the extra `bench` installs."""

PAGE = "performance.md"
BESIDE = "performance"
RESULTS = "results.json"
"""The page; the folder beside it, which holds the plots; and the results file in that."""


def report(
    output: Output,
    progress: Progress,
    *,
    items: Sequence[str],
    quick: bool,
    repeat: int,
    ranks: Sequence[int],
    seed: int,
    folder: Path,
) -> Verdict:
    """Measures the items named, or all, and writes results, page and plots into the folder.

    The results file is written anew after each case, and also where the run is interrupted. The verdict is
    `undetermined` where something could not be measured; no figure is judged. The JSON document is the results file,
    with `file`, `page`, `failures` and `tables`. Raises BadInput for what cannot be measured or written.
    """
    check_extra()
    machine.check_ranks(ranks)
    progress("bench", "loading what is to be measured")  # which takes a minute where the machine is busy
    from rankproof.benchmarks.items import items_named  # it needs the extra

    chosen = items_named(items, quick)
    path = files.folder_for_writing(folder / BESIDE) / RESULTS
    begun = Results(
        begun=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=machine.describe(),
        versions=machine.versions(),
        settings={"quick": quick, "repeat": repeat, "ranks": " ".join(map(str, ranks)), "seed": seed},
    )
    output.say((_where(begun), "title"))
    files.write(path, dump(begun))
    try:
        results = run(
            chosen, Effort(quick, repeat, tuple(ranks), seed), begun, lambda now: files.write(path, dump(now)), progress
        )
    except KeyboardInterrupt:
        output.say(f"interrupted; what was measured is in {path}, and `rankproof bench --render {path}` shows it")
        raise
    return _show(output, results, folder)


def render(output: Output, file: Path, folder: Path) -> Verdict:
    """The page and the plots of a results file, written into the folder; the report is that of `report`."""
    check_extra()
    results = load(file)
    from rankproof.benchmarks.sections import sections  # it needs the extra

    try:
        sections(results)
        where = _where(results)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        says = f"{type(error).__name__}: {error}"
        raise BadInput(
            f"{file}: samples that bench does not write, so that no table can be made of them ({says})"
        ) from error
    files.folder_for_writing(folder / BESIDE)
    output.say((where, "title"))
    return _show(output, results, folder)


def check_extra() -> None:
    """Raises BadInput where the extra `bench` is not installed."""
    missing = [name for name in EXTRA if find_spec(name) is None]
    if missing:
        raise BadInput(f"bench needs {' and '.join(missing)}; install them with: pip install '.[bench]' in a checkout")


def _show(output: Output, results: Results, folder: Path) -> Verdict:
    from rankproof.benchmarks.page import page
    from rankproof.benchmarks.sections import sections

    found = sections(results)
    for section in found:
        for table in section.tables:
            output.say()
            output.say((table.title, "title"))
            for line in table.lines():
                output.say(f"  {line}")
            for note in table.notes:
                output.paragraph(note, indent=2)
    where = folder / PAGE
    kept = folder / BESIDE / RESULTS
    files.write(kept, dump(results))
    files.write(where, page(results, found, folder / BESIDE))
    failures = [f"{each.item}, {each.case}: {each.failure}" for each in results.measured if each.failure]
    verdict = Verdict.HOLDS if results.whole and results.measured and not failures else Verdict.UNDETERMINED
    output.say()
    for failure in failures:
        output.say((f"  {failure}", "undetermined"))
    cases = counted(len(results.measured), "case")
    missing = "" if verdict is Verdict.HOLDS else "; not all that was asked for was measured"
    output.say(f"measured: {cases} in {kept}; page and plots in {where}{missing}")
    tables = [
        {"section": section.name, "title": table.title, "columns": table.columns, "rows": table.rows}
        for section in found
        for table in section.tables
    ]
    document = json.loads(dump(results))
    del document["format"], document["version"]
    output.document(
        "bench",
        verdict,
        document | {"file": str(kept), "page": str(where), "failures": failures, "tables": tables},
    )
    return verdict


def _where(results: Results) -> str:
    """The machine in one line."""
    return (
        f"{results.begun}: {results.machine['cores']} cores of {results.machine['processor']}, "
        f"{results.machine['memory_gib']} GiB, {results.machine['python']}, torch {results.versions.get('torch', '-')}"
    )
