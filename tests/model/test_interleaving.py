"""The interleaving as an oracle: total, immutable, and the same in canonical form."""

from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof.model.actions import (
    KINDS,
    Action,
    Attach,
    Count,
    Enqueue,
    Evict,
    Finish,
    Flush,
    Issue,
    Pop,
    Reset,
    Swap,
    Wait,
    Withdraw,
)
from rankproof.model.interleaving import Disabled, Model, apply, next_phase, successors
from rankproof.model.memory import Memory
from rankproof.model.properties import Transition, property_named
from rankproof.model.protocol import BLOCKING, PIPELINED, Protocol, depth
from rankproof.model.scenario import Scenario
from rankproof.model.schedule import Schedule, run
from rankproof.model.state import Event, LaneState, RankState, State, canonical

PROTOCOLS = (
    PIPELINED,
    BLOCKING,
    depth(2),
    replace(PIPELINED, counts="before-pop"),
    replace(PIPELINED, reads="before-wait"),
    replace(PIPELINED, pops="own"),
    replace(PIPELINED, reduces="max"),
    replace(PIPELINED, issues="when-nonempty"),
    replace(PIPELINED, resets="in-flight", evicts="in-flight"),
)
SCENARIOS = (
    Scenario(ranks=1, acks=2, flushes=1),
    Scenario(acks=2, losses=1, resets=1, evicts=1, flushes=1),
    Scenario(acks=1, resets=1, evicts=1, aligned_enqueue=True),
    Scenario(ranks=3, lanes=("write", "load"), acks=1, losses=1, flushes=1),
)
NUMBERS = st.integers(-2, 4)


@st.composite
def models(draw: st.DrawFn) -> Model:
    return Model(draw(st.sampled_from(PROTOCOLS)), draw(st.sampled_from(SCENARIOS)))


@st.composite
def reached(draw: st.DrawFn) -> tuple[Model, State]:
    """A model and a state that some schedule of it reaches."""
    model = draw(models())
    state = model.start
    for pick in draw(st.lists(st.integers(0, 99), max_size=40)):
        enabled = [after for _, after in successors(model, state)]
        if not enabled:
            break
        state = enabled[pick % len(enabled)]
    return model, state


@st.composite
def any_action(draw: st.DrawFn) -> Action:
    kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    values: dict[str, Any] = {field.name: draw(NUMBERS) for field in fields(kind)}
    return kind(**values)


@given(reached(), any_action())
def test_any_action_on_any_reachable_state_leads_to_a_state_or_to_a_reason(
    where: tuple[Model, State], action: Action
) -> None:
    model, state = where
    after = apply(model, state, action)
    if isinstance(after, Disabled):
        assert after.reason
        assert set(after.waits_for) <= set(range(len(state.ranks)))
    else:
        assert (action, after) in list(successors(model, state))


@given(reached())
def test_an_action_moves_only_its_own_rank(where: tuple[Model, State]) -> None:
    model, state = where
    for action, after in successors(model, state):
        still = [(old, new) for rank, (old, new) in enumerate(zip(state.ranks, after.ranks, strict=True))]
        assert all(old == new for rank, (old, new) in enumerate(still) if rank != action.rank)
        assert after != state


@given(reached())
def test_states_are_values(where: tuple[Model, State]) -> None:
    _, state = where
    twin = replace(state, ranks=tuple(replace(rank) for rank in state.ranks))
    assert twin == state
    assert hash(twin) == hash(state)
    with pytest.raises(FrozenInstanceError):
        state.ranks = ()  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        state.ranks[0].issued = 9  # type: ignore[misc]


@given(reached())
def test_the_canonical_form_has_the_same_futures(where: tuple[Model, State]) -> None:
    model, state = where
    reduced = canonical(state)
    there = {action: canonical(after) for action, after in successors(model, state)}
    here = {action: canonical(after) for action, after in successors(model, reduced)}
    assert here == there
    assert canonical(reduced) == reduced


@given(reached())
def test_the_canonical_form_counts_from_the_slowest_rank(where: tuple[Model, State]) -> None:
    reduced = canonical(where[1])
    for counter in ("consumed", "steps", "events"):
        assert min(getattr(rank, counter) for rank in reduced.ranks) == 0


def play(model: Model, *actions: Action) -> State:
    state = model.start
    for action in actions:
        after = apply(model, state, action)
        assert isinstance(after, State), after
        state = after
    return state


def reason(model: Model, state: State, action: Action) -> str:
    after = apply(model, state, action)
    assert isinstance(after, Disabled)
    return after.reason


