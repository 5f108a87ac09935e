"""The machine that a run was made on: what it is, how busy it is, and how many ranks it can hold."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rankproof.benchmarks.results import Value
from rankproof.conformance.one_core import cores
from rankproof.conformance.pool import MOST_RANKS
from rankproof.model.errors import BadInput

PACKAGES = ("rankproof", "torch", "z3-solver", "cvc5", "hypothesis", "numpy", "matplotlib")
"""Whose versions are told."""

MIB_A_RANK = 160
"""Memory that a rank process takes of its own once it runs torch; measured, and rounded up."""


def describe() -> dict[str, Value]:
    """What this machine is: system, processor, cores that this process may use, and memory."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": cores(),
        "memory_gib": round(_pages("SC_PHYS_PAGES") / 2**30, 1),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def versions() -> dict[str, str]:
    """The versions of what is measured, and of what measures it, where they are installed."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def load_average() -> float:
    """The 1-minute load average."""
    return round(os.getloadavg()[0], 2)


def check_ranks(ranks: Sequence[int]) -> None:
    """Raises BadInput where that many rank processes make no group, or more than this machine can hold."""
    for number in ranks:
        if not 2 <= number <= MOST_RANKS:
            raise BadInput(f"--ranks {number}: a group has 2 ranks or more, and one host at most {MOST_RANKS}")
        needed, free = number * MIB_A_RANK, available_mib()
        if needed > free:
            raise BadInput(f"--ranks {number}: they take about {needed:,} MiB, and {free:,} MiB are free; give fewer")


def available_mib() -> int:
    """Memory that new processes can take without swapping, in MiB."""
    table = Path("/proc/meminfo")
    if table.exists():
        fields = _fields(table.read_text())
        if "MemAvailable" in fields:
            return int(fields["MemAvailable"].split()[0]) // 1024
    return _pages("SC_PHYS_PAGES") // 2**20


def _pages(name: str) -> int:
    return os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")


def _processor() -> str:
    table = Path("/proc/cpuinfo")
    if table.exists():
        fields = _fields(table.read_text())
        if "model name" in fields:
            return fields["model name"]
    return platform.processor() or platform.machine()


def _fields(text: str) -> Mapping[str, str]:
    """The `name: value` lines of a table of the kernel's."""
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}
