"""What the rows of an interleaved run come to, and that it is interleaved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from rankproof.benchmarks import guardwords, interleaved, overlap
from rankproof.benchmarks.frame import Effort, Lost
from rankproof.benchmarks.interleaved import Setting, in_turn
from rankproof.benchmarks.overlap_tables import guard_tables
from rankproof.benchmarks.ranks import ranks
from rankproof.benchmarks.results import Measured, Results, Sample
from rankproof.benchmarks.scheduler import Segment
from rankproof.conformance.launcher import Launcher


def sample(turn: int, kind: str, loop_s: float) -> Sample:
    """One kind in one turn."""
    return {"turn": turn, "kind": kind, "steps": 9, "loop_s": loop_s, "step_s": 0.003, "core_s": 0.001}


def results(item: str, samples: Sequence[Sample], **parameters: float) -> Results:
    """A run that has measured one case."""
    measured = Measured(item, "case", parameters, tuple(samples), 1.0, (0.0, 0.0))
    return Results("now", {}, {}, {}, (measured,))


def test_the_published_figures_hide_97_percent() -> None:
    assert pytest.approx(0.97, abs=0.005) == overlap.PUBLISHED_HIDDEN


LOOPS = {
    "alone": 0.010,
    "blocking": 0.014,
    "pipelined": 0.0101,
    "depth 2": 0.0102,
    "carried": 0.01006,
    "bare": 0.01004,
    "bare carried": 0.01002,
}


def test_a_row_says_what_blocking_costs_and_how_much_of_that_is_gone() -> None:
    samples = [sample(turn, kind, loop) for turn in range(6) for kind, loop in LOOPS.items()]
    (row,) = overlap.rows(results("overlap", samples, ranks=2, forward_ms=10.7, delay_ms=2.8))
    assert row.throughput["blocking"].value == pytest.approx(10 / 14 - 1)
    assert row.hidden["pipelined"].value == pytest.approx(0.975)
    assert row.hidden["depth 2"].value == pytest.approx(0.95)
    assert row.hidden["bare"].value == pytest.approx(0.99)
    assert row.hidden["carried"].value == pytest.approx(0.985)
    assert row.reduce_s.value == pytest.approx(0.002)
    assert row.published


def test_what_slows_the_whole_machine_in_some_turns_changes_no_ratio() -> None:
    slow = [1.0, 1.0, 3.0, 1.0, 5.0, 1.0]
    samples = [sample(turn, kind, factor * loop) for turn, factor in enumerate(slow) for kind, loop in LOOPS.items()]
    (row,) = overlap.rows(results("overlap", samples, ranks=2, forward_ms=10.7, delay_ms=2.8))
    assert row.hidden["pipelined"].low == pytest.approx(0.975)
    assert row.hidden["pipelined"].high == pytest.approx(0.975)


def test_a_turn_that_was_interrupted_is_left_out() -> None:
    samples = [sample(0, kind, loop) for kind, loop in LOOPS.items()] + [sample(1, "alone", 9.0)]
    (row,) = overlap.rows(results("overlap", samples, ranks=2, forward_ms=10.7, delay_ms=2.8))
    assert row.throughput["blocking"].count == 1


def test_the_exchange_is_held_against_an_all_reduce() -> None:
    loops = {"pipelined": 0.0102, "unguarded": 0.0101, "bare": 0.010, "reduced": 0.0136}
    samples = [sample(turn, kind, loop) for turn in range(6) for kind, loop in loops.items()]
    exchanged = results("guards", samples, ranks=4, forward_ms=10.7)
    (found,) = guardwords.differences(exchanged)
    assert found.loop["reduced"].value == pytest.approx(-0.25)
    assert guard_tables(exchanged)[1].rows[0][:2] == ("4, 10.7 ms", "-25.00% (-25.00 to -25.00)")


def test_guard_words_are_compared_within_a_turn() -> None:
    factors = [1.0, 4.0, 2.0]
    loops = {"pipelined": 0.0102, "unguarded": 0.0101, "bare": 0.010, "reduced": 0.011}
    samples = [sample(turn, kind, factor * loop) for turn, factor in enumerate(factors) for kind, loop in loops.items()]
    (found,) = guardwords.differences(results("guards", samples, ranks=2, forward_ms=10.7))
    assert found.loop["bare"].value == pytest.approx(0.02)
    assert found.loop["bare"].high == pytest.approx(0.02)
    assert found.core_s["bare"].includes_zero


def test_a_run_has_the_published_row_first_on_each_number_of_ranks() -> None:
    cases = overlap.cases(Effort())
    assert [case.parameters for case in cases[:2]] == [
        {"ranks": number, "forward_ms": 10.7, "delay_ms": 2.8} for number in (2, 4)
    ]
    assert len(cases) == len(overlap.RANKS) * len(overlap.FORWARDS_MS) * len(overlap.DELAYS_MS)


def test_ranks_that_are_asked_for_take_the_place_of_the_others() -> None:
    assert {case.parameters["ranks"] for case in overlap.cases(Effort(ranks=(3,)))} == {3}


@pytest.mark.processes
def test_kinds_take_turns_in_the_same_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interleaved, "TURN_S", 0.01)
    with Launcher() as launcher:
        samples = list(in_turn(launcher, overlap.KINDS, Setting(2, 0.0, delay_s=0.001), seconds=0.0))
        assert [each["kind"] for each in samples] == [*overlap.KINDS] * interleaved.FEWEST_TURNS
        assert Counter(each["turn"] for each in samples) == dict.fromkeys(
            range(interleaved.FEWEST_TURNS), len(overlap.KINDS)
        )
        took = {str(each["kind"]): float(each["step_s"]) - float(each["core_s"]) for each in samples}
        assert took["blocking"] >= 0.0009  # the delay that was asked for, less what it costs to sleep for it

        with ranks(launcher, 2, ("blocking",)) as group:
            group.processes[1].kill()
            with pytest.raises(Lost, match="rank"):
                group.run(Segment("blocking", 1, 1, 0.0), 0.01)
