"""The launchers that tests share, which need no more of one than to start processes fast."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rankproof.conformance.launcher import Launcher
from rankproof.conformance.pool import RankPool
from tests.conformance.pool_marks import ECHO, HERE, MARK, SHARED


@pytest.fixture(scope="session")
def shared_launcher() -> Iterator[Launcher]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE))
        launcher = Launcher()
    with launcher:
        yield launcher


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    """One whose processes all have a mark in their environment, so that a test sees which of them live."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE))
        patch.setenv(MARK, SHARED)
        launcher = Launcher()
    with launcher:
        yield launcher


@pytest.fixture
def pool(launcher: Launcher) -> Iterator[RankPool]:
    with RankPool(2, factory=ECHO, launcher=launcher) as pool:
        yield pool
