"""From arguments to a verb at work: typer's ways of saying that it cannot be done become bad input."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, signature

import typer

from rankproof.commands import Task, app
from rankproof.model.errors import BadInput

UsageError: type[Exception] = typer.BadParameter.__bases__[0]
"""Typer's errors about options and arguments; typer gives no public name to their common class."""

INTERRUPTED = 130
"""What typer gives for an interrupt that comes while it is at work."""


def run(arguments: Sequence[str]) -> int:
    """Does what the arguments say and gives the exit code of the verdict, or 0 for help.

    Raises BadInput, also for arguments that cannot be used, OutputClosed and KeyboardInterrupt.
    """
    if (task := _by_name_alone(arguments)) is not None:
        return task().exit_code
    command = typer.main.get_command(app)
    try:
        outcome: Task | int = command.main(args=list(arguments), prog_name="rankproof", standalone_mode=False)
    except UsageError as error:
        raise BadInput(_usage(error)) from error
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    if outcome == INTERRUPTED:
        raise KeyboardInterrupt
    if isinstance(outcome, int):
        return outcome
    return outcome().exit_code


def _by_name_alone(arguments: Sequence[str]) -> Task | None:
    """What a verb does that is given nothing but its name, where it needs no more; its options are their defaults.

    Typer imports a validator of 0.1 s to look at values, also at those that nobody gave.
    """
    for each in app.registered_commands:
        if each.callback and [each.callback.__name__] == list(arguments):
            needed = [one for one in signature(each.callback).parameters.values() if one.default is Parameter.empty]
            task: Task | None = None if needed else each.callback()
            return task
    return None


def _usage(error: Exception) -> str:
    """Typer's words about an option or an argument, in one line, with where to read more."""
    words = " ".join(getattr(error, "format_message", error.__str__)().split()).replace("Value error, ", "")
    verb = getattr(getattr(error, "ctx", None), "command_path", "rankproof")
    return f"{words[:1].lower()}{words[1:].rstrip('.')} (see {verb} --help)"
