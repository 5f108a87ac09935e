"""Where the source of a published engine is, and which release it is: read as text, never imported."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rankproof.model.errors import BadInput

SOURCE_VARIABLE = "RANKPROOF_ENGINE_SOURCE"
"""The environment variable that tells a rank's process where the engine is; `fuzz --source` sets it."""

_WITHIN = ("", "sglang", "python/sglang")  # the package itself, an unpacked wheel or site-packages, a checkout
_VERSION = re.compile(r"""^__version__\s*(?::[^=]+)?=\s*(?:version\s*=\s*)?["']([^"']+)["']""", re.MULTILINE)


@dataclass(frozen=True)
class EngineSource:
    """The folder of an engine's package, and its release as the package says it ("unknown" where it does not)."""

    package: Path
    version: str

    def text(self, *relative: str) -> tuple[Path, str] | None:
        """The first file of the package that exists among `relative`, with its text; None where none does.

        Raises BadInput for a file that cannot be read as text.
        """
        for each in relative:
            path = self.package / each
            if path.is_file():
                try:
                    return path, path.read_text(encoding="utf-8")
                except (OSError, UnicodeDecodeError) as error:
                    raise BadInput(f"{path}: cannot be read as text: {error}") from None
        return None


def named_source(environment: Mapping[str, str] = os.environ) -> EngineSource:
    """The engine that the environment names. Raises BadInput where it names none, or what it names is none."""
    named = environment.get(SOURCE_VARIABLE)
    if not named:
        raise BadInput(
            f"no engine is named; give the folder of an unpacked SGLang with --source, or in {SOURCE_VARIABLE}"
        )
    return find_source(named)


def find_source(path: str | Path) -> EngineSource:
    """The engine's package in `path`: the package itself, or the folder that holds it, as an unpacked wheel does.

    Raises BadInput for what is no folder, and for a folder without the engine.
    """
    folder = Path(path)
    if not folder.is_dir():
        mend = (
            "unpack it (a wheel is a zip) and give the folder" if folder.exists() else "there is nothing of that name"
        )
        raise BadInput(f"engine source {str(path)!r} is no folder: {mend}")
    for within in _WITHIN:
        package = folder / within
        if (package / "srt" / "mem_cache").is_dir():
            return EngineSource(package.resolve(), _version(package.resolve()))
    raise BadInput(
        f"engine source {str(path)!r} holds no SGLang: srt/mem_cache is neither in it, nor in its sglang/ or "
        f"python/sglang/; give the folder into which a wheel of sglang was unpacked"
    )


def _version(package: Path) -> str:
    for name in ("_version.py", "version.py"):
        file = package / name
        if file.is_file() and (found := _VERSION.search(file.read_text(encoding="utf-8", errors="replace"))):
            return found[1]
    for metadata in sorted(package.parent.glob("sglang-*.dist-info")):
        return metadata.name.removeprefix("sglang-").removesuffix(".dist-info")
    return "unknown"
