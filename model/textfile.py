"""A file that a person names, read as text: what is none, or has no end, is bad input in one line."""

from __future__ import annotations

import stat
from pathlib import Path

from rankproof.model.errors import BadInput


def read_text(path: Path, what: str, largest: int) -> str:
    """The text of a file of at most `largest` bytes; a byte order mark, as some editors write it, is left out.

    what  what it should hold, for the error, such as "schedule"

    Raises BadInput for what is no file or cannot be read. A pipe is not waited for, and a device not read to its end.
    """
    try:
        kind = path.stat().st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            raise BadInput(f"{path}: cannot read the {what}: it is a pipe or a device, and no file")
        with path.open("rb") as file:
            content = file.read(largest + 1)  # some files say that they have no bytes, and have no end
        if len(content) > largest:
            raise BadInput(f"{path}: the file has more than {largest >> 20} MiB; it is no {what}")
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: cannot read the {what}: it is not UTF-8 text") from error
    except OSError as error:
        raise BadInput(f"{path}: cannot read the {what}: {error.strerror or error}") from error
