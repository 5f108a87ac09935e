"""The plan follows from topology and settings alone, and says why."""

import pytest

from rankproof.impl.errors import Misuse
from rankproof.impl.plan import Place, Topology, plan_for
from rankproof.model.errors import BadInput


@pytest.mark.parametrize(
    ("topology", "depth", "switch", "path", "lag", "reason"),
    [
        (Topology(tp=4), 1, None, "group", 1, "pipelined: one collective a step, over 4 TP ranks"),
        (Topology(cp=2), 1, "1", "group", 1, "pipelined: one collective a step, over 2 CP ranks"),
        (Topology(tp=4), 1, "0", "group", 0, "blocking: RANKPROOF_ASYNC=0"),
        (Topology(tp=4), 4, None, "group", 4, "depth 4, as was asked for: one collective a step, over 4 TP ranks"),
        (Topology(tp=4), 4, "0", "group", 0, "blocking: RANKPROOF_ASYNC=0"),
        (
            Topology(tp=2, cp=2),
            4,
            "1",
            "grid",
            0,
            "blocking: MIN over CP and then over TP takes two collectives a step",
        ),
        (Topology(tp=2, pp=2), 4, "1", "chain", 0, "blocking: 2 pipeline stages; the first agrees"),
        (Topology(tp=2, cp=2, pp=2), 1, None, "chain", 0, "blocking: 2 pipeline stages"),
    ],
)
def test_the_plan_and_its_reason(
    topology: Topology, depth: int, switch: str | None, path: str, lag: int, reason: str
) -> None:
    plan = plan_for(topology, depth, {} if switch is None else {"RANKPROOF_ASYNC": switch})
    assert (plan.path, plan.lag) == (path, lag)
    assert plan.reason.startswith(reason)
    assert plan.cumulative == (lag > 1)


def test_the_switch_is_read_from_the_environment_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKPROOF_ASYNC", "0")
    assert plan_for(Topology(tp=2)).lag == 0


@pytest.mark.parametrize("value", ["off", "", "2"])
def test_another_value_of_the_switch_is_bad_input_that_names_the_mend(value: str) -> None:
    with pytest.raises(BadInput, match=r"RANKPROOF_ASYNC is .*; set it to 0 for blocking or 1 for pipelined"):
        plan_for(Topology(tp=2), environment={"RANKPROOF_ASYNC": value})


def test_ranks_are_numbered_with_tp_fastest_and_pp_slowest() -> None:
    shape = Topology(tp=2, cp=3, pp=2)
    places = [shape.place(rank) for rank in range(shape.world)]
    assert places == [Place(pp, cp, tp) for pp in range(2) for cp in range(3) for tp in range(2)]


@pytest.mark.parametrize("depth", [0, -1, 1.0, True])
def test_a_depth_that_cannot_be_is_refused(depth: int) -> None:
    with pytest.raises(Misuse, match="a depth is a whole number of 1 or more"):
        plan_for(Topology(tp=2), depth)


@pytest.mark.parametrize("numbers", [{"tp": 0}, {"cp": -1}, {"pp": 1.5}, {"tp": True}])
def test_a_topology_with_impossible_numbers_is_refused(numbers: dict[str, int]) -> None:
    with pytest.raises(Misuse, match="is a whole number of 1 or more"):
        Topology(**numbers)


def test_a_topology_of_one_rank_is_refused() -> None:
    with pytest.raises(Misuse, match="a group of one has nobody to agree with"):
        Topology()


@pytest.mark.parametrize("rank", [-1, 4, True, 1.0])
def test_a_rank_outside_the_topology_is_refused(rank: int) -> None:
    with pytest.raises(Misuse, match="outside the group; ranks are 0 to 3"):
        Topology(tp=4).place(rank)
