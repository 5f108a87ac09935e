"""Files that the front door writes: whole or not at all, and with an unusable folder named before any work."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from rankproof.model.errors import BadInput


def folder_for_writing(folder: Path) -> Path:
    """The folder, made with its parents where it is not there. Raises BadInput for one that cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            return folder
    except FileExistsError as error:
        raise BadInput(f"{folder}: this is a file, and a folder is needed to write into") from error
    except OSError as error:
        raise BadInput(f"{folder}: cannot write into this folder: {(error.strerror or str(error)).lower()}") from error


def write(path: Path, text: str) -> None:
    """The file with this text, replaced in one go, so that no reader sees half of it. Raises BadInput."""
    half = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        half.write_text(text, encoding="utf-8")
        half.replace(path)
    except OSError as error:
        raise BadInput(f"{path}: cannot write: {(error.strerror or str(error)).lower()}") from error
    finally:
        with contextlib.suppress(OSError):
            half.unlink(missing_ok=True)
