"""Actions of different ranks commute: whichever goes first, the other can still go, and all ends the same."""

from __future__ import annotations

from functools import partial
from itertools import combinations_with_replacement

from rankproof.model.protocol import Phase, Protocol
from rankproof.model.reading import Rank
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.obligation import Goals, Hypotheses, Obligation
from rankproof.proofs.ranks_alone import History, Place, Places, any_place, moved, take


def _commute(reading: EveryRank, protocol: Protocol, *, one: Phase, other: Phase) -> tuple[Hypotheses, Goals]:
    history, before = History(reading, protocol), any_place(reading)
    a, b = reading.rank("one"), reading.rank("other")

    def then(at: Places, actor: Rank, phase: Phase) -> tuple[Hypotheses, Places]:
        guard, after = take(history, phase, at, actor)
        return guard, moved(reading, at, actor, after)

    guard_a, after_a = then(before, a, one)
    guard_b, after_b = then(before, b, other)
    guard_ab, after_ab = then(after_a, b, other)
    guard_ba, after_ba = then(after_b, a, one)
    both_can = {f"one: {name}": truth for name, truth in guard_a.items()}
    both_can |= {f"other: {name}": truth for name, truth in guard_b.items()}
    still = [guard[name] for guard in (guard_ab, guard_ba) for name in ("turn", "complete") if name in guard]
    same = reading.both(
        *(
            getattr(after_ab(rank), name) == getattr(after_ba(rank), name)
            for rank in (a, b)
            for name in Place.__dataclass_fields__
        )
    )
    return both_can | {"two ranks": a != b}, {"still-enabled": reading.both(*still), "same-end": same}


COMMUTE: tuple[Obligation, ...] = tuple(
    Obligation(
        f"commutation/{one}-and-{other}",
        "commutation",
        f"a {one} of one rank and a {other} of another may change places",
        (),
        partial(_commute, one=one, other=other),
    )
    for one, other in combinations_with_replacement(Phase, 2)
)
