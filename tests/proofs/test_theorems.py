"""Every obligation holds, says something, and can be broken: the registry of what is proved."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rankproof.model.assumptions import ASSUMPTIONS
from rankproof.model.faults import FAULTS, Fault
from rankproof.model.properties import PROPERTIES
from rankproof.model.protocol import BLOCKING, PIPELINED, Protocol, depth
from rankproof.model.verdict import Verdict
from rankproof.proofs import broken
from rankproof.proofs import prove as prove_module
from rankproof.proofs.any_depth import ANY_DEPTH, EPOCHS_ANY_DEPTH, INTERLEAVED_ANY_DEPTH
from rankproof.proofs.bounded import supports
from rankproof.proofs.broken import choices_read, is_refuted
from rankproof.proofs.closed_loop import CLOSED_LOOP
from rankproof.proofs.closed_loop_any_depth import CLOSED_LOOP_ANY_DEPTH
from rankproof.proofs.commute import COMMUTE
from rankproof.proofs.depths import at_any_depth
from rankproof.proofs.epochs import EPOCHS
from rankproof.proofs.everyrank import EveryRank
from rankproof.proofs.groups import GROUPS
from rankproof.proofs.interleaved import INTERLEAVED
from rankproof.proofs.lifecycle import LIFECYCLE
from rankproof.proofs.lockstep import LOCKSTEP
from rankproof.proofs.lockstep_any_depth import LOCKSTEP_ANY_DEPTH
from rankproof.proofs.obligation import BUILT_IN, Goals, Hypotheses, Obligation
from rankproof.proofs.prove import decide, judge, prove
from rankproof.proofs.question import denial
from rankproof.proofs.solvers import Answer, cvc5_answers, z3_answers
from rankproof.proofs.stopping import STOPPING
from rankproof.proofs.theorems import FALSE_CLAIMS, OBLIGATIONS, OF_THE_PROTOCOL

# All that looks at the depth is proved at any depth at once; one depth as a number shows that it says the same.
OTHERS = {"blocking": BLOCKING, "depth 3": depth(3)}
CASES = [
    pytest.param(each, protocol, id=f"{each.name} {name}")
    for name, protocol in OTHERS.items()
    for each in (OBLIGATIONS if name == "blocking" else (*LOCKSTEP, *LIFECYCLE, *STOPPING, *CLOSED_LOOP, *GROUPS))
    if each.applies(protocol)
]
FIRST_EIGHT = [
    *("count-before-pop", "pop-own-count", "max-instead-of-min", "use-before-wait"),
    *("skip-when-empty", "reset-without-drain", "evict-in-flight", "divergent-enqueue"),
]
BY_NAME = {each.name: each for each in OBLIGATIONS}


broken_by = cache(broken.broken_by)


def fails_without(each: Obligation, hypothesis: str) -> bool:
    """Whether z3 finds a state in which the obligation fails, once a hypothesis may not be used."""
    return z3_answers(denial(each, PIPELINED, without=(hypothesis,)).text()) is Answer.SAT


def obligation(state: Any, **changes: Any) -> Obligation:
    return Obligation("made/up", "made", "is made up for this test", (), state, **changes)


@pytest.mark.parametrize("each", OBLIGATIONS, ids=lambda each: each.name)
def test_an_obligation_holds_for_every_number_of_ranks_in_both_solvers(each: Obligation) -> None:
    """From the same text; that its hypotheses have a model is part of the verdict."""
    assert judge(each, PIPELINED, cross_check=True) == (Verdict.HOLDS, "")


@pytest.mark.parametrize(("each", "protocol"), CASES)
def test_an_obligation_holds_for_blocking_and_for_watermarks(each: Obligation, protocol: Protocol) -> None:
    assert judge(each, protocol) == (Verdict.HOLDS, "")


def test_remainders_are_wrong_from_two_rounds_in_flight() -> None:
    broken = {each.name for each in LOCKSTEP if decide(each, replace(PIPELINED, lag=2)) is Verdict.VIOLATED}
    assert broken == {"round-invariant/step", "exact-delay/step", "bounded-lag/step"}


@pytest.mark.parametrize("name", FIRST_EIGHT)
def test_both_solvers_refute_what_a_fault_breaks(name: str) -> None:
    fault = FAULTS[name]
    without = (fault.drops,) if fault.drops else ()
    for broken_one in broken_by(fault):
        text = denial(BY_NAME[broken_one], fault.protocol, without=without).text()
        assert z3_answers(text) is cvc5_answers(text) is Answer.SAT


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_every_fault_breaks_an_obligation(fault: Fault) -> None:
    assert broken_by(fault)


def test_the_choices_that_an_obligation_reads_are_noted() -> None:
    assert "counts" in choices_read(BY_NAME["round-invariant/step"])
    assert "resets" in choices_read(BY_NAME["clean-lifecycle/reset"])
    assert choices_read(BY_NAME["matched-collectives/step"]) == {"issues", "offers"}


def test_all_that_looks_at_the_depth_is_proved_at_any_depth() -> None:
    """Or is that of another name: a reset without an epoch word, which all ranks take between the same two steps."""
    names = {each.name for each in ANY_DEPTH}
    numbered = {each for each in OBLIGATIONS if each not in ANY_DEPTH and "lag" in choices_read(each)}
    without = {each.name for each in numbered if f"{each.name}-at-any-depth" not in names}
    assert without - {each.name for each in COMMUTE} == {"clean-lifecycle/no-epoch-word"}
    assert {"interleaving-invariant/reset-at-any-depth", "commutation/actions-at-any-depth"} <= names


@pytest.mark.parametrize("each", COMMUTE, ids=lambda each: each.name)
def test_each_action_that_commutes_at_any_depth_can_be_taken_there(each: Obligation) -> None:
    """One obligation speaks of all of them, and would not miss one that never can."""
    assert judge(at_any_depth(each)) == (Verdict.HOLDS, "")


# Most at any depth are the same obligations of another protocol; that each of their conjuncts counts is tested below.
@pytest.mark.parametrize(
    "each", [each for each in OBLIGATIONS if each not in INTERLEAVED_ANY_DEPTH], ids=lambda each: each.name
)
def test_an_obligation_can_be_broken(each: Obligation) -> None:
    """By a fault; else by taking one of its hypotheses away; else a false claim stands beside it."""
    if any(each.name in broken_by(fault) for fault in FAULTS.values()):
        return
    if each in LOCKSTEP_ANY_DEPTH and any(
        is_refuted(each, fault) for fault in FAULTS.values() if each.applies(fault.protocol)
    ):
        return
    hypotheses, _ = each.state(EveryRank(), PIPELINED)
    if any(fails_without(each, name) for name in hypotheses):
        return
    assert (each.name, TWINS[each.name]) == ("named-divergence/words", "false/negated-words")


TWINS = {"named-divergence/words": "false/negated-words"}
"""For an obligation without hypotheses, which is also true of a MAX, the false claim that differs in one sign."""


NO_FAULT_TOUCHES = [
    *("interleaving-invariant/start", "bounded-lag/interleaved"),
    *("epochs-invariant/start", "epochs-invariant/issue", "epochs-invariant/reset", "clean-lifecycle/epoch-word"),
    *("named-divergence/enqueued-digest", "named-divergence/popped-digest", "named-divergence/popped-digest-is-quiet"),
    *("named-divergence/round-word", "named-divergence/by-name", "named-divergence/same-round"),
]
"""Of the obligations that read the protocol. They are about where all begins, about words, whatever the protocol does
with them, or follow from an invariant that the faults break: each falls without one of its hypotheses."""


def test_what_stands_on_the_protocol_is_broken_by_a_fault_but_for_these() -> None:
    broken = {name for fault in FAULTS.values() for name in broken_by(fault)}
    assert [each.name for each in OF_THE_PROTOCOL if each.name not in broken] == NO_FAULT_TOUCHES
    assert f"{len(broken)} of the {len(OF_THE_PROTOCOL)} that read the choices of the protocol" in " ".join(
        DOCS.split()
    )


@pytest.mark.parametrize("claim", FALSE_CLAIMS, ids=lambda claim: claim.name)
def test_a_false_claim_is_refuted_by_both_solvers(claim: Obligation) -> None:
    text = denial(claim).text()
    assert z3_answers(text) is cvc5_answers(text) is Answer.SAT


# For each invariant, its conjuncts, and the obligations that rest on it.
CONJUNCTS = {
    "lockstep": (("agree", "backed", "counts"), LOCKSTEP),
    "interleaved": (
        (
            *("window", "in-step", "ahead", "passed", "begun", "ledger", "held"),
            *("backed", "counted", "rising", "had", "had-now"),
        ),
        INTERLEAVED,
    ),
    "any depth": (
        (
            *("window", "full", "in-step", "ahead", "passed", "begun", "through", "ledger", "held"),
            *("backed", "counted", "rising", "fresh", "had", "had-now"),
        ),
        INTERLEAVED_ANY_DEPTH,
    ),
    "epochs at any depth": (
        (*("window", "ahead", "held", "nonnegative", "stamped", "ledger", "unborn", "backed", "counted", "rising"),),
        EPOCHS_ANY_DEPTH,
    ),
    "epochs": (("window", "ahead", "stamped", "held", "backed", "counted", "agree", "fresh"), EPOCHS),
    "lockstep at any depth": (("agree", "backed", "counts"), LOCKSTEP_ANY_DEPTH),
    "closed loop": (("steady", "alike"), CLOSED_LOOP),
    "closed loop at any depth": (("steady",), CLOSED_LOOP_ANY_DEPTH),
}


@pytest.mark.parametrize(
    ("conjunct", "obligations"),
    [
        pytest.param(conjunct, obligations, id=f"{name} without {conjunct}")
        for name, (conjuncts, obligations) in CONJUNCTS.items()
        for conjunct in conjuncts
    ],
)
def test_no_conjunct_of_an_invariant_can_go(conjunct: str, obligations: tuple[Obligation, ...]) -> None:
    """Without it, as a hypothesis and as a goal, something can no longer be proved."""
    assert any(fails_without(each, conjunct) for each in obligations)


@pytest.mark.parametrize(("conjuncts", "obligations"), CONJUNCTS.values(), ids=CONJUNCTS)
def test_those_are_all_the_conjuncts(conjuncts: tuple[str, ...], obligations: tuple[Obligation, ...]) -> None:
    finish_or_step = next(
        each for each in obligations if re.search("invariant/finish|invariant/step|/closed-loop", each.name)
    )
    _, goals = finish_or_step.state(EveryRank(), PIPELINED)
    assert set(goals) - {"goal", "begins"} == set(conjuncts)


@pytest.mark.parametrize("each", OBLIGATIONS, ids=lambda each: each.name)
def test_the_assumptions_of_an_obligation_are_the_ones_that_it_names(each: Obligation) -> None:
    hypotheses, _ = each.state(EveryRank(), PIPELINED)
    assert sorted(set(ASSUMPTIONS) & set(hypotheses)) == sorted(each.needs)


@pytest.mark.parametrize(
    ("each", "assumption"),
    [pytest.param(each, name, id=f"{each.name} without {name}") for each in OBLIGATIONS for name in each.needs],
)
def test_an_obligation_fails_without_any_assumption_that_it_names(each: Obligation, assumption: str) -> None:
    assert fails_without(each, assumption)


def test_every_obligation_has_a_name_of_its_own_and_a_property_that_is_stated() -> None:
    assert len(BY_NAME) == len(OBLIGATIONS)
    lemmas = {"round-invariant", "interleaving-invariant", "epochs-invariant", "commutation"}
    assert {each.property for each in OBLIGATIONS} <= set(PROPERTIES) | lemmas
    assert {each.property for each in FALSE_CLAIMS} <= set(PROPERTIES)
    assert all(each.name.startswith(f"{each.property}/") for each in OBLIGATIONS)


def test_every_property_of_the_model_has_an_obligation() -> None:
    assert set(PROPERTIES) <= {each.property for each in OBLIGATIONS}


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        ("vector-by-layout", "matched-collectives/interleaved"),
        ("kept-buffer", "one-owner/interleaved"),
        ("unbounded-issue", "one-owner/interleaved"),
        ("unbounded-issue", "bounded-skew/interleaved"),
        ("use-before-wait", "one-owner/interleaved"),
        ("no-deadline", "contained-failure/told"),
        ("no-deadline", "contained-failure/nobody-waits-for-ever"),
        ("attach-in-flight", "clean-lifecycle/attach"),
        ("idle-without-flush", "drains-to-empty/steps"),
        ("follower-pops-at-once", "finished-before-pop/pipeline-stage"),
        ("agreement-in-halves", "finished-before-pop/one-group"),
        ("mixed-modes", "named-divergence/words-are-quiet"),
        ("ready-digest", "named-divergence/enqueued-digest-is-quiet"),
        ("transfer-without-ack", "drains-to-empty/steps"),
        ("transfer-without-ack", "no-deadlock/interleaved"),
    ],
)
def test_an_obligation_is_about_the_property_that_it_is_filed_under(fault: str, name: str) -> None:
    """A fault that breaks the property by a choice that the terms have, breaks the obligation too."""
    assert BY_NAME[name].property in FAULTS[fault].breaks
    assert name in broken_by(FAULTS[fault])


DOCS = (Path(__file__).parents[2] / "docs" / "proofs.md").read_text()


def assumption_row(name: str) -> str:
    """The row of the document's table, from what the model and the obligations say."""
    dropped = ASSUMPTIONS[name].dropped
    cells = (
        f"`{name}`",
        ASSUMPTIONS[name].says,
        dropped and f"`{dropped.name}`",
        ", ".join(ASSUMPTIONS[name].needed),
    )
    return f"| {' | '.join(cell or '-' for cell in cells)} |"


