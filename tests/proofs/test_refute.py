"""A fault is refuted only where two finders agree, and only on ints."""

from dataclasses import replace
from functools import cache, partial

import pytest
import z3

from rankproof.model.actions import Action
from rankproof.model.explorer import explore
from rankproof.model.faults import FAULTS, Fault
from rankproof.model.interleaving import Disabled, Model
from rankproof.model.properties import property_named
from rankproof.model.protocol import GUARDED, PIPELINED, Phase, depth
from rankproof.model.scenario import Scenario
from rankproof.model.schedule import Schedule, run
from rankproof.model.verdict import Verdict
from rankproof.proofs import refute as refute_module
from rankproof.proofs.bounded import Found, search, supports
from rankproof.proofs.refute import Refutation, concrete, judge, refute
from rankproof.proofs.symbolic import Unrolling
from rankproof.proofs.symbolic_checks import CHECKS
from rankproof.proofs.symbolic_order import blocks

SEARCHED = [name for name, fault in FAULTS.items() if supports(fault.model, fault.breaks[0]) is None]
"""The faults that the solver has a reading of."""


@cache
def refutation(name: str) -> Refutation:
    return refute(FAULTS[name])


def replayed(model: Model, actions: tuple[Action, ...]) -> list[tuple[int, str]]:
    result = run(Schedule(model, actions))
    assert result.stopped is None
    return [(each.index, each.property) for each in result.violations]


UNREAD = {
    "reordered-enqueue": "guard words",
    "ack-never-enqueued": "plays on to the end",
    "transfer-without-ack": "plays on to the end",
    "idle-without-flush": "plays on to the end",
    "skipped-round": "guard words",
    "vector-by-layout": "guard words",
    "mixed-modes": "guard words",
    "ready-digest": "guard words",
    "enqueued-digest-unaligned": "guard words",
    "carry-on-after-throw": "plays on to the end",
    "two-reduces-in-one-round": "no grid",
}
"""The faults whose first property the solver cannot search for, and a part of the reason that is given."""

SECOND = {
    "reordered-enqueue": "same-pops",
    "skipped-round": "matched-collectives",
    "vector-by-layout": "matched-collectives",
    "carry-on-after-throw": "matched-collectives",
}
"""Those of them that break another property, for which it can."""


def test_the_solver_reads_every_fault_but_those_that_it_says_why_not() -> None:
    assert {name for name in FAULTS if name not in SEARCHED} == set(UNREAD)
    for name, reason in UNREAD.items():
        assert reason in (supports(FAULTS[name].model, FAULTS[name].breaks[0]) or ""), name


@pytest.mark.parametrize(("name", "property_name"), SECOND.items())
def test_explorer_and_solver_agree_on_another_property_of_a_fault(name: str, property_name: str) -> None:
    assert property_name in FAULTS[name].breaks
    found = judge(FAULTS[name].model, property_name, explore(FAULTS[name].model, [property_named(property_name)]))
    assert (found.verdict, found.note) == (Verdict.VIOLATED, "")
    assert found.solved is not None


@pytest.mark.parametrize("name", SEARCHED)
def test_explorer_and_solver_agree_on_the_shortest_schedule(name: str) -> None:
    found = refutation(name)
    assert found.verdict is Verdict.VIOLATED, found.note
    assert found.note == ""
    assert found.solved is not None
    assert found.schedule is not None
    assert found.solved.length == found.explored.depth == len(found.schedule.actions)


@pytest.mark.parametrize("name", SEARCHED)
def test_the_solvers_schedule_breaks_the_property_on_ints_with_its_last_action(name: str) -> None:
    solved = refutation(name).solved
    assert solved is not None
    actions = concrete(FAULTS[name].model, solved)
    assert not isinstance(actions, Disabled)
    fell = [index for index, broken in replayed(FAULTS[name].model, actions) if broken == FAULTS[name].breaks[0]]
    assert fell == [len(actions) - 1]


@pytest.mark.parametrize("name", SEARCHED)
def test_a_refutation_names_the_obligations_that_the_fault_breaks(name: str) -> None:
    assert refutation(name).obligations


@pytest.mark.parametrize("name", ["use-before-wait", "skip-when-empty", "max-instead-of-min"])
def test_no_schedule_is_shorter_than_the_shortest(name: str) -> None:
    fault, length = FAULTS[name], refutation(name).explored.depth
    assert search(fault.model, fault.breaks[0], length - 1) == Found(Verdict.HOLDS, length - 1)


@pytest.mark.parametrize("name", ["use-before-wait", "skip-when-empty"])
def test_a_generous_bound_gives_the_same_length(name: str) -> None:
    fault, length = FAULTS[name], refutation(name).explored.depth
    assert search(fault.model, fault.breaks[0], length + 4).length == length


