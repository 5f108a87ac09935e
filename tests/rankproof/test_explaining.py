"""`rankproof explain`: every name of the project has words, a formal side, and what breaks it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from rankproof import explaining
from rankproof.explaining import explanation
from rankproof.model.assumptions import ASSUMPTIONS
from rankproof.model.faults import FAULTS
from rankproof.model.properties import PROPERTIES
from rankproof.model.schedule import run
from rankproof.model.verdict import Verdict
from rankproof.proofs.obligation import Obligation
from rankproof.proofs.theorems import FALSE_CLAIMS, OBLIGATIONS


def words(answer: Any) -> str:
    """A report without its line breaks."""
    return " ".join(answer.out.split())


def test_a_property_comes_with_its_proofs_its_assumptions_and_a_shortest_schedule(
    rankproof: Callable[..., Any],
) -> None:
    answer = rankproof("explain", "same-pops")
    said = words(answer)
    assert said.startswith(f"same-pops property {PROPERTIES['same-pops'].says} formally ")
    assert "on ints: model/checks.py, same_pops, of each action in a schedule" in said
    assert all(each.name in said for each in OBLIGATIONS if each.property == "same-pops")
    assert "same-order" in said
    assert "the shortest schedule that breaks it, with divergent-enqueue: " in said
    assert "✗ same-pops: " in said
    assert "sglang #28429" in said
    assert answer.code == 0


def test_a_fault_comes_with_its_choice_its_schedule_and_its_references(rankproof: Callable[..., Any]) -> None:
    said = words(rankproof("explain", "use-before-wait"))
    assert said.startswith(f"use-before-wait fault {FAULTS['use-before-wait'].says} formally ")
    assert "the right protocol with reads=before-wait" in said
    assert "breaks finished-before-pop, one-owner" in said
    assert "seen in fairscale #499, pytorch #147309" in said
    assert "✗ finished-before-pop: " in said


def test_an_assumption_comes_with_what_uses_it_and_what_breaks_without_it(rankproof: Callable[..., Any]) -> None:
    said = words(rankproof("explain", "everyone-steps"))
    assert "a hypothesis of no-deadlock/interleaved, no-deadlock/interleaved-at-any-depth" in said
    assert "without it may fall: matched-collectives, named-divergence, drains-to-empty" in said
    assert "the shortest schedule that breaks named-divergence without it, skipped-round: " in said
    assert "✗ named-divergence: " in said


def test_an_obligation_comes_with_hypotheses_goals_and_the_faults_that_break_it(rankproof: Callable[..., Any]) -> None:
    said = words(rankproof("explain", "finished-before-pop/step"))
    assert "hypotheses: agree, backed, counts, only-accumulate goals: goal it needs only-accumulate" in said
    assert "holds: no group of ranks has the hypotheses and not the goals (z3)" in said
    assert "it falls with pop-own-count, max-instead-of-min, use-before-wait, withdrawn-in-flight" in said


def test_a_false_claim_comes_with_what_refutes_it(rankproof: Callable[..., Any]) -> None:
    said = words(rankproof("explain", "false/negated-words"))
    assert "false claim" in said
    assert str(-(2**63)) in said


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("finished-befor-pop", "finished-before-pop"),
        ("pop-own-counts", "pop-own-count"),
        ("same-ordr", "same-order"),
        ("finished-before-pop/stap", "finished-before-pop/step"),
    ],
)
def test_an_unknown_name_is_told_the_nearest(rankproof: Callable[..., Any], name: str, near: str) -> None:
    answer = rankproof("explain", name)
    line = f"rankproof: there is no property, fault, assumption or obligation {name!r}; did you mean {near!r}?\n"
    assert (answer.code, answer.out, answer.err) == (2, "", line)


def test_a_name_that_is_like_no_other_is_told_where_all_are(rankproof: Callable[..., Any]) -> None:
    answer = rankproof("explain", "zzzzz")
    assert answer.err.endswith("'zzzzz'; rankproof explain lists all that there are\n")


def test_the_case_of_letters_does_not_matter(rankproof: Callable[..., Any]) -> None:
    assert words(rankproof("explain", "Max-Instead-Of-MIN")).startswith("max-instead-of-min fault ")


def test_without_a_name_every_name_is_listed_by_its_kind(rankproof: Callable[..., Any]) -> None:
    answer = rankproof("explain")
    said = words(answer)
    assert f"{len(FAULTS)} faults " in said
    assert f"{len(ASSUMPTIONS)} assumptions " in said
    assert all(f" {name}: {each.says} " in said for name, each in (PROPERTIES | FAULTS | ASSUMPTIONS).items())
    assert max(len(line) for line in answer.out.splitlines()) <= 80
    document = json.loads(rankproof("explain", "--format", "json").out)
    assert list(document["names"]) == ["property", "fault", "assumption", "obligation", "false claim"]
    assert document["names"]["property"] == list(PROPERTIES)


def test_the_json_document_has_the_schedule(rankproof: Callable[..., Any]) -> None:
    document = json.loads(rankproof("explain", "idle-without-flush", "--format", "json").out)
    assert (document["verb"], document["verdict"], document["kind"]) == ("explain", "holds", "fault")
    assert document["references"] == ["sglang #20560", "sglang #38504"]
    assert document["schedule"]["breaks"] == "drains-to-empty"


def test_no_name_stands_for_two_things() -> None:
    names = [*PROPERTIES, *FAULTS, *ASSUMPTIONS, *(each.name for each in (*OBLIGATIONS, *FALSE_CLAIMS))]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", [*PROPERTIES, *ASSUMPTIONS])
def test_what_is_shown_breaks_what_it_is_said_to_break(name: str) -> None:
    found = explanation(name)
    unproved = name in PROPERTIES and not any(each.property == name for each in OBLIGATIONS)
    assert found.verdict is (Verdict.UNDETERMINED if unproved else Verdict.HOLDS)
    assert found.says
    assert found.formal
    assert found.schedule
    if name != "open-loop":
        last = run(found.schedule).violations[-1]
        assert found.schedule.breaks in (ASSUMPTIONS[name].needed if name in ASSUMPTIONS else (name,))
        fell = [each.property for each in run(found.schedule).violations if each.index == last.index]
        assert found.schedule.breaks in fell


def test_an_assumption_that_is_built_in_says_how() -> None:
    built_in = [line for line in explanation("one-group").formal if line.startswith("built in")]
    assert built_in == ["built in to most others: the MIN is over all ranks that there are"]
    assert not any(line.startswith("built in") for line in explanation("same-order").formal)


def test_what_a_closed_loop_loses_is_a_run_in_which_nothing_falls_and_the_words_say_what_is_lost() -> None:
    found = explanation("open-loop")
    assert found.schedule
    assert (run(found.schedule).stopped, run(found.schedule).violations) == (None, ())
    assert "after step 3 pipelined has popped 1, and blocking, with the same engine, 2 after step 2" in found.breaking
    assert "throughput" in found.breaking


def test_a_property_whose_proof_fails_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    def undecided(obligation: Obligation) -> Verdict:
        return Verdict.UNDETERMINED if obligation.name == "same-pops/grid" else Verdict.HOLDS

    monkeypatch.setattr(explaining, "decide", undecided)
    assert explanation("same-pops").verdict is Verdict.UNDETERMINED
    assert explanation("no-deadlock").verdict is Verdict.HOLDS
