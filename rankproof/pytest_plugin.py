"""The pytest plugin: `rankproof_ranks`, real rank processes that start fast, because all tests of a session share them.

Nothing that takes time is imported before a test asks for the fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rankproof.conformance.fuzzed import Fuzzing
    from rankproof.conformance.launcher import Launcher
    from rankproof.conformance.pool import RankPool
    from rankproof.conformance.worker import Factory


class SharedRanks:
    """Starts ranks for the tests of a session through one launcher, which loads torch once, at the first use.

    A rank finds the modules that were importable then. The launcher ends with the session; should the session end in
    another way, by a signal or a crash, the launcher and every rank end with it.
    """

    def __init__(self) -> None:
        self._launcher: Launcher | None = None

    @property
    def launcher(self) -> Launcher:
        """What starts the processes, for whatever takes a `launcher`."""
        if self._launcher is None:
            from rankproof.conformance.launcher import Launcher

            self._launcher = Launcher()
        return self._launcher

    def pool(self, ranks: int, factory: Factory, **options: Any) -> RankPool:
        """A `RankPool` to use in a `with`; `options` are its keywords, such as `lanes` and `timeout`."""
        from rankproof.conformance.pool import RankPool

        return RankPool(ranks, factory=factory, launcher=self.launcher, **options)

    def assert_conforms(self, factory: Factory, ranks: int = 2, **options: Any) -> Fuzzing:
        """`rankproof.assert_conforms` on these processes; `options` are its keywords, such as `seconds` and `seed`."""
        __tracebackhide__ = True  # as in `assert_conforms`
        from rankproof.conformance.asserting import assert_conforms

        return assert_conforms(factory, ranks, launcher=self.launcher, **options)

    def close(self) -> None:
        """Ends every process; another use starts new ones."""
        if self._launcher is not None:
            self._launcher.close()
            self._launcher = None


@pytest.fixture(scope="session")
def rankproof_ranks() -> Iterator[SharedRanks]:
    """Rank processes for the whole session: `rankproof_ranks.assert_conforms("my.module:factory", ranks=2)`."""
    shared = SharedRanks()
    try:
        yield shared
    finally:
        shared.close()
