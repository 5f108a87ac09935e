"""The window that is proved to be enough in a closed loop is the least one that the model finds."""

import pytest

from rankproof.model.closedloop import least_window
from rankproof.model.protocol import PIPELINED, Protocol, depth
from rankproof.model.verdict import Verdict
from rankproof.proofs.closed_loop import CLOSED_LOOP
from rankproof.proofs.prove import judge


@pytest.mark.parametrize("protocol", [PIPELINED, depth(2), depth(3)], ids=lambda protocol: f"lag {protocol.lag}")
def test_the_window_that_is_proved_enough_is_the_least_that_is_seen(protocol: Protocol) -> None:
    for obligation in CLOSED_LOOP:
        assert judge(obligation, protocol, cross_check=True) == (Verdict.HOLDS, "")
        assert judge(obligation, protocol, without=("window",))[0] is Verdict.VIOLATED
    assert [least_window(protocol, demand, 24) for demand in (1, 2)] == [protocol.lag + 1, 2 * (protocol.lag + 1)]