def test_a_search_of_no_actions_finds_nothing_and_of_fewer_is_refused() -> None:
    fault = FAULTS["use-before-wait"]
    assert search(fault.model, fault.breaks[0], 0) == Found(Verdict.HOLDS, 0)
    with pytest.raises(ValueError, match="bound must be 0 or more actions, not -1"):
        search(fault.model, fault.breaks[0], -1)


@pytest.mark.parametrize("property_name", CHECKS)
def test_the_right_protocol_breaks_nothing_within_the_bound(property_name: str) -> None:
    model = Model(PIPELINED, Scenario(acks=1))
    assert search(model, property_name, 12).verdict is Verdict.HOLDS


# What the two finders are to agree on in more worlds than those of the catalogue: three ranks, two acks, other choices.
ODD = {
    "three ranks pop their own counts": (
        Model(replace(PIPELINED, pops="own"), Scenario(ranks=3, acks=1)),
        "finished-before-pop",
    ),
    "blocking ranks agree on the largest count": (
        Model(replace(PIPELINED, lag=0, reduces="max"), Scenario(acks=1)),
        "finished-before-pop",
    ),
    "three ranks skip an empty round": (
        Model(replace(PIPELINED, issues="when-nonempty"), Scenario(ranks=3, acks=1)),
        "matched-collectives",
    ),
    "three ranks run on by themselves": (
        Model(replace(PIPELINED, bounds="none"), Scenario(ranks=3, acks=1)),
        "bounded-skew",
    ),
    "cumulative counts, two rounds in flight, own counts": (
        Model(replace(depth(2), pops="own"), Scenario(acks=1)),
        "exact-delay",
    ),
    "blocking ranks issue twice": (
        Model(replace(PIPELINED, lag=0, issues="twice-when-nonempty"), Scenario(acks=1)),
        "one-owner",
    ),
    "a drain pops what a rank had counted itself": (
        Model(replace(PIPELINED, pops="own"), Scenario(acks=1, resets=1)),
        "finished-before-pop",
    ),
    "a rank in its own half attaches": (
        Model(replace(PIPELINED, attaches="in-flight"), Scenario(acks=1, attaches=1, topology="halves")),
        "clean-lifecycle",
    ),
    "cumulative counts, read too soon": (
        Model(replace(PIPELINED, offers="cumulative", reads="before-wait"), Scenario(acks=2)),
        "finished-before-pop",
    ),
}


@pytest.mark.parametrize(("model", "property_name"), ODD.values(), ids=ODD)
def test_explorer_and_solver_agree_outside_the_catalogue(model: Model, property_name: str) -> None:
    explored = explore(model, [property_named(property_name)])
    assert explored.broken is not None
    solved = search(model, property_name, explored.depth)
    assert (solved.verdict, solved.length) == (Verdict.VIOLATED, explored.depth)


@pytest.mark.parametrize("is_aligned", [True, False])
def test_the_solver_has_ranks_reset_in_steps_of_their_own_only_where_the_scenario_does(is_aligned: bool) -> None:
    unrolled = Unrolling(
        Model(PIPELINED, Scenario(acks=1, resets=1, aligned_resets=is_aligned)), 8, (), to_the_end=True
    )
    state = tuple(replace(me, steps=unrolled.steps.number(step)) for step, me in enumerate(unrolled.start))
    solver = z3.Solver()
    solver.add(*unrolled.plan_facts, *(each.guard for each in unrolled.choices(state) if each.kind == "reset"))
    assert solver.check() == (z3.unsat if is_aligned else z3.sat)


@pytest.mark.parametrize(
    ("model", "property_name", "reason"),
    [
        (Model(PIPELINED), "drains-to-empty", "plays on to the end"),
        (Model(PIPELINED), "no-deadlock", "never move again"),
        (Model(GUARDED), "named-divergence", "guard words"),
        (Model(GUARDED), "same-pops", "compares no guard words"),
        (Model(PIPELINED, Scenario(lanes=("write", "load"))), "same-pops", "one lane"),
        (Model(depth(2), Scenario(resets=1)), "same-pops", "drains one round at most"),
        (Model(PIPELINED, Scenario(flushes=1)), "same-pops", "no flushes=1"),
        (FAULTS["idle-without-flush"].model, "finished-before-pop", "no idles=stopped"),
        (FAULTS["mixed-modes"].model, "same-pops", "no blocking_ranks=1"),
        (FAULTS["two-reduces-in-one-round"].model, "finished-before-pop", "no grid"),
        (Model(PIPELINED, Scenario(resets=1, evicts=1)), "same-pops", "one reset, eviction or attachment"),
        (Model(PIPELINED, Scenario(losses=2)), "same-pops", "each mishap once"),
        (Model(PIPELINED, Scenario(losses=1, swaps=1)), "same-pops", "one ack at most that is lost"),
        (Model(PIPELINED, Scenario(throws=1)), "same-pops", "broken once it throws"),
        (Model(PIPELINED, Scenario(crashes=1)), "same-pops", "no wait that ends in an error"),
        (Model(PIPELINED, Scenario(aligned_enqueue=True)), "same-pops", "no aligned_enqueue=True"),
    ],
)
def test_the_search_refuses_what_it_has_no_reading_of(model: Model, property_name: str, reason: str) -> None:
    assert reason in (supports(model, property_name) or "")
    with pytest.raises(ValueError, match=reason):
        search(model, property_name, 5)