@pytest.mark.parametrize("name", ASSUMPTIONS)
def test_the_document_says_of_an_assumption_what_the_model_and_the_obligations_say(name: str) -> None:
    assert assumption_row(name) in DOCS.splitlines()


def test_an_assumption_is_a_hypothesis_or_built_in() -> None:
    assert set(BUILT_IN) | {name for each in OBLIGATIONS for name in each.needs} == set(ASSUMPTIONS)


def test_the_document_counts_the_faults_that_the_solver_reads() -> None:
    read = [name for name, fault in FAULTS.items() if supports(fault.model, fault.breaks[0]) is None]
    assert f"for the {len(read)} faults that the solver can read" in " ".join(DOCS.split())


def test_the_document_is_read_in_fifteen_minutes() -> None:
    assert len([word for word in DOCS.split() if word != "|"]) <= 2_600


def test_every_obligation_that_the_document_names_is_there() -> None:
    claims = {each.name for each in (*OBLIGATIONS, *FALSE_CLAIMS)}
    families = {each.property for each in OBLIGATIONS} | {"false"}
    named = {name for name in re.findall(r"`([a-z-]+/[a-z-]+)`", DOCS) if name.split("/")[0] in families}
    assert len(named) > 20
    assert named <= claims


def test_hypotheses_that_contradict_each_other_prove_nothing() -> None:
    def state(reading: EveryRank, _protocol: Protocol) -> tuple[Hypotheses, Goals]:
        number = reading.family("number")
        hypotheses = {
            "high": reading.every_rank(lambda rank: 1 <= number(rank)),
            "low": reading.every_rank(lambda rank: number(rank) <= 0),
        }
        return hypotheses, {"goal": reading.every_rank(lambda rank: number(rank) == 7)}

    verdict, note = judge(obligation(state))
    assert verdict is Verdict.UNDETERMINED
    assert "contradict" in note


