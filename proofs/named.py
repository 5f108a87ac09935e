"""That a difference between ranks has a name: the first word of the table that differs, on all ranks, in one round."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from rankproof.model import rules, words
from rankproof.model.protocol import Protocol
from rankproof.model.reading import Number, Rank, Truth
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.obligation import Goals, Hypotheses, Obligation

_Places: TypeAlias = Callable[[Rank], "_Place"]

KINDS = ("round", "mode", "layout", "epoch")
"""The words that are no digests, of which a step that is left out, a mode, a layout and a reset make ranks differ."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A rank: rounds issued, steps gone through, and those of them in which it issued no round."""

    issued: Number
    steps: Number
    left_out: Number


def _round_word(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A rank goes through a step, with a round or without: its round word tells in which step it issued each round."""
    actor, number, counted = reading.rank("actor"), reading.number("some_round"), reading.number("counted")
    word, step_of = reading.table("round_word"), reading.table("step_of")
    families = [reading.family(name) for name in _Place.__dataclass_fields__]
    before: _Places = cache(lambda rank: _Place(*(family(rank) for family in families)))
    me = before(actor)
    issues = reading.both(reading.truth("takes_part"), rules.issues(reading, protocol, (counted,)))
    then = reading.choose(issues, me.issued + 1, me.issued)
    after = _Place(then, me.steps + 1, reading.choose(issues, me.left_out, me.left_out + 1))

    def tells(at: _Places) -> Hypotheses:
        def of_rank(rank: Rank) -> Truth:
            issued = reading.both(1 <= number, number <= at(rank).issued)
            return reading.implies(issued, step_of(rank, number) == number + word(rank, number))

        return {
            "steps": reading.every_rank(lambda rank: at(rank).steps == at(rank).issued + at(rank).left_out),
            "tells": reading.every_rank(of_rank),
        }

    def moved(rank: Rank) -> _Place:
        old = before(rank)
        pairs = ((getattr(after, name), getattr(old, name)) for name in _Place.__dataclass_fields__)
        return _Place(*(reading.choose(rank == actor, new, kept) for new, kept in pairs))

    put_in = reading.both(word(actor, then) == me.left_out, step_of(actor, then) == me.steps + 1)
    return tells(before) | {"put-in": reading.implies(issues, put_in)}, tells(cache(moved))


class _Round:
    """One round that every rank has issued: what each put in for each word, and what each then was."""

    def __init__(self, reading: EveryRank, protocol: Protocol) -> None:
        self.reading = reading
        self.number, self.some = reading.number("round"), reading.rank("some")
        self.word = {name: reading.family(f"{name}_word") for name in KINDS}
        self.is_at = {name: reading.family(name) for name in ("step", "mode", "layout", "epoch")}
        self.least = {name: rules.agree(reading, protocol, self.word[name]) for name in KINDS}
        self.least_complement = {name: self._least_complement(protocol, name) for name in KINDS}

    def _least_complement(self, protocol: Protocol, name: str) -> Number:
        return rules.agree(self.reading, protocol, lambda rank: words.complement(self.word[name](rank)))

    def put_in(self) -> Hypotheses:
        """What stands in the words; that of the round is what `named-divergence/round-word` proves."""
        told: dict[str, Callable[[Rank], Truth]] = {
            "round": lambda rank: self.is_at["step"](rank) == self.number + self.word["round"](rank)
        }
        for name in KINDS[1:]:
            told[name] = lambda rank, name=name: self.word[name](rank) == self.is_at[name](rank)  # type: ignore[misc]
        return {f"{name}-word": self.reading.every_rank(truth) for name, truth in told.items()}

    def judged_same(self, name: str) -> Truth:
        """What every rank concludes, from what comes out of the round."""
        return words.same(self.least[name], self.least_complement[name])

    def are_same(self, name: str) -> Truth:
        """Whether ranks are alike in what the word is of."""
        held = self.is_at["step" if name == "round" else name]
        return self.reading.every_rank(lambda rank: held(rank) == held(self.some))


def _named(reading: EveryRank, same: Mapping[str, Truth], differing: Sequence[str] = ()) -> Number:
    """The number of the word that is named, 1 for the first of the table, or 0: `words.first_error`, case by case."""
    left = [name for name in KINDS if name in same]
    if not left:
        named = words.first_error(differing)
        return list(words.DIFFERENCE).index(named) + 1 if named else 0
    others = {name: same[name] for name in left[1:]}
    return reading.choose(
        same[left[0]], _named(reading, others, differing), _named(reading, others, (*differing, left[0]))
    )


def _by_its_name(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A round in which ranks are, or are not, in one step, mode, layout and epoch: what every rank finds in it.

    All look for the first of these words by one table, so they name the same one.
    """
    at = _Round(reading, protocol)
    return at.put_in(), {name: at.judged_same(name) == at.are_same(name) for name in KINDS}


def _quiet(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """Where the engine gives what it must, no rank names anything, whatever their epochs."""
    at = _Round(reading, protocol)
    given = {
        "everyone-steps": reading.every_rank(lambda rank: at.is_at["step"](rank) == at.number),
        "same-mode": at.are_same("mode"),
        "same-layout": at.are_same("layout"),
    }
    return at.put_in() | given, {"goal": _named(reading, {name: at.judged_same(name) for name in KINDS}) == 0}


class _Raising:
    """Ranks that consume rounds one after another, and stop at the first in which some error word differs."""

    def __init__(self, reading: EveryRank, protocol: Protocol) -> None:
        self.reading, self.protocol = reading, protocol
        self.consumed, self.broken = reading.family("consumed"), reading.family("broken")
        self.word, self.least = reading.table("word"), reading.series("least")
        self.least_complement = reading.series("least_complement")

    def differs(self, number: Number) -> Truth:
        """What every rank concludes from what comes out of a round."""
        return self.reading.negate(words.same(self.least(number), self.least_complement(number)))

    def invariant(self, consumed: Callable[[Rank], Number], broken: Callable[[Rank], Number], of: Number) -> Hypotheses:
        reading = self.reading

        def stops(rank: Rank) -> Truth:
            has = reading.both(1 <= of, of <= consumed(rank), self.differs(of))
            return reading.implies(has, reading.both(broken(rank) == 1, consumed(rank) == of))

        def for_a_reason(rank: Rank) -> Truth:
            return reading.implies(broken(rank) == 1, reading.both(1 <= consumed(rank), self.differs(consumed(rank))))

        return {"stops": reading.every_rank(stops), "for-a-reason": reading.every_rank(for_a_reason)}


def _stops(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A rank that has raised nothing consumes its next round, and raises where that shows a difference."""
    at, actor, number = _Raising(reading, protocol), reading.rank("actor"), reading.number("some_round")
    then = at.consumed(actor) + 1
    compares = reading.both() if protocol.compares == "words" else reading.either()
    raises = reading.choose(reading.both(compares, at.differs(then)), 1, 0)
    known = at.invariant(at.consumed, at.broken, number)
    known |= {"carried-on": at.broken(actor) == 0, "counts": 0 <= at.consumed(actor)}
    return known, at.invariant(
        cache(lambda rank: reading.choose(rank == actor, then, at.consumed(rank))),
        cache(lambda rank: reading.choose(rank == actor, raises, at.broken(rank))),
        number,
    )


def _same_round(reading: EveryRank, protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """A rank that has raised: no other has raised in another round, or consumed that one and carried on."""
    at, raised, some = _Raising(reading, protocol), reading.rank("raised"), reading.rank("some")
    number = at.consumed(raised)
    least = rules.agree(reading, protocol, lambda rank: at.word(rank, number))
    complement = rules.agree(reading, protocol, lambda rank: words.complement(at.word(rank, number)))
    known = at.invariant(at.consumed, at.broken, number)
    known |= {
        "raised": at.broken(raised) == 1,
        "reduced": reading.both(at.least(number) == least, at.least_complement(number) == complement),
        "stops-elsewhere": reading.every_pair(lambda one, other: _stops_at(reading, at, one, at.consumed(other))),
    }

    def same(rank: Rank) -> Truth:
        past, level = number + 1 <= at.consumed(rank), number <= at.consumed(rank)
        return reading.both(reading.negate(past), reading.implies(level, at.broken(rank) == 1))

    alike = reading.every_rank(lambda rank: at.word(rank, number) == at.word(some, number))
    in_another = reading.every_rank(
        lambda rank: reading.implies(at.broken(rank) == 1, at.consumed(rank) == at.consumed(raised))
    )
    return known, {
        "none-passes": reading.every_rank(same),
        "in-one-round": in_another,
        "and-ranks-differ": reading.negate(alike),
    }


def _stops_at(reading: EveryRank, at: _Raising, rank: Rank, number: Number) -> Truth:
    """The conjunct `stops`, at a round that another rank is at."""
    has = reading.both(1 <= number, number <= at.consumed(rank), at.differs(number))
    return reading.implies(has, reading.both(at.broken(rank) == 1, at.consumed(rank) == number))


NAMED: tuple[Obligation, ...] = (
    Obligation(
        "named-divergence/round-word",
        "named-divergence",
        "the round word tells in which step a rank issued each of its rounds, whichever steps it left out",
        (),
        _round_word,
    ),
    Obligation(
        "named-divergence/by-name",
        "named-divergence",
        "every rank finds a difference in just those words in which ranks do differ: round, mode, layout and epoch",
        (),
        _by_its_name,
    ),
    Obligation(
        "named-divergence/words-are-quiet",
        "named-divergence",
        "where all ranks are in one step, mode and layout no rank names anything, in whichever epochs they are",
        ("everyone-steps", "same-mode", "same-layout"),
        _quiet,
    ),
    Obligation(
        "named-divergence/stops",
        "named-divergence",
        "a rank raises in the first round that shows a difference, and in no other",
        (),
        _stops,
    ),
    Obligation(
        "named-divergence/same-round",
        "named-divergence",
        "where one rank raises, ranks do differ, and every other that gets there raises in the same round",
        (),
        _same_round,
    ),
)