def step(model: Model, rank: int) -> list[Action]:
    kinds: dict[str, type[Wait | Pop | Count | Issue]] = {"wait": Wait, "pop": Pop, "count": Count, "issue": Issue}
    return [kinds[phase](rank) for phase in model.protocol.phases]


def test_an_ack_agreed_on_is_popped_one_step_later_on_every_rank() -> None:
    model = Model()
    state = play(model, *(kind(rank, 0, 0) for rank in (0, 1) for kind in (Enqueue, Finish)))
    for rank in (0, 1, 0, 1):
        for action in step(model, rank):
            after = apply(model, state, action)
            assert isinstance(after, State)
            state = after
    assert [rank.lanes[0].popped for rank in state.ranks] == [(0,), (0,)]
    assert [rank.lanes[0].waiting for rank in state.ranks] == [(), ()]


def test_a_wait_says_which_rank_must_issue_first() -> None:
    model = Model(PIPELINED, Scenario(ranks=3))
    state = play(model, *step(model, 0), *step(model, 2))
    after = apply(model, state, Wait(0))
    assert after == Disabled("rank 0 waits for a round that rank 1 must issue first", waits_for=(1,))


def test_the_reason_names_what_is_in_the_way() -> None:
    model = Model(PIPELINED, Scenario(acks=1))
    state = play(model, Enqueue(0, 0, 0))
    assert reason(model, state, Enqueue(0, 0, 0)) == "the next ack of lane 0 on rank 0 is 1, not 0"
    assert reason(model, state, Enqueue(0, 0, 1)) == "the scenario gives a lane 1 acks"
    assert reason(model, state, Finish(1, 0, 0)) == "ack 0 does not wait in lane 0 on rank 1"
    assert reason(model, state, Finish(0, 3, 0)) == "there is no lane 3; lanes are 0 to 0"
    assert reason(model, state, Pop(0)) == "rank 0 comes to wait next"
    assert reason(model, state, Pop(7)) == "there is no rank 7; ranks are 0 to 1"
    assert reason(model, state, Reset(0)) == "the scenario has 0 resets"
    within = play(model, Wait(0))
    assert reason(model, within, Flush(0)) == "rank 0 is within a step"


def test_a_rank_must_go_through_the_engines_events_in_the_order_of_the_first() -> None:
    model = Model(PIPELINED, Scenario(resets=1))
    state = play(model, Reset(0))
    assert (
        reason(model, state, Wait(1)) == "rank 1 must first go through reset with 0 acks enqueued, as another rank did"
    )
    assert isinstance(apply(model, state, Reset(1)), State)


def test_a_drained_reset_takes_what_is_in_flight_before_it_clears() -> None:
    model = Model(PIPELINED, Scenario(resets=1))
    both = [action for rank in (0, 1) for action in step(model, rank)]
    state = play(model, *both, Reset(0))
    assert (state.ranks[0].issued, state.ranks[0].consumed) == (1, 1)
    stale = play(Model(replace(PIPELINED, resets="in-flight"), model.scenario), *both, Reset(0))
    assert (stale.ranks[0].issued, stale.ranks[0].consumed) == (1, 0)


CHANGES = Scenario(resets=1, evicts=1, attaches=1, flushes=1, withdrawals=1, swaps=1)
DRAINING = [Attach(0), Evict(0, 0), Flush(0), Reset(0)]


def fallen(model: Model, *actions: Action) -> dict[str, str]:
    """What the last of the actions breaks, by the property; none before it breaks anything."""
    played = run(Schedule(model, actions))
    assert played.stopped is None
    assert {each.index for each in played.violations} <= {len(actions) - 1}
    return {each.property: each.says for each in played.violations}


@pytest.mark.parametrize("action", DRAINING, ids=repr)
def test_what_a_drain_pops_must_be_finished_on_every_rank(action: Action) -> None:
    model = Model(replace(PIPELINED, reduces="max"), CHANGES)
    before = [Enqueue(0, 0, 0), Enqueue(1, 0, 0), Finish(0, 0, 0), *step(model, 0), *step(model, 1)]
    assert fallen(model, *before, action) == {
        "finished-before-pop": "rank 0 pops ack 0 of lane 0, which is not finished on rank 1",
        "exact-delay": "rank 0 has popped 1 acks of lane 0 where blocking had popped 0",
    }
    assert fallen(Model(PIPELINED, CHANGES), *before, action) == {}


