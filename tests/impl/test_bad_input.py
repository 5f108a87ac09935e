"""What cannot be is refused with a typed error that says what was expected, and changes nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from torch._C._distributed_c10d import HashStore

from rankproof.impl.acks import FINISHED, MOST_BITS, MOST_CHARACTERS, Ack, LaneKind
from rankproof.impl.errors import Misuse
from rankproof.impl.group import gloo_group
from rankproof.impl.opening import open_ack_sync
from rankproof.impl.plan import Topology, plan_for
from rankproof.impl.sync import AckSync, PipelinedAckSync
from rankproof.impl.transport import GlooTransport
from tests.impl.conftest import DEADLINE, Group, ManualEvent, MemoryNetwork, ThrowingEvent, names

LANES: dict[str, LaneKind] = {"write": "aligned", "load": "prefix"}


@pytest.fixture
def two() -> Group:
    network = MemoryNetwork(2, DEADLINE)
    return Group([PipelinedAckSync(end, LANES) for end in network.transports], network)


@pytest.mark.parametrize(
    ("identity", "words"),
    [
        (True, "an ack's identity is an int or a str, not True"),
        (1.0, "an ack's identity is an int or a str, not 1.0"),
        (None, "an ack's identity is an int or a str, not None"),
        (10**5000, f"an ack's identity has at most {MOST_BITS} bits or {MOST_CHARACTERS} characters"),
        (-(1 << MOST_BITS), f"at most {MOST_BITS} bits"),
        ("a" * (MOST_CHARACTERS + 1), f"or {MOST_CHARACTERS} characters"),
    ],
    ids=["bool", "float", "None", "digits", "negative", "text"],
)
def test_an_identity_that_cannot_be_is_refused(identity: Any, words: str) -> None:
    with pytest.raises(Misuse, match=words):
        Ack(identity, FINISHED)


@pytest.mark.parametrize("identity", [(1 << MOST_BITS) - 1, -(1 << MOST_BITS) + 1, "a" * MOST_CHARACTERS, "", "\ud800"])
def test_the_longest_identities_are_popped_like_any_other(two: Group, identity: int | str) -> None:
    for rank in two.ranks:
        rank.enqueue("write", Ack(identity, FINISHED))
    assert [two.step(), two.step(), two.step()] == [[], [str(identity)], []]


@pytest.mark.parametrize("event", [None, object(), 3])
def test_what_is_no_event_is_refused(event: Any) -> None:
    with pytest.raises(Misuse, match=r"ack 1: an event has query\(\) and synchronize\(\), which .* has not"):
        Ack(1, event)


@pytest.mark.parametrize(
    ("lane", "ack", "words"),
    [
        ("write", "ack", "lane 'write': an Ack is enqueued, not 'ack'"),
        ("write", Ack("waits", FINISHED), "lane 'write': ack 'waits' waits here already"),
        ("wirte", Ack("b", FINISHED), "there is no lane 'wirte'; lanes are write, load"),
        (["write"], Ack("b", FINISHED), "there is no lane"),
        (None, Ack("b", FINISHED), "there is no lane None"),
    ],
    ids=["no ack", "twice", "unknown", "unhashable", "None"],
)
def test_an_enqueue_that_cannot_be_leaves_the_lane_as_it_was(two: Group, lane: Any, ack: Any, words: str) -> None:
    two.enqueue("waits")
    before = two.ranks[0].state()
    with pytest.raises(Misuse, match=words):
        two.ranks[0].enqueue(lane, ack)
    assert two.ranks[0].state() == before
    two.finish("waits")
    assert [two.step(), two.step()] == [[], ["waits"]]


@pytest.mark.parametrize(
    "call", [lambda rank: rank.evict("wirte"), lambda rank: rank.step(-1), lambda rank: rank.step(1.0)]
)
def test_a_call_that_cannot_be_breaks_nothing(two: Group, call: Callable[[AckSync], object]) -> None:
    before = two.ranks[0].state()
    with pytest.raises(Misuse):
        call(two.ranks[0])
    assert two.ranks[0].state() == before
    assert two.step() == []


@pytest.mark.parametrize(
    "lanes", [["write"], "write", None, {}, {1: "aligned"}, {"": "aligned"}, {"write": None}], ids=str
)
def test_lanes_that_cannot_be_are_refused(lanes: Any) -> None:
    with pytest.raises(Misuse):
        AckSync(MemoryNetwork().transports[0], lanes)


@pytest.mark.parametrize("lanes", [["hits"], None, {1: "aligned"}, {"hits": None}], ids=str)
def test_lanes_that_cannot_be_are_not_attached(two: Group, lanes: Any) -> None:
    before = two.ranks[0].state()
    with pytest.raises(Misuse):
        two.ranks[0].attach(lanes)
    assert two.ranks[0].state() == before


def test_what_is_no_transport_and_no_group_is_refused() -> None:
    with pytest.raises(Misuse, match="which None does not"):
        AckSync(None, LANES)  # type: ignore[arg-type]
    with pytest.raises(Misuse, match=r"a group is one of torch\.distributed or of gloo_group, not None"):
        GlooTransport(None)  # type: ignore[arg-type]
    with pytest.raises(Misuse, match="needs 2 ranks or more"):
        AckSync(MemoryNetwork(1).transports[0], LANES)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rank": 2}, "rank 2 is outside the group; ranks are 0 to 1"),
        ({"rank": -1}, "rank -1 is outside"),
        ({"rank": "0"}, "rank '0' is outside"),
        ({"rank": True}, "rank True is outside"),
        ({"world": 1}, "a group has 2 ranks or more, not 1"),
        ({"world": 2.0}, "a group has 2 ranks or more, not 2.0"),
        ({"timeout": 0}, "a deadline is 0.001 to 1000000 seconds, not 0"),
        ({"timeout": -1.0}, "not -1.0"),
        ({"timeout": 1e-9}, "not 1e-09"),
        ({"timeout": float("nan")}, "not nan"),
        ({"timeout": float("inf")}, "not inf"),
        ({"timeout": "5"}, "not '5'"),
        ({"timeout": None}, "not None"),
        ({"timeout": True}, "not True"),
        ({"timeout": 10**400}, "a deadline is"),
        ({"in_flight": -1}, "rounds in flight are 0 to 64, each with a thread, not -1"),
        ({"in_flight": 1 << 40}, "rounds in flight"),
        ({"store": None}, "ranks meet in a store of torch.distributed, such as a TCPStore, not in None"),
    ],
    ids=str,
)
def test_a_group_that_cannot_be_is_refused_before_any_rank_is_waited_for(arguments: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"rank": 0, "world": 2, "store": HashStore(), "timeout": 5.0} | arguments
    with pytest.raises(Misuse, match=words):
        gloo_group(**given)


@pytest.mark.parametrize(
    "arguments",
    [{"rank": 2}, {"rank": None}, {"plan": None}, {"store": "store"}, {"timeout": 0}, {"lanes": ["write"]}],
    ids=str,
)
def test_opening_with_what_cannot_be_is_refused_before_any_rank_is_waited_for(arguments: dict[str, Any]) -> None:
    plan = plan_for(Topology(tp=2), environment={})
    given: dict[str, Any] = {"rank": 0, "plan": plan, "store": HashStore(), "lanes": LANES, "timeout": 5.0} | arguments
    with pytest.raises(Misuse):
        open_ack_sync(**given)


@pytest.mark.parametrize("counts", [(1.5, 0), ("1", 0), (None, 0), (1 << 63, 0)], ids=str)
def test_a_vector_of_what_are_no_numbers_is_refused_and_the_round_can_still_be_offered(counts: Sequence[Any]) -> None:
    store = HashStore()
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda rank: GlooTransport(gloo_group(rank, 2, store, 5.0)), range(2))
    with pytest.raises(Misuse, match="round 1: a vector holds whole numbers of 64 bits"):
        first.offer(1, counts)
    first.offer(1, (2, 3))
    second.offer(1, (3, 2))
    assert first.agreed(1) == second.agreed(1) == (2, 2)


def test_a_call_from_a_second_thread_is_refused_and_the_first_ends_well(two: Group) -> None:
    class Slow(ManualEvent):
        def query(self) -> bool:
            asked.set()
            assert go_on.wait(DEADLINE)
            return True

    asked, go_on = threading.Event(), threading.Event()
    rank = two.ranks[0]
    rank.enqueue("write", Ack("a", Slow()))
    two.ranks[1].enqueue("write", Ack("a", FINISHED))
    first = threading.Thread(target=rank.step, daemon=True)
    first.start()
    assert asked.wait(DEADLINE)
    try:
        for call in (rank.step, rank.drain, rank.reset, rank.close, rank.fall_back, lambda: rank.evict("write")):
            with pytest.raises(Misuse, match=r"\(\) within another call; make all calls from one thread"):
                call()
        rank.enqueue("load", Ack("b", FINISHED))  # the one call that may come from another thread
    finally:
        go_on.set()
        first.join(DEADLINE)
    two.ranks[1].enqueue("load", Ack("b", FINISHED))
    two.ranks[1].step()
    results = two.results(AckSync.drain)
    assert [names(result) for result in results if not isinstance(result, BaseException)] == [["a"], ["a"]]


def test_after_a_close_every_call_is_refused_but_another_close(two: Group) -> None:
    assert two.step() == []
    two.results(AckSync.close)
    rank = two.ranks[0]
    calls: tuple[Callable[[], object], ...] = (
        rank.step,
        rank.drain,
        rank.reset,
        rank.fall_back,
        lambda: rank.evict("write"),
        lambda: rank.attach({"hits": "size"}),
        lambda: rank.detach("load"),
        lambda: rank.enqueue("write", Ack("a", FINISHED)),
    )
    for call in calls:
        with pytest.raises(Misuse, match=r"\w+\(\) after close\(\)"):
            call()
    assert rank.close().popped == {}
    assert rank.waiting("write") == ()


def test_an_event_that_raises_in_a_step_that_pops_loses_no_ack(two: Group) -> None:
    two.enqueue("a")
    two.finish("a")
    two.step()
    two.ranks[0].enqueue("write", Ack("bad", ThrowingEvent(RuntimeError("device lost"))))
    two.results()
    assert two.ranks[0].waiting("write") == ("a", "bad")
