"""A short program that shows a failure again, to be run as it stands."""

from __future__ import annotations

from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.machine import Failure


def program_of(
    subject: str, ranks: int, capabilities: Capabilities, failure: Failure, place: str, timeout: float
) -> str:
    """The program that gives the commands of a failure to a subject, "package.module:factory".

    That is in "memory" or on "processes". A wait of the subject ends within `timeout` seconds, and a reply is given up
    after three times that. In memory the model itself is held against nothing, as in the search there.
    """
    kinds = {type(command) for command in failure.commands}
    imports = [
        f"from {module} import {', '.join(names)}"
        for module in sorted({kind.__module__ for kind in kinds})
        if (names := sorted(kind.__name__ for kind in kinds if kind.__module__ == module))
    ]
    world = capabilities.models(ranks).index(failure.schedule.model)
    module, pool = ("memory", "MemoryRanks") if place == "memory" else ("pool", "RankPool")
    checked = ", checked=()" if place == "memory" else ""
    return "\n".join(
        [
            "from rankproof.conformance.capabilities import Capabilities, Lane",
            "from rankproof.conformance.driver import Driver",
            f"from rankproof.conformance.{module} import {pool}",
            "from rankproof.conformance.shrink import conclude",
            *imports,
            "",
            f"capabilities = {capabilities!r}",
            f"with {pool}(",
            f"    {ranks},",
            f"    factory={subject!r},",
            "    lanes=capabilities.names,",
            f"    timeout={timeout!r},",
            f"    reply_within={3 * timeout!r},",
            ") as ranks:",
            f"    driver = Driver(capabilities.models({ranks})[{world}], ranks, capabilities{checked})",
            *(f"    driver.give({command!r})" for command in failure.commands),
            "    conclude(driver)",
        ]
    )
