"""A rank that is stopped and goes on, one that is stopped for good, and a run in which no further step comes."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.commands import Continue, Freeze, Idle, Stop
from rankproof.conformance.driver import Command, Driver, Mismatch, Step
from rankproof.conformance.launcher import Launcher
from rankproof.conformance.memory import MemoryRanks
from rankproof.conformance.outcome import Hung, Ok, Raised
from rankproof.conformance.pool import RankPool
from rankproof.conformance.ranks import Unruly
from rankproof.conformance.shrink import conclude, rerun
from rankproof.model.actions import Close, Crash, Enqueue, Finish, Flush
from rankproof.model.schedule import run

PIPELINED = "rankproof.conformance.reference:pipelined"
HELD_TO = Capabilities()
DIES = Capabilities(survives=frozenset({"freeze"}))


@pytest.fixture
def ranks() -> Iterator[MemoryRanks]:
    with MemoryRanks(2, factory=PIPELINED, timeout=1.0, reply_within=3.0) as ranks:
        yield ranks


def driver_of(ranks: Unruly, held_to: Capabilities = HELD_TO) -> Driver:
    return Driver(held_to.models(2)[-1], ranks, held_to)


def give(driver: Driver, *commands: Command) -> None:
    for command in commands:
        driver.give(command)


ONE_ACK: tuple[Command, ...] = tuple(
    command for rank in (0, 1) for command in (Enqueue(rank, 0, 0), Finish(rank, 0, 0), Step(rank))
)


def test_a_rank_in_memory_that_is_stopped_begins_its_command_when_it_goes_on(ranks: MemoryRanks) -> None:
    ranks.kill(1, signal.SIGSTOP)
    ranks.send(1, "flush")
    assert ranks.receive(1, 0.01) == Hung(0.01)
    ranks.kill(1, signal.SIGCONT)
    assert isinstance(ranks.receive(1), Ok)


def test_while_a_rank_is_stopped_the_others_go_to_their_waits_and_are_compared_when_it_goes_on(
    ranks: MemoryRanks,
) -> None:
    driver = driver_of(ranks)
    give(driver, *ONE_ACK, Stop(1), Step(0))
    assert driver.is_busy(0), "the model has the round, but a stopped process may still be needed for it"
    assert driver.why_not(Step(0)) == "rank 0 has not ended its step"
    assert driver.why_not(Step(1)) == driver.why_not(Stop(0)) == driver.why_not(Crash(0)) == "rank 1 is stopped"
    compared = len(driver.compared)
    give(driver, Continue(1))
    assert not driver.is_busy(0)
    assert [each.popped for each in driver.compared[compared:]] == [((0,), ())]
    give(driver, Step(1))
    conclude(driver)


def test_a_rank_is_stopped_within_a_step_and_goes_on_in_the_end_by_itself(ranks: MemoryRanks) -> None:
    driver = driver_of(ranks)
    give(driver, *ONE_ACK, Step(0), Step(0), Stop(0), Step(1))
    assert driver.is_busy(0)
    assert driver.is_busy(1)
    conclude(driver)
    assert [rank.error for rank in driver.state.ranks] == ["closed", "closed"]


def test_a_stop_is_nothing_to_the_model(ranks: MemoryRanks) -> None:
    driver = driver_of(ranks)
    give(driver, *ONE_ACK, Stop(1), Step(0), Continue(1), Step(1))
    with MemoryRanks(2, factory=PIPELINED) as others:
        plain = driver_of(others)
        give(plain, *ONE_ACK, Step(0), Step(1))
        assert driver.actions == plain.actions


def test_a_rank_that_did_another_thing_while_one_was_stopped_is_found(ranks: MemoryRanks) -> None:
    driver = driver_of(ranks)
    give(driver, *ONE_ACK, Stop(1))
    ranks.aside(0, "enqueue", 1, 7)  # what nobody has told the model
    give(driver, Step(0))
    with pytest.raises(Mismatch, match=r"rank 0, step: .*\n  left: model \(\(\), \(\)\) \| subject \(\(\), \(7,\)\)"):
        give(driver, Continue(1))


def test_what_was_raised_aside_is_the_outcome_of_the_command_under_way_and_of_no_other(ranks: MemoryRanks) -> None:
    ranks.aside(0, "reconfigure", "nothing", 1)
    assert isinstance(ranks.call(0, "flush"), Raised)
    assert [isinstance(ranks.call(rank, "flush"), Ok) for rank in range(2)] == [True, True]


def test_a_rank_that_is_stopped_for_good_is_an_error_on_the_other_and_dead_to_the_model(ranks: MemoryRanks) -> None:
    driver = driver_of(ranks, DIES)
    give(driver, *ONE_ACK, Freeze(1), Step(0), Step(0))
    ranks.send(1, "flush")
    assert ranks.receive(1, 0.01) == Hung(0.01), "it is stopped, and not dead"
    assert driver.why_not(Stop(0)) == driver.why_not(Idle(0)) == "a rank has ended"
    conclude(driver)
    assert [rank.error for rank in driver.state.ranks] == ["peer lost", "dead"]
    assert Crash(1) in driver.actions
    assert run(driver.schedule()).stopped is None, "the schedule file has what the model went through"
    ranks.regroup()
    assert isinstance(ranks.call(1, "step"), Ok), "a frozen rank is replaced"


def test_after_idle_no_further_step_comes_but_those_that_others_have_taken(ranks: MemoryRanks) -> None:
    driver = driver_of(ranks)
    give(driver, *ONE_ACK, Step(0), Idle(0))
    assert driver.why_not(Step(0)) == "no further step comes"
    give(driver, Step(1))
    assert driver.why_not(Step(1)) == "no further step comes"
    assert driver.why_not(Idle(1)) == "no further step comes already"
    give(driver, Flush(0), Flush(1))
    assert [rank.issued - rank.consumed for rank in driver.state.ranks] == [0, 0]
    conclude(driver)


def test_ranks_that_only_take_commands_cannot_be_stopped() -> None:
    class Nobody:
        def send(self, rank: int, method: str, *arguments: object) -> None: ...

        def receive(self, rank: int) -> Ok:
            return Ok(rank)

    driver = Driver(HELD_TO.model(2), Nobody(), HELD_TO)
    assert driver.why_not(Stop(0)) == "these ranks cannot be stopped"
    assert driver.why_not(Freeze(0)) == "these ranks cannot be killed"
    assert driver.why_not(Continue(0)) == "rank 0 is not stopped"


def test_a_list_of_commands_with_a_stop_is_given_again_without_what_has_become_impossible(ranks: MemoryRanks) -> None:
    commands = [Continue(1), *ONE_ACK, Stop(1), Step(0), Step(1), Continue(1), Idle(0), Step(1), Step(0), Close(0)]
    assert rerun(HELD_TO.model(2), ranks, HELD_TO, commands) is None


@pytest.mark.processes
def test_a_process_that_is_stopped_while_gloo_needs_it_goes_on_and_catches_up(shared_launcher: Launcher) -> None:
    with RankPool(2, factory=PIPELINED, timeout=30.0, launcher=shared_launcher) as pool:
        driver = driver_of(pool)
        give(driver, *ONE_ACK, Stop(1), Step(0), Continue(1), Step(1), Stop(0), Step(1))
        conclude(driver)
        assert sum(len(acks) for each in driver.compared for acks in each.popped) == 2


@pytest.mark.processes
def test_a_process_that_is_stopped_for_good_is_an_error_on_its_peer_within_the_deadline(
    shared_launcher: Launcher,
) -> None:
    factory = "rankproof.conformance.reference:on_its_own_group"
    with RankPool(2, factory=factory, timeout=1.0, reply_within=60.0, launcher=shared_launcher) as pool:
        driver = driver_of(pool, DIES)
        give(driver, *ONE_ACK, Freeze(1))
        state = Path(f"/proc/{pool.pids[1]}/stat").read_text().rpartition(")")[2].split()[0]
        assert state == "T", "it is stopped, and not dead"
        while not driver.state.ranks[0].error:  # in which step its peer is missed is up to gloo
            give(driver, Step(0))
        conclude(driver)
        assert [rank.error for rank in driver.state.ranks] == ["peer lost", "dead"]