def test_a_solver_that_gives_up_on_a_search_leaves_it_undetermined() -> None:
    fault = FAULTS["divergent-enqueue"]
    assert search(fault.model, fault.breaks[0], 17, timeout_s=0.001).verdict is Verdict.UNDETERMINED


def refuted_with(monkeypatch: pytest.MonkeyPatch, fault: Fault, claim: Found) -> Refutation:
    """The refutation of a fault where the solver claims what it is told to claim."""
    monkeypatch.setattr(refute_module, "search", lambda model, property_name, bound: claim)
    return refute(fault)


def test_a_schedule_of_the_solver_that_cannot_be_replayed_is_undetermined(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = Found(Verdict.VIOLATED, 7, (("issue", 0), *((Phase.WAIT, 0),) * 6))
    found = refuted_with(monkeypatch, FAULTS["use-before-wait"], claim)
    assert found.verdict is Verdict.UNDETERMINED
    assert "cannot be replayed" in found.note


def test_a_schedule_of_the_solver_that_breaks_nothing_is_undetermined(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = Found(Verdict.VIOLATED, 7, (("enqueue", 0), ("enqueue", 1), ("finish", 0), ("finish", 1), *_one_step()[:3]))
    found = refuted_with(monkeypatch, FAULTS["use-before-wait"], claim)
    assert found.verdict is Verdict.UNDETERMINED
    assert "does not break the property" in found.note


def test_a_solver_that_finds_another_length_is_undetermined(monkeypatch: pytest.MonkeyPatch) -> None:
    found = refuted_with(monkeypatch, FAULTS["use-before-wait"], Found(Verdict.VIOLATED, 6, ()))
    assert found.verdict is Verdict.UNDETERMINED
    assert "7 actions to the explorer, 6 to the solver" in found.note


def test_a_solver_that_finds_nothing_where_the_explorer_does_is_undetermined(monkeypatch: pytest.MonkeyPatch) -> None:
    found = refuted_with(monkeypatch, FAULTS["use-before-wait"], Found(Verdict.HOLDS, 7))
    assert found.verdict is Verdict.UNDETERMINED
    assert found.note == "the explorer says violated, the solver holds"


def test_a_solver_that_gives_up_makes_the_refutation_undetermined(monkeypatch: pytest.MonkeyPatch) -> None:
    found = refuted_with(monkeypatch, FAULTS["use-before-wait"], Found(Verdict.UNDETERMINED, 0))
    assert found.verdict is Verdict.UNDETERMINED


@pytest.mark.parametrize(("name", "solver_reads_it"), [("use-before-wait", True), ("two-reduces-in-one-round", False)])
def test_an_explorer_that_gives_up_makes_the_refutation_undetermined_and_says_so(
    monkeypatch: pytest.MonkeyPatch, name: str, solver_reads_it: bool
) -> None:
    """Also where the solver has no reading, whose reason is not the one why there is no verdict."""
    monkeypatch.setattr(refute_module, "explore", partial(explore, limit=3))
    monkeypatch.setattr(refute_module, "search", lambda model, property_name, bound: Found(Verdict.UNDETERMINED, 0))
    found = refute(FAULTS[name])
    assert (supports(FAULTS[name].model, found.property) is None) is solver_reads_it
    assert found.verdict is Verdict.UNDETERMINED
    assert found.note == f"the explorer gave up after {found.explored.states} states"


def _one_step() -> tuple[tuple[str, int], ...]:
    return tuple((phase, 0) for phase in FAULTS["use-before-wait"].protocol.phases)


def test_what_a_rank_does_alone_stands_together() -> None:
    wait, pop, count, issue = Phase.WAIT, Phase.POP, Phase.COUNT, Phase.ISSUE
    assert blocks(PIPELINED) == [(wait, pop), (count, issue)]
    assert blocks(FAULTS["count-before-pop"].protocol) == [(wait, count), (pop, issue)]
    assert blocks(FAULTS["use-before-wait"].protocol) == [(pop,), (wait, count, issue)]
    assert blocks(FAULTS["unbounded-issue"].protocol) == [(wait,), (pop,), (count,), (issue,)]


def test_the_order_that_is_searched_leaves_no_length_out(monkeypatch: pytest.MonkeyPatch) -> None:
    fault = FAULTS["skip-when-empty"]
    ordered = search(fault.model, fault.breaks[0], 12)
    monkeypatch.setattr(Unrolling, "in_order", lambda *_: iter([z3.BoolVal(True)]))
    assert search(fault.model, fault.breaks[0], 12).length == ordered.length
