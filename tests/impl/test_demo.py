"""The demo runs under torchrun, on as many real processes as it is given."""

import os
import re
import subprocess
import sys

import pytest
from torch._C._distributed_c10d import HashStore

from rankproof.impl import demo


def torchrun(processes: int, *arguments: str) -> tuple[int, str, str]:
    """The exit code of torchrun, and what it printed; a run that takes too long is ended, its ranks too."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    with subprocess.Popen(
        [*command, "-m", "rankproof.impl.demo", "--steps", "40", *arguments],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            shown, errors = process.communicate(timeout=80)
        except subprocess.TimeoutExpired:
            process.terminate()  # torchrun passes it on to the ranks, which a kill would leave behind
            shown, errors = process.communicate(timeout=40)
    return process.returncode, shown, errors


@pytest.mark.processes
@pytest.mark.timeout(130)
@pytest.mark.parametrize(
    ("processes", "arguments", "plan"),
    [
        (2, ["--depth", "2"], "tp 2, cp 1, pp 1; depth 2, as was asked for: one collective a step, over 2 TP ranks"),
        (4, ["--cp", "2"], "tp 2, cp 2, pp 1; blocking: MIN over CP and then over TP takes two collectives a step"),
    ],
)
def test_every_rank_reports_and_all_pop_the_same(processes: int, arguments: list[str], plan: str) -> None:
    code, shown, errors = torchrun(processes, *arguments)
    assert code == 0, errors
    lines = shown.splitlines()
    assert plan in lines
    summary = rf"{processes} ranks popped the same acks in the same order; \d+ were enqueued, 0 are left"
    assert re.fullmatch(summary, lines[-1])
    for rank in range(processes):
        assert any(re.match(rf"step 40 of 40; rank {rank} of {processes}, ", line) for line in lines)
        assert any(re.match(rf"rank {rank}: \d+ steps, popped \d+ write", line) for line in lines)


@pytest.mark.parametrize(("arguments", "words"), [([], "run it under torchrun"), (["--depth", "0"], "run it under")])
def test_without_torchrun_it_says_how_to_run_it(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert demo.main(arguments, environment={}) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--cp", "3"], "tp 1, cp 3, pp 1 takes 3 ranks, and there are 2; see --nproc-per-node"),
        (["--cp", "-1"], "cp is a whole number of 1 or more, not -1"),
        (["--depth", "0"], "a depth is a whole number of 1 or more, not 0"),
        (["--deadline", "0"], "a deadline is 0.001 to 1000000 seconds, not 0.0"),
    ],
)
def test_numbers_that_do_not_fit_are_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "rendezvous", lambda _: iter([(HashStore(), 0, 2)]))
    assert demo.main(arguments, environment={"RANK": "0"}) == 2
    shown = capsys.readouterr().err
    assert words in shown
    assert len(shown.splitlines()) == 1
