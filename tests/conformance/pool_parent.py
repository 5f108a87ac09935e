"""A program that holds a pool of three busy, stopped and hung ranks, for the tests to end in several ways."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from rankproof.conformance.pool import RankPool

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    with RankPool(3, factory="pool_subjects:Minimum", timeout=600) as pool:
        pool.send(0, "minimum")  # waits in gloo's own code for the two that will not come
        pool.kill(1, signal.SIGSTOP)
        pool.send(2, "start_a_child")
        pool.receive(2)
        pool.send(2, "hang")
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        pool.receive(0, within=600)
