"""What a run has measured, and the one file that holds it: every sample, and all that is needed to judge them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from rankproof.model.errors import BadInput
from rankproof.model.textfile import read_text

FORMAT: Final = "rankproof benchmark"
VERSION: Final = 2
LARGEST: Final = 64 << 20
"""Bytes that a results file may have; a full run comes to a few."""

Value: TypeAlias = str | int | float | bool
Sample: TypeAlias = Mapping[str, Value]
"""One measurement; a key that is a time ends in `_s`, for seconds."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One case of an item, and every sample that was taken of it, in the order in which they were.

    parameters  what sets the case apart from the others of its item
    seconds     wall time of all of it, with what was made ready
    load        the 1-minute load averages of the machine before and after
    failure     why there are no more samples; empty where nothing failed
    """

    item: str
    case: str
    parameters: Mapping[str, Value]
    samples: tuple[Sample, ...]
    seconds: float
    load: tuple[float, float]
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Results:
    """A run: where and how it was made, and what it has measured so far.

    begun     when, in UTC, as ISO 8601
    settings  quick, repeat, seed, and what else was asked for
    whole     whether every case of it was measured
    """

    begun: str
    machine: Mapping[str, Value]
    versions: Mapping[str, str]
    settings: Mapping[str, Value]
    measured: tuple[Measured, ...] = ()
    whole: bool = False

    def of(self, item: str) -> tuple[Measured, ...]:
        """The cases of one item that have samples."""
        return tuple(each for each in self.measured if each.item == item and each.samples)

    def with_measured(self, measured: Measured) -> Results:
        """The run with one more case, in the place of the one of the same name where there is one."""
        kept = tuple(each for each in self.measured if (each.item, each.case) != (measured.item, measured.case))
        return replace(self, measured=(*kept, measured))


def dump(results: Results) -> str:
    """The run as a JSON document, one sample a line."""
    content: dict[str, Any] = {"format": FORMAT, "version": VERSION} | asdict(results)
    measured: list[dict[str, Any]] = content.pop("measured")
    cases = ",\n".join(_case(each) for each in measured)
    head = json.dumps(content, indent=1)
    return f'{head[:-2]},\n "measured": [\n{cases}\n ]\n}}\n'


def _case(measured: dict[str, Any]) -> str:
    samples: Sequence[Sample] = measured.pop("samples")
    lines = ",\n".join(f"    {json.dumps(_rounded(sample))}" for sample in samples)
    head = json.dumps(_rounded(measured))
    return f'  {head[:-1]}, "samples": [\n{lines}\n  ]}}'


def _rounded(values: Mapping[str, Any]) -> dict[str, Any]:
    """Nanoseconds are the last digit that a clock here gives."""
    return {key: round(value, 9) if isinstance(value, float) else value for key, value in values.items()}


def load(path: Path) -> Results:
    """The run that a file holds. Raises BadInput, in one line, for a file that is none or cannot be read."""
    try:
        content = json.loads(read_text(path, "results", LARGEST))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: this is no JSON: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise BadInput(f"{path}: this is no results file of `rankproof bench`; it has no format {FORMAT!r}")
    if content.get("version") != VERSION:
        found = content.get("version")
        raise BadInput(f"{path}: version {found!r} of a results file; this tool reads {VERSION}; measure again")
    try:
        return _results(content)
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{path}: a results file with a wrong or missing part: {error!r}; measure again") from error


def _results(content: Mapping[str, Any]) -> Results:
    measured = tuple(
        Measured(
            item=str(each["item"]),
            case=str(each["case"]),
            parameters=dict(each["parameters"]),
            samples=tuple(dict(sample) for sample in each["samples"]),
            seconds=float(each["seconds"]),
            load=(float(each["load"][0]), float(each["load"][1])),
            failure=str(each["failure"]),
        )
        for each in content["measured"]
    )
    return Results(
        begun=str(content["begun"]),
        machine=dict(content["machine"]),
        versions=dict(content["versions"]),
        settings=dict(content["settings"]),
        measured=measured,
        whole=bool(content["whole"]),
    )
