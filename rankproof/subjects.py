"""Which subject is meant on the command line, and what its ranks have to be told to find it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rankproof.model.errors import BadInput

REFERENCE = {
    0: "rankproof.conformance.reference:blocking",
    1: "rankproof.conformance.reference:pipelined",
    2: "rankproof.conformance.reference:depth_2",
    4: "rankproof.conformance.reference:depth_4",
}
"""The reference implementation as a subject, by its lag."""

SOURCE_VARIABLE = "RANKPROOF_ENGINE_SOURCE"
"""The environment variable in which a rank process finds the folder of an engine's source."""


def subject_of(lag: int, subject: str | None) -> str:
    """The subject that is meant: the reference implementation where none is named.

    Raises BadInput for a lag that it does not have, and for a file where a module is to be named.
    """
    if subject and (subject.partition(":")[0].endswith(".py") or "/" in subject):
        module = subject.partition(":")[0].removesuffix(".py").strip("./").replace("/", ".")
        name = subject.partition(":")[2] or "factory"
        raise BadInput(f"--subject {subject}: name the module, and not its file: --subject {module}:{name}")
    named = REFERENCE.get(lag) if subject is None else subject
    if named is None:
        known = ", ".join(map(str, REFERENCE))
        raise BadInput(f"the reference implementation has lag {known}, not {lag}; give another by --subject")
    from rankproof.conformance.worker import check_factory  # not for verbs that start nothing, which are to begin fast

    check_factory(named)  # before anything is imported that takes longer
    return named


def check_ranks(ranks: int) -> None:
    """Raises BadInput for a number of ranks that no run can have, before anything is imported that takes long."""
    from rankproof.conformance.pool import MOST_RANKS  # as above

    if not 1 <= ranks <= MOST_RANKS:
        raise BadInput(f"a run has 1 to {MOST_RANKS} ranks, each a thread or a process on this machine, not {ranks}")


def working_directory() -> str:
    """Where this process is. Raises BadInput where that is gone; hypothesis and torch cannot even be imported there."""
    try:
        return os.getcwd()
    except OSError as error:
        raise BadInput("the working directory is gone; change to one that exists") from error


@contextmanager
def loadable(source: Path | None = None) -> Iterator[None]:
    """Lets the rank processes that are started within find subjects below the working directory, as `python -m` does.

    `source` is the folder in which they find an engine's source; None leaves what they were told. Raises BadInput for
    a path that is no folder, and for a working directory that is gone.
    """
    if source is not None and not source.is_dir():
        raise BadInput(f"--source {source}: there is no such folder; give the unpacked source of an engine")
    here = working_directory()
    path, variable = list(sys.path), os.environ.get(SOURCE_VARIABLE)
    sys.path.insert(0, here)
    if source is not None:
        os.environ[SOURCE_VARIABLE] = str(source.resolve())  # a rank may have another working directory
    try:
        yield
    finally:
        sys.path[:] = path
        if variable is not None:
            os.environ[SOURCE_VARIABLE] = variable
        else:
            os.environ.pop(SOURCE_VARIABLE, None)
