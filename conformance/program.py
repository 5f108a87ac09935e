"""A short program that shows a failure again, to be run as it stands."""

from __future__ import annotations

from collections.abc import Sequence

from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.commands import Command, Step


def program_of(
    subject: str, ranks: int, capabilities: Capabilities, commands: Sequence[Command], place: str, timeout: float
) -> str:
    """The program that gives these commands to a subject, "package.module:factory", in "memory" or on "processes".

    A wait of the subject ends within `timeout` seconds, and a reply is given up after three times that. In memory the
    model itself is held against nothing, as in the search there.
    """
    names = sorted({type(command).__name__ for command in commands} - {Step.__name__})
    actions = [f"from rankproof.model.actions import {', '.join(names)}"] if names else []
    module, pool = ("memory", "MemoryRanks") if place == "memory" else ("pool", "RankPool")
    checked = ", checked=()" if place == "memory" else ""
    return "\n".join(
        [
            "from rankproof.conformance.capabilities import Capabilities, Lane",
            "from rankproof.conformance.driver import Driver, Step",
            f"from rankproof.conformance.{module} import {pool}",
            "from rankproof.conformance.shrink import conclude",
            *actions,
            "",
            f"capabilities = {capabilities!r}",
            f"with {pool}(",
            f"    {ranks},",
            f"    factory={subject!r},",
            "    lanes=capabilities.names,",
            f"    timeout={timeout!r},",
            f"    reply_within={3 * timeout!r},",
            ") as ranks:",
            f"    driver = Driver(capabilities.model({ranks}), ranks, capabilities{checked})",
            *(f"    driver.give({command!r})" for command in commands),
            "    conclude(driver)",
        ]
    )
