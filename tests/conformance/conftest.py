"""One launcher for all tests of a session that need no more of it than to start processes fast."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rankproof.conformance.launcher import Launcher


@pytest.fixture(scope="session")
def shared_launcher() -> Iterator[Launcher]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent))
        launcher = Launcher()
    with launcher:
        yield launcher
