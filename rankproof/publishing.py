"""Results on their way to a CI system: the document that is asked for, and what GitHub Actions shows unasked."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

from rankproof.output import Form, Output
from rankproof.results import Result
from rankproof.results_github import summary, workflow_commands
from rankproof.results_junit import junit
from rankproof.results_sarif import sarif

ACTIONS, SUMMARY = "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"
"""Environment variables of GitHub Actions: that it runs this, and the file that takes the summary of a step."""


def publish(output: Output, verb: str, results: Sequence[Result]) -> None:
    """Writes the results in the form of the report, if that is one for CI systems, and tells GitHub Actions if it runs.

    There, annotations go to standard error, which is read for them as well, so that a document on standard output stays
    whole. A summary that cannot be written is one line, and neither it nor a standard error that is closed changes a
    verdict.
    """
    writer = {Form.JUNIT: junit, Form.SARIF: sarif, Form.GITHUB: workflow_commands}.get(output.form)
    if writer:
        output.verbatim(writer(results))
    if os.environ.get(ACTIONS) != "true":
        return
    if output.form is not Form.GITHUB:
        _aside(workflow_commands(results))
    if path := os.environ.get(SUMMARY):
        try:
            with open(path, "a", encoding="utf-8", errors="replace") as file:
                file.write(summary(verb, results))
        except OSError as error:
            _aside(f"rankproof: {SUMMARY}: cannot write the job summary: {error.strerror}\n")


def _aside(text: str) -> None:
    """Writes to standard error, if there is one and somebody reads it."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()
