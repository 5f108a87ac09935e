"""One seed gives every rank its part of a schedule, and every such schedule can be gone through without a driver."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rankproof.conformance.capabilities import Capabilities, Lane
from rankproof.conformance.commands import Step
from rankproof.conformance.driver import Driver
from rankproof.conformance.memory import MemoryRanks
from rankproof.conformance.outcome import Ok, Outcome
from rankproof.conformance.recorded_check import take_through
from rankproof.conformance.recorded_schedule import Plan, call_of, commands_of
from rankproof.conformance.underway import Begun
from rankproof.model.actions import Attach, Detach, Enqueue, Evict, Finish, Flush, Reset

REFERENCE = "rankproof.conformance.reference:"
DEEP = Capabilities(lag=101, cumulative=True)
STORING = Capabilities(storage=1, attaches="agreed", supports=frozenset({"flush", "reset", "evict", "reconfigure"}))
AT_ONCE = replace(STORING, attaches="at-once")
WIDE = Capabilities(lanes=tuple(Lane(str(number)) for number in range(65)))


def test_a_seed_gives_the_same_part_wherever_it_is_made() -> None:
    part = commands_of(Plan("m:f", world=2, seed=1, steps=3), 0, 1)
    drawn = (Flush(1), Enqueue(1, 0, 0), Enqueue(1, 0, 1), Finish(1, 0, 1), Step(1), Finish(1, 0, 0), Step(1))
    assert part[: len(drawn)] == drawn
    assert part[-4:] == (Step(1), Step(1), Step(1), Flush(1))


def test_every_rank_goes_through_the_same_events_in_the_same_order() -> None:
    plan = Plan("m:f", world=3, seed=5)
    for example in range(5):
        parts = [
            [
                (type(command).__name__, getattr(command, "lane", None), getattr(command, "ack", None))
                for command in commands_of(plan, example, rank)
                if not isinstance(command, Finish)
            ]
            for rank in range(3)
        ]
        assert parts[0] == parts[1] == parts[2]
        finishes = [
            [(each.lane, each.ack) for each in commands_of(plan, example, rank) if isinstance(each, Finish)]
            for rank in (0, 1)
        ]
        assert finishes[0] != finishes[1]


def test_what_a_subject_does_not_support_is_not_drawn() -> None:
    plan = Plan("m:f", 2, capabilities=Capabilities(lanes=(Lane("a", evicts=False),), supports=frozenset({"evict"})))
    drawn = {type(command) for example in range(20) for command in commands_of(plan, example, 0)}
    assert drawn == {Enqueue, Finish, Step}


def test_all_that_can_be_drawn_is() -> None:
    drawn = {type(command) for example in range(20) for command in commands_of(Plan("m:f", 2), example, 0)}
    assert drawn == {Enqueue, Finish, Step, Flush, Reset, Evict}


def test_a_lane_that_is_counted_by_size_is_filled_in_one_order_by_what_has_finished() -> None:
    can = Capabilities(lanes=(Lane("storage", counts="size"),))
    given = [
        call_of(command, can)
        for command in commands_of(Plan("m:f", 2, capabilities=can), 0, 0)
        if isinstance(command, Enqueue | Finish)
    ]
    filled = [arguments for method, arguments in given if method]
    assert {method for method, _ in given} == {"", "enqueue"}
    assert filled == sorted(filled)


@pytest.mark.parametrize(
    ("subject", "can"),
    [
        ("pipelined", Capabilities()),
        ("blocking", Capabilities(lag=0)),
        ("depth_2", Capabilities(lag=2, cumulative=True)),
        ("with_storage", STORING),
        ("blocking_with_storage", replace(STORING, lag=0)),
        ("depth_2_with_storage", replace(STORING, lag=2, cumulative=True)),
    ],
)
@pytest.mark.parametrize("ranks", [2, 3])
def test_every_schedule_can_be_gone_through_to_its_end_by_ranks_that_only_wait_for_rounds(
    subject: str, can: Capabilities, ranks: int
) -> None:
    plan = Plan(REFERENCE + subject, ranks, seed=ranks, capabilities=can)
    with MemoryRanks(ranks, factory=plan.subject, lanes=can.names) as memory:
        for example in range(2):
            driver = Driver(can.model(ranks), memory, can)
            assert take_through(driver, [commands_of(plan, example, rank) for rank in range(ranks)])
            assert [rank.issued - rank.consumed for rank in driver.state.ranks] == [0] * ranks
            assert not any(lane.waiting for rank in driver.state.ranks for lane in rank.lanes)
            memory.renew()


class Unheld(Driver):
    """Takes the model alone through commands."""

    def _compare(self, rank: int, busy: Begun, outcome: Outcome) -> None:
        assert (busy.command.rank, outcome) == (rank, Ok())


class Nobody:
    """Ranks that say of everything that it is done."""

    def send(self, rank: int, method: str, *arguments: object) -> None: ...

    def receive(self, _: int) -> Ok:
        return Ok()


@pytest.mark.parametrize("can", [STORING, AT_ONCE, replace(AT_ONCE, lag=0), replace(AT_ONCE, lag=3, cumulative=True)])
def test_storage_comes_and_goes_and_is_filled_only_while_it_is_there(can: Capabilities) -> None:
    drawn: set[tuple[type, int]] = set()
    for example in range(3):
        parts = [commands_of(Plan("m:f", 2, capabilities=can), example, rank) for rank in range(2)]
        assert take_through(Unheld(can.model(2), Nobody(), can), parts)
        drawn |= {(type(command), command.lane) for command in parts[0] if isinstance(command, Enqueue)}
        drawn |= {(type(command), 0) for command in parts[0] if isinstance(command, Attach | Detach)}
    assert drawn == {(Enqueue, 0), (Enqueue, 1), (Attach, 0), (Detach, 0)}


@pytest.mark.parametrize(
    ("says", "given"),
    [
        ("examples: 0 is not 1 or more", {"examples": 0}),
        ("steps: 1000000000 is not 1 to 100", {"steps": 10**9}),
        ("seed: -1 is not 0 or more", {"seed": -1}),
        ("timeout: nan is not between 0 and 3600 seconds", {"timeout": float("nan")}),
        ("lag: 101 is not 0 to 100", {"capabilities": DEEP}),
        ("lanes: 65 is not 1 to 64", {"capabilities": WIDE}),
        ("subject and lanes: a name has at most 200 characters, all printable", {"subject": "a\nb:f"}),
    ],
)
def test_a_plan_that_cannot_be_run_is_named(says: str, given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"^{says}"):
        replace(Plan("m:f", 2), **given)
