"""A factory that no rank can use is one line that names it, and the pool goes on with another."""

from __future__ import annotations

import importlib
import re

import pytest

from rankproof.conformance.launcher import Launcher
from rankproof.conformance.outcome import Ok
from rankproof.conformance.pool import RankPool
from rankproof.model.errors import BadInput
from tests.conformance.pool_marks import ECHO, HERE

pytestmark = pytest.mark.processes


@pytest.mark.parametrize(
    ("factory", "line"),
    [
        ("pool_subjects", "factory 'pool_subjects' does not read package.module:callable"),
        ("a b:c", "factory 'a b:c' does not read package.module:callable"),
        (
            "nowhere:f",
            "factory 'nowhere:f': cannot import 'nowhere': ModuleNotFoundError: No module named 'nowhere'; it is "
            "looked for in the working directory, on PYTHONPATH, and among what is installed",
        ),
        (
            "pool_subjects:make_eco",
            "factory 'pool_subjects:make_eco': unknown name 'make_eco'; did you mean 'make_echo'?",
        ),
        ("pool_subjects:number", "factory 'pool_subjects:number' is not callable, but of type 'int'"),
        (
            "pool_subjects:fails_to_make",
            "factory 'pool_subjects:fails_to_make' raised OSError: weights not found",
        ),
        (
            "pool_subjects:NoSteps",
            "factory 'pool_subjects:NoSteps' made an object of type 'NoSteps', which is no subject: "
            "it has no enqueue, finish, step, flush, reset, evict, reconfigure",
        ),
        (
            "pool_subjects:RaisesInSetupOnRankOne",
            re.compile(
                r"factory 'pool_subjects:RaisesInSetupOnRankOne': setup on rank 1 raised ValueError: no such device "
                r"\(File \"[^ ]*pool_subjects\.py\", line \d+, in setup\)"
            ),
        ),
        (
            "pool_subjects:DiesInSetup",
            re.compile(r"factory 'pool_subjects:DiesInSetup': setup on rank \d died: exit code 3 \(last words\)"),
        ),
        (
            lambda: None,
            re.compile(
                r"factory 'tests\.conformance\.test_pool_factories:<lambda>' cannot be sent to a rank \(.*\); define .*"
            ),
        ),
    ],
)
def test_a_factory_that_cannot_be_used_is_one_line_that_names_it(
    launcher: Launcher, factory: str, line: str | re.Pattern[str]
) -> None:
    with pytest.raises(BadInput) as caught, RankPool(2, factory=factory, launcher=launcher):
        pass
    text = str(caught.value)
    assert "\n" not in text
    assert line == text if isinstance(line, str) else line.fullmatch(text), text


def test_a_callable_that_ranks_can_import_is_a_factory(launcher: Launcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    factory = importlib.import_module("pool_subjects").make_echo
    with RankPool(1, factory=factory, launcher=launcher) as pool:
        assert pool.call(0, "echo", 1) == Ok(1)


def test_a_pool_goes_on_after_a_factory_that_failed(pool: RankPool) -> None:
    with pytest.raises(BadInput, match="no such device"):
        pool.regroup(factory="pool_subjects:RaisesInSetupOnRankOne")
    pool.regroup(factory=ECHO)
    assert pool.call(0, "echo", 1) == Ok(1)


def test_an_interface_that_is_not_there_is_named(launcher: Launcher) -> None:
    pool = RankPool(1, factory="pool_subjects:MinimumOnNoInterface", launcher=launcher)
    with pytest.raises(BadInput, match=r"^GLOO_SOCKET_IFNAME names the interface 'nosuch0', which is not here; .*$"):
        pool.__enter__()


def test_a_module_that_cannot_be_preloaded_is_named() -> None:
    with Launcher("forkserver", preload=("nowhere",)) as launcher, pytest.raises(BadInput, match="import 'nowhere'"):
        launcher.start("rankproof.conformance.worker:serve")
