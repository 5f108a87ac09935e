"""Results as JUnit XML, which every CI system reads: one suite a group, one case a check.

A check that is violated is a failure; one that is undetermined is an error, so that no reader takes it for a pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from rankproof.model.verdict import Verdict
from rankproof.results import Result
from rankproof.results_text import fit, lines

_OUTCOMES = {Verdict.VIOLATED: "failure", Verdict.UNDETERMINED: "error"}


def junit(results: Sequence[Result]) -> str:
    """The document, as text in UTF-8."""
    root = Element("testsuites", {"name": "rankproof", **_counts(results)})
    for group, members in groupby(results, lambda result: result.group):
        _suite(root, f"rankproof {group}", list(members))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, name: str, results: Sequence[Result]) -> None:
    suite = SubElement(root, "testsuite", {"name": name, **_counts(results)})
    for result in results:
        where = {"file": result.place.path, "line": str(result.place.line)} if result.place else {}
        names = {"name": fit(result.name), "classname": name.replace(" ", ".")}
        case = SubElement(suite, "testcase", {**names, "time": _seconds(result.seconds), **where})
        text = fit("\n".join(lines(result)))
        if outcome := _OUTCOMES.get(result.verdict):
            kind = result.breaks or result.verdict
            SubElement(case, outcome, {"message": fit(result.says), "type": kind}).text = text
        else:
            SubElement(case, "system-out").text = text


def _counts(results: Sequence[Result]) -> dict[str, str]:
    verdicts = [result.verdict for result in results]
    return {
        "tests": str(len(results)),
        "failures": str(verdicts.count(Verdict.VIOLATED)),
        "errors": str(verdicts.count(Verdict.UNDETERMINED)),
        "skipped": "0",
        "time": _seconds(sum(result.seconds for result in results)),
    }


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"
