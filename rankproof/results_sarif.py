"""Results as SARIF 2.1.0 (OASIS), which code scanning services take: one result for each check that does not hold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import rankproof
from rankproof.model.properties import PROPERTIES
from rankproof.model.verdict import Verdict
from rankproof.places import Place, relative
from rankproof.results import Result, verdict_of
from rankproof.results_text import lines

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
CONFORMS = "conforms"
"""The rule of a result that names no property: the implementation does what the model does."""


def sarif(results: Sequence[Result]) -> str:
    """The document, as text. What holds is not in it: a log without results says that the run found nothing."""
    open_ones = [result for result in results if result.verdict is not Verdict.HOLDS]
    rules = list(dict.fromkeys(result.breaks or CONFORMS for result in open_ones))
    verdict = verdict_of(results)
    driver = {"name": "rankproof", "version": rankproof.__version__, "rules": [_rule(name) for name in rules]}
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": verdict is not Verdict.UNDETERMINED, "exitCode": verdict.exit_code}],
        "results": [_result(result, rules) for result in open_ones],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(name: str) -> dict[str, Any]:
    says = PROPERTIES[name].says if name in PROPERTIES else "the implementation does what the model does"
    return {"id": name, "shortDescription": {"text": says}, "defaultConfiguration": {"level": "error"}}


def _result(result: Result, rules: Sequence[str]) -> dict[str, Any]:
    """A violation is a failure; where there is no answer the result is open, which has no level by the standard."""
    rule = result.breaks or CONFORMS
    violated = result.verdict is Verdict.VIOLATED
    document: dict[str, Any] = {
        "ruleId": rule,
        "ruleIndex": rules.index(rule),
        "kind": "fail" if violated else "open",
        "level": "error" if violated else "none",
        "message": {"text": "\n".join([result.title, *lines(result)])},
        # The same check that fails again is the same alert, whatever its text says this time.
        "partialFingerprints": {"check/v1": sha256(f"{result.group} {result.name} {rule}".encode()).hexdigest()},
    }
    place = result.place or (Place(relative(result.file), 1) if result.file else None)
    if place:
        document["locations"] = [{"physicalLocation": _location(place)}]
    return document


def _location(place: Place) -> dict[str, Any]:
    path = Path(place.path)
    artifact = {"uri": path.as_uri()} if path.is_absolute() else {"uri": quote(place.path), "uriBaseId": "%SRCROOT%"}
    return {"artifactLocation": artifact, "region": {"startLine": place.line}}
