"""How a run goes: every sample is kept, whatever becomes of the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from rankproof.benchmarks import frame
from rankproof.benchmarks.frame import Case, Effort, Item, Lost, Samples, run
from rankproof.benchmarks.items import ITEMS
from rankproof.benchmarks.results import Results
from rankproof.conformance.launcher import Launcher

EMPTY = Results("now", {}, {}, {})


class NoProcesses:
    """Stands in for a launcher where a case starts nothing."""

    def __enter__(self) -> NoProcesses:
        return self

    def __exit__(self, *_: object) -> None:
        return None


@pytest.fixture(autouse=True)
def no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "Launcher", NoProcesses)


def item(name: str, *measures: Callable[[], Iterator[int]]) -> Item:
    """An item with a case for each function, whose numbers are its samples."""

    def samples(measure: Callable[[], Iterator[int]]) -> Callable[[Launcher], Samples]:
        return lambda launcher: ({"number": number} for number in measure())

    return Item(
        name, "", lambda effort: [Case(f"case {n}", {}, 10.0, samples(each)) for n, each in enumerate(measures)]
    )


class Kept:
    """What was kept, and what progress was told."""

    def __init__(self) -> None:
        self.results: list[Results] = []
        self.told: list[str] = []

    def __call__(self, results: Results) -> None:
        self.results.append(results)

    def tell(self, stage: str, detail: str = "") -> None:
        self.told.append(f"{stage}: {detail}")


def numbers(results: Results) -> list[list[object]]:
    return [[sample["number"] for sample in each.samples] for each in results.measured]


def two() -> Iterator[int]:
    yield from (1, 2)


def lost_after_one() -> Iterator[int]:
    yield 1
    raise Lost("rank 1 is gone")


def interrupted_after_one() -> Iterator[int]:
    yield 1
    raise KeyboardInterrupt


def nothing() -> Iterator[int]:
    yield from ()


def test_every_case_is_measured_and_kept_as_soon_as_it_is() -> None:
    kept = Kept()
    results = run([item("a", two, two), item("b", two)], Effort(), EMPTY, kept, kept.tell)
    assert numbers(results) == [[1, 2]] * 3
    assert [len(each.measured) for each in kept.results] == [1, 2, 3, 3]
    assert [each.whole for each in kept.results] == [False, False, False, True]


def test_a_case_that_is_lost_keeps_its_samples_and_its_reason_and_the_run_goes_on() -> None:
    kept = Kept()
    results = run([item("a", lost_after_one, two)], Effort(), EMPTY, kept, kept.tell)
    assert numbers(results) == [[1], [1, 2]]
    assert [each.failure for each in results.measured] == ["rank 1 is gone", ""]
    assert not results.whole


def test_an_interrupted_run_keeps_the_samples_that_it_has_of_the_case_it_was_in() -> None:
    kept = Kept()
    with pytest.raises(KeyboardInterrupt):
        run([item("a", two, interrupted_after_one, two)], Effort(), EMPTY, kept, kept.tell)
    assert numbers(kept.results[-1]) == [[1, 2], [1]]
    assert kept.results[-1].measured[-1].failure == "interrupted"
    assert not kept.results[-1].whole


def test_a_case_without_a_sample_is_no_success() -> None:
    results = run([item("a", nothing)], Effort(), EMPTY, lambda now: None, Kept().tell)
    assert [each.failure for each in results.measured] == ["no sample was taken"]
    assert not results.whole


def test_progress_names_the_case_and_estimates_what_is_left() -> None:
    kept = Kept()
    run([item("a", two, two)], Effort(), EMPTY, kept, kept.tell)
    assert kept.told[0] == "bench a: case 0; 1 of 2, about 20 s left"
    assert kept.told[1].endswith("; 1 samples")
    assert "2 of 2" in kept.told[-1]


@pytest.mark.parametrize("quick", [False, True])
def test_cases_of_an_item_have_names_of_their_own(quick: bool) -> None:
    for each in ITEMS.values():
        names = [case.name for case in each.cases(Effort(quick=quick))]
        assert len(set(names)) == len(names), each.name


def test_a_whole_run_takes_less_than_13_minutes_as_estimated() -> None:
    assert sum(case.seconds for each in ITEMS.values() for case in each.cases(Effort())) < 13 * 60


def test_each_case_can_be_measured_longer_and_takes_that_long() -> None:
    def seconds(repeat: int) -> float:
        return sum(case.seconds for case in ITEMS["overlap"].cases(Effort(repeat=repeat)))

    assert seconds(3) == 3 * seconds(1)
