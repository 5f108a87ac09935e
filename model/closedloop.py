"""The closed loop: an engine that gives a lane its next acks only when earlier ones are popped, in lockstep."""

from __future__ import annotations

from dataclasses import dataclass

from rankproof.model import rounds
from rankproof.model.actions import OF_PHASE, Action, Enqueue, Finish
from rankproof.model.protocol import BLOCKING, PIPELINED, Phase, Protocol
from rankproof.model.reading import Ints
from rankproof.model.scenario import Scenario
from rankproof.model.schedule import Schedule
from rankproof.model.system import Model


def popped_in_closed_loop(protocol: Protocol, window: int, demand: int, steps: int) -> tuple[int, ...]:
    """How many acks have been popped after each of some steps.

    Before each step the engine enqueues up to `demand` acks, as long as no more than `window` are in the lane; they are
    finished by the count of that step. All ranks are alike, so one stands for them.
    Raises ValueError for a window or a demand below 1.
    """
    if min(window, demand) < 1:
        raise ValueError("a closed loop needs a window and a demand of 1 or more")
    reading = Ints(1)
    at = rounds.start(protocol)
    enqueued = 0
    popped: list[int] = []
    for _ in range(steps):
        enqueued = min(enqueued + demand, at(0).popped + window)
        at = rounds.step(reading, protocol, at, lambda rank, finished=enqueued: finished)  # type: ignore[misc]
        popped.append(at(0).popped)
    return tuple(popped)


def keeps_up(protocol: Protocol, window: int, demand: int, steps: int) -> bool:
    """Whether the protocol pops, `lag` steps later, exactly what blocking pops with the same window and demand."""
    late = popped_in_closed_loop(protocol, window, demand, steps)
    blocking = popped_in_closed_loop(BLOCKING, window, demand, steps)
    return late == ((0,) * protocol.lag + blocking)[:steps]


def least_window(protocol: Protocol, demand: int, steps: int = 50) -> int:
    """The smallest window with which the protocol keeps up with blocking, as seen over so many steps."""
    window = 1
    while not keeps_up(protocol, window, demand, steps):
        window += 1
    return window


@dataclass(frozen=True, slots=True)
class Loss:
    """A run in a closed loop up to the first pop that comes later than `lag` steps behind that of blocking.

    schedule  the run of the protocol on one rank, as all are alike; it ends with that pop
    step      which step that is, from 1
    popped    how many acks have been popped after it
    blocking  how many blocking has popped after step `step - lag`, in a run of its own with the same engine
    """

    schedule: Schedule
    step: int
    popped: int
    blocking: int


def first_loss(protocol: Protocol = PIPELINED, window: int = 1, demand: int = 1, steps: int = 50) -> Loss | None:
    """The first loss to be seen, or None where there is none in so many steps.

    No property of one run tells it: which acks are there, and when they finish, is another in the run of blocking.
    """
    late = popped_in_closed_loop(protocol, window, demand, steps)
    by_blocking = (0,) * protocol.lag + popped_in_closed_loop(BLOCKING, window, demand, steps)
    lost = (step for step in range(steps) if late[step] < by_blocking[step])
    if (last := next(lost, None)) is None:
        return None
    actions: list[Action] = []
    enqueued = 0
    for step in range(last + 1):
        until = min(enqueued + demand, (late[step - 1] if step else 0) + window)
        for ack in range(enqueued, until if step < last else enqueued):
            actions += [Enqueue(0, 0, ack), Finish(0, 0, ack)]
        enqueued = until
        through = protocol.phases if step < last else protocol.phases[: protocol.phases.index(Phase.POP) + 1]
        actions += [OF_PHASE[phase](0) for phase in through]
    model = Model(protocol, Scenario(ranks=1, acks=enqueued))
    return Loss(Schedule(model, tuple(actions), "closed loop"), last + 1, late[last], by_blocking[last])
