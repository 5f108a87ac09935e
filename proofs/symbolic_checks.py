"""The check of each property on terms: what the last action of a schedule did to break it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

import z3

from rankproof.model import rules
from rankproof.model.protocol import Phase
from rankproof.proofs.symbolic_step import NEVER, Choice, Popping, Ranks, RankTerms, Steps


@dataclass(frozen=True, slots=True)
class Step:
    """One action on terms: what may be taken, which of it is (boolean terms), and all ranks before and after."""

    steps: Steps
    before: Ranks
    after: Ranks
    taken: list[Any]
    choices: list[Choice]

    @property
    def each(self) -> Iterator[tuple[Any, Choice]]:
        """Every choice, with whether it is taken."""
        return zip(self.taken, self.choices, strict=True)

    @property
    def pops(self) -> Iterator[tuple[Any, int, Popping]]:
        """Every pop that the action may be, or begin with: whether it is made, and by which rank."""
        for take, each in self.each:
            for pop in each.pops:
                yield z3.And(take, pop.made), each.rank, pop

    @property
    def positions(self) -> range:
        """The positions that an ack may have in a lane."""
        return range(self.steps.model.scenario.acks)


def finished_before_pop(step: Step) -> Any:
    """Some ack that was popped by agreement was not in the lane, or not finished on every rank.

    In a pipeline only on the rank itself, as the model has it.
    """
    everywhere = step.steps.model.scenario.topology != "pipeline"
    cases = []
    for made, rank, pop in step.pops:
        me, new = pop.before, pop.after
        wrong = [me.enqueued < me.popped + pop.amount]
        peers = [me if peer == rank else other for peer, other in enumerate(step.before) if everywhere or peer == rank]
        for position in step.positions:
            fresh = z3.And(me.popped <= position, position < new.popped)
            wrong += [z3.And(fresh, z3.Not(_is_finished(step, me, position, peer))) for peer in peers]
        cases.append(z3.And(made, z3.Or(*wrong)))
    return z3.Or(*cases)


def same_pops(step: Step) -> Any:
    """Two ranks in the same epoch have popped different acks at the same place; a reset forgets what it popped."""

    def differ(one: RankTerms, other: RankTerms) -> Any:
        different = (
            z3.And(position < one.popped, position < other.popped, _ack_at(one, position) != _ack_at(other, position))
            for position in step.positions
        )
        return z3.And(one.epoch == other.epoch, z3.Or(*different))

    cases = [differ(one, other) for one, other in combinations(step.after, 2)]
    if step.steps.model.scenario.resets:
        others = [(made, pop, step.before[:rank] + step.before[rank + 1 :]) for made, rank, pop in step.pops]
        cases += [z3.And(made, differ(pop.after, other)) for made, pop, peers in others for other in peers]
    return z3.Or(*cases)


def exact_delay(step: Step) -> Any:
    """A rank has popped another number of acks than was owed: all that was finished everywhere at the count."""
    return z3.Or(
        *(z3.And(made, pop.before.owed != NEVER, pop.after.popped != pop.before.owed) for made, _, pop in step.pops)
    )


def bounded_lag(step: Step) -> Any:
    """A rank has popped fewer acks than was owed."""
    return z3.Or(
        *(z3.And(made, pop.before.owed != NEVER, pop.after.popped < pop.before.owed) for made, _, pop in step.pops)
    )


def matched_collectives(step: Step) -> Any:
    """In a step that two ranks have both gone through, they issued other collectives."""
    return z3.Or(
        *(
            z3.And(number < one.steps, number < other.steps, one.calls[number] != other.calls[number])
            for one, other in combinations(step.after, 2)
            for number in range(len(one.calls))
        )
    )


def bounded_skew(step: Step) -> Any:
    """A rank has issued more rounds than another by more than the window."""
    window = step.steps.model.protocol.window
    return z3.Or(*(window < one.issued - other.issued for one, other in permutations(step.after, 2)))


def one_owner(step: Step) -> Any:
    """A rank has more than a window of rounds in flight, or touches what one of them holds before its wait."""
    protocol = step.steps.model.protocol
    cases = []
    for take, each in step.each:
        me, new = step.before[each.rank], each.after
        wrong = [protocol.window < rules.in_flight(new.issued, new.consumed)]
        if each.kind == "evict":
            wrong.append(new.consumed < new.issued)
        if each.kind == Phase.COUNT and protocol.buffers == "kept":
            wrong.append(me.consumed < me.issued)
        if each.kind == Phase.POP and protocol.reads == "before-wait":
            wrong.append(rules.due(protocol, me.issued, me.consumed))
        cases.append(z3.And(take, z3.Or(*wrong)))
    return z3.Or(*cases)


def clean_lifecycle(step: Step) -> Any:
    """A rank has a round in flight after a reset or an attachment."""
    return z3.Or(
        *(
            z3.And(take, each.after.consumed < each.after.issued)
            for take, each in step.each
            if each.kind in ("reset", "attach")
        )
    )


def contained_failure(step: Step) -> Any:
    """A rank waits for one that is gone."""
    return z3.Or(*(step.steps.waits_in_vain(step.after, rank) for rank in step.steps.ranks))


def _is_finished(step: Step, me: RankTerms, position: int, peer: RankTerms) -> Any:
    """Whether the ack at a position of one rank's lane is finished on another, or was before that one's reset."""
    ack = _ack_at(me, position)
    known = z3.Or(*(z3.And(there < peer.finished, _ack_at(peer, there) == ack) for there in step.positions))
    return z3.Or(me.epoch < peer.epoch, z3.And(me.epoch == peer.epoch, known))


def _ack_at(me: RankTerms, position: int) -> Any:
    """The number of the ack at a position of a rank's lane, counted in the order of the engine's enqueues."""
    here, behind = z3.BitVecVal(position, me.lost.size()), z3.BitVecVal(position + 1, me.lost.size())
    behind_a_lost_one = z3.And(me.lost != NEVER, me.lost <= position)
    second_of_two = z3.And(me.swapped != NEVER, me.swapped == position - 1)
    return z3.If(z3.Or(behind_a_lost_one, me.swapped == position), behind, z3.If(second_of_two, here - 1, here))


@dataclass(frozen=True, slots=True)
class Check:
    """How a property is searched for: the term that says that the last action broke it, and what that term reads."""

    broken: Callable[[Step], Any]
    reads: frozenset[str] = frozenset()


CHECKS: dict[str, Check] = {
    "finished-before-pop": Check(finished_before_pop),
    "same-pops": Check(same_pops),
    "exact-delay": Check(exact_delay, frozenset({"backing"})),
    "bounded-lag": Check(bounded_lag, frozenset({"backing"})),
    "matched-collectives": Check(matched_collectives, frozenset({"calls"})),
    "bounded-skew": Check(bounded_skew),
    "one-owner": Check(one_owner),
    "clean-lifecycle": Check(clean_lifecycle),
    "contained-failure": Check(contained_failure),
}
"""Each property that the solver can search for."""
