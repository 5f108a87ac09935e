"""Profiles are data, and what is asked for explicitly wins."""

from __future__ import annotations

import pytest

from rankproof.model.errors import BadInput
from rankproof.profiles import PROFILES, Budget, budget


def test_without_options_a_run_is_the_dev_profile() -> None:
    assert budget() == PROFILES["dev"]


def test_every_profile_ends() -> None:
    assert [name for name, each in PROFILES.items() if each.examples is None and each.seconds is None] == []


def test_an_explicit_limit_takes_the_place_of_both_limits_of_the_profile() -> None:
    assert budget("dev", seconds=20) == Budget(None, 20, PROFILES["dev"].ranks)
    assert budget("nightly", examples=7) == Budget(7, None, PROFILES["nightly"].ranks)


def test_explicit_ranks_leave_the_limits_of_the_profile() -> None:
    assert budget("ci", ranks=3) == Budget(PROFILES["ci"].examples, PROFILES["ci"].seconds, 3)


def test_an_unknown_profile_is_named_with_the_nearest() -> None:
    with pytest.raises(BadInput, match="unknown profile 'nigthly'; did you mean 'nightly'"):
        budget("nigthly")
