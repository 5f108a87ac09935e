"""The three readings are one: on the same concrete values, every rule gives the same numbers in each of them."""

from collections.abc import Callable
from typing import Any

import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from rankproof.model import rounds, rules, words
from rankproof.model.protocol import Protocol
from rankproof.model.reading import Ints, Reading
from rankproof.model.rounds import Position
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.smt import BOOL, INT, Term
from rankproof.proofs.terms import Terms

RANKS = 3
SETTINGS = settings(max_examples=25, deadline=None)

Table = dict[str, tuple[int, ...]]
"""For each family by its name, one number a rank."""

Question = Callable[[Reading, Callable[[str], Any]], list[Any]]
"""What a reading answers, given its families by name: numbers or truths."""

protocols = st.builds(
    Protocol,
    lag=st.integers(0, 3),
    counts=st.sampled_from(["after-pop", "before-pop"]),
    reads=st.sampled_from(["after-wait", "before-wait"]),
    reduces=st.sampled_from(["min", "max"]),
    pops=st.sampled_from(["agreed", "own"]),
    issues=st.sampled_from(["always", "when-nonempty"]),
    offers=st.sampled_from(["remaining", "cumulative"]),
    resets=st.sampled_from(["drained", "in-flight"]),
    evicts=st.sampled_from(["drained", "in-flight"]),
    deadline=st.sampled_from(["set", "none"]),
)
FAMILIES = ("finished", "popped", "offered_0", "offered_1", "offered_2", "next", "stale", "issued")
tables = st.fixed_dictionaries({name: st.tuples(*[st.integers(-2, 6)] * RANKS) for name in FAMILIES})


def on_ints(question: Question, table: Table) -> list[int]:
    return [int(each) for each in question(Ints(RANKS), lambda name: lambda rank: table[name][rank])]


def on_terms(question: Question, table: Table) -> list[int]:
    answers = question(Terms(RANKS), lambda name: lambda rank: z3.IntVal(table[name][rank]))
    return [_int(each) for each in answers]


def on_every_rank(question: Callable[..., list[Any]], table: Table) -> list[int]:
    """The answers where the group is just the ranks of the table, each of which the solver must be sure of.

    What the reading builds is text; z3 reads it, and is told besides that there are no other ranks.
    """
    reading = EveryRank()
    ranks = [reading.rank(f"rank_{index}") for index in range(RANKS)]
    answers = [_lifted(reading, each) for each in question(reading, reading.family, ranks)]
    meant = [
        reading.truth(f"meant_{index}") == each if each.sort == BOOL else reading.number(f"meant_{index}") == each
        for index, each in enumerate(answers)
    ]
    given = [
        reading.family(name)(rank) == number
        for name, numbers in table.items()
        for rank, number in zip(ranks, numbers, strict=True)
    ]
    text = "\n".join(
        [
            *reading.declarations,
            *(f"(assert {each})" for each in (*reading.facts(meant), *meant, *given)),
            f"(assert (distinct {' '.join(map(str, ranks))}))",
            f"(assert (forall ((any Rank)) (or {' '.join(f'(= any {rank})' for rank in ranks)})))",
        ]
    )
    solver = z3.Solver()
    solver.from_string(text)
    assert solver.check() == z3.sat
    asked = [(z3.Bool if each.sort == BOOL else z3.Int)(f"meant_{index}") for index, each in enumerate(answers)]
    values = [solver.model().eval(each, model_completion=True) for each in asked]
    solver.add(z3.Or(*(each != value for each, value in zip(asked, values, strict=True))))
    assert solver.check() == z3.unsat, "the reading leaves a number open"
    return [_int(value) for value in values]


def _lifted(reading: EveryRank, value: Any) -> Term:
    return reading.terms.lifted(value, BOOL if isinstance(value, bool) else INT)


def _int(value: Any) -> int:
    value = z3.simplify(value) if z3.is_expr(value) else value
    if isinstance(value, bool | int):
        return int(value)
    return int(z3.is_true(value)) if z3.is_bool(value) else int(value.as_long())


def agree_on(question: Callable[..., list[Any]], table: Table) -> None:
    """All three readings give the same answers; the families that no rule looks at do not matter."""
    plain = list(range(RANKS))
    expected = on_ints(lambda reading, family: question(reading, family, plain), table)
    assert on_terms(lambda reading, family: question(reading, family, plain), table) == expected
    assert on_every_rank(question, table) == expected


