"""Instances made and closed again and again leave no descriptor, no thread and no memory behind."""

import gc
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import gt, le
from pathlib import Path

import pytest
from torch._C._distributed_c10d import HashStore

from rankproof.impl.acks import FINISHED, Ack
from rankproof.impl.opening import open_ack_sync
from rankproof.impl.plan import Topology, plan_for
from rankproof.impl.sync import AckSync
from tests.impl.conftest import DEADLINE, ThrowingEvent

CYCLES = 200
WARM = 20
"""Cycles after which libraries have made what they keep for good."""

MEBIBYTE = 1 << 20


def held() -> tuple[int, int, int]:
    """Descriptors, threads, and bytes of memory that this process holds."""
    gc.collect()
    status = Path("/proc/self/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    memory = int(resident.split()[1]) * 1024
    return len(list(Path("/proc/self/fd").iterdir())), len(list(Path("/proc/self/task").iterdir())), memory


def cycle(pool: ThreadPoolExecutor, broken: bool, carrier: bool) -> None:
    """One life of a group of two ranks: opened, used, and closed; or broken by a transfer that throws."""
    store, plan = HashStore(), plan_for(Topology(tp=2), environment={})
    opened = partial(open_ack_sync, plan=plan, store=store, lanes={"write": "aligned"}, timeout=5.0, carrier=carrier)
    opening = [pool.submit(opened, rank) for rank in range(2)]
    ranks: list[AckSync] = [each.result() for each in opening]
    for rank in ranks:
        rank.enqueue("write", Ack("a", FINISHED))
    for _ in range(2):
        for stepping in [pool.submit(rank.step) for rank in ranks]:
            stepping.result()
    if broken:
        ranks[0].enqueue("write", Ack("b", ThrowingEvent(RuntimeError("device lost"))))
    last = [pool.submit(rank.step if broken else rank.close) for rank in ranks]
    failed = [each.exception() is not None for each in last]
    assert failed[0] == broken


@pytest.mark.parametrize(("broken", "carrier"), [(False, False), (True, False), (True, True)])
def test_two_hundred_lives_leave_nothing_behind(broken: bool, carrier: bool) -> None:
    with ThreadPoolExecutor(2) as pool:
        for _ in range(WARM):
            cycle(pool, broken, carrier)
        descriptors, threads, memory = held()
        for _ in range(CYCLES):
            cycle(pool, broken, carrier)
        most = (descriptors + 2, threads + 2, memory + 16 * MEBIBYTE)
        until = time.monotonic() + DEADLINE  # for carriers that were let go of with a round in flight
        while any(map(gt, now := held(), most)) and time.monotonic() < until:
            time.sleep(0.01)
    assert all(map(le, now, most)), (now, most)
