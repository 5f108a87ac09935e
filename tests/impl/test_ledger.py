"""What the digests of a round are of: acks by identity and order, enqueued or popped, in the lanes that there are."""

from __future__ import annotations

import pytest

from rankproof.benchmarks.echo import EchoTransport
from rankproof.impl.acks import FINISHED, Ack, Identity, LaneKind
from rankproof.impl.digests import EMPTY
from rankproof.impl.guards import NO_STEP_NUMBER, Offer
from rankproof.impl.lanes import Lanes
from rankproof.impl.sync import PipelinedAckSync


def lanes_of(**kinds: LaneKind) -> Lanes:
    return Lanes(kinds, cumulative=False)


def fill(lanes: Lanes, lane: str, *identities: Identity) -> None:
    for identity in identities:
        lanes[lane].enqueue(Ack(identity, FINISHED))


def noted(lanes: Lanes, round_number: int, mode: int = 1) -> Offer:
    """The offer of a round, with what the lanes count, which is noted in their ledger."""
    offer = Offer(lanes.counts(), False, 0, round_number, mode, 5, NO_STEP_NUMBER, 0, lanes.each)
    lanes.ledger.note(offer)
    return offer


def digests(*identities: Identity, pops: int, kind: LaneKind) -> tuple[int, ...]:
    """What a rank lets others compare of a lane after it was filled, and after pops."""
    lanes = lanes_of(write=kind)
    fill(lanes, "write", *identities)
    lanes.consumed(1)
    (filled,) = lanes.ledger.digests(noted(lanes, 2))
    lanes["write"].pop(pops)
    lanes.consumed(2)
    return filled, *lanes.ledger.digests(noted(lanes, 3))


@pytest.mark.parametrize("kind", ["prefix", "size"])
def test_the_digest_of_a_lane_filled_at_any_time_speaks_of_popped_acks_only(kind: LaneKind) -> None:
    assert digests("a", "b", pops=1, kind=kind) == digests("a", "c", "d", pops=1, kind=kind)
    assert digests("a", "b", pops=2, kind=kind)[1] != digests("b", "a", pops=2, kind=kind)[1]


def test_the_digest_of_an_aligned_lane_tells_acks_apart_before_any_is_popped() -> None:
    assert digests("a", "b", pops=0, kind="aligned")[0] != digests("b", "a", pops=0, kind="aligned")[0]
    assert digests("a", pops=0, kind="aligned")[0] != digests("a", "b", pops=0, kind="aligned")[0]


def test_the_digest_of_an_aligned_lane_survives_pops_and_tells_them_apart() -> None:
    assert digests("a", "b", pops=1, kind="aligned") == digests("a", "b", pops=1, kind="aligned")
    assert digests("a", "b", pops=1, kind="aligned")[1] != digests("a", "b", pops=2, kind="aligned")[1]


def test_identities_of_another_type_have_another_digest() -> None:
    assert digests(1, pops=1, kind="size") != digests("1", pops=1, kind="size")


@pytest.mark.parametrize("kind", ["aligned", "prefix"])
def test_a_cleared_lane_is_as_new(kind: LaneKind) -> None:
    lanes = lanes_of(write=kind)
    fill(lanes, "write", "a", "b")
    lanes["write"].pop(1)
    lanes.consumed(1)
    lanes.clear()
    assert lanes.ledger.digests(noted(lanes, 2)) == digests(pops=0, kind=kind)[:1]
    fill(lanes, "write", "a")
    lanes["write"].pop(1)
    lanes.consumed(2)
    fresh = lanes_of(write=kind)
    fill(fresh, "write", "a")
    fresh["write"].pop(1)
    fresh.consumed(2)
    assert lanes.ledger.digests(noted(lanes, 3)) == fresh.ledger.digests(noted(fresh, 3))


def test_notes_do_not_pile_up_where_lanes_are_evicted_and_nobody_steps() -> None:
    rank = PipelinedAckSync(EchoTransport(), {"write": "aligned"})
    for number in range(50):
        rank.enqueue("write", Ack(number, FINISHED))
        rank.evict("write")
    assert len(rank._lanes.ledger._notes) < 5


def test_offers_are_read_in_the_order_in_which_they_were_noted() -> None:
    lanes = lanes_of(write="size")
    noted(lanes, 1)
    with pytest.raises(AssertionError, match="was noted before the offer that is read"):
        lanes.ledger.digests(noted(lanes, 2))


def test_no_more_is_kept_of_past_rounds_than_a_window_of_them_after_a_fall_back_too() -> None:
    lanes = lanes_of(write="size")
    for number in range(1, 9):
        fill(lanes, "write", number)
        lanes["write"].pop(1)
        lanes.consumed(number)
        lanes.ledger.digests(noted(lanes, number + 1, 4))
    assert len(lanes.ledger._popped_by) == 4
    lanes.ledger.digests(noted(lanes, 10, 0))
    assert len(lanes.ledger._popped_by) <= 1


def test_a_lane_that_came_late_has_popped_nothing_and_one_that_went_takes_its_pops_along() -> None:
    lanes = lanes_of(write="prefix", load="prefix")
    for lane in ("write", "load"):
        fill(lanes, lane, lane)
        lanes[lane].pop(1)
    lanes.consumed(1)
    write, load = lanes.ledger.digests(noted(lanes, 2))
    assert EMPTY not in (write, load)
    lanes.replace({"backup": "size"}, ["write"])
    assert lanes.ledger.digests(noted(lanes, 2)) == (load, EMPTY)
    lanes.replace({"write": "prefix"}, ["load"])
    assert lanes.ledger.digests(noted(lanes, 2)) == (EMPTY, EMPTY)


def test_the_digests_of_an_offer_are_of_what_happened_before_it_was_noted() -> None:
    lanes = lanes_of(write="aligned")
    fill(lanes, "write", "a")
    first = noted(lanes, 1)
    fill(lanes, "write", "b")
    second = noted(lanes, 2)
    before, after = lanes.ledger.digests(first), lanes.ledger.digests(second)
    assert before == digests("a", pops=0, kind="aligned")[:1]
    assert after == digests("a", "b", pops=0, kind="aligned")[:1]


@pytest.mark.parametrize("window", [1, 2, 4])
def test_pops_are_compared_as_they_stood_after_the_last_round_that_every_rank_has_consumed(window: int) -> None:
    """A rank that was drained has popped more than one that was not; both offer the same digest for the next round."""
    drained, other = lanes_of(write="size"), lanes_of(write="size")
    for number in range(1, 9):
        for lanes in (drained, other):
            fill(lanes, "write", number)
        drained["write"].pop(1)
        drained.consumed(number)
        if number >= window:  # this one has no more than `window` rounds in flight when it issues the next
            other["write"].pop(1)
            other.consumed(number - window + 1)
        offered = [lanes.ledger.digests(noted(lanes, number + 1, window)) for lanes in (drained, other)]
        assert offered[0] == offered[1]
        assert (offered[0] == (EMPTY,)) == (number + 1 <= window)
