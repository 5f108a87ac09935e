"""What one rank saw, as a file: a head, one line a command, and an end; a killed run leaves whole lines."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from rankproof.conformance.outcome import Died, Hung, Ok, Outcome, Raised
from rankproof.conformance.recorded_schedule import Plan
from rankproof.conformance.subject import Observation
from rankproof.model.errors import BadInput

T = TypeVar("T")

FORMAT = "rankproof record"
VERSION = 1
_LAST = {"end": True}
_END = json.dumps(_LAST)
LARGEST = 1 << 30
"""Bytes of a record at most."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One call of a subject's method and what became of it; `example` and `place` count from 0."""

    example: int
    place: int
    call: str
    arguments: tuple[int, ...]
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Record:
    """One rank's file: what it was told, what it saw, and whether the file has its end."""

    path: Path
    rank: int
    plan: Plan
    entries: tuple[Entry, ...]
    whole: bool


def path_of(folder: Path, rank: int) -> Path:
    """The file of one rank."""
    return folder / f"rank-{rank:04}.ndjson"


class Recorder:
    """Writes one rank's record, line by line, each in one write; leave its `with` only when all was done.

    Raises BadInput where the folder holds a record of this rank already, and, as each of its methods does, where the
    record cannot be written.
    """

    def __init__(self, folder: Path, rank: int, plan: Plan) -> None:
        path = path_of(folder, rank)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
        except FileExistsError as error:
            raise BadInput(f"{path}: there is a record already; give a new folder by --out") from error
        except OSError as error:
            raise _unwritten(path, error) from error
        self._path = path
        try:
            self._write({"format": FORMAT, "version": VERSION, "rank": rank, "plan": _plain(asdict(plan))})
        except BadInput:
            os.close(self._file)
            path.unlink(missing_ok=True)
            raise

    def add(self, entry: Entry) -> None:
        """One line, which is in the file when this returns."""
        line: dict[str, Any] = {"example": entry.example, "place": entry.place, "call": entry.call}
        self._write(line | {"arguments": entry.arguments} | _told(entry.outcome))

    def end(self) -> None:
        """The last line: nothing that this rank did is missing."""
        self._write(_LAST)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.end()
        finally:
            os.close(self._file)

    def _write(self, line: dict[str, Any]) -> None:
        text = (json.dumps(line) + "\n").encode()
        try:
            while text:  # a disk that becomes full takes a part of it
                text = text[os.write(self._file, text) :]
        except OSError as error:
            raise _unwritten(self._path, error) from error


def _unwritten(path: Path, error: OSError) -> BadInput:
    return BadInput(f"{path}: cannot write the record: {(error.strerror or str(error)).lower()}")


def read(path: Path) -> Record | None:
    """The record in a file; a last line that is not whole is no part of it. None where not even the head is whole.

    Raises BadInput, naming the line, for what is no record.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise BadInput(f"{path}: is no regular file; a record is one")
        if found.st_size > LARGEST:
            raise BadInput(f"{path}: the file has more than {LARGEST >> 20} MiB; it is no record of one run")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        raise BadInput(f"{path}: cannot read the record: {reason}") from error
    lines = text.split("\n")[:-1]
    if not lines:
        return None
    head = _parsed(_HEAD, lines[0], f"{path}:1")
    whole = lines[-1] == _END
    body = enumerate(lines[1:-1] if whole else lines[1:], 2)
    entries = tuple(_parsed(_LINE, line, f"{path}:{number}").entry() for number, line in body)
    for number, (entry, after) in enumerate(pairwise(entries), 3):
        if (after.example, after.place) <= (entry.example, entry.place):
            raise BadInput(f"{path}:{number}: a call of example {after.example} that comes too late, or twice")
    if entries and not 0 <= entries[0].example <= entries[-1].example < head.plan.examples:
        raise BadInput(f"{path}: there are calls of another example than the {head.plan.examples} of its plan")
    return Record(path, head.rank, head.plan, entries, whole)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Head(_Strict):
    format: Literal["rankproof record"]
    version: Literal[1]
    rank: int
    plan: Plan


class _Line(_Strict):
    example: int = Field(ge=0)
    place: int = Field(ge=0)
    call: str
    arguments: tuple[int, ...]
    outcome: Literal["ok", "raised", "hung", "died"]
    observation: Observation | None = None
    gave: str = ""
    kind: str = ""
    message: str = ""
    seconds: float = 0.0
    code: int | None = None

    @model_validator(mode="after")
    def _tells_of_its_outcome_alone(self) -> Self:
        if self.outcome == "died" and self.code is None:
            raise ValueError("code: a process that died has an exit code, or minus the signal that ended it")
        if self.outcome == "hung" and self.seconds <= 0:
            raise ValueError("seconds: a call that hung was given up after some")
        if self.outcome != "ok" and (self.observation or self.gave):
            raise ValueError(f"a call that {self.outcome} gave nothing")
        return self

    def entry(self) -> Entry:
        return Entry(self.example, self.place, self.call, self.arguments, self._outcome())

    def _outcome(self) -> Outcome:
        match self.outcome:
            case "ok":
                return Ok(self.gave or self.observation)
            case "raised":
                return Raised(self.kind, self.message)
            case "hung":
                return Hung(self.seconds)
            case "died":
                return Died(self.code, self.message)


_HEAD: TypeAdapter[_Head] = TypeAdapter(_Head)
_LINE: TypeAdapter[_Line] = TypeAdapter(_Line)


def _parsed(adapter: TypeAdapter[T], line: str, place: str) -> T:
    try:
        return adapter.validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        says = first["msg"].removeprefix("Value error, ")
        raise BadInput(f"{place}: {where}{': ' if where else ''}{says}") from error


def _told(outcome: Outcome) -> dict[str, Any]:
    match outcome:
        case Ok(None):
            return {"outcome": "ok"}
        case Ok(value):
            told = {"outcome": "ok", "observation": asdict(value)} if isinstance(value, Observation) else None
            return told if told and _fits(told) else {"outcome": "ok", "gave": repr(value)}
        case Raised(kind, message):
            return {"outcome": "raised", "kind": kind, "message": message}
        case Hung(seconds):
            return {"outcome": "hung", "seconds": seconds}
        case Died(code, words):
            return {"outcome": "died", "code": code, "message": words}


def _fits(told: dict[str, Any]) -> bool:
    """Whether an observation can be read back as it is; a subject may put anything into one."""
    try:
        _LINE.validate_json(json.dumps({"example": 0, "place": 0, "call": "", "arguments": [], **told}))
    except (TypeError, ValueError):
        return False
    return True


def _plain(value: Any) -> Any:
    """A plan as JSON values: its sets sorted, so that two ranks write the same text."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    return [_plain(each) for each in value] if isinstance(value, tuple | list) else value
