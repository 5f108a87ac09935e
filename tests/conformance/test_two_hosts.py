"""Two hosts, each a network of its own with a name of its own, joined by a cable: records come together and are judged.

Each is a namespace of this kernel. All that is made goes with the process that made it, whatever ends that: the first
process of the outer namespace is killed with the program that waits for it, and with it every other.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rankproof.conformance.recorded_check import Judgement, check
from rankproof.conformance.recorded_file import path_of
from rankproof.model.verdict import Verdict
from tests.conformance.pool_marks import MARK, alive, appears, comes_down_to

HERE = Path(__file__).parent
APART = ["--net", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]

CABLE = """\
set -e
unshare --net --uts sleep 600 &
other=$!
until [ "$(readlink /proc/$other/ns/uts)" != "$(readlink /proc/$$/ns/uts)" ]; do sleep 0.01; done
there() { nsenter --target $other --net --uts "$@"; }
ip link add cable type veth peer name end
ip link set end netns $other
ip address add 10.99.0.1/24 dev cable
ip link set cable up
there ip link set end name cable
there ip address add 10.99.0.2/24 dev cable
there ip link set cable up
ip link set lo up
there ip link set lo up
echo first-host > /proc/sys/kernel/hostname
there sh -c 'echo second-host > /proc/sys/kernel/hostname'
"""
"""Makes the hosts: the one in which this runs, and another, in which `there COMMAND` runs a command."""

BOTH = """\
export WORLD_SIZE=2 LOCAL_WORLD_SIZE=1 MASTER_ADDR=10.99.0.1 MASTER_PORT=29400 GLOO_SOCKET_IFNAME=cable
for subject in $SUBJECTS; do
    record="$PYTHON -m rankproof.conformance.recorded --subject $subject --examples 3 --steps 12 --timeout 60"
    there env RANK=1 $record --out second/$subject &
    second=$!
    RANK=0 $record --out first/$subject
    wait $second
done
"""
"""A rank on each host, which is told what torchrun tells its ranks: its number, and where the first of them is."""


def begun(script: str, folder: Path, **variables: str) -> subprocess.Popen[str]:
    """Begins a script as the first process of namespaces of its own, with which all that it starts ends."""
    (folder / "script.sh").write_text(CABLE + script)
    as_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return subprocess.Popen(
        ["unshare", *as_root, *APART, "sh", "script.sh"],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def in_namespaces(script: str, folder: Path, **variables: str) -> tuple[int, str]:
    """Runs such a script to its end; gives its exit code and what it wrote to stderr."""
    with begun(script, folder, **variables) as host:
        try:
            errors = host.communicate(timeout=100)[1]
        finally:
            host.kill()
    return host.returncode, errors


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for a run on two hosts; skips where this machine cannot make them."""
    folder = tmp_path_factory.mktemp("hosts")
    if missing := [tool for tool in ("unshare", "nsenter", "ip") if shutil.which(tool) is None]:
        pytest.skip(f"no two hosts can be made on this machine: there is no {', '.join(missing)}")
    code, errors = in_namespaces("there ip route get 10.99.0.1", folder)
    if code:
        pytest.skip(f"no two hosts can be made on this machine: {errors.strip() or f'exit code {code}'}")
    return folder


RIGHT, WRONG = "rankproof.conformance.reference:pipelined", "wrong_subjects:pops_its_own_count"


@pytest.mark.processes
def test_ranks_of_two_hosts_record_what_holds_and_what_does_not(folder: Path) -> None:
    code, errors = in_namespaces(BOTH, folder, PYTHON=sys.executable, SUBJECTS=f"{RIGHT} {WRONG}")
    assert code == 0, errors
    right, wrong = (judged(folder, subject) for subject in (RIGHT, WRONG))
    assert (right.failure, right.verdict, right.plan.world) == ("", Verdict.HOLDS, 2)
    assert right.popped > 0
    assert wrong.verdict is Verdict.VIOLATED
    assert wrong.breaks in ("finished-before-pop", "exact-delay")


@pytest.mark.processes
def test_the_hosts_are_gone_when_the_program_that_waits_for_them_is_killed(folder: Path) -> None:
    mark = os.urandom(8).hex()
    with begun("there sh -c 'sleep 600 & touch here; wait'", folder, **{MARK: mark}) as host:
        try:
            assert appears(folder / "here")
            assert len(alive(mark)) >= 4
        finally:
            host.kill()
    assert comes_down_to(set(), mark)


def judged(folder: Path, subject: str) -> Judgement:
    """What the records of both hosts come to, once they are in one folder."""
    together = folder / "together" / subject
    together.mkdir(parents=True)
    for rank, host in enumerate(("first", "second")):
        assert not path_of(folder / host / subject, 1 - rank).exists(), "each host has written its own alone"
        shutil.copy(path_of(folder / host / subject, rank), together)
    return check(together)
