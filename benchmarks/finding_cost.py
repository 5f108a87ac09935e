"""How long it takes to find each fault: by the explorer, by the solver's search, and on real processes."""

from __future__ import annotations

import time
from functools import partial

from rankproof.benchmarks.frame import Case, Lost, Samples
from rankproof.benchmarks.results import Value
from rankproof.conformance.faulty import FAULTY
from rankproof.conformance.hunting import hunt
from rankproof.conformance.launcher import Launcher
from rankproof.model.explorer import explore
from rankproof.model.faults import FAULTS
from rankproof.model.properties import property_named
from rankproof.proofs.bounded import search, supports

SECONDS = 15.0
HUNT_SECONDS = 60.0
HUNT_WITHIN_S = 10.0
"""In which random schedules are to show a fault on real processes."""


def case() -> Case:
    """Every fault once, held against the property that it is to break first; a sample is one fault."""
    return Case("faults", {"faults": len(FAULTS)}, SECONDS, _find)


def hunting_case(seed: int, searches: int) -> Case:
    """Every fault, looked for so many times on real processes by random schedules; a sample is one search."""
    return Case(
        "faults on processes",
        {"seed": seed, "searches": searches},
        HUNT_SECONDS * searches,
        partial(_hunt, seed=seed, searches=searches),
    )


def _hunt(launcher: Launcher, seed: int, searches: int) -> Samples:
    """A sample has `fault`, `found`, and where it was, `examples` and `hunt_s`; starting the processes is left out."""
    for fault in FAULTY:
        hunted = hunt(
            fault,
            seeds=range(seed, seed + searches),
            seconds=HUNT_WITHIN_S,
            shrink_seconds=0.0,
            launcher=launcher,
        )
        for find in hunted.finds:
            if find is None:
                yield {"fault": fault, "found": False}
            else:
                yield {"fault": fault, "found": True, "examples": find.examples, "hunt_s": find.seconds}


def _find(_: Launcher) -> Samples:
    """A sample has `fault`, `property`, `actions` (of the shortest schedule), `states`, `explorer_s`, and `solver_s`.

    The solver's is left out where it has no reading of the fault. Raises Lost for a fault that is not found.
    """
    for fault in FAULTS.values():
        name = fault.breaks[0]
        began = time.perf_counter()
        explored = explore(fault.model, [property_named(name)])
        took: dict[str, Value] = {"explorer_s": time.perf_counter() - began}
        if explored.broken is None:
            raise Lost(f"{fault.name} does not break {name}: {explored.verdict}")
        if supports(fault.model, name) is None:
            began = time.perf_counter()
            search(fault.model, name, explored.depth)
            took["solver_s"] = time.perf_counter() - began
        yield took | {"fault": fault.name, "property": name, "actions": explored.depth, "states": explored.states}
