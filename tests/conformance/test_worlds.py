"""Every operation and topology of the reference implementation, on real processes, against the model."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rankproof.conformance import confirming, walking
from rankproof.conformance.blame import broken_property
from rankproof.conformance.driver import Command, Driver, HarnessLost, Mismatch, Step
from rankproof.conformance.launcher import Launcher
from rankproof.conformance.machine import Failure, Findings
from rankproof.conformance.memory import MemoryRanks
from rankproof.conformance.outcome import Outcome
from rankproof.conformance.pool import RankPool
from rankproof.conformance.replay import replay
from rankproof.conformance.shrink import rerun
from rankproof.conformance.walking import Walked, walk, walk_on
from rankproof.conformance.worlds import WORLDS, World, not_taken
from rankproof.impl.acks import Ack, Lane, LaneKind
from rankproof.impl.chain import OUTSTANDING
from rankproof.impl.changes import Agenda, Change
from rankproof.impl.guards import Agreement
from rankproof.impl.lanes import Lanes
from rankproof.model.actions import (
    KINDS,
    Attach,
    Crash,
    Decline,
    Detach,
    Enqueue,
    Finish,
    Lose,
    Notice,
    Reset,
    Stall,
    Swap,
    Throw,
    Withdraw,
)
from rankproof.model.properties import CHECKED
from rankproof.model.schedule import dump, parse
from rankproof.model.verdict import Verdict


def world_named(subject: str, **bounds: int) -> World:
    """The world of that subject in which these bounds are not 0."""
    return next(
        world
        for world in WORLDS
        if world.subject == subject and all(getattr(world.model.scenario, name) for name in bounds)
    )


def counted(steps: int = 1, **taken: int) -> Findings:
    """What a world comes to in which every action was taken once, or so often."""
    findings = Findings()
    findings.examples, findings.steps, findings.taken = 1, steps, dict.fromkeys(KINDS, 1) | taken
    return findings


def test_a_walk_in_which_a_world_or_an_action_was_left_out_has_no_verdict() -> None:
    first, second = WORLDS[:2]
    assert Walked({first: counted(), second: counted()}).verdict is Verdict.HOLDS
    assert Walked({first: counted(), second: counted(steps=0)}).verdict is Verdict.UNDETERMINED
    assert Walked({first: counted()}, "nobody saw how rank 1 ended").verdict is Verdict.UNDETERMINED
    missing = Walked({first: counted(notice=0), second: counted(notice=0)})
    assert missing.verdict is Verdict.UNDETERMINED
    assert "never taken: notice" in missing.lines()
    assert missing.rows()[0]["taken"]["notice"] == 0


@contextmanager
def driving(world: World, launcher: Launcher, *, checks: bool = True) -> Iterator[Driver]:
    """A driver of a world's model and of its subject on real processes; `checks` the model's own properties too."""
    scenario = world.model.scenario
    with RankPool(scenario.ranks, factory=world.factory, lanes=scenario.lanes, timeout=3.0, launcher=launcher) as pool:
        yield Driver(world.model, pool, checked=CHECKED if checks else ())


def all_ranks(driver: Driver, command: type[Command], *arguments: int) -> list[tuple[tuple[int, ...], ...]]:
    """What the command popped on each rank, in the order in which they ended it."""
    before = len(driver.compared)
    for rank in range(len(driver.state.ranks)):
        driver.give(command(rank, *arguments))
    return [each.popped for each in driver.compared[before:]]


def replayed(driver: Driver, world: World, launcher: Launcher) -> Verdict:
    """What comes of the schedule of a driver, once it has been through a file."""
    schedule = parse(dump(driver.schedule()), "recorded.json")
    return replay(schedule, world.factory, world.model.protocol, launcher=launcher).verdict


@pytest.mark.processes
@pytest.mark.timeout(400)
def test_the_reference_does_in_every_world_what_the_model_does_and_no_action_stays_out(
    shared_launcher: Launcher,
) -> None:
    walked = walk(seconds=20.0, launcher=shared_launcher)
    sys.stdout.write("\n".join(walked.lines()))
    assert walked.verdict is Verdict.HOLDS, walked.lines()
    assert [row["world"] for row in walked.rows()] == [world.says for world in walked.found]
    assert set(walked.found) == set(WORLDS)
    for world, findings in walked.found.items():
        assert findings.examples == len(world.begins) + 1
        assert world.begins, f"{world.says} takes no step where there is no time for random ones"
        assert findings.taken["issue"] > 1, world.says
        assert not world.model.scenario.attaches or findings.taken["change"] > 0, world.says


def test_an_action_that_no_run_took_is_named() -> None:
    taken = dict.fromkeys(KINDS, 1)
    assert not_taken([taken]) == ()
    assert not_taken([taken | {"change": 0}, {"detach": 1}]) == ("change",)


@pytest.mark.processes
def test_a_follower_waits_within_its_step_until_its_own_ack_has_finished(shared_launcher: Launcher) -> None:
    world = world_named("pipeline_2x2_with_storage")
    with driving(world, shared_launcher) as driver:
        all_ranks(driver, Enqueue, 0, 0)
        driver.give(Finish(0, 0, 0))
        driver.give(Finish(1, 0, 0))
        assert all_ranks(driver, Step) == [((0,), ())] * 2
        assert [driver.is_busy(rank) and driver.waits_for_own(rank) for rank in range(4)] == [False, False, True, True]
        driver.give(Finish(3, 0, 0))
        driver.give(Finish(2, 0, 0))
        assert [(each.rank, each.popped) for each in driver.compared[-2:]] == [(3, ((0,), ())), (2, ((0,), ()))]
    assert replayed(driver, world, shared_launcher) is Verdict.HOLDS


@pytest.mark.processes
def test_rounds_between_an_early_reset_and_a_late_one_pop_nothing(shared_launcher: Launcher) -> None:
    world = world_named("unaligned")
    with driving(world, shared_launcher) as driver:
        all_ranks(driver, Enqueue, 0, 0)
        all_ranks(driver, Finish, 0, 0)
        driver.give(Reset(0))
        assert [all_ranks(driver, Step) for _ in range(2)] == [[((), ())] * 2] * 2
        driver.give(Reset(1))
        all_ranks(driver, Enqueue, 0, 1)
        all_ranks(driver, Finish, 0, 1)
        assert [all_ranks(driver, Step) for _ in range(2)] == [[((), ())] * 2, [((1,), ())] * 2]
    assert replayed(driver, world, shared_launcher) is Verdict.HOLDS


@pytest.mark.processes
@pytest.mark.parametrize("subject", ["with_storage", "depth_2_with_storage", "blocking_with_storage"])
def test_storage_is_there_on_every_rank_from_the_same_round_on_whenever_each_asked(
    shared_launcher: Launcher, subject: str
) -> None:
    world = world_named(subject)
    with driving(world, shared_launcher) as driver:
        driver.give(Attach(0))
        all_ranks(driver, Step)
        driver.give(Attach(1))
        window = world.model.protocol.window
        for _ in range(window + 1):
            assert driver.why_not(Enqueue(0, 1, 0)) == "rank 0 has no storage attached, to which lane 1 belongs"
            all_ranks(driver, Step)
        all_ranks(driver, Enqueue, 1, 0)
        all_ranks(driver, Finish, 1, 0)
        popped = [acks for _ in range(window + 1) for acks in all_ranks(driver, Step)]
        assert [acks for acks in popped if acks != ((), ())] == [((), (0,))] * 2
        all_ranks(driver, Detach)
        driver.catch_up()
    assert replayed(driver, world, shared_launcher) is Verdict.HOLDS


@pytest.mark.processes
def test_in_a_pipeline_storage_is_there_on_every_stage_from_the_same_round_on_and_goes_so(
    shared_launcher: Launcher,
) -> None:
    world = world_named("pipeline_2x2_with_storage")
    with driving(world, shared_launcher) as driver:
        for rank in range(3):
            driver.give(Attach(rank))
        all_ranks(driver, Step)
        driver.give(Attach(3))
        for _ in range(OUTSTANDING + 2):
            assert [rank.layout for rank in driver.state.ranks] == [0] * 4
            all_ranks(driver, Step)
        assert [rank.layout for rank in driver.state.ranks] == [1] * 4
        all_ranks(driver, Enqueue, 1, 0)
        all_ranks(driver, Finish, 1, 0)
        assert all_ranks(driver, Step) == [((), (0,))] * 4
        all_ranks(driver, Enqueue, 1, 1)
        all_ranks(driver, Detach)
        for _ in range(OUTSTANDING + 2):
            all_ranks(driver, Step)
        assert [(rank.layout, rank.lanes[1].waiting) for rank in driver.state.ranks] == [(2, ())] * 4
    assert replayed(driver, world, shared_launcher) is Verdict.HOLDS


@pytest.mark.processes
def test_a_setting_on_one_rank_only_ends_every_rank_in_the_first_round(shared_launcher: Launcher) -> None:
    world = world_named("mixed_modes")
    with driving(world, shared_launcher) as driver:
        all_ranks(driver, Step)
        driver.catch_up()
        assert [(rank.error, rank.consumed) for rank in driver.state.ranks] == [("mode", 1)] * 2
    assert replayed(driver, world, shared_launcher) is Verdict.HOLDS


@pytest.mark.processes
@pytest.mark.parametrize(
    ("fault", "ends"),
    [
        (Lose(1, 0, 2), ["enqueued", "enqueued"]),
        (Swap(1, 0, 2), ["enqueued", "enqueued"]),
        (Stall(1, 0, 1), ["", ""]),
        (Throw(1), ["peer lost", "threw"]),
        (Crash(1), ["peer lost", "dead"]),
        (Withdraw(1, 0, 0), ["popped", "popped"]),
        (Decline(1), ["round", "round"]),
    ],
    ids=lambda value: type(value).__name__.lower() if not isinstance(value, list) else "",
)
def test_a_fault_on_one_rank_ends_as_the_model_says_and_can_be_replayed_from_a_file(
    shared_launcher: Launcher, fault: Command, ends: list[str]
) -> None:
    bound = {Throw: "throws", Crash: "crashes", Withdraw: "withdrawals", Decline: "declines"}.get(type(fault), "losses")
    subject = {"withdrawals": "blocking_unaligned", "declines": "numbered"}.get(bound, "on_its_own_group")
    world = world_named(subject, **{bound: 1})
    names_it = isinstance(fault, Withdraw | Decline)  # only after the model's properties have fallen
    with driving(world, shared_launcher, checks=not names_it) as driver:
        for ack in range(2):
            all_ranks(driver, Enqueue, 0, ack)
        all_ranks(driver, Step)
        all_ranks(driver, Finish, 0, 0)
        driver.give(fault)
        driver.catch_up()
        if isinstance(fault, Withdraw):
            driver.give(Finish(1, 0, 1))  # what is now at the head there
        for _ in range(3):
            for rank in range(2):
                if driver.why_not(Step(rank)) is None:
                    driver.give(Step(rank))
        driver.catch_up()
        assert [rank.error for rank in driver.state.ranks] == ends
    assert names_it or replayed(driver, world, shared_launcher) is Verdict.HOLDS


@pytest.mark.processes
def test_a_first_stage_learns_that_a_follower_is_gone_before_it_needs_it(shared_launcher: Launcher) -> None:
    world = world_named("pipeline_2x2", crashes=1)
    with driving(world, shared_launcher) as driver:
        for command in world.begins[0]:
            if driver.why_not(command) is None:
                driver.give(command)
        assert Notice(1) in driver.actions
        assert driver.state.ranks[1].error == "peer lost"


@pytest.mark.processes
def test_a_follower_that_does_not_wait_for_its_own_acks_is_found(shared_launcher: Launcher) -> None:
    world = world_named("pipeline_2x2_with_storage")
    wrong, lanes = "wrong_subjects:follower_pops_at_once", world.model.scenario.lanes
    ready = False

    def run() -> None:
        nonlocal ready
        with RankPool(4, factory=wrong, lanes=lanes, timeout=3.0, launcher=shared_launcher) as pool:
            driver = Driver(world.model, pool)
            all_ranks(driver, Enqueue, 0, 0)
            for rank in range(2):
                driver.give(Finish(rank, 0, 0))
            all_ranks(driver, Step)
            ready = True
            driver.catch_up()

    said = r"rank 2, step: the subject ended it .* before its own acks had finished"
    with pytest.raises(Mismatch, match=said) as caught:
        run()
    assert ready
    assert broken_property(caught.value.schedule, caught.value.reply) == "finished-before-pop"


def made_alone(agenda: Agenda, round_number: int) -> Change | None:
    """The change that a rank asks for, whoever else has asked."""
    del round_number
    change, agenda._asked, agenda._due = agenda._asked, None, None
    return change


def kept(lanes: Lanes) -> None:
    """A reset that forgets nothing."""


def stays(lanes: Lanes, attach: dict[str, LaneKind], detach: tuple[str, ...]) -> dict[str, list[Ack]]:
    """A change that takes no lane away."""
    lanes._hold(lanes.by_name | {name: Lane(name, kind) for name, kind in attach.items()})
    return {name: [] for name in detach}


def never(agreed: Agreement) -> bool:
    del agreed
    return False


@pytest.mark.parametrize(
    ("kind", "name", "wrong", "subject"),
    [
        (Agenda, "due", made_alone, "with_storage"),
        (Lanes, "clear", kept, "depth_2_with_storage"),
        (Lanes, "replace", stays, "with_storage"),
        (Agreement, "void", property(never), "unaligned"),
    ],
    ids=["a rank changes alone", "a reset keeps acks", "a detached lane stays", "a round of two epochs counts"],
)
def test_random_schedules_find_an_implementation_in_which(
    monkeypatch: pytest.MonkeyPatch, kind: type, name: str, wrong: object, subject: str
) -> None:
    monkeypatch.setattr(kind, name, wrong)
    world = world_named(subject)
    scenario = world.model.scenario
    with (
        MemoryRanks(scenario.ranks, factory=world.factory, lanes=scenario.lanes, timeout=3.0) as ranks,
        pytest.raises(Mismatch),
    ):
        walk_on(ranks, world, Findings(), rounds=20)


class InMemory(MemoryRanks):
    """Ranks in memory where ranks in processes are asked for."""

    def __init__(self, ranks: int, **config: object) -> None:
        super().__init__(ranks, factory=str(config["factory"]), timeout=3.0)

    def regroup(self, *, lanes: tuple[str, ...] | None = None, **_: object) -> tuple[Outcome | None, ...]:
        self._lanes = lanes or self._lanes
        return super().regroup()


def gone(*_: object) -> Failure | None:
    """The ranks do not come up again."""
    raise HarnessLost("no rank came up")


def nothing(*_: object) -> Failure | None:
    """What was different is not any more."""


@pytest.mark.parametrize(
    ("of_time", "again", "verdict", "lost"),
    [
        (True, rerun, Verdict.VIOLATED, ""),
        (False, gone, Verdict.VIOLATED, ""),
        (True, nothing, Verdict.UNDETERMINED, "it did not come again with 4 times the limit: rank "),
        (True, gone, Verdict.UNDETERMINED, "it could not be looked at again (no rank came up): rank "),
    ],
)
def test_a_difference_that_rests_on_time_must_show_again(
    monkeypatch: pytest.MonkeyPatch, of_time: bool, again: object, verdict: Verdict, lost: str
) -> None:
    monkeypatch.setattr(Lanes, "replace", stays)
    monkeypatch.setattr(walking, "RankPool", InMemory)
    monkeypatch.setattr(confirming, "rests_on_time", lambda _: of_time)
    monkeypatch.setattr(confirming, "rerun", again)
    walked = walk(20, worlds=[world_named("with_storage")])
    assert walked.verdict is verdict
    assert walked.lost.startswith(f"TP 2, pipelined: {lost}" if lost else "")
    assert bool(walked.lost) is bool(lost)
