"""The properties by name: what each says, how an action is held against it, and what that check looks at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from rankproof.model import checks
from rankproof.model.checks import Transition
from rankproof.model.errors import unknown_name
from rankproof.model.state import RankState
from rankproof.model.system import Model

__all__ = ["CHECKED", "PROPERTIES", "Property", "Transition", "property_named"]


@dataclass(frozen=True, slots=True)
class Property:
    """What must hold.

    says      the property in one sentence
    broken    what an action did to break it, in one sentence, or None where it did not
    looks_at  what a check depends on besides the rank that acts, so that a search can remember it: nothing more
              ("rank"), each other rank in turn ("pair"), or all ranks ("group"); "state" is all ranks after the
              action, whichever it was; "waits" is the same, but the property falls only where each of them waits
    touched   whether an action that turned the first rank into the second can be the first to break it
    concerns  whether it can fall in a model at all, for a property that speaks of what only some models have
    """

    name: str
    says: str
    broken: Callable[[Transition], str | None]
    looks_at: Literal["rank", "pair", "waits", "state", "group"] = "group"
    touched: Callable[[RankState, RankState], bool] = lambda before, after: before is not after
    concerns: Callable[[Model], bool] = lambda model: True


def property_named(name: str) -> Property:
    """The property of that name. Raises BadInput for an unknown one."""
    if name not in PROPERTIES:
        raise unknown_name("property", name, PROPERTIES)
    return PROPERTIES[name]


def _pops(before: RankState, after: RankState) -> bool:
    """Whether something may have been popped; after a reset no lane tells of what its drain popped."""
    lanes = zip(before.lanes, after.lanes, strict=True)
    return before.epoch != after.epoch or any(old.popped != new.popped for old, new in lanes)


def _pays(before: RankState, after: RankState) -> bool:
    """Whether a pop may have been owed: after a wait, or with a wait of its own in a drain."""
    return not after.owed and (bool(before.owed) or before.consumed != after.consumed)


PROPERTIES: dict[str, Property] = {
    each.name: each
    for each in (
        Property(
            "finished-before-pop",
            "an ack popped on a rank is finished on that rank and, unless an eviction popped it, on every rank",
            checks.finished_before_pop,
            "pair",
            lambda before, after: before.missing != after.missing or _pops(before, after),
        ),
        Property(
            "same-pops",
            "the n-th ack popped from a lane is the same ack on every rank",
            checks.same_pops,
            "pair",
            _pops,
        ),
        Property(
            "exact-delay",
            "with the same completions, pipelined has popped after step t+1 exactly what blocking has after step t",
            checks.exact_delay,
            "rank",
            _pays,
        ),
        Property(
            "bounded-lag",
            "what was finished on all ranks when round k was counted is popped when round k is consumed",
            checks.bounded_lag,
            "rank",
            _pays,
        ),
        Property(
            "matched-collectives",
            "every rank issues the same collectives in the same steps",
            checks.matched_collectives,
            "pair",
            lambda before, after: before.calls != after.calls,
        ),
        Property(
            "bounded-skew",
            "no rank has issued more rounds than another by more than the window",
            checks.bounded_skew,
            "pair",
            lambda before, after: before.issued != after.issued,
            lambda model: model.scenario.topology != "pipeline",  # a leader waits for none of its followers
        ),
        Property(
            "no-deadlock",
            "if every rank keeps stepping, some rank can always move",
            checks.no_deadlock,
            "waits",
        ),
        Property(
            "one-owner",
            "at most a window of rounds is in flight, and what they hold is not touched before the wait",
            checks.one_owner,
            "rank",
        ),
        Property(
            "clean-lifecycle",
            "after a reset, an attachment or a flush nothing is in flight",
            checks.clean_lifecycle,
            "rank",
        ),
        Property(
            "drains-to-empty",
            "when all is finished and ranks keep stepping, every lane is empty within lag + 1 steps",
            checks.drains_to_empty,
            "state",
        ),
        Property(
            "named-divergence",
            "when ranks differ, every rank raises the same error in the same round, naming what differs",
            checks.named_divergence,
            touched=lambda before, after: before.consumed != after.consumed or before.error != after.error,
            concerns=lambda model: bool(model.protocol.guards),
        ),
        Property(
            "contained-failure",
            "a rank that is gone is an error on every rank that waits for it",
            checks.contained_failure,
            "state",
            touched=lambda before, after: before.phase != after.phase or before.error != after.error,
            concerns=lambda model: bool(model.scenario.crashes + model.scenario.throws or model.protocol.guards),
        ),
    )
}
"""Every property that the model states, by name."""

CHECKED: tuple[Property, ...] = tuple(each for each in PROPERTIES.values() if each.name != "drains-to-empty")
"""The properties that are checked on every action. The one left out plays on from each state, which takes long."""
