"""The arrows between the rooms run down only, and each contract that says so can be broken."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
PYPROJECT = ROOT / "pyproject.toml"
TOOLS = tomllib.loads(PYPROJECT.read_text())["tool"]
ROOMS = sorted(name for name in TOOLS["setuptools"]["package-dir"] if name != "rankproof")
CONTRACTS = sorted(contract["id"] for contract in TOOLS["importlinter"]["contracts"])

# One forbidden import for each side of each contract: contract, room that imports, what it imports.
BREAKS = [
    ("layers", "model", "import rankproof.impl"),
    ("layers", "model", "import rankproof.proofs"),
    ("layers", "model", "import rankproof.conformance"),
    ("layers", "impl", "import rankproof.proofs"),
    ("layers", "impl", "import rankproof.conformance"),
    ("layers", "proofs", "import rankproof.impl"),
    ("layers", "proofs", "import rankproof.conformance"),
    ("layers", "conformance", "import rankproof.benchmarks"),
    ("model-is-plain", "model", "import torch"),
    ("model-is-plain", "model", "import z3"),
    ("proofs-without-torch", "proofs", "import torch"),
    ("numpy-is-for-benchmarks", "conformance", "import numpy"),
    ("numpy-is-for-benchmarks", "impl", "import matplotlib"),
    ("impl-without-solvers", "impl", "import z3"),
    ("impl-without-solvers", "impl", "import hypothesis"),
    ("impl-reads-words", "impl", "import rankproof.model.protocol"),
]


def house_in(folder: Path, room: str, line: str) -> Path:
    """A small house with every room in it, and `line` as one more module of `room`."""
    package = folder / "rankproof"
    for name in ("rankproof", *ROOMS):
        path = folder.joinpath(*name.split("."))
        path.mkdir()
        (path / "__init__.py").touch()
    for name in ("errors", "protocol", "words"):
        (package / "model" / f"{name}.py").touch()
    (package / room / "added.py").write_text(f"{line}\n")
    return folder


def lint(folder: Path, *options: str) -> str:
    """What import-linter prints about the package `rankproof` that is found from `folder`."""
    command = [str(Path(sys.executable).with_name("lint-imports")), str(PYPROJECT), "--no-cache", "--no-logo", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False).stdout


def summary(output: str) -> str:
    """The line of import-linter's output that counts the contracts, or all of it when there is none."""
    found = re.search(r"^Contracts: .*$", output, re.MULTILINE)
    return found.group() if found else output


def imports_of_the_front_door(graph: grimp.ImportGraph) -> list[str]:
    """Each import, as `importer -> imported`, by which a room reaches for the front door."""

    def in_a_room(module: str) -> bool:
        return any(module == room or module.startswith(f"{room}.") for room in ROOMS)

    return sorted(
        f"{importer} -> {imported}"
        for importer in graph.modules
        if in_a_room(importer)
        for imported in graph.find_modules_directly_imported_by(importer)
        if imported.split(".")[0] == "rankproof" and not in_a_room(imported)
    )


def test_every_contract_has_a_break() -> None:
    assert sorted({contract for contract, _, _ in BREAKS}) == CONTRACTS


@pytest.mark.parametrize(("contract", "room", "line"), BREAKS)
def test_a_forbidden_import_breaks_its_contract(tmp_path: Path, contract: str, room: str, line: str) -> None:
    output = lint(house_in(tmp_path, room, line), "--contract", contract)
    assert summary(output) == "Contracts: 0 kept, 1 broken."


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("impl", "import torch, rankproof.model.words, rankproof.model.errors"),
        ("proofs", "import z3, cvc5, rankproof.model.protocol"),
        ("conformance", "import torch, hypothesis, rankproof.impl, rankproof.model.protocol"),
        ("benchmarks", "import numpy, rankproof.conformance"),
    ],
)
def test_an_import_that_points_down_keeps_every_contract(tmp_path: Path, room: str, line: str) -> None:
    assert summary(lint(house_in(tmp_path, room, line))) == f"Contracts: {len(CONTRACTS)} kept, 0 broken."


def test_no_room_reaches_for_the_front_door() -> None:
    graph = grimp.build_graph("rankproof", cache_dir=None)
    assert set(ROOMS) <= graph.modules
    assert imports_of_the_front_door(graph) == []


@pytest.mark.parametrize("front_door", ["rankproof", "rankproof.cli"])
@pytest.mark.parametrize("room", ROOMS)
def test_a_room_that_reaches_for_the_front_door_is_named(room: str, front_door: str) -> None:
    graph = grimp.ImportGraph()
    graph.add_import(importer=f"{room}.added", imported=front_door)
    assert imports_of_the_front_door(graph) == [f"{room}.added -> {front_door}"]
