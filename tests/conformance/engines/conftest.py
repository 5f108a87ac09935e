"""Ranks whose engine is whatever a test points to, and the folders of published releases where they are given."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rankproof.conformance.engines.source import SOURCE_VARIABLE
from rankproof.conformance.launcher import Launcher

RELEASES_VARIABLE = "RANKPROOF_ENGINES"

PointTo = Callable[[Path], Launcher]
"""Makes a folder the source of the engine, and gives the launcher whose processes see it."""


@pytest.fixture(scope="session")
def named_by_link(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Launcher, Path]]:
    """A launcher, which has its environment from when it is made, and the link that this environment names."""
    link = tmp_path_factory.mktemp("engine") / "source"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SOURCE_VARIABLE, str(link))
        launcher = Launcher()
    with launcher:
        yield launcher, link


@pytest.fixture
def point_to(named_by_link: tuple[Launcher, Path]) -> PointTo:
    launcher, link = named_by_link

    def to(folder: Path) -> Launcher:
        link.unlink(missing_ok=True)
        link.symlink_to(folder)
        return launcher

    return to


@pytest.fixture
def release() -> Callable[[str], Path]:
    """The folder into which a published release was unpacked; skips the test where it is not given."""

    def folder(version: str) -> Path:
        named = os.environ.get(RELEASES_VARIABLE)
        if not named:
            pytest.skip(f"{RELEASES_VARIABLE} names no folder with unpacked releases of sglang (see docs/engines.md)")
        found = Path(named) / version
        if not found.is_dir():
            pytest.skip(f"{RELEASES_VARIABLE} has no folder {version} with the unpacked sglang {version}")
        return found

    return folder
