"""Gloo as a transport, with both ranks of a group in one process, and the making of such a group."""

import gc
import time
from array import array
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from unittest.mock import Mock

import pytest
import torch.distributed as dist
from torch._C._distributed_c10d import FileStore, HashStore, PrefixStore, ProcessGroupGloo, Store

from rankproof.impl import group as group_module
from rankproof.impl import rows as rows_module
from rankproof.impl.errors import Misuse, PeerLost, StepTimeout
from rankproof.impl.exchange import ExchangeTransport
from rankproof.impl.group import gloo_group
from rankproof.impl.rows import Row, Rows
from rankproof.impl.transport import GlooTransport, Round
from rankproof.model.errors import BadInput


def together(store: Store, timeout: float, world: int = 2) -> list[ProcessGroupGloo]:
    """Ranks that make a group at the same time, each in a thread of its own."""
    with ThreadPoolExecutor(world) as pool:
        futures = [pool.submit(gloo_group, rank, world, store, timeout) for rank in range(world)]
        return [future.result() for future in futures]


@pytest.fixture(params=[GlooTransport, ExchangeTransport])
def pair(request: pytest.FixtureRequest) -> Iterator[list[GlooTransport]]:
    transports = [request.param(group) for group in together(HashStore(), 0.5)]
    yield transports
    for transport in transports:
        transport.close()


def test_the_agreed_vector_is_the_minimum_word_by_word(pair: list[GlooTransport]) -> None:
    for number, (mine, yours) in enumerate([((3, ~3, 0), (5, ~5, 2)), ((7, ~7, 1), (7, ~7, 0))], start=1):
        pair[0].offer(number, mine)
        pair[1].offer(number, yours)
        assert pair[0].agreed(number) == pair[1].agreed(number) == tuple(map(min, mine, yours))


@pytest.mark.parametrize("shared", [(), (7, -7, 1 << 62, 0, -1, ~7, 6, ~0)], ids=["all differ", "counts differ"])
@pytest.mark.parametrize("transport", [GlooTransport, ExchangeTransport])
def test_every_rank_has_its_part_in_the_minimum_whichever_holds_it(
    transport: type[GlooTransport], shared: tuple[int, ...]
) -> None:
    world = 4
    ranks = [transport(group) for group in together(HashStore(), 10.0, world)]
    for number in range(1, 3 * world):
        lowest = number % world
        for rank, each in enumerate(ranks):
            each.offer(number, [*(100 * rank + word - 1000 * (rank == lowest) for word in range(3)), *shared])
        agreed = (*(100 * lowest + word - 1000 for word in range(3)), *shared)
        assert [each.agreed(number) for each in ranks] == [agreed] * world
    for each in ranks:
        each.close()


def test_two_rounds_in_flight_are_told_apart_by_their_number(pair: list[GlooTransport]) -> None:
    for transport in pair:
        transport.offer(1, (10,))
        transport.offer(2, (20,))
    assert [pair[0].agreed(1), pair[0].agreed(2)] == [pair[1].agreed(1), pair[1].agreed(2)] == [(10,), (20,)]


def test_a_round_out_of_turn_is_refused_and_changes_nothing(pair: list[GlooTransport]) -> None:
    for transport in pair:
        with pytest.raises(Misuse, match="round 2 offered out of turn; the next is round 1"):
            transport.offer(2, (1,))
        with pytest.raises(Misuse, match="round 1 is not the one to wait for: none is"):
            transport.agreed(1)
        transport.offer(1, (1,))
        with pytest.raises(Misuse, match="round 2 is not the one to wait for: the oldest in flight is round 1"):
            transport.agreed(2)
    assert pair[0].agreed(1) == pair[1].agreed(1) == (1,)


def test_a_vector_with_a_fraction_is_refused(pair: list[GlooTransport]) -> None:
    with pytest.raises(Misuse, match="whole numbers"):
        pair[0].offer(1, (1.5,))  # type: ignore[arg-type]
    pair[0].offer(1, (1,))
    pair[1].offer(1, (2,))
    assert pair[0].agreed(1) == pair[1].agreed(1) == (1,)


def test_a_wait_ends_at_the_deadline_that_the_group_was_given(pair: list[GlooTransport]) -> None:
    assert (pair[0].timeout, pair[0].rank, pair[0].world) == (0.5, 0, 2)
    begun = time.monotonic()
    pair[0].offer(1, (1,))
    with pytest.raises(
        StepTimeout, match=r"round 1: waited for the MIN over 2 ranks, not there within 0\.5 s"
    ) as caught:
        pair[0].agreed(1)
    assert 0.4 < time.monotonic() - begun < 1.5
    assert caught.value.round == 1


@pytest.mark.parametrize("transport", [GlooTransport, ExchangeTransport])
def test_a_transport_that_closes_is_lost_to_its_peer_at_once(transport: type[GlooTransport]) -> None:
    first, second = (transport(group) for group in together(HashStore(), 20.0))
    second.offer(1, (1,))
    first.close()
    begun = time.monotonic()
    with pytest.raises(PeerLost, match="round 1: waited for the MIN over 2 ranks, and the group was lost"):
        second.agreed(1)
    assert time.monotonic() - begun < 10
    with pytest.raises(Misuse, match="closed"):
        first.offer(1, (1,))
    second.close()


