"""The verb: what it writes, and what it refuses in one line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from rankproof.benchmarks import frame, items, page, plots
from rankproof.benchmarks.frame import Case, Effort, Item, Lost, Samples
from rankproof.benchmarks.results import load
from rankproof.cli import main
from rankproof.conformance.launcher import Launcher

Answer = tuple[int, str, str]


@pytest.fixture
def bench(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Runs the verb with some arguments: its exit code, and what it wrote."""

    def run(*arguments: object) -> Answer:
        code = main(["bench", *map(str, arguments)])
        return code, *capsys.readouterr()

    return run


def small(name: str, failure: str = "") -> Item:
    """An item that is measured at once."""

    def samples(launcher: Launcher) -> Samples:  # noqa: ARG001 # the contract's
        yield {"turn": 0, "steps": 1, "counting_s": 1e-6, "popping_s": 2e-6}
        if failure:
            raise Lost(failure)

    def cases(effort: Effort) -> list[Case]:  # noqa: ARG001 # the contract's
        return [Case("7 acks waiting", {"over": "waiting", "waiting": 7}, 0.1, samples)]

    return Item(name, "", cases)


@pytest.fixture
def one_item(monkeypatch: pytest.MonkeyPatch) -> None:
    """One item that is measured at once; no plot, and no processes: each would take a second."""
    monkeypatch.setattr(items, "ITEMS", {"growth": small("growth")})
    monkeypatch.setattr(page, "draw", lambda name, results, folder: True)
    monkeypatch.setattr(frame, "Launcher", nullcontext)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["overlp"], "unknown item 'overlp'; did you mean 'overlap'?"),
        (["--ranks", 1], "--ranks 1: a group has 2 ranks or more, and one host at most 64"),
        (["--ranks", 1000], "--ranks 1000: a group has 2 ranks or more, and one host at most 64"),
        (["--repeat", 0], "--repeat"),
        (["--render", "none.json"], "none.json: cannot read the results: No such file or directory"),
        (["--render", "none.json", "--quick"], "--render measures nothing; leave out --quick"),
        (
            ["growth", "--render", "none.json", "--repeat", 1, "--ranks", 2, "--seed", 0],
            "--render measures nothing; leave out the items and --repeat and --ranks and --seed",
        ),
        (["--out", "/proc/nowhere"], "/proc/nowhere"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    bench: Callable[..., Answer], arguments: list[object], says: str
) -> None:
    code, out, err = bench(*arguments)
    assert code == 2
    progress, line = err.splitlines()[:-1], err.splitlines()[-1]
    assert says in line
    assert all(each.startswith("bench: ") for each in progress)
    assert out == ""


def test_ranks_that_do_not_fit_into_memory_are_refused(
    bench: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankproof.benchmarks.machine.available_mib", lambda: 1000)
    code, _, err = bench("--ranks", 2, "--ranks", 8)
    assert code == 2
    assert err == "rankproof: --ranks 8: they take about 1,280 MiB, and 1,000 MiB are free; give fewer\n"


def test_a_file_in_place_of_the_folder_is_refused_before_anything_is_measured(
    bench: Callable[..., Answer], tmp_path: Path
) -> None:
    place = tmp_path / "taken"
    place.touch()
    code, _, err = bench("--out", place)
    assert code == 2
    assert str(place) in err


def test_all_else_works_without_the_extra_and_bench_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules.update(numpy=None, matplotlib=None); "
        "import rankproof.conformance.fuzz, rankproof.conformance.memory, rankproof.verifying, rankproof.impl.opening; "
        "from rankproof.cli import main; sys.exit(main(['bench', '--quick']))"
    )
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == (
        "rankproof: bench needs numpy and matplotlib; install them with: pip install '.[bench]' in a checkout\n"
    )
    assert done.returncode == 2


@pytest.mark.usefixtures("one_item")
def test_results_page_and_plots_are_written(
    bench: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(page, "draw", plots.draw)
    code, out, _ = bench("growth", "--out", tmp_path)
    assert code == 0
    assert sorted(path.name for path in (tmp_path / "performance").iterdir()) == [
        "growth.png",
        "growth.svg",
        "results.json",
    ]
    assert load(tmp_path / "performance" / "results.json").whole
    assert "7" in (tmp_path / "performance.md").read_text()
    assert f"measured: 1 case in {tmp_path}/performance/results.json" in out


@pytest.mark.usefixtures("one_item")
def test_the_page_of_a_results_file_is_the_one_that_was_written_with_it(
    bench: Callable[..., Answer], tmp_path: Path
) -> None:
    bench("--out", tmp_path / "one")
    code, _, _ = bench("--render", tmp_path / "one" / "performance" / "results.json", "--out", tmp_path / "two")
    assert code == 0
    one, two = ((tmp_path / name / "performance.md").read_text() for name in ("one", "two"))
    assert one == two
    one, two = ((tmp_path / name / "performance" / "results.json").read_text() for name in ("one", "two"))
    assert one == two


@pytest.mark.usefixtures("one_item")
@pytest.mark.parametrize("value", ["x", None, 10**400], ids=["text", "nothing", "too large"])
def test_a_results_file_with_samples_that_no_run_has_is_bad_input(
    bench: Callable[..., Answer], tmp_path: Path, value: object
) -> None:
    bench("--out", tmp_path)
    file = tmp_path / "performance" / "results.json"
    content = json.loads(file.read_text())
    content["measured"][0]["samples"] = [dict.fromkeys(content["measured"][0]["samples"][0], value)]
    file.write_text(json.dumps(content))
    code, _, error = bench("--render", file, "--out", tmp_path / "other")
    assert code == 2
    assert error.startswith(f"rankproof: {file}: samples that bench does not write")
    assert not (tmp_path / "other").exists()


@pytest.mark.usefixtures("one_item")
def test_the_json_document_holds_every_sample_and_every_table(bench: Callable[..., Answer], tmp_path: Path) -> None:
    code, out, _ = bench("--format", "json", "--out", tmp_path)
    document = json.loads(out)
    assert code == 0
    assert document["verb"] == "bench"
    assert document["verdict"] == "holds"
    assert document["measured"][0]["samples"] == [{"turn": 0, "steps": 1, "counting_s": 1e-6, "popping_s": 2e-6}]
    assert document["machine"]["cores"] >= 1
    assert document["tables"][0]["rows"][0][0] == "7"


@pytest.mark.usefixtures("one_item")
def test_what_could_not_be_measured_is_undetermined_and_named(
    bench: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(items, "ITEMS", {"growth": small("growth", "rank 1 is gone")})
    code, out, _ = bench("--out", tmp_path)
    assert code == 3
    assert "growth, 7 acks waiting: rank 1 is gone" in out
    assert "not all that was asked for was measured" in out


@pytest.mark.processes
def test_an_interrupted_run_keeps_what_it_has_measured(tmp_path: Path) -> None:
    code = "import sys; from rankproof.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "bench", "growth", "--quick", "--out", str(tmp_path)]
    path = tmp_path / "performance" / "results.json"
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 240  # on a busy machine loading torch alone takes a minute
        while not (path.exists() and load(path).measured):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.kill(run.pid, signal.SIGINT)
        out, err = run.communicate(timeout=30)
    finally:
        run.kill()
    assert err.splitlines()[-1] == "rankproof: interrupted"
    assert run.returncode == 130
    assert f"what was measured is in {path}" in out
    kept = load(path)
    assert kept.measured[0].samples
    assert not kept.whole
