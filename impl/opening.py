"""Opens one rank's part of a plan: makes the gloo groups that it needs, each with the same deadline."""

from __future__ import annotations

from collections.abc import Mapping

from torch._C._distributed_c10d import PrefixStore, Store

from rankproof.impl.acks import LaneKind
from rankproof.impl.board import Board
from rankproof.impl.chain import ChainTransport, FollowerAckSync, StageAckSync
from rankproof.impl.digests import word_of
from rankproof.impl.errors import Misuse, RankDivergence
from rankproof.impl.exchange import ExchangeTransport
from rankproof.impl.grid import GridTransport
from rankproof.impl.group import check_deadline, check_store, exchange, gloo_group
from rankproof.impl.lanes import Lanes
from rankproof.impl.plan import Place, Plan
from rankproof.impl.sync import AckSync
from rankproof.impl.transport import Transport


def open_ack_sync(
    rank: int, plan: Plan, store: Store, lanes: Mapping[str, LaneKind], timeout: float, *, carrier: bool = False
) -> AckSync:
    """This rank's part in the agreement; returns on each rank when all are there.

    rank     this rank in the plan's topology
    store    one that all ranks share and nothing was opened in before: `PrefixStore(name, store)` with a name used once
    lanes    the kind of each lane, in the same order on every rank
    timeout  seconds: the one deadline, for each wait here and later; a step waits for its carrier for twice that
    carrier  whether rounds that are in flight are carried by a thread of their own, for engines whose own thread waits
             for a GPU between two steps (see `rounds`); each rank may choose for itself

    Raises Misuse for impossible numbers or lanes, RankDivergence where ranks have other plans or lanes, PeerLost naming
    the ranks that did not come in time, and BadInput for an interface that gloo cannot use.
    """
    if not isinstance(plan, Plan):
        raise Misuse(f"a plan comes from `plan_for`; {plan!r} is none")
    place = plan.topology.place(rank)
    check_deadline(timeout)
    check_store(store)
    Lanes(lanes, plan.cumulative)  # refuses what cannot be before another rank is waited for
    _compare_layouts(rank, plan, store, lanes, timeout)
    transport = _transport(rank, place, plan, store, timeout)
    board = Board(store, rank, plan.topology.world)
    if isinstance(transport, ChainTransport):
        stage = FollowerAckSync if place.pp > 0 else StageAckSync
        return stage(transport, lanes, board=board, plan=str(plan))
    return AckSync(transport, lanes, plan.lag, cumulative=plan.cumulative, carrier=carrier, board=board, plan=str(plan))


def _transport(rank: int, place: Place, plan: Plan, store: Store, timeout: float) -> Transport:
    """Groups are made in the same order on every rank, so that none waits for a group that another makes later."""
    shape = plan.topology
    directions: list[Transport] = []
    for name, number, size, line in (
        ("cp", place.cp, shape.cp, place.tp),
        ("tp", place.tp, shape.tp, place.cp),
    ):
        if size > 1 and place.pp == 0:
            group = gloo_group(number, size, PrefixStore(f"{name}/{line}", store), timeout, plan.lag)
            directions.append(ExchangeTransport(group))
    beside = directions[0] if len(directions) == 1 else None
    if len(directions) > 1:
        beside = GridTransport(directions, rank, shape.cp * shape.tp)
    if plan.path != "chain":
        assert beside is not None
        return beside
    column = gloo_group(place.pp, shape.pp, PrefixStore(f"pp/{place.cp}/{place.tp}", store), timeout)
    return ChainTransport(column, beside, rank, shape.world)


def _compare_layouts(rank: int, plan: Plan, store: Store, lanes: Mapping[str, LaneKind], timeout: float) -> None:
    """Before any group is made: other plans would wait for other groups, and other lanes make vectors of other lengths.

    Guard words could not tell: gloo aborts the process of a rank that is sent a vector of another length.
    """
    mine = f"{plan}, lanes {dict(lanes)}"
    layouts = exchange(store, "layout", rank, plan.topology.world, mine, timeout)
    words = [word_of(layout) for layout in layouts]
    for peer, theirs in enumerate(layouts):
        if theirs != mine:
            text = f"rank {peer} is laid out as {theirs}, and this rank {rank} as {mine}"
            raise RankDivergence(text, None, "layout", min(words), max(words), words[rank])
