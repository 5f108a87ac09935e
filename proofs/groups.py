"""More than one group: a grid of context and tensor parallel ranks, and the stages of a pipeline."""

from __future__ import annotations

from dataclasses import replace

from rankproof.model import rules
from rankproof.model.protocol import Protocol
from rankproof.model.reading import Rank, Truth
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.obligation import Goals, Hypotheses, Obligation


class _Grid:
    """Every rank is in one row and one column; `offer` is its own, `first` and `second` what the reduces give it."""

    def __init__(self, reading: EveryRank) -> None:
        self.reading = reading
        self.row, self.column = reading.family("row"), reading.family("column")
        self.offer, self.first, self.second = (reading.family(name) for name in ("offer", "first", "second"))

    def least(self, group: str, taken: str, given: str, me: Rank, holder: Rank) -> Truth:
        """That a rank is given the MIN over its row, or its column; `holder` is the rank that has it."""
        line, offered, result = getattr(self, group), getattr(self, taken), getattr(self, given)
        below = self.reading.every_rank(
            lambda rank: self.reading.implies(line(rank) == line(me), result(me) <= offered(rank))
        )
        return self.reading.both(below, line(holder) == line(me), result(me) == offered(holder))


def _grid(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """The MIN over rows, then over columns, as one rank gets it, against the MIN over all.

    No function returns a rank here either, so the ranks that matter are named: the one that looks (`me`), the one in
    its column whose result of the first reduce it gets, the one whose offer that was, and where the least of all is
    offered, the rank in that row and my column. Issued together with the first, the second reduce cannot take what that
    gives: it takes the offer.
    """
    second_takes = "first" if protocol.joins == "in-turn" else "offer"
    grid = _Grid(reading)
    me, through, origin, corner, holder = (
        reading.rank(name) for name in ("me", "through", "origin", "corner", "holder_of_the_corner")
    )
    least = rules.agree(reading, protocol, grid.offer)
    lowest = reading.rank("lowest")
    hypotheses = {
        "first-reduce": reading.both(
            grid.least("row", "offer", "first", through, origin), grid.least("row", "offer", "first", corner, holder)
        ),
        "second-reduce": grid.least("column", second_takes, "second", me, through),
        "lowest": grid.offer(lowest) == least,
        "every-row-meets-every-column": reading.both(
            grid.row(corner) == grid.row(lowest), grid.column(corner) == grid.column(me)
        ),
    }
    return hypotheses, {"goal": grid.second(me) == least}


def _both_in_flight(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    return _grid(reading, replace(protocol, joins="together"))


def _columns_alone(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """Two ranks of different columns, each with the MIN over its own: what one pops is to be finished on the other."""
    del protocol
    grid = _Grid(reading)
    me, mine, peer = (reading.rank(name) for name in ("me", "mine", "peer"))
    counts = reading.every_rank(lambda rank: 0 <= grid.offer(rank))
    hypotheses = {"counts": counts, "one-reduce": grid.least("column", "offer", "second", me, mine)}
    return hypotheses, {"goal": grid.second(me) <= grid.offer(peer)}


def _one_group(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """Ranks that share a lane, each in a group of its own choice; a rank gets the MIN over its group.

    What it may pop, all that share the lane had finished when they counted.
    """
    group, offer, given = reading.family("group"), reading.family("offer"), reading.family("given")
    popped, finished = reading.family("popped"), reading.family("finished")
    me = reading.rank("me")
    of_the_group = reading.every_rank(lambda rank: reading.implies(group(rank) == group(me), given(me) <= offer(rank)))
    hypotheses = {
        "one-reduce": reading.both(of_the_group, 0 <= given(me)),
        "backed": reading.every_rank(lambda rank: popped(rank) + offer(rank) <= finished(rank)),
        "agree": reading.every_pair(lambda one, other: popped(one) == popped(other)),
        "one-group": reading.every_pair(lambda one, other: group(one) == group(other)),
    }
    may_pop = rules.allowed(protocol, offer(me), given(me), popped(me))
    return hypotheses, {"goal": reading.every_rank(lambda rank: popped(me) + may_pop <= finished(rank))}


def _follower(reading: EveryRank, waits: bool) -> tuple[Hypotheses, Goals]:
    """The stages of a pipeline: the first decides what to pop, and a follower gets the number later."""
    leader, follower = reading.rank("leader"), reading.rank("follower")
    popped, counted, finished = reading.family("popped"), reading.family("counted"), reading.family("finished")
    enqueued, agreed = reading.family("enqueued"), reading.number("agreed")
    hypotheses = {
        "leader": reading.both(0 <= agreed, popped(leader) + agreed <= counted(leader)),
        "prefixes": reading.every_rank(
            lambda rank: reading.both(
                0 <= popped(rank),
                popped(rank) <= finished(rank),
                counted(rank) <= enqueued(rank),
                finished(rank) <= enqueued(rank),
            )
        ),
        "agree": reading.every_pair(lambda one, other: popped(one) == popped(other)),
        "aligned-enqueue": reading.every_pair(lambda one, other: enqueued(one) == enqueued(other)),
    }
    after = popped(follower) + agreed
    goals = {"not-empty": after <= enqueued(follower), "finished": after <= finished(follower)}
    if waits:  # for its own acks, as many as it is to pop, of those that it has
        hypotheses["waits"] = reading.either(after <= finished(follower), finished(follower) == enqueued(follower))
    return hypotheses, goals


def _follower_waits(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    return _follower(reading, waits=protocol.follows == "waits")


def _follower_does_not_wait(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    del protocol
    return _follower(reading, waits=False)


GROUPS: tuple[Obligation, ...] = (
    Obligation(
        "same-pops/grid",
        "same-pops",
        "the MIN over rows and then over columns is the MIN over the grid, so every rank pops as many",
        (),
        _grid,
    ),
    Obligation(
        "finished-before-pop/one-group",
        "finished-before-pop",
        "what a rank may pop by the MIN over its group is finished on every rank that shares the lane",
        ("one-group",),
        _one_group,
        applies=lambda protocol: protocol.offers == "remaining",
    ),
    Obligation(
        "finished-before-pop/pipeline-stage",
        "finished-before-pop",
        "the leader's count is safe for a follower that waits for its own acks, and has as many",
        ("aligned-enqueue",),
        _follower_waits,
    ),
)

FALSE_OF_GROUPS: tuple[Obligation, ...] = (
    Obligation(
        "false/two-reduces-in-one-round",
        "same-pops",
        "two dependent reduces that are in flight together give the MIN over the grid",
        (),
        _both_in_flight,
    ),
    Obligation(
        "false/one-line-of-the-grid",
        "finished-before-pop",
        "agreement within a column is enough where acks are sharded over the grid",
        (),
        _columns_alone,
    ),
    Obligation(
        "false/follower-does-not-wait",
        "finished-before-pop",
        "the leader's count is safe for a follower that does not wait for its own acks",
        (),
        _follower_does_not_wait,
    ),
)