def test_the_default_group_and_a_group_of_one_are_refused() -> None:
    dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    try:
        assert dist.group.WORLD is not None
        with pytest.raises(Misuse, match="default group"):
            GlooTransport(dist.group.WORLD)
        with pytest.raises(Misuse, match="group of one"):
            GlooTransport(dist.new_group([0], timeout=timedelta(seconds=5)))
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize("kind", ["hash", "file"])
def test_ranks_that_do_not_come_are_named_at_the_deadline(kind: str, tmp_path: object) -> None:
    store = HashStore() if kind == "hash" else FileStore(f"{tmp_path}/store", 3)
    begun = time.monotonic()
    with pytest.raises(PeerLost, match=r"rank 1 of 3 waited 0\.3 s to be joined by rank 0 and 2"):
        gloo_group(1, 3, store, 0.3)
    assert time.monotonic() - begun < 3


def test_a_store_makes_one_group() -> None:
    store = HashStore()
    for group in together(store, 5.0):
        assert group.size() == 2
    with pytest.raises(Misuse, match="joined a group in this store before"):
        gloo_group(0, 2, store, 5.0)
    for group in together(PrefixStore("second", store), 5.0):
        assert group.size() == 2


def test_an_interface_that_is_missing_is_one_line_with_those_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "nosuch0")
    with pytest.raises(BadInput, match=r"GLOO_SOCKET_IFNAME=nosuch0 .*; set GLOO_SOCKET_IFNAME to one .*lo") as caught:
        together(HashStore(), 5.0)
    assert "\n" not in str(caught.value)


def test_an_interface_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    assert [group.rank() for group in together(HashStore(), 5.0)] == [0, 1]


def without_a_default_device() -> None:
    raise RuntimeError("the name of the host leads nowhere")


def test_ranks_of_one_host_need_only_its_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    monkeypatch.setattr(ProcessGroupGloo, "create_default_device", without_a_default_device)
    assert [group.rank() for group in together(HashStore(), 5.0)] == [0, 1]


def test_ranks_of_several_hosts_do_not_use_the_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    places = iter(["here", "there"])
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    monkeypatch.setattr(group_module, "_place", lambda: next(places))
    monkeypatch.setattr(ProcessGroupGloo, "create_default_device", without_a_default_device)
    with pytest.raises(BadInput, match=r"cannot use the interface of this host \(the name of the host leads nowhere\)"):
        together(HashStore(), 5.0)


def test_a_round_in_flight_has_tensors_of_its_own_and_its_result_is_read_from_their_memory(
    pair: list[GlooTransport],
) -> None:
    for transport in pair:
        transport.offer(1, (7, -7))
        transport.offer(2, (8, -8))
    first, second = map(memory_of, pair[0]._in_flight)
    assert not first & second
    assert [transport.agreed(1) for transport in pair] == [(7, -7)] * 2
    for transport in pair:
        transport.offer(3, (9, -9))
    assert not memory_of(pair[0]._in_flight[-1]) & second
    assert [transport.agreed(number) for number in (2, 3) for transport in pair] == [(8, -8)] * 2 + [(9, -9)] * 2


def memory_of(in_flight: Round) -> set[int]:
    """The address of every word that gloo reads or writes for a round."""
    rows = [row for row in (in_flight.result, in_flight.given) if row is not None]
    return {row.tensor.data_ptr() + 8 * word for row in rows for word in range(row.tensor.numel())}


def test_rounds_one_after_the_other_make_no_tensor(pair: list[GlooTransport], monkeypatch: pytest.MonkeyPatch) -> None:
    making = Mock(wraps=rows_module._made)
    monkeypatch.setattr(rows_module, "_made", making)
    made = []
    for number in range(1, 6):
        for transport in pair:
            transport.offer(number, (number, -number))
        assert [transport.agreed(number) for transport in pair] == [(number, -number)] * 2
        made.append(making.call_count)
    assert made == [made[0]] * 5
    assert made[0] > 0


def test_no_two_tensors_that_are_lent_share_a_word_whatever_their_lengths() -> None:
    rows = Rows()
    taken = [rows.take(length) for length in (3, 3, 3, 5, 5, 3)]
    addresses = [row.tensor.data_ptr() + 8 * word for row in taken for word in range(row.tensor.numel())]
    assert len(addresses) == len(set(addresses)) == 22
    for number, row in enumerate(taken):
        row.words[:] = memoryview(array("q", [number] * len(row.words)))
    assert [row.tensor.tolist() for row in taken] == [[n] * len(row.words) for n, row in enumerate(taken)]
    for row in taken:
        rows.give_back(row)
    again = [rows.take(3) for _ in range(5)]
    assert all(row.tensor.numel() == 3 for row in again)
    assert len({row.tensor.data_ptr() for row in again}) == 5


def test_a_tensor_outlives_what_lent_it() -> None:
    rows = Rows()
    tensor, words = rows.filled((7, 0))
    assert rows.read(Row(tensor, words)) == (7, 0)
    del rows, words
    gc.collect()
    assert tensor.tolist() == [7, 0]
