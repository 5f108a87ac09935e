"""What a run of random schedules exercised of what it could have: how often each action came, and which never did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.commands import kinds
from rankproof.conformance.worlds import not_taken
from rankproof.model.actions import KINDS
from rankproof.model.system import Model


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often each action came that could have, zero included, in the order of the model; and the rest.

    taken  the same of the commands that the model does not have, such as to stop a rank
    never  those among them that never came: more schedules, or another seed, may bring them
    left_out  the actions of the model that no schedule of this subject has: it does not declare them, or none can
    """

    taken: Mapping[str, int]
    left_out: tuple[str, ...]

    @property
    def never(self) -> tuple[str, ...]:
        """Those that could have come, and did not."""
        return tuple(name for name, count in self.taken.items() if not count)

    def lines(self) -> list[str]:
        """The same in words: what came, what never did, and what was not asked for."""
        came = ", ".join(f"{name} {count:,}" for name, count in self.taken.items() if count)
        said = [f"actions taken: {came or 'none'}"]
        if self.never:
            said.append(f"never taken: {', '.join(self.never)}; more schedules may, or another seed")
        if self.left_out:
            said.append(f"not asked, since it does not declare them or no subject can: {', '.join(self.left_out)}")
        return said


def coverage(
    taken: Mapping[str, int], models: Iterable[Model], held_to: Capabilities, beside: Iterable[str] = ()
) -> Coverage:
    """What was taken, held against all that schedules of these models can bring to a subject held to that.

    `beside` are the commands that the model does not have, as far as these schedules have them.
    """
    possible = set().union(*(_possible(model, held_to) for model in models), beside)
    never = not_taken([taken])
    return Coverage(
        taken={name: taken.get(name, 0) for name in (*KINDS, *beside) if name in possible or name not in never},
        left_out=tuple(name for name in never if name not in possible),
    )


def _possible(model: Model, held_to: Capabilities) -> set[str]:
    """The actions of the model that some schedule of it has."""
    scenario = model.scenario
    found = set(kinds(model)) & set(KINDS) | {"wait", "pop", "count", "issue"}
    if not any(lane.evicts for lane in held_to.lanes):
        found.discard("evict")
    if scenario.attaches and held_to.attaches == "agreed":
        found.add("change")
    if scenario.throws or scenario.crashes:
        found.add("notice")
    return found
