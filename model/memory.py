"""What a search remembers: rank-local states and scripts as small numbers, and each move worked out once.

A rank's move depends on that rank, on the engine's script, and on what its rounds in flight come to (`local.Sight`). So
a state of the group is packed into one int of such numbers, and most of its moves put one number for another. Every
number stands for a value of the model, and every move comes from `local.act` on such values. States that differ only in
which rank is which are packed into the same int (`orbits`).
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rankproof.model import reduction
from rankproof.model.actions import Action
from rankproof.model.changing import counts_late
from rankproof.model.interleaving import apply, outcome
from rankproof.model.local import act, candidates, turn
from rankproof.model.moves import Fell, Move, Moves, Numbers, Same, World
from rankproof.model.orbits import BITS, MASK, Orbits
from rankproof.model.properties import Property, Transition
from rankproof.model.sight import Moved, Result, Sight
from rankproof.model.state import Event, RankState, State, Vector, Words, forget
from rankproof.model.stepping import enqueued
from rankproof.model.system import Disabled, Model


class _Blind(Exception):
    """A move looked at the other ranks."""


class Memory:
    """The moves of one model, each worked out when it is first met.

    `successors` packs, unpacks and looks up; it is the hot path of the explorer, and the only method that is.
    """

    def __init__(self, model: Model, properties: Sequence[Property], *, reduced: bool = False) -> None:
        self.model = model
        self._reduced = reduced
        self._properties = properties
        self._open = {each.name for each in properties}
        self._by_waits = tuple(each.name for each in properties if each.looks_at == "waits")
        self._orbits = Orbits(model)
        self._ranks: Numbers[RankState] = Numbers()
        self._worlds: Numbers[World] = Numbers()
        self._counters: list[tuple[int, int, int]] = []  # consumed, steps, events of each rank-local state
        self._past: list[int] = []  # which of these are above 0, as bits
        self._in_flight: list[range] = []
        self._given: list[Vector] = []
        self._offers: list[dict[int, int]] = []  # the number of what it put into a round
        self._goes_on: list[bool] = []  # whether no other rank need move first (`reduction`)
        self._not_issued: list[int] = []  # what stands for a round that it has not issued: whether it ever will
        self._contributions: Numbers[tuple[Vector, Vector, Words]] = Numbers()
        self._results: Numbers[Result | Disabled] = Numbers()
        self._sights: Numbers[World] = Numbers()
        self._sights_of: list[list[int]] = []  # by world and events gone through
        by_run: dict[range, dict[int, Moves]] = {run: {} for run in self._orbits.runs}
        self._moves = [by_run[run] for run in self._orbits.run_of]
        self._checks: dict[Same, dict[int, tuple[str, ...]]] = {}
        self._judged: set[tuple[str, int]] = set()  # the states that a property of states was held against
        self._forgotten: dict[tuple[int, tuple[int, ...]], int] = {}
        self._forgotten_worlds: dict[tuple[int, int], int] = {}
        self._next_worlds: dict[tuple[int, Event | None, tuple[str, ...]], int] = {}
        self._counts_late = counts_late(model)
        self._asking: list[tuple[int, ...]] = []  # what a rank asks for, as a rank of the first stage sees it
        self._counts_enqueued = bool(model.scenario.resets or model.scenario.evicts or model.scenario.aligned_enqueue)

    def pack(self, state: State) -> int:
        """The number of a canonical state, and of each that differs from it only in which rank is which."""
        world = World(state.script, tuple(sorted(name for rank in state.ranks for name in rank.mishaps)))
        return self._orbits.pack(self._world(world), [self._rank(rank) for rank in state.ranks])

    def unpack(self, packed: int) -> State:
        """A canonical state of a number."""
        ranks = tuple(self._ranks.values[number] for number in self._orbits.ids(packed))
        script = self._worlds.values[packed >> self._orbits.top].script
        return State(ranks, script, len(script))

    def size(self, packed: int) -> int:
        """How many states have this number."""
        return self._orbits.size(self._orbits.ids(packed))

    def close(self, name: str) -> None:
        """Looks no longer at a property that needs all ranks; it has fallen, and the search goes on for the others."""
        self._open.discard(name)

    def successors(self, packed: int, *, checked: bool = True) -> tuple[list[int], int, list[Fell]]:
        """The states that one action leads to, how many actions do of all states with this number, and what falls.

        What falls for all ranks together is not looked at unless `checked`, for it takes long.
        Ranks in one state do the same, so what only the first of them leads to stands for all.
        """
        orbits = self._orbits
        shifts, run_of = orbits.shifts, orbits.run_of
        ids = [(packed >> shift) & MASK for shift in shifts]
        world = packed >> orbits.top
        sights = self._sights_of[world]
        found: list[int] = []
        fell: list[Fell] = []
        enabled = waiting = more = waits = 0
        before = -1
        one_goes_on = self._reduced and any(map(self._goes_on.__getitem__, ids))
        for rank, me in enumerate(ids):
            if one_goes_on and not self._goes_on[me]:
                continue
            first = run_of[rank].start
            if me == before and rank > first:
                enabled += more
                waiting += waits
                continue
            before = me
            sight = sights[self._counters[me][2]]
            moves = self._moves[rank].get(sight << BITS | me) or self._work_out(rank, me, sight)
            peers, with_gap = orbits.without(packed, ids, rank)
            others = ids[:rank] + ids[rank + 1 :]
            plain, special, waits = moves.plain, moves.others, moves.waits
            if moves.looking:
                seen = self._see(moves, packed, rank, me, sight, others)
                plain, special, waits = plain + seen.plain, special + seen.others, waits + seen.waits
            for after in plain:
                place = bisect(peers, after)
                found.append(with_gap[place] + (after << shifts[first + place]))
            for move in special:
                place = bisect(peers, move.after)
                led = with_gap[place] + (move.after << shifts[first + place])
                if move.event is not None or move.mishaps:
                    step = (world, move.event, move.mishaps)
                    led += (self._next_worlds.get(step) or self._next_world(step)) << orbits.top
                if move.counts:
                    past = self._past[move.after]
                    for other in others:
                        past &= self._past[other]
                    if past:
                        led = self._forget(led)
                found.append(led)
                names = move.falls
                checks = move.checks
                if checks is not None:
                    for other in others:
                        falls = checks.get(other)
                        if falls is None:
                            falls = checks[other] = self._falls(me, move, other)
                        if falls:
                            names += falls
                if move.group and checked:
                    names += self._falls_in_group(packed, rank, move, led)
                if names:
                    fell.append(Fell(names, packed, move.action))
            more = len(plain) + len(special)
            enabled += more
            waiting += waits
        if self._by_waits and waiting == len(ids):
            fell.append(Fell(self._by_waits, packed, None))
        return found, enabled * orbits.size(ids), fell

    def _work_out(self, rank: int, me: int, sight: int) -> Moves:
        """What a rank can do as long as it does not look at the others."""
        state = self._ranks.values[me]
        actions = candidates(self.model, state, rank)
        chosen = reduction.worth_trying(self.model, state, rank, actions) if self._reduced else actions
        moves = self._evaluate(rank, me, sight, chosen, None)
        self._moves[rank][sight << BITS | me] = moves
        return moves

    def _see(self, moves: Moves, packed: int, rank: int, me: int, sight: int, others: Sequence[int]) -> Moves:
        """What a rank can do besides, once it has looked at the others."""
        offers, not_issued = self._offers, self._not_issued
        key = tuple(
            [offers[other].get(number, not_issued[other]) for number in self._in_flight[me] for other in others]
        )
        if self._counts_enqueued:
            key += tuple(map(max, zip(self._given[me], *(self._given[other] for other in others), strict=True)))
        if self._counts_late:
            key += tuple(number for other in others for number in self._asking[other])
        seen = moves.seeing.get(key)
        if seen is None:
            seen = moves.seeing[key] = self._look(moves, packed, rank, me, sight)
        return seen

    def _look(self, moves: Moves, packed: int, rank: int, me: int, sight: int) -> Moves:
        """The same by what it sees: offers may differ and come to the same."""
        state = self.unpack(packed)
        results = [self._results.of(outcome(self.model, state, rank, number)) for number in self._in_flight[me]]
        key = (*results, *map(max, zip(*map(enqueued, state.ranks), strict=True)))
        if self._counts_late:
            key += tuple(number for other in state.ranks for number in _asking(other))
        seen = moves.known.get(key)
        if seen is None:
            seen = moves.known[key] = self._evaluate(rank, me, sight, moves.looking, state)
        return seen

    def _evaluate(self, rank: int, me: int, sight: int, actions: Iterable[Action], state: State | None) -> Moves:
        before, world = self._ranks.values[me], self._sights.values[sight]

        def of_round(number: int) -> Result | Disabled:
            if state is None:
                raise _Blind
            return outcome(self.model, state, rank, number)

        def of_lanes() -> Sequence[Vector]:
            if state is None:
                raise _Blind
            return [enqueued(other) for other in state.ranks]

        def of_later() -> Sequence[RankState]:
            if state is None:
                raise _Blind
            return state.ranks[self.model.scenario.leaders :]

        seen = Sight(world.script, world.mishaps, before.steps, of_round, of_lanes, of_later)
        due = turn(self.model, before, world.script, rank)
        moves, looking, waits = [], [], False
        for action in actions:
            try:
                moved = act(self.model, before, seen, action)
            except _Blind:
                looking.append(action)
                continue
            if isinstance(moved, Moved):
                moves.append(self._move(me, action, moved))
            elif (moved.waits_for or moved.for_good) and action == due:
                waits = True
        plain = tuple(move.after for move in moves if move.is_plain)
        return Moves(plain, tuple(move for move in moves if not move.is_plain), tuple(looking), waits)

    def _move(self, me: int, action: Action, moved: Moved) -> Move:
        before, after = self._ranks.values[me], moved.rank
        number = self._rank(replace(after, missing=0))
        touched = [each for each in self._properties if each.touched(before, after)]
        alone = Transition(self.model, State((before,)), replace(action, rank=0), State((after,)), moved.drained)
        pairs = tuple(each for each in touched if each.looks_at == "pair")
        same = (me, number, after.missing, type(action), moved.drained)
        return Move(
            action=action,
            after=number,
            missing=after.missing,
            event=moved.event,
            mishaps=tuple((Counter(after.mishaps) - Counter(before.mishaps)).elements()),
            counts=self._counters[number] != self._counters[me],
            falls=tuple(each.name for each in touched if each.looks_at in ("rank", "pair") and each.broken(alone)),
            drained=moved.drained,
            pairs=pairs,
            checks=self._checks.setdefault(same, {}) if pairs else None,
            group=tuple(each for each in touched if each.looks_at in ("state", "group")),
        )

    def _falls(self, me: int, move: Move, other: int) -> tuple[str, ...]:
        """The properties that fall between the rank of a move and one other."""
        peer = self._ranks.values[other]
        before, after = self._ranks.values[me], replace(self._ranks.values[move.after], missing=move.missing)
        own = replace(move.action, rank=0)
        step = Transition(self.model, State((before, peer)), own, State((after, peer)), move.drained)
        return tuple(each.name for each in move.pairs if each.broken(step) is not None)

    def _falls_in_group(self, packed: int, rank: int, move: Move, led: int) -> tuple[str, ...]:
        """The properties of all ranks that fall by a move, or in the state that it leads to."""
        left = [each for each in move.group if each.name in self._open and (each.name, led) not in self._judged]
        if not left:
            return ()
        state, action = self.unpack(packed), replace(move.action, rank=rank)
        after = apply(self.model, state, action)
        assert isinstance(after, State)
        step = Transition(self.model, state, action, after)
        falls = tuple(each.name for each in left if each.broken(step) is not None)
        self._judged.update((each.name, led) for each in left if each.looks_at == "state")
        return falls

    def _rank(self, state: RankState) -> int:
        number = self._ranks.of(state)
        if number == len(self._counters):
            first = state.issued - len(state.offers) + 1
            self._counters.append((state.consumed, state.steps, state.events))
            self._past.append((state.consumed > 0) | (state.steps > 0) << 1 | (state.events > 0) << 2)
            self._in_flight.append(range(state.consumed + 1, state.issued + 1))
            self._given.append(enqueued(state))
            self._asking.append(_asking(state))
            words = state.words or ((),) * len(state.offers)
            put_in = zip(state.offers, state.backing, words, strict=True)
            self._offers.append({first + place: self._contributions.of(each) for place, each in enumerate(put_in)})
            self._not_issued.append(-2 if state.error else -1)
            self._goes_on.append(self._reduced and reduction.goes_on(self.model.protocol, state))
        return number

    def _world(self, world: World) -> int:
        number = self._worlds.of(world)
        if number == len(self._sights_of):
            left = [World(world.script[passed:], world.mishaps) for passed in range(len(world.script) + 1)]
            self._sights_of.append([self._sights.of(each) for each in left])
        return number

    def _next_world(self, step: tuple[int, Event | None, tuple[str, ...]]) -> int:
        """What a move adds to the number of the world."""
        number, event, mishaps = step
        old = self._worlds.values[number]
        script = old.script if event is None else (*old.script, event)
        self._next_worlds[step] = delta = self._world(World(script, tuple(sorted(old.mishaps + mishaps)))) - number
        return delta

    def _forget(self, packed: int) -> int:
        """A state counted from what every rank has left behind."""
        world, ids = packed >> self._orbits.top, self._orbits.ids(packed)
        past = tuple(map(min, zip(*(self._counters[each] for each in ids), strict=True)))
        after = self._forgotten_worlds.get((world, past[2]))
        if after is None:
            old = self._worlds.values[world]
            after = self._world(World(old.script[past[2] :], old.mishaps))
            self._forgotten_worlds[world, past[2]] = after
        return self._orbits.pack(after, [self._left(me, past) for me in ids])

    def _left(self, me: int, past: tuple[int, ...]) -> int:
        left = self._forgotten.get((me, past))
        if left is None:
            left = self._forgotten[me, past] = self._rank(forget(self._ranks.values[me], *past))
        return left


def _asking(rank: RankState) -> tuple[int, ...]:
    return rank.issued, rank.asks, rank.asked, rank.layout
