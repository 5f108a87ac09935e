"""A failing list of commands made smaller: parts of it are left out as long as it fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from rankproof.conformance.blame import broken_property, differences_of
from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.commands import Command
from rankproof.conformance.driver import Driver, Mismatch
from rankproof.conformance.machine import Failure
from rankproof.conformance.ranks import Pool
from rankproof.model.actions import Close, Enqueue, Finish, Lose, Stall, Swap, Withdraw
from rankproof.model.interleaving import Model
from rankproof.model.properties import CHECKED, Property

Fails: TypeAlias = Callable[[Sequence[Command]], Failure | None]
"""Gives commands to fresh subjects, and tells how they differ; None where they do not."""


def smaller(failure: Failure, fails: Fails, seconds: float) -> Failure:
    """The smallest failure of the same kind that is found by leaving commands out, within so many seconds.

    What belongs together on all ranks goes together, such as an ack with its finish, or the n-th step of each; then
    ever shorter stretches go; until nothing more can.
    """
    until = time.monotonic() + seconds
    kind = _kind(failure)
    tried: set[tuple[Command, ...]] = set()
    before: Failure | None = None
    while before is not failure:
        before = failure
        for parts_of in _WAYS:
            place = 0
            while place < len(parts := parts_of(failure.commands)):
                if time.monotonic() > until:
                    return replace(failure, ended_early=f"stopped making it smaller after {seconds:g} s")
                left = tuple(each for index, each in enumerate(failure.commands) if index not in parts[place])
                found = None if left in tried else fails(left)
                tried.add(left)
                if found is not None and len(found.commands) < len(failure.commands) and _kind(found) == kind:
                    failure = found  # the next part is now where this one was
                else:
                    place += 1
    return failure


def rerun(
    model: Model,
    pool: Pool,
    capabilities: Capabilities,
    commands: Sequence[Command],
    checked: Sequence[Property] = CHECKED,
) -> Failure | None:
    """How subjects differ when these commands are given to them; None where they do not.

    A command that has become impossible is left out, and an ack gets the number that its lane comes to. The failure
    holds the commands that were given. Raises HarnessLost for an end that says nothing about the subject.
    """
    driver = Driver(model, pool, capabilities, checked=checked)
    given: list[Command] = []
    acks: dict[tuple[int, int, int], int] = {}
    try:
        for command in commands:
            now = _renumbered(command, driver, acks)
            if now is not None and driver.why_not(now) is None:
                given.append(now)
                driver.give(now)
        conclude(driver)
    except Mismatch as mismatch:
        return Failure(str(mismatch), tuple(given), mismatch.schedule, mismatch.reply)
    return None


def conclude(driver: Driver) -> None:
    """Takes every rank through all that another has gone through, and then closes those that have not ended."""
    driver.catch_up()
    for rank in range(driver.model.scenario.ranks):
        if driver.why_not(Close(rank)) is None:
            driver.give(Close(rank))


def _renumbered(command: Command, driver: Driver, acks: dict[tuple[int, int, int], int]) -> Command | None:
    """The command with the number that its ack has now; None where that ack was never enqueued."""
    match command:
        case Enqueue(rank, lane, ack) | Lose(rank, lane, ack) | Swap(rank, lane, ack):
            new = driver.state.ranks[rank].lanes[lane].next
            acks[rank, lane, ack] = new
            if isinstance(command, Swap):
                acks[rank, lane, ack + 1] = new + 1
            return replace(command, ack=new)
        case Finish(rank, lane, ack) | Stall(rank, lane, ack) | Withdraw(rank, lane, ack):
            known = acks.get((rank, lane, ack))
            return None if known is None else replace(command, ack=known)
        case _:
            return command


def _together(commands: Sequence[Command]) -> list[set[int]]:
    """The places of what belongs together: all that an ack goes through, or the n-th command of a kind on each rank."""
    parts: dict[object, set[int]] = {}
    seen: dict[tuple[str, int], int] = {}
    for place, command in enumerate(commands):
        name = type(command).__name__
        if isinstance(command, Enqueue | Finish | Lose | Stall | Withdraw):
            parts.setdefault((command.lane, command.ack), set()).add(place)
        else:
            number = seen[name, command.rank] = seen.get((name, command.rank), 0) + 1
            parts.setdefault((name, number), set()).add(place)
    return [part for part in parts.values() if len(part) > 1]


def _stretches(share: int) -> Callable[[Sequence[Command]], list[set[int]]]:
    """The places of stretches of commands, each so large a share of all, or one alone."""

    def parts_of(commands: Sequence[Command]) -> list[set[int]]:
        size = max(1, len(commands) // share)
        return [set(range(start, start + size)) for start in range(0, len(commands), size)]

    return parts_of


_WAYS = (_stretches(2), _together, _stretches(4), _stretches(8), _stretches(1_000_000))


def _kind(failure: Failure) -> object:
    """What a smaller failure must have in common, so that it shows the same thing."""
    reply = failure.reply
    outcome = reply and (type(reply.outcome), getattr(reply.outcome, "kind", ""))
    fields = tuple(difference.field for difference in differences_of(reply))
    return outcome, fields, broken_property(failure.schedule, reply)
