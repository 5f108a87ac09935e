"""What a search remembers: rank-local states and scripts as small numbers, and each move worked out once.

A rank's move depends on that rank, on the engine's script, and on what its rounds in flight come to (`local.Sight`). So
a state of the group is packed into one int of such numbers, and most of its moves are one addition to that int. Every
number stands for a value of the model, and every move comes from `local.act` on such values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rankproof.model.actions import Action
from rankproof.model.interleaving import apply, outcome
from rankproof.model.local import act, candidates, turn
from rankproof.model.moves import Move, Moves, Numbers, World
from rankproof.model.properties import Property, Transition
from rankproof.model.sight import Moved, Result, Sight
from rankproof.model.state import Event, RankState, State, Vector, Words, forget
from rankproof.model.stepping import enqueued
from rankproof.model.system import Disabled, Model

BITS = 24
"""Bits of a number in a packed state: room for 16 million rank-local states, more than a search can hold."""

MASK = (1 << BITS) - 1


class _Blind(Exception):
    """A move looked at the other ranks."""


class Fell(Exception):
    """A property fell in a move from a packed state; `action` is None where it is the state itself that broke it."""

    def __init__(self, packed: int, action: Action | None) -> None:
        super().__init__(packed, action)
        self.packed = packed
        self.action = action


class Memory:
    """The moves of one model, each worked out when it is first met.

    `successors` packs, unpacks and looks up; it is the hot path of the explorer, and the only method that is.
    """

    def __init__(self, model: Model, properties: Sequence[Property]) -> None:
        self.model = model
        self._properties = properties
        self._by_waits = any(each.looks_at == "waits" for each in properties)
        self._shifts = [BITS * rank for rank in range(model.scenario.ranks)]
        self._top = BITS * model.scenario.ranks
        self._ranks: Numbers[RankState] = Numbers()
        self._worlds: Numbers[World] = Numbers()
        self._counters: list[tuple[int, int, int]] = []  # consumed, steps, events of each rank-local state
        self._past: list[int] = []  # which of these are above 0, as bits
        self._issued: list[int] = []
        self._given: list[Vector] = []
        self._offers: list[dict[int, int]] = []  # the number of what it put into a round
        self._not_issued: list[int] = []  # what stands for a round that it has not issued: whether it ever will
        self._contributions: Numbers[tuple[Vector, Vector, Words]] = Numbers()
        self._outcomes: dict[tuple[int, ...], int] = {}
        self._results: Numbers[Result | Disabled] = Numbers()
        self._sights: Numbers[World] = Numbers()
        self._sights_of: list[list[int]] = []  # by world and events gone through
        self._moves: list[dict[int, Moves]] = [{} for _ in self._shifts]
        self._checks: dict[tuple[int, int, int, type[Action], tuple[RankState, ...]], dict[int, bool]] = {}
        self._forgotten: dict[tuple[int, tuple[int, ...]], int] = {}
        self._forgotten_worlds: dict[tuple[int, int], int] = {}
        self._next_worlds: dict[tuple[int, Event | None, tuple[str, ...]], int] = {}
        self._counts_enqueued = bool(model.scenario.resets or model.scenario.evicts or model.scenario.aligned_enqueue)

    def pack(self, state: State) -> int:
        """The number of a canonical state."""
        world = World(state.script, tuple(sorted(name for rank in state.ranks for name in rank.mishaps)))
        packed = self._world(world) << self._top
        for rank, shift in zip(state.ranks, self._shifts, strict=True):
            packed += self._rank(rank) << shift
        return packed

    def unpack(self, packed: int) -> State:
        """The canonical state of a number."""
        ranks = tuple(self._ranks.values[(packed >> shift) & MASK] for shift in self._shifts)
        script = self._worlds.values[packed >> self._top].script
        return State(ranks, script, len(script))

    def successors(self, packed: int) -> list[int]:
        """The states that one action leads to, one entry an action. Raises Fell where a property falls."""
        world = packed >> self._top
        sights = self._sights_of[world]
        ids = [(packed >> shift) & MASK for shift in self._shifts]
        found: list[int] = []
        waiting = 0
        for rank, me in enumerate(ids):
            sight = sights[self._counters[me][2]]
            key = sight << BITS | me
            moves = self._moves[rank].get(key) or self._work_out(rank, me, sight)
            found += [packed + delta for delta in moves.plain]
            others = moves.others
            waiting += moves.waits
            if moves.looking:
                seen = self._see(moves, packed, rank, me, sight, ids)
                others = others + seen.others
                waiting += seen.waits
                if seen.plain:
                    found += [packed + delta for delta in seen.plain]
            for move in others:
                checks = move.checks
                if checks is not None:
                    for peer, other in enumerate(ids):
                        if peer != rank:
                            falls = checks.get(other)
                            if falls is None:
                                falls = checks[other] = self._falls(me, move, other)
                            if falls:
                                raise Fell(packed, move.action)
                if move.falls or (move.group and self._falls_in_group(packed, move)):
                    raise Fell(packed, move.action)
                after = packed + move.delta
                if move.event is not None or move.mishaps:
                    step = (world, move.event, move.mishaps)
                    after += (self._next_worlds.get(step) or self._next_world(step)) << self._top
                if move.counts:
                    past = self._past[move.after]
                    for peer, other in enumerate(ids):
                        if peer != rank:
                            past &= self._past[other]
                    if past:
                        after = self._forget(after)
                found.append(after)
        if waiting == len(ids) and self._by_waits:
            raise Fell(packed, None)
        return found

    def _work_out(self, rank: int, me: int, sight: int) -> Moves:
        """What a rank can do as long as it does not look at the others."""
        moves = self._evaluate(rank, me, sight, candidates(self.model, self._ranks.values[me], rank), None)
        self._moves[rank][sight << BITS | me] = moves
        return moves

    def _see(self, moves: Moves, packed: int, rank: int, me: int, sight: int, ids: Sequence[int]) -> Moves:
        """What a rank can do besides, once it has looked at the others."""
        consumed = self._counters[me][0]
        key = tuple(self._outcome(packed, rank, number, ids) for number in range(consumed + 1, self._issued[me] + 1))
        if self._counts_enqueued:
            most = tuple(map(max, zip(*(self._given[other] for other in ids), strict=True)))
            key += most
        seen = moves.seeing.get(key)
        if seen is None:
            state = self.unpack(packed)
            seen = moves.seeing[key] = self._evaluate(rank, me, sight, moves.looking, state)
        return seen

    def _outcome(self, packed: int, rank: int, number: int, ids: Sequence[int]) -> int:
        key = (rank, *[self._offers[other].get(number, self._not_issued[other]) for other in ids])
        found = self._outcomes.get(key)
        if found is None:
            comes_to = outcome(self.model, self.unpack(packed), rank, number)
            found = self._outcomes[key] = self._results.of(comes_to)
        return found

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

        seen = Sight(world.script, world.mishaps, before.steps, of_round, of_lanes)
        due = turn(self.model, before, world.script, rank)
        moves, looking, waits = [], [], False
        for action in actions:
            try:
                moved = act(self.model, before, seen, action)
            except _Blind:
                looking.append(action)
                continue
            if isinstance(moved, Moved):
                moves.append(self._move(rank, me, action, moved))
            elif (moved.waits_for or moved.for_good) and action == due:
                waits = True
        plain = tuple(move.delta for move in moves if move.is_plain)
        return Moves(plain, tuple(move for move in moves if not move.is_plain), tuple(looking), waits)

    def _move(self, rank: int, me: int, action: Action, moved: Moved) -> Move:
        before, after = self._ranks.values[me], moved.rank
        number = self._rank(replace(after, missing=0))
        touched = [each for each in self._properties if each.touched(before, after)]
        alone = Transition(self.model, State((before,)), replace(action, rank=0), State((after,)), moved.drained)
        pairs = tuple(each for each in touched if each.looks_at == "pair")
        same = (me, number, after.missing, type(action), moved.drained)
        return Move(
            action=action,
            delta=(number - me) << self._shifts[rank],
            after=number,
            missing=after.missing,
            event=moved.event,
            mishaps=tuple((Counter(after.mishaps) - Counter(before.mishaps)).elements()),
            counts=self._counters[number] != self._counters[me],
            falls=any(each.broken(alone) for each in touched if each.looks_at in ("rank", "pair")),
            drained=moved.drained,
            pairs=pairs,
            checks=self._checks.setdefault(same, {}) if pairs else None,
            group=tuple(each for each in touched if each.looks_at == "group"),
        )

    def _falls(self, me: int, move: Move, other: int) -> bool:
        """Whether a property falls between the rank of a move and one other."""
        peer = self._ranks.values[other]
        before, after = self._ranks.values[me], replace(self._ranks.values[move.after], missing=move.missing)
        own = replace(move.action, rank=0)
        step = Transition(self.model, State((before, peer)), own, State((after, peer)), move.drained)
        return any(each.broken(step) is not None for each in move.pairs)

    def _falls_in_group(self, packed: int, move: Move) -> bool:
        state = self.unpack(packed)
        after = apply(self.model, state, move.action)
        assert isinstance(after, State)
        step = Transition(self.model, state, move.action, after)
        return any(each.broken(step) is not None for each in move.group)

    def _rank(self, state: RankState) -> int:
        number = self._ranks.of(state)
        if number == len(self._counters):
            first = state.issued - len(state.offers) + 1
            self._counters.append((state.consumed, state.steps, state.events))
            self._past.append((state.consumed > 0) | (state.steps > 0) << 1 | (state.events > 0) << 2)
            self._issued.append(state.issued)
            self._given.append(enqueued(state))
            words = state.words or ((),) * len(state.offers)
            put_in = zip(state.offers, state.backing, words, strict=True)
            self._offers.append({first + place: self._contributions.of(each) for place, each in enumerate(put_in)})
            self._not_issued.append(-2 if state.error else -1)
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
        world = packed >> self._top
        ids = [(packed >> shift) & MASK for shift in self._shifts]
        past = tuple(map(min, zip(*(self._counters[each] for each in ids), strict=True)))
        after = self._forgotten_worlds.get((world, past[2]))
        if after is None:
            old = self._worlds.values[world]
            after = self._world(World(old.script[past[2] :], old.mishaps))
            self._forgotten_worlds[world, past[2]] = after
        for me in reversed(ids):
            left = self._forgotten.get((me, past))
            if left is None:
                left = self._forgotten[me, past] = self._rank(forget(self._ranks.values[me], *past))
            after = after << BITS | left
        return after
