"""A list of commands as one line of text, and the run that gives just these: a failure again, without the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import get_args

from rankproof.conformance.capabilities import Capabilities, Mishap
from rankproof.conformance.commands import Command
from rankproof.conformance.driver import Driver, Mismatch
from rankproof.conformance.machine import Failure, Findings
from rankproof.conformance.ranks import Pool
from rankproof.conformance.shrink import conclude
from rankproof.model.errors import BadInput, unknown_name
from rankproof.model.properties import CHECKED, Property
from rankproof.model.system import Model

KINDS: Mapping[str, type[Command]] = {kind.__name__.lower(): kind for kind in get_args(Command)}
"""Every kind of command, by the name that it has in the text."""


def as_text(commands: Sequence[Command]) -> str:
    """The commands in one line: each its kind, rank, and, where it has them, lane and ack, as in "enqueue:0:1:7"."""
    return " ".join(
        ":".join([type(each).__name__.lower(), *(str(getattr(each, field.name)) for field in fields(each))])
        for each in commands
    )


def read_commands(text: str) -> tuple[Command, ...]:
    """The commands of a line that `as_text` wrote. Raises BadInput, naming the word, for one that it did not write."""
    commands = tuple(map(_read, text.split()))
    if not commands:
        raise BadInput("there are no commands; give them as the line 'again' of a report has them")
    return commands


def _read(word: str) -> Command:
    name, *numbers = word.split(":")
    if name not in KINDS:
        raise unknown_name("command", name, KINDS).at(repr(word))
    named = [field.name for field in fields(KINDS[name])]
    if len(numbers) != len(named) or not all(number.isdecimal() for number in numbers):
        raise BadInput(f"{word!r} does not read {':'.join([name, *(f'<{each}>' for each in named)])}, with numbers")
    return KINDS[name](*map(int, numbers))


def world_of(held_to: Capabilities, ranks: int, commands: Sequence[Command]) -> Model:
    """The world of a subject that these commands are for: that of its mishaps, where one is among them."""
    worlds = held_to.models(ranks)
    goes_wrong = any(KINDS[name] is type(each) for name in get_args(Mishap) for each in commands)
    return worlds[-1 if goes_wrong else 0]


def give(
    model: Model,
    pool: Pool,
    held_to: Capabilities,
    commands: Sequence[Command],
    findings: Findings,
    checked: Sequence[Property] = CHECKED,
) -> Failure | None:
    """How subjects differ when they are given exactly these commands, and then closed; None where they do not.

    What was compared is counted in `findings`. Raises BadInput for a command that is impossible where it stands, and
    HarnessLost for an end that says nothing about the subject.
    """
    driver = Driver(model, pool, held_to, checked=checked)
    given: list[Command] = []
    try:
        for command in commands:
            if reason := _why_not(driver, command):
                place = f"command {len(given) + 1}, {as_text([command])}"
                raise BadInput(f"{place}: it cannot be given there: {reason}")
            given.append(command)
            driver.give(command)
        conclude(driver)
    except Mismatch as mismatch:
        return Failure(str(mismatch), tuple(given), mismatch.schedule, mismatch.reply)
    finally:
        findings.count(driver, given)
    return None


def _why_not(driver: Driver, command: Command) -> str | None:
    scenario = driver.model.scenario
    if command.rank >= scenario.ranks:
        return f"there are {scenario.ranks} ranks"
    if getattr(command, "lane", 0) >= len(scenario.lanes):
        return f"there are {len(scenario.lanes)} lanes"
    return driver.why_not(command)
