"""A short program that shows a failure again, to be run as it stands."""

from __future__ import annotations

from collections.abc import Sequence

from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.commands import Command, Step


def program_of(subject: str, ranks: int, capabilities: Capabilities, commands: Sequence[Command], place: str) -> str:
    """The program that gives these commands to a subject, "package.module:factory", in "memory" or on "processes"."""
    names = sorted({type(command).__name__ for command in commands} - {Step.__name__})
    actions = [f"from rankproof.model.actions import {', '.join(names)}"] if names else []
    module, pool = ("memory", "MemoryRanks") if place == "memory" else ("pool", "RankPool")
    return "\n".join(
        [
            "from rankproof.conformance.capabilities import Capabilities, Lane",
            "from rankproof.conformance.driver import Driver, Step",
            f"from rankproof.conformance.{module} import {pool}",
            "from rankproof.conformance.shrink import conclude",
            *actions,
            "",
            f"capabilities = {capabilities!r}",
            f"with {pool}({ranks}, factory={subject!r}, lanes=capabilities.names, timeout=3.0) as ranks:",
            f"    driver = Driver(capabilities.model({ranks}), ranks, capabilities)",
            *(f"    driver.give({command!r})" for command in commands),
            "    conclude(driver)",
        ]
    )
