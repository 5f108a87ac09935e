"""What runs in a rank's process: a subject, and the loop that gives it one command after another."""

from __future__ import annotations

import builtins
import importlib
import io
import pickle
import queue
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from rankproof.conformance.channel import Channel
from rankproof.conformance.outcome import Ok, Raised
from rankproof.conformance.subject import Observation, SubjectConfig, missing_methods
from rankproof.model.errors import BadInput, unknown_name

Factory = str | Callable[[], object]
LOAD = "load"
LEAVE = "leave"
_RENDEZVOUS = "rankproof.conformance.rendezvous"


@dataclass(frozen=True)
class Command:
    """Call `method` of the subject.

    `LOAD` instead makes a subject, from the factory in `arguments`; `LEAVE` drops it and leaves the group it joined.
    What is to be done `aside` is done at once, also while another command is carried out, and has no reply.
    """

    sequence: int
    method: str
    arguments: tuple[object, ...]
    aside: bool = False


@dataclass(frozen=True)
class Reply:
    """What became of the command with the same `sequence`."""

    sequence: int
    outcome: Ok | Raised


class _Seat:
    """The subject of a rank, and the commands to it that are not carried out yet; None where no more will come.

    failed  what was raised by what was done aside; it becomes the outcome of the command under way
    """

    def __init__(self) -> None:
        self.subject: object = None
        self.failed: Raised | None = None
        self.commands: queue.SimpleQueue[Command | None] = queue.SimpleQueue()

    def listen(self, channel: Channel) -> None:
        """Takes commands until the other end is gone, and does at once what is to be done aside."""
        try:
            while True:
                command = channel.receive()
                assert isinstance(command, Command)
                if command.aside:
                    self.failed = aside(self.subject, command.method, command.arguments) or self.failed
                else:
                    self.commands.put(command)
        except EOFError:
            pass
        finally:
            self.commands.put(None)


def serve(channel: Channel) -> None:
    """Carry out commands until the other end is gone.

    SystemExit and its like leave through here and end the process, as they would end an engine's.
    """
    seat = _Seat()
    threading.Thread(target=seat.listen, args=(channel,), name="commands", daemon=True).start()
    while command := seat.commands.get():
        outcome: Ok | Raised
        try:
            if command.method == LOAD:
                (factory,) = command.arguments
                seat.subject = make_subject(factory)
                outcome = Ok()
            elif command.method == LEAVE:
                seat.subject = None
                if _RENDEZVOUS in sys.modules:  # without it no group was joined, and torch need not be imported
                    importlib.import_module(_RENDEZVOUS).leave()
                outcome = Ok()
            else:
                outcome = returned(command.method, getattr(seat.subject, command.method)(*command.arguments))
        except Exception as error:
            if not isinstance(error, BadInput):
                traceback.print_exc()
            outcome = raised(error)
        outcome, seat.failed = seat.failed or outcome, None
        try:
            channel.send(Reply(command.sequence, outcome))
        except EOFError:
            return


def aside(subject: object, method: str, arguments: tuple[object, ...]) -> Raised | None:
    """Calls a method beside the command under way; gives what it raised, if it did."""
    try:
        getattr(subject, method)(*arguments)
    except Exception as error:
        return raised(error)
    return None


def raised(error: Exception) -> Raised:
    """The outcome of a call that ended in this error, which is being handled."""
    return Raised(type(error).__name__, text_of(error), printable(traceback.format_exc()))


class _Plain(pickle.Unpickler):
    """Reads values made of Python's own types and of the harness's, and nothing that could run code or be unknown."""

    def find_class(self, module: str, name: str) -> object:
        if (module, name) == (Observation.__module__, Observation.__qualname__):
            return Observation
        if module == "builtins" and name in ("bytearray", "complex", "frozenset", "range", "set", "slice"):
            return getattr(builtins, name)
        if module == SubjectConfig.__module__ and name == SubjectConfig.__qualname__:
            return SubjectConfig
        raise pickle.UnpicklingError(f"{module}.{name} is not a type that a subject may return")


def returned(method: str, value: object) -> Ok | Raised:
    """The value as the tool is to see it: an engine's own types would be imported there and decide what they equal."""
    try:
        plain = _Plain(io.BytesIO(pickle.dumps(value))).load()
        repr(plain)  # what cannot be shown, as a number of 5,000 digits, is told from here
        return Ok(plain)
    except Exception as error:
        return Raised(type(error).__name__, f"{method}() returned {type(value).__name__!r}: {text_of(error)}")


def text_of(error: Exception) -> str:
    """What an exception says, in characters that every stream can take."""
    try:
        said = str(error)
    except Exception as worse:
        said = f"(its text raised {type(worse).__name__})"
    return printable(said)


def printable(text: str) -> str:
    """The text in characters that every stream can take."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def factory_name(factory: Factory) -> str:
    """How a message names `factory`."""
    if isinstance(factory, str):
        return repr(factory)
    module, name = getattr(factory, "__module__", None), getattr(factory, "__qualname__", None)
    return repr(f"{module}:{name}" if module and name else repr(factory))


def check_factory(factory: Factory) -> None:
    """Raise BadInput for a factory that another process cannot look up; imports nothing."""
    where = f"factory {factory_name(factory)}"
    if isinstance(factory, str):
        module, colon, name = factory.partition(":")
        if not colon or not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
            raise BadInput(f"{where} does not read package.module:callable")
        return
    if not callable(factory):
        raise BadInput(f"{where} is not callable")
    if getattr(factory, "__module__", None) == "__main__":
        raise BadInput(f"{where} is defined in the script that runs; move it to a module of its own")
    try:
        pickle.dumps(factory)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise BadInput(f"{where} cannot be sent to a rank ({error}); define it at the top level of a module") from None


def make_subject(factory: object) -> object:
    """A new subject of the factory, which is looked up in this process; BadInput where it cannot be used."""
    assert isinstance(factory, str) or callable(factory)
    where = f"factory {factory_name(factory)}"
    make = look_up(factory) if isinstance(factory, str) else factory
    if not callable(make):
        raise BadInput(f"{where} is not callable, but of type {type(make).__name__!r}")
    try:
        subject = make()
    except BadInput:
        raise
    except Exception as error:
        traceback.print_exc()
        raise BadInput(f"{where} raised {type(error).__name__}: {error}") from None
    if missing := missing_methods(subject):
        made = type(subject).__name__
        raise BadInput(f"{where} made an object of type {made!r}, which is no subject: it has no {', '.join(missing)}")
    return subject


def look_up(factory: str) -> object:
    """What "package.module:name" names, which need not be callable; BadInput where there is no such thing."""
    module, _, names = factory.partition(":")
    try:
        found: object = importlib.import_module(module)
    except Exception as error:
        if not isinstance(error, ModuleNotFoundError):
            traceback.print_exc()
        words = f"{type(error).__name__}: {error}"
        if isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0]:
            words += "; it is looked for in the working directory, on PYTHONPATH, and among what is installed"
        raise BadInput(f"factory {factory!r}: cannot import {module!r}: {words}") from None
    for name in names.split("."):
        if not hasattr(found, name):
            public = [known for known in vars(found) if not known.startswith("_")]
            made_here = [known for known in public if getattr(getattr(found, known), "__module__", None) == module]
            problem = unknown_name("name", name, made_here)
            raise BadInput(f"factory {factory!r}: {problem}")
        found = getattr(found, name)
    return found
