"""How the rounds of the reference subjects travel: as those of the implementation that is handed out."""

from __future__ import annotations

import pytest

from rankproof.conformance.launcher import Launcher
from rankproof.conformance.memory import MemoryRanks
from rankproof.conformance.outcome import Ok
from rankproof.conformance.pool import RankPool
from rankproof.conformance.reference import ReferenceSubject
from rankproof.impl.exchange import ExchangeTransport
from rankproof.impl.rounds import CarriedRounds, Rounds
from rankproof.impl.transport import GlooTransport


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("pipelined", ExchangeTransport),
        ("blocking", ExchangeTransport),
        ("depth_2", ExchangeTransport),
        ("with_storage", ExchangeTransport),
        ("carried", ExchangeTransport),
        ("reduced", GlooTransport),
        ("reduced_with_storage", GlooTransport),
    ],
)
def test_rounds_are_exchanged_as_open_ack_sync_does_and_reduced_where_the_name_says_so(name: str, wire: type) -> None:
    with MemoryRanks(2, factory=f"rankproof.conformance.reference:{name}", timeout=3.0) as ranks:
        subject = ranks._seats[0].subject
        assert isinstance(subject, ReferenceSubject)
        assert type(subject._sync._transport) is wire
        assert type(subject._sync._rounds) is Rounds, "in memory no thread runs out of its turn"


@pytest.mark.processes
@pytest.mark.parametrize(
    ("name", "rounds"),
    [
        ("pipelined", Rounds),
        ("on_its_own_group", Rounds),
        ("carried", CarriedRounds),
        ("carried_at_depth_2", CarriedRounds),
    ],
)
def test_rounds_are_carried_in_processes_where_the_name_says_so(launcher: Launcher, name: str, rounds: type) -> None:
    with RankPool(2, factory=f"reference_subjects:{name}", timeout=3.0, launcher=launcher) as pool:
        assert [pool.call(rank, "carried_by") for rank in range(2)] == [Ok(rounds.__name__)] * 2