def position(family: Any, protocol: Protocol) -> rounds.Positions:
    offered = [family(f"offered_{age}") for age in range(protocol.lag)]
    return lambda rank: Position(
        family("finished")(rank), family("popped")(rank), tuple(each(rank) for each in offered)
    )


def numbers(at: rounds.Positions, ranks: list[Any]) -> list[Any]:
    return [number for rank in ranks for number in (at(rank).finished, at(rank).popped, *at(rank).in_flight)]


@SETTINGS
@given(protocols, tables)
def test_every_rule_is_the_same_in_all_three_readings(protocol: Protocol, table: Table) -> None:
    def question(reading: Reading, family: Any, ranks: list[Any]) -> list[Any]:
        finished, popped, own, issued = (family(name) for name in ("finished", "popped", "offered_0", "issued"))
        agreed = rules.agree(reading, protocol, own)
        answers: list[Any] = [
            agreed,
            rules.complete(reading, 1, issued),
            rules.lost(reading, protocol, 1, issued, lambda rank: finished(rank) <= 2),
        ]
        for rank in ranks:
            answers += [
                rules.ready_count(finished(rank), popped(rank)),
                rules.offer(protocol, finished(rank), popped(rank)),
                rules.allowed(protocol, own(rank), agreed, popped(rank)),
                rules.taken(protocol, finished(rank), own(rank), popped(rank)),
                rules.in_flight(issued(rank), popped(rank)),
                rules.due(protocol, issued(rank), popped(rank)),
                rules.issues(reading, protocol, (own(rank), popped(rank))),
            ]
        return answers

    agree_on(question, table)


@SETTINGS
@given(tables)
def test_what_epoch_words_say_is_the_same_on_ints_and_for_every_rank(table: Table) -> None:
    """The search for schedules has no epoch words."""

    def question(reading: Reading, family: Any, ranks: list[Any]) -> list[Any]:
        epoch = family("popped")
        agreed = reading.minimum(epoch)
        agreed_complement = reading.minimum(lambda rank: words.complement(epoch(rank)))
        accepted = [rules.accepted(reading, agreed, agreed_complement, epoch(rank)) for rank in ranks]
        return [words.highest(agreed_complement), words.same(agreed, agreed_complement), *accepted]

    expected = on_ints(lambda reading, family: question(reading, family, list(range(RANKS))), table)
    assert on_every_rank(question, table) == expected


@SETTINGS
@given(protocols, tables)
def test_a_step_is_the_same_in_all_three_readings(protocol: Protocol, table: Table) -> None:
    def question(reading: Reading, family: Any, ranks: list[Any]) -> list[Any]:
        after = rounds.step(reading, protocol, position(family, protocol), family("next"))
        return numbers(after, ranks)

    if protocol.lag or protocol.reads == "after-wait":
        agree_on(question, table)


@SETTINGS
@given(protocols, tables)
def test_start_drain_and_eviction_are_the_same_in_all_three_readings(protocol: Protocol, table: Table) -> None:
    def question(reading: Reading, family: Any, ranks: list[Any]) -> list[Any]:
        before = position(family, protocol)
        started = rounds.start(protocol, family("stale"))
        drained = rounds.drain(reading, protocol, before)
        evicted = rounds.evict(protocol, before, family("next"))
        return numbers(started, ranks) + numbers(drained, ranks) + numbers(evicted, ranks)

    agree_on(question, table)


@given(st.tuples(*[st.integers(-2, 6)] * RANKS))
@SETTINGS
def test_what_a_reading_says_across_ranks_is_the_same_in_all_three(values: tuple[int, ...]) -> None:
    def question(reading: Reading, family: Any, ranks: list[Any]) -> list[Any]:
        number = family("popped")
        return [
            reading.minimum(number),
            reading.maximum(number),
            reading.every_rank(lambda rank: 0 <= number(rank)),
            reading.every_pair(lambda one, other: number(one) <= number(other) + 2),
            *(reading.choose(number(rank) <= 2, number(rank), 2) for rank in ranks),
            *(reading.either(number(rank) <= 0, reading.negate(number(rank) <= 3)) for rank in ranks),
            reading.either(),
            reading.both(),
        ]

    agree_on(question, {"popped": values})
