"""`rankproof verify`: every stage runs, one verdict on all of them, and a summary that says what it does not show."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rankproof import exploring, verifying
from rankproof.conformance.capabilities import Capabilities
from rankproof.conformance.fuzzed import Fuzzing
from rankproof.conformance.machine import Findings
from rankproof.conformance.search import Ran
from rankproof.conformance.walking import Walked
from rankproof.conformance.worlds import WORLDS as OPERATED
from rankproof.exploring import WORLDS, Seen
from rankproof.model.actions import KINDS
from rankproof.model.assumptions import ASSUMPTIONS
from rankproof.model.explorer import Exploration
from rankproof.model.faults import FAULTS
from rankproof.model.protocol import PIPELINED
from rankproof.model.scenario import Scenario
from rankproof.model.verdict import Verdict
from rankproof.proofs.prove import Proof, prove
from rankproof.proofs.refute import Refutation, refute
from rankproof.proofs.theorems import OBLIGATIONS
from rankproof.results_verify import of_faults
from rankproof.verifying import NOT_SHOWN, REAL, Real, Results

ASKED = sum(each.applies(PIPELINED) for each in OBLIGATIONS)
SMALLEST = replace(WORLDS[0], model=replace(WORLDS[0].model, scenario=Scenario(acks=1)))
RUN = Fuzzing(
    "rankproof.conformance.reference:pipelined", 2, Verdict.HOLDS, Capabilities(), 1.0, processes=Ran(3, 40, 9, 2)
)


def operated(**others: int) -> Walked:
    """What a walk comes to in which each action was taken once, but for these."""
    findings = Findings()
    findings.examples, findings.steps = 1, 7
    findings.taken.update(dict.fromkeys(KINDS, 1) | others)
    return Walked({OPERATED[0]: findings})


@pytest.fixture(scope="module")
def green() -> Results:
    """Every stage with one entry, and all of them well."""
    seen = Seen(SMALLEST, Exploration(Verdict.HOLDS, 371, 972, 21))
    proofs = list(prove(obligations=OBLIGATIONS[:1]))
    return Results(proofs, [refute(FAULTS["use-before-wait"])], [seen], [RUN], operated())


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stages as they are, each with little to do."""
    monkeypatch.setattr(verifying, "FAULTS", {"use-before-wait": FAULTS["use-before-wait"]})
    monkeypatch.setattr(verifying, "REAL", (Real(1, 2, 2),))
    monkeypatch.setattr(verifying, "walk", lambda **_: operated())
    explore_all = exploring.explore_all
    monkeypatch.setattr(exploring, "explore_all", lambda progress: explore_all(progress, (SMALLEST,)))


@pytest.mark.processes
@pytest.mark.usefixtures("quick")
def test_every_stage_runs_and_the_summary_comes_last(rankproof: Callable[..., Any]) -> None:
    answer = rankproof("verify")
    titles = [
        "The pipelined protocol, for every number of ranks",
        "Known faults, each held against the property that it is to break",
        "Bounded worlds, every interleaving of ranks that move alone",
        "The reference implementation on real processes, against the model",
        "Every operation and topology of it, on real processes",
        "use-before-wait  reads=before-wait",
        "For every number of ranks, of acks and of steps",
        "Within bounds",
        "On real processes",
        "What this does not show",
    ]
    lines = answer.out.splitlines()
    assert [line for line in lines if line in titles] == titles
    assert lines[-1].startswith("holds: everything above, in ")
    assert max(map(len, lines)) <= 80
    assert answer.code == 0


@pytest.mark.processes
@pytest.mark.usefixtures("quick")
def test_the_json_document_holds_every_stage(rankproof: Callable[..., Any]) -> None:
    document = json.loads(rankproof("verify", "--format", "json").out)
    assert document["verdict"] == "holds"
    stages = ("proofs", "faults", "worlds", "runs", "operations")
    assert [len(document[stage]) for stage in stages] == [ASKED, 1, 1, 1, 1]
    assert document["runs"][0]["ranks"] == 2
    assert document["assumptions"]["same-order"] == ASSUMPTIONS["same-order"].says
    assert document["not_shown"] == list(NOT_SHOWN)


def test_all_stages_green_hold(green: Results) -> None:
    assert green.verdict is Verdict.HOLDS


@pytest.mark.parametrize("verdict", [Verdict.VIOLATED, Verdict.UNDETERMINED])
def test_no_stage_is_left_out_of_the_verdict(green: Results, verdict: Verdict) -> None:
    proof, refutation, seen = green.proofs[0], green.refutations[0], green.worlds[0]
    wrong = Verdict.HOLDS if verdict is Verdict.VIOLATED else verdict  # a fault that breaks nothing is not caught
    spoilt = [
        replace(green, proofs=[proof, _with(proof, verdict)]),
        replace(green, refutations=[refutation, replace(refutation, verdict=wrong)]),
        replace(green, worlds=[seen, replace(seen, exploration=replace(seen.exploration, verdict=verdict))]),
        replace(green, runs=[RUN, replace(RUN, verdict=verdict)]),
    ]
    assert [results.verdict for results in spoilt] == [verdict] * 4


def test_an_action_that_no_real_run_took_leaves_it_undetermined(green: Results) -> None:
    assert replace(green, operations=operated(withdraw=0)).verdict is Verdict.UNDETERMINED
    assert replace(green, operations=Walked({}, "the ranks could not be started")).verdict is Verdict.UNDETERMINED


@pytest.mark.parametrize("stage", ["proofs", "refutations", "worlds", "runs"])
def test_a_stage_in_which_nothing_ran_leaves_it_undetermined(green: Results, stage: str) -> None:
    nothing: dict[str, Any] = {stage: []}
    assert replace(green, **nothing).verdict is Verdict.UNDETERMINED


def _with(proof: Proof, verdict: Verdict) -> Proof:
    return replace(proof, verdict=verdict)


def test_every_assumption_that_a_proof_uses_is_put_in_words() -> None:
    assert {name for each in OBLIGATIONS for name in each.needs} <= set(ASSUMPTIONS)


def test_a_refutation_knows_its_picture(green: Results) -> None:
    refutation: Refutation = green.refutations[0]
    assert refutation.schedule is not None


def test_real_runs_cover_both_protocols_and_more_than_two_ranks() -> None:
    assert {real.lag for real in REAL} == {0, 1}
    assert {real.ranks for real in REAL} == {2, 4}


def test_every_check_of_every_stage_is_a_result_for_a_ci_system(
    green: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifying, "REAL", (Real(1, 2, 2),))
    told = [(each.group, each.name, each.verdict) for each in verifying.as_results(green)]
    assert told == [
        ("prove", OBLIGATIONS[0].name, Verdict.HOLDS),
        ("refute", "use-before-wait", Verdict.HOLDS),
        ("explore", "blocking: 2 ranks, 1 ack", Verdict.HOLDS),
        ("fuzz", "rankproof.conformance.reference:pipelined on 2 ranks, lag 1", Verdict.HOLDS),
        ("operations", "TP 2, pipelined on 2 processes", Verdict.HOLDS),
    ]


def test_a_fault_that_is_not_caught_is_a_violation_to_a_ci_system(green: Results) -> None:
    missed = replace(green.refutations[0], verdict=Verdict.HOLDS)
    (result,) = of_faults([missed])
    assert (result.verdict, result.says) == (
        Verdict.VIOLATED,
        "is to break finished-before-pop, and that holds",
    )
