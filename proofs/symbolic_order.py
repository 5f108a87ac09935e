"""One order for actions that commute, so that of all orders of one schedule the solver searches only one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

from rankproof.model.protocol import Phase, Protocol
from rankproof.proofs.symbolic_step import Choice


def out_of_order(protocol: Protocol, choices: list[Choice], *, to_the_end: bool) -> Iterator[tuple[int, int]]:
    """The pairs of neighbours that need not be searched, each by its place among the choices.

    The phases of a block stand together, unless one of them throws. Of two neighbouring blocks that commute, the one
    of the lower rank is first; on a rank, what it does itself, then what is enqueued, then what finishes. Any shortest
    schedule can be brought into this order by swaps of neighbours, each of which makes it smaller in that order.
    `to_the_end` is whether the search goes on behind a pop of what is not finished, with which finishing does not
    commute.
    """
    runs = blocks(protocol)
    following: dict[str, str] = {one: other for run in runs for one, other in pairwise(run)}
    for (earlier, one), (later, other) in product(enumerate(choices), repeat=2):
        if one.kind in following:
            if other.rank != one.rank or other.kind not in (following[one.kind], "throw"):
                yield earlier, later
        elif _place(other) < _place(one) and _commute(protocol, runs, one, other, to_the_end):
            yield earlier, later


def blocks(protocol: Protocol) -> list[tuple[Phase, ...]]:
    """The phases of a step, in runs between which something else has to be able to happen.

    A wait can be put off until the phase behind it, for no other rank sees it and nothing takes its result away. An
    issue can be moved up to the phase before it, for that only lets other ranks wait sooner. Neither is so where a wait
    ends whether its round is complete or not, and so finds other things later than now.
    """
    runs: list[tuple[Phase, ...]] = []
    for phase in protocol.phases:
        if runs and protocol.bounds == "window" and (phase is Phase.ISSUE or runs[-1][-1] is Phase.WAIT):
            runs[-1] = (*runs[-1], phase)
        else:
            runs.append((phase,))
    return runs


def _place(choice: Choice) -> tuple[int, bool, bool]:
    return choice.rank, choice.kind not in set(Phase), choice.kind == "finish"


def _commute(protocol: Protocol, runs: list[tuple[Phase, ...]], one: Choice, other: Choice, to_the_end: bool) -> bool:
    """Whether the blocks that end in one and begin with the other may change places."""
    first = protocol.phases[0]
    pairs = product(_block(runs, one.kind), _block(runs, other.kind))
    if one.rank != other.rank:
        drains = {"reset", "evict", "attach"}
        seen: dict[str, set[str]] = {
            Phase.ISSUE: {Phase.WAIT, first, "decline", *drains},
            "decline": {first, "decline"},
            "throw": {first, "decline", "throw"},
            "crash": {"crash", "notice"},
            "lose": {"lose"},
            "swap": {"swap"},
            "withdraw": {"withdraw"},
        }
        return not any(b in seen.get(a, ()) or a in seen.get(b, ()) for a, b in pairs)
    popping = {Phase.POP} if to_the_end else set()
    independent: dict[str, set[str]] = {
        "enqueue": {*Phase} - popping,
        "lose": {*Phase},
        "finish": {Phase.WAIT, Phase.POP, Phase.ISSUE, "enqueue", "lose"} - popping,
    }
    return all(b in independent.get(a, ()) for a, b in pairs)


def _block(runs: list[tuple[Phase, ...]], kind: str) -> tuple[str, ...]:
    return next((run for run in runs if kind in run), (kind.partition(" ")[0],))
