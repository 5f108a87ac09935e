"""Where the code of a subject is, found without running any of it."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

WORKSPACE = "GITHUB_WORKSPACE"
"""The environment variable that names the root of the checkout in GitHub Actions."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file; the path is relative to the root of the checkout, with slashes, where the file is in it."""

    path: str
    line: int


def place_of(factory: str, paths: Sequence[str] | None = None, root: Path | None = None) -> Place | None:
    """Where "package.module:callable" is defined, or None where no source of it is on `paths`, by default `sys.path`.

    The module is read as text: importing it would run an engine in this process.
    """
    module, _, name = factory.partition(":")
    parts = module.split(".")
    for folder in sys.path if paths is None else paths:
        base = Path(folder or ".", *parts)
        for file in (base.with_suffix(".py"), base / "__init__.py"):
            try:
                text = file.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            # A link, as an editable install makes it, is followed to the file that a person edits.
            return Place(relative(file.resolve(), root), _line_of(text, name.partition(".")[0]))
    return None


def relative(file: Path, root: Path | None = None) -> str:
    """The path of a file as the pages of a checkout name it: from its root, if it lies below."""
    try:
        base = (root or Path(os.environ.get(WORKSPACE) or Path.cwd())).resolve()
        return str(PurePosixPath(file.resolve().relative_to(base)))
    except (OSError, ValueError):
        return file.as_posix()


def _line_of(text: str, name: str) -> int:
    """The line at which a module defines a name at its top level; 1 where it is not to be seen."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return 1
    for statement in body:
        match statement:
            case ast.FunctionDef(name=found) | ast.AsyncFunctionDef(name=found) | ast.ClassDef(name=found):
                names = {found}
            case ast.Assign(targets=targets):
                names = {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=found)):
                names = {found}
            case ast.Import(names=imported) | ast.ImportFrom(names=imported):
                names = {alias.asname or alias.name for alias in imported}
            case _:
                continue
        if name in names:
            return statement.lineno
    return 1