@pytest.mark.parametrize("action", DRAINING, ids=repr)
def test_what_was_finished_at_the_count_must_be_popped_in_a_drain(action: Action) -> None:
    model = Model(PIPELINED, CHANGES)
    acks = [kind(rank, 0, 0) for rank in (0, 1) for kind in (Enqueue, Finish)]
    before = [*acks, *step(model, 0), *step(model, 1)]
    assert fallen(model, *before, Withdraw(0, 0, 0), action) == {
        "finished-before-pop": "rank 0 is to pop 1 more than its lanes hold",
        "exact-delay": "rank 0 has popped 0 acks of lane 0 where blocking had popped 1",
        "bounded-lag": "rank 0 has popped 0 acks of lane 0, of which 1 were finished on every rank when the round was "
        "counted",
    }
    assert fallen(model, *before, action) == {}


def test_what_a_reset_drains_is_held_against_what_the_others_popped() -> None:
    model = Model(PIPELINED, CHANGES)
    finishes = [Finish(rank, 0, ack) for rank in (0, 1) for ack in (0, 1)]
    acks: list[Action] = [Enqueue(0, 0, 0), Enqueue(0, 0, 1), *finishes]
    rest: list[Action] = [*step(model, 0), *step(model, 1), Flush(1), Reset(0)]
    swapped = fallen(model, Swap(1, 0, 0), *acks, *rest)
    assert swapped == {"same-pops": "pop 1 of lane 0 is ack 0 on rank 0 and ack 1 on rank 1"}
    assert fallen(model, Enqueue(1, 0, 0), Enqueue(1, 0, 1), *acks, *rest) == {}


def test_an_evictions_own_pops_need_not_be_finished_on_the_other_ranks() -> None:
    model = Model(PIPELINED, CHANGES)
    before = [Enqueue(0, 0, 0), Enqueue(1, 0, 0), *step(model, 0), *step(model, 1), Finish(0, 0, 0)]
    assert fallen(model, *before, Evict(0, 0)) == {}


def deadlock(model: Model, state: State) -> str | None:
    """What the check says of a state, which what is remembered must say too."""
    says = property_named("no-deadlock").broken(Transition(model, state, Issue(0), state))
    memory = Memory(model, [property_named("no-deadlock")])
    *_, fell = memory.successors(memory.pack(canonical(state)))
    assert bool(fell) == bool(says)
    return says


def test_a_rank_that_waits_in_a_drain_cannot_move() -> None:
    model = Model(PIPELINED, Scenario(ranks=3, acks=1, resets=1, evicts=1, stalls=1))
    ahead = RankState((LaneState(next=1),), issued=1, offers=((0,),), backing=((0,),), steps=1)
    script = (Event("evict", 0, (1,)), Event("reset", None, (1,)))
    lane = LaneState(next=1, waiting=(0,), stalled=frozenset({0}))
    ranks = (replace(ahead, events=2, epoch=1), replace(ahead, events=1), RankState((lane,)))
    assert deadlock(model, State(ranks, script, 2)) == (
        "no rank can move: rank 0 waits for a round that rank 2 must issue first; rank 1 waits for a round that rank 2 "
        "must issue first; the eviction waits for ack 0 on rank 2"
    )
    slow = RankState((replace(lane, stalled=frozenset()),))
    assert deadlock(model, State((*ranks[:2], slow), script, 2)) is None


def test_a_follower_whose_own_transfer_has_failed_cannot_move() -> None:
    model = Model(PIPELINED, Scenario(acks=1, evicts=1, stalls=2, topology="pipeline"))
    lane = LaneState(next=1, waiting=(0,), stalled=frozenset({0}))
    told = RankState((lane,), phase=1, issued=1, consumed=1, allowed=(1,), events=1, evictions=1)
    script = (Event("evict", 0, (1,)),)
    assert deadlock(model, State((RankState((lane,)), told), script, 1)) == (
        "no rank can move: the eviction waits for ack 0 on rank 0; "
        "rank 1 waits for its own acks, as it was told to pop 1"
    )
    slow = replace(told, lanes=(replace(lane, stalled=frozenset()),))
    assert deadlock(model, State((RankState((lane,)), slow), script, 1)) is None


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_next_phase_is_the_only_one_that_the_rank_can_take(protocol: Protocol) -> None:
    model = Model(protocol)
    for kind in (Wait, Pop, Count, Issue):
        enabled = isinstance(apply(model, model.start, kind(0)), State)
        assert enabled == (kind(0) == next_phase(model, model.start, 0))
