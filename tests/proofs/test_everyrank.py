"""The reading for every number of ranks: what it refuses, and that what it instantiates is enough and no more."""

from typing import Any

import pytest

from rankproof.proofs.everyrank import ChangedClaim, EveryRank, QuantifiedMinimum
from rankproof.proofs.obligation import Obligation
from rankproof.proofs.question import Question
from rankproof.proofs.solvers import Answer, z3_answers


def satisfiable(reading: EveryRank, asserted: list[Any], goals: list[Any] | None = None) -> bool:
    """Whether some group has all that is asserted, and not all of the goals, if there are any."""
    facts = reading.facts(asserted, goals or [])
    denied = None if goals is None else reading.negate(reading.both(*goals))
    stated = tuple(("asserted", reading.both(each)) for each in asserted)
    answer = z3_answers(Question(MADE_UP, tuple(reading.declarations), tuple(facts), stated, denied).text())
    assert answer is not Answer.UNKNOWN
    return answer is Answer.SAT


def refuted(reading: EveryRank, hypotheses: list[Any], goal: Any) -> bool:
    """Whether some group has the hypotheses and not the goal."""
    return satisfiable(reading, [*hypotheses, reading.negate(goal)])


MADE_UP = Obligation("made/up", "made", "is made up for these tests", (), lambda reading, protocol: ({}, {}))


def test_a_minimum_inside_a_claim_about_every_rank_raises() -> None:
    reading = EveryRank()
    number = reading.family("number")
    with pytest.raises(QuantifiedMinimum):
        reading.every_rank(lambda rank: number(rank) <= reading.minimum(number))


def test_a_maximum_inside_a_claim_about_every_pair_raises() -> None:
    reading = EveryRank()
    number = reading.family("number")
    with pytest.raises(QuantifiedMinimum):
        reading.every_pair(lambda one, other: number(one) <= reading.maximum(number))


def test_a_claim_inside_a_claim_raises() -> None:
    reading = EveryRank()
    number = reading.family("number")
    with pytest.raises(QuantifiedMinimum):
        reading.every_rank(lambda rank: reading.every_rank(lambda other: number(rank) <= number(other)))


def test_a_minimum_inside_the_family_of_a_minimum_raises() -> None:
    reading = EveryRank()
    number = reading.family("number")
    with pytest.raises(QuantifiedMinimum):
        reading.minimum(lambda rank: number(rank) + reading.minimum(number))


def test_after_a_refused_claim_the_reading_still_works() -> None:
    reading = EveryRank()
    number = reading.family("number")
    with pytest.raises(QuantifiedMinimum):
        reading.every_rank(lambda rank: number(rank) <= reading.minimum(number))
    assert not refuted(reading, [reading.every_rank(lambda rank: 1 <= number(rank))], 1 <= reading.minimum(number))


def test_a_minimum_is_below_every_rank_and_reached_by_one() -> None:
    reading = EveryRank()
    number = reading.family("number")
    least = reading.minimum(number)
    assert not refuted(reading, [], reading.every_rank(lambda rank: least <= number(rank)))
    assert not refuted(reading, [], reading.negate(reading.every_rank(lambda rank: least + 1 <= number(rank))))
    assert refuted(reading, [], reading.every_rank(lambda rank: number(rank) <= least))


def test_a_maximum_is_above_every_rank_and_reached_by_one() -> None:
    reading = EveryRank()
    number = reading.family("number")
    most = reading.maximum(number)
    assert not refuted(reading, [], reading.every_rank(lambda rank: number(rank) <= most))
    assert not refuted(reading, [], reading.negate(reading.every_rank(lambda rank: number(rank) + 1 <= most)))
    assert refuted(reading, [], reading.every_rank(lambda rank: most <= number(rank)))


def test_a_claim_about_pairs_is_used_at_ranks_in_both_orders() -> None:
    reading = EveryRank()
    number = reading.family("number")
    ordered = reading.every_pair(lambda one, other: number(one) <= number(other))
    assert not refuted(reading, [ordered], reading.every_pair(lambda one, other: number(one) == number(other)))


def test_a_group_may_have_one_rank_but_not_none() -> None:
    reading = EveryRank()
    number = reading.family("number")
    positive, negative = (
        reading.every_rank(lambda rank: 1 <= number(rank)),
        reading.every_rank(lambda rank: number(rank) <= 0),
    )
    assert not refuted(reading, [positive, negative], reading.either())
    assert refuted(reading, [positive], reading.either())


def test_a_denied_hypothesis_has_a_rank_that_it_is_false_of() -> None:
    reading = EveryRank()
    number = reading.family("number")
    low = reading.every_rank(lambda rank: number(rank) <= 3)
    assert not refuted(reading, [reading.negate(low)], 4 <= reading.maximum(number))


def test_a_claim_under_an_equality_is_used_in_both_directions() -> None:
    reading = EveryRank()
    number = reading.family("number")
    low = reading.every_rank(lambda rank: number(rank) <= 3)
    flag = reading.truth("flag")
    most = reading.maximum(number)
    assert not refuted(reading, [flag == low, flag], most <= 3)
    assert not refuted(reading, [flag == low, reading.negate(flag)], 4 <= most)
    assert refuted(reading, [flag == low], most <= 3)


def test_a_claim_of_a_named_rank_follows_from_a_claim_about_all() -> None:
    reading = EveryRank()
    number, me = reading.family("number"), reading.rank("me")
    asserted = [reading.every_rank(lambda rank: 1 <= number(rank)), number(me) <= 0]
    assert not satisfiable(reading, asserted)


def test_a_claim_that_reads_a_changed_variable_raises() -> None:
    reading = EveryRank()
    limit, number = 1, reading.family("number")
    claim = reading.every_rank(lambda rank: limit <= number(rank))
    limit = 2
    with pytest.raises(ChangedClaim):
        reading.facts([claim])
    assert limit == 2


def test_goals_share_a_witness_only_where_one_failing_is_enough() -> None:
    reading = EveryRank()
    number = reading.family("number")
    low, high = (
        reading.every_rank(lambda rank: number(rank) <= 3),
        reading.every_rank(lambda rank: 4 <= number(rank)),
    )
    for goals in ([low, high], [reading.either(low, high)], [low, reading.either(low, high)]):
        assert satisfiable(reading, [], goals)
    assert satisfiable(reading, [low], [low, high])
    assert not satisfiable(reading, [low], [low])
