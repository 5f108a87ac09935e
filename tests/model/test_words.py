"""How a guard word is read, and what it means where ranks differ in one: the text that model, proofs and impl share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof.model.words import DIFFERENCE, DIGESTS, complement, first_error, highest, is_void, same, settled

WORDS = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(WORDS, min_size=1, max_size=5))
def test_one_min_of_a_word_and_of_its_complement_shows_whether_all_hold_the_same(held: list[int]) -> None:
    agreed, agreed_complement = min(held), min(map(complement, held))
    assert same(agreed, agreed_complement) == (len(set(held)) == 1)
    assert highest(agreed_complement) == max(held)


@given(WORDS)
def test_a_complement_is_the_bitwise_one_and_fits_where_the_word_does(word: int) -> None:
    assert complement(word) == ~word
    assert -(2**63) <= complement(word) < 2**63


@pytest.mark.parametrize("name", sorted(DIFFERENCE))
def test_one_word_that_differs_means_what_the_table_says(name: str) -> None:
    void = DIFFERENCE[name] == "void"
    assert is_void([name]) == void
    assert first_error([name], request=1) == ("" if void else name)
    assert first_error([name]) == ("" if void or name == "request" else name)


@pytest.mark.parametrize("digest", sorted(DIGESTS))
def test_digests_of_lanes_of_different_epochs_are_not_compared(digest: str) -> None:
    assert first_error([digest]) == digest
    assert first_error([digest, "epoch"]) == ""
    assert first_error([digest, "epoch", "layout"]) == "layout"


def test_the_word_that_is_named_does_not_depend_on_the_order_in_which_they_ride() -> None:
    assert first_error(["popped", "layout", "round"]) == first_error(["round", "layout", "popped"]) == "round"


@pytest.mark.parametrize(("window", "expected"), [(1, [0, 1, 2]), (2, [-1, 0, 1])])
def test_every_rank_has_consumed_the_round_a_window_back_when_it_issues(window: int, expected: list[int]) -> None:
    assert [settled(issue, window) for issue in (1, 2, 3)] == expected
