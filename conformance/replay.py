"""A schedule on real processes: what its engine does is done to a subject, and each reply is held against the model.

A real rank takes a whole step at once. So a rank's step is begun where the schedule takes its first phase, and what
the engine does to a rank that is within its step, or waits, is done when that step has ended. An exploration may let
ranks enqueue at any time; here, as in the engine, a rank that comes to a step has what the first to come to it had.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, replace

from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.driver import Command, Compared, Driver, HarnessLost, Mismatch, Step
from rankproof.conformance.launcher import Launcher
from rankproof.conformance.pool import RankPool
from rankproof.model.actions import (
    OF_PHASE,
    Attach,
    Change,
    Close,
    Count,
    Crash,
    Detach,
    Enqueue,
    Evict,
    Finish,
    Flush,
    Issue,
    Lose,
    Notice,
    Pop,
    Reset,
    Stall,
    Swap,
    Throw,
    Wait,
)
from rankproof.model.errors import BadInput
from rankproof.model.interleaving import Model
from rankproof.model.protocol import Protocol
from rankproof.model.schedule import Schedule
from rankproof.model.verdict import Verdict


@dataclass(frozen=True, slots=True)
class RealRun:
    """What a subject did with a schedule.

    compared  the commands whose reply was the model's, in order; at the end every rank was taken as far as the furthest
    left_out  the commands that the right protocol does not allow where the schedule has them, each with the reason
    failure   what differed from the model, or why nothing can be said, or empty
    verdict   undetermined also where nothing was compared, or some command was left out
    """

    verdict: Verdict
    compared: tuple[Compared, ...]
    left_out: tuple[str, ...]
    failure: str
    seconds: float


def replay(
    schedule: Schedule,
    subject: str,
    protocol: Protocol,
    *,
    capabilities: Capabilities | None = None,
    timeout: float = 3.0,
    launcher: Launcher | None = None,
) -> RealRun:
    """The schedule on as many real processes as it has ranks, each with a subject from "package.module:factory".

    `protocol` is what the subject is to do; the schedule's own may have a fault. Where the two are the same, and have
    guard words, the schedule is of a run on real processes, and is done again as it was. `capabilities` says where
    the model's picture of the subject is not to be taken literally. A wait of the subject is to
    end within `timeout` seconds. A `launcher` saves the time to start one. Raises BadInput for a schedule without
    actions, with one that is not done to real ranks, or of several groups or modes, and for a factory that cannot be
    used.
    """
    if not schedule.actions:
        raise BadInput("the schedule has no actions, so there is nothing to run")
    began = time.monotonic()
    commands = commands_of(schedule, capabilities)
    scenario = schedule.model.scenario
    model = schedule.model
    if protocol != model.protocol or not protocol.guards:
        if scenario.topology != "group" or scenario.blocking_ranks:
            raise BadInput(
                "the schedule has ranks in several groups or modes; real ranks are in one group, in one mode"
            )
        # What the schedule does is known, so the bound of its exploration need not hold for ranks that catch up.
        model = Model(protocol, replace(scenario, aligned_enqueue=True, ahead=len(schedule.actions) + scenario.ranks))
    left_out: list[str] = []
    failure = ""
    with RankPool(
        scenario.ranks,
        factory=subject,
        lanes=scenario.lanes,
        timeout=timeout,
        reply_within=3 * timeout,
        launcher=launcher,
    ) as pool:
        driver = Driver(model, pool, capabilities)
        try:
            _drive(driver, commands, left_out)
            driver.catch_up()
        except Mismatch as mismatch:
            failure = str(mismatch)
            verdict = Verdict.VIOLATED
        except HarnessLost as lost:
            failure = str(lost)
            verdict = Verdict.UNDETERMINED
        else:
            whole = driver.compared and not left_out
            verdict = Verdict.HOLDS if whole else Verdict.UNDETERMINED
    return RealRun(verdict, tuple(driver.compared), tuple(left_out), failure, time.monotonic() - began)


def commands_of(schedule: Schedule, capabilities: Capabilities | None = None) -> list[Command]:
    """The commands that a schedule comes to, a step where it takes the first phase of one.

    Raises BadInput, naming the place, for an action that is not done to real ranks, and for one that attaches or
    detaches storage where the subject says that it cannot be reconfigured.
    """
    changes = capabilities is None or "reconfigure" in capabilities.supports
    model = schedule.model
    commands: list[Command] = []
    for index, action in enumerate(schedule.actions):
        match action:
            case Enqueue() | Lose() | Swap() | Finish() | Stall() | Reset() | Evict() | Flush() | Close() | Crash():
                commands.append(action)
            case Attach() | Detach():
                if not changes:
                    kind = type(action).__name__.lower()
                    raise BadInput(f"actions[{index}]: {kind} is not asked of this subject: it has no reconfigure")
                commands.append(action)
            case Wait() | Pop() | Count() | Issue():
                first = OF_PHASE[model.protocol_of(action.rank).phases[0]]
                commands += [Step(action.rank)] if isinstance(action, first) else []
            case Throw() if Step(action.rank) in commands:  # it is the end of a step
                begun = max(place for place, command in enumerate(commands) if command == Step(action.rank))
                commands[begun] = action
            case Change() | Notice():
                pass  # a rank comes to these by itself
            case _:
                kind = type(action).__name__.lower()
                raise BadInput(f"actions[{index}]: {kind} is of the model only; it is not done to real ranks")
    return commands


def _drive(driver: Driver, commands: list[Command], left_out: list[str]) -> None:
    """Gives the commands in order; those of a rank that still waits are put off until it is free, in their order."""
    put_off: dict[int, deque[Command]] = {}
    for command in commands:
        put_off.setdefault(command.rank, deque()).append(command)
        _give_all(driver, put_off, left_out)
    while any(put_off.values()):
        driver.catch_up()
        _give_all(driver, put_off, left_out)


def _give_all(driver: Driver, put_off: dict[int, deque[Command]], left_out: list[str]) -> None:
    gave_one = True
    while gave_one:
        gave_one = False
        for rank, waiting in put_off.items():
            while waiting and (not driver.is_busy(rank) or driver.why_not(waiting[0]) is None):
                command = waiting.popleft()
                if driver.state.ranks[rank].error:
                    continue  # it learned here sooner than there that another rank is gone
                if isinstance(command, Step | Reset | Evict):
                    _align(driver, rank)
                if isinstance(command, Enqueue) and command.ack < driver.state.ranks[rank].lanes[command.lane].next:
                    continue  # it came with a step that another rank went through first
                reason = driver.why_not(command)
                if reason is None:
                    driver.give(command)
                    gave_one = True
                elif isinstance(command, Enqueue | Finish) and (later := _place_behind_a_step(waiting)):
                    waiting.insert(later, command)
                else:
                    left_out.append(f"{command}: {reason}")


def _align(driver: Driver, rank: int) -> None:
    """Enqueues on a rank what another had when it went through the event that comes next."""
    while driver.state.ahead_of(rank) and isinstance(due := driver.next_due(rank), Enqueue):
        driver.give(due)


def _place_behind_a_step(waiting: deque[Command]) -> int | None:
    return next((index + 1 for index, command in enumerate(waiting) if isinstance(command, Step)), None)