def hard(reading: EveryRank, _protocol: Protocol) -> tuple[Hypotheses, Goals]:
    """That `-1 - x` is the complement of x, which takes a solver seconds to see of a minimum of 64-bit words."""
    word = reading.words("word", 64)
    least, least_complement = reading.minimum(word), reading.minimum(lambda rank: -1 - word(rank))
    same = reading.every_pair(lambda one, other: word(one) == word(other))
    return {}, {"goal": same == (least == -1 - least_complement)}


def test_a_solver_that_gives_up_leaves_the_verdict_undetermined() -> None:
    verdict, note = judge(obligation(hard, logic="QF_UFBV"), timeout_s=0.001)
    assert (verdict, note) == (Verdict.UNDETERMINED, "z3 gave up")


def test_a_second_solver_that_gives_up_leaves_the_verdict_undetermined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prove_module, "cvc5_answers_both", lambda text, timeout_s: (Answer.UNKNOWN, Answer.SAT))
    (proof,) = prove(obligations=OBLIGATIONS[:1], cross_check=True)
    assert (proof.verdict, proof.note) == (Verdict.UNDETERMINED, "cvc5 gave up")


def test_two_solvers_that_disagree_leave_the_verdict_undetermined_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prove_module, "cvc5_answers_both", lambda text, timeout_s: (Answer.SAT, Answer.SAT))
    (proof,) = prove(obligations=OBLIGATIONS[:1], cross_check=True)
    assert proof.verdict is Verdict.UNDETERMINED
    assert proof.note == "THE SOLVERS DISAGREE: z3 says unsat, cvc5 says sat"


def test_prove_passes_over_what_does_not_apply_and_names_only_the_assumptions_that_it_used() -> None:
    proofs = {each.obligation: each for each in prove(BLOCKING, without=("same-order",), obligations=LOCKSTEP)}
    assert "exact-delay/step" not in proofs
    assert proofs["same-pops/step"].needs == ()
    assert proofs["same-pops/step"].verdict is Verdict.VIOLATED
