"""Why a green proof may be believed: files for other solvers, other seeds, witnesses, an invariant found by Spacer."""

from pathlib import Path

import pytest
import z3

from rankproof.model.errors import BadInput
from rankproof.model.faults import FAULTS
from rankproof.model.protocol import BLOCKING, PIPELINED
from rankproof.model.verdict import Verdict
from rankproof.proofs import stability
from rankproof.proofs.export import export
from rankproof.proofs.found_invariant import ours, positions, safe, spacer_finds, variables
from rankproof.proofs.solvers import Answer, cvc5_answers, z3_answers
from rankproof.proofs.stability import overall, sweep
from rankproof.proofs.theorems import FALSE_CLAIMS, OBLIGATIONS
from rankproof.proofs.witness import counterexample, witness

BY_NAME = {each.name: each for each in (*OBLIGATIONS, *FALSE_CLAIMS)}
FEW = [each for each in OBLIGATIONS if each.name in ("round-invariant/step", "exact-delay/step", "same-pops/grid")]


def test_each_exported_file_is_decided_alone_as_it_says(tmp_path: Path) -> None:
    files = export(tmp_path / "new" / "folder", obligations=FEW)
    assert len(files) == 2 * len(FEW) + len(FALSE_CLAIMS)
    for path in files:
        text = path.read_text()
        assert text.startswith("; ")
        expected = Answer.UNSAT if "(set-info :status unsat)" in text else Answer.SAT
        assert z3_answers(text) is cvc5_answers(text) is expected, path.name


def test_an_answer_to_a_text_that_cvc5_could_not_read_whole_is_unknown() -> None:
    """The command in front fails and says so; the answer behind it is to a text without it."""
    assert cvc5_answers("(set-logic QF_LIA)(check-sat)") is Answer.SAT
    assert cvc5_answers("(set-logic QF_LIA)(get-model)(check-sat)") is Answer.UNKNOWN
    assert cvc5_answers("(set-logic QF_LIA)(check-sat)(get-value (1))") is Answer.UNKNOWN
    assert cvc5_answers("(set-logic QF_LIA)") is Answer.UNKNOWN
    assert cvc5_answers('(set-logic QF_LIA)(echo "hello")') is Answer.UNKNOWN


def test_an_exported_file_says_what_it_is_about(tmp_path: Path) -> None:
    export(tmp_path, obligations=FEW, false_claims=())
    text = (tmp_path / "round-invariant.step.smt2").read_text()
    for piece in ("a step keeps pops equal", "needs only-accumulate", "; hypothesis: backed", "; not the goal"):
        assert piece in text


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BadInput, match="cannot write the obligations there"):
        export(tmp_path / "file", obligations=FEW)


def test_proofs_do_not_rest_on_a_seed_or_an_order() -> None:
    named: list[str] = []
    sweeps = sweep(3, obligations=FEW, progress=named.append)
    assert named == [each.obligation for each in sweeps] == [each.name for each in FEW]
    assert overall(sweeps) is Verdict.HOLDS
    assert all(each.answers == each.control == {Answer.UNSAT: 3} for each in sweeps)
    assert all(each.worst_s > 0 for each in sweeps)


def test_a_sweep_varies_the_seed_and_the_order_but_not_in_its_control(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    def answer(text: str, timeout_s: float, seed: int) -> Answer:
        del timeout_s
        asked.append((text, seed))
        return Answer.UNSAT

    monkeypatch.setattr(stability, "z3_answers", answer)
    sweep(4, obligations=FEW[:1])
    varied, control = asked[:4], asked[4:]
    assert len(set(varied)) == 4
    assert len({text for text, _ in varied}) == 4
    assert len(control) == 4
    assert len(set(control)) == 1


def test_one_unknown_in_a_sweep_is_undetermined(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([Answer.UNSAT, Answer.UNKNOWN, Answer.UNSAT, Answer.UNSAT])
    monkeypatch.setattr(stability, "z3_answers", lambda text, timeout_s, seed: next(answers))
    assert overall(sweep(2, obligations=FEW[:1])) is Verdict.UNDETERMINED


def test_an_unstable_control_is_undetermined(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([Answer.UNSAT, Answer.UNSAT, Answer.UNSAT, Answer.UNKNOWN])
    monkeypatch.setattr(stability, "z3_answers", lambda text, timeout_s, seed: next(answers))
    assert overall(sweep(2, obligations=FEW[:1])) is Verdict.UNDETERMINED


def test_a_sweep_of_nothing_is_refused_or_undetermined() -> None:
    with pytest.raises(ValueError, match="at least 1 seed"):
        sweep(0)
    assert overall(sweep(1, obligations=[])) is Verdict.UNDETERMINED


def test_a_witness_is_a_state_with_ranks_and_numbers() -> None:
    state = witness(BY_NAME["round-invariant/step"])
    assert state is not None
    assert state[0].startswith("ranks = rank 0")
    assert [line for line in state if line.startswith("popped = rank 0: ")]
    assert not [line for line in state if line.startswith(("part_", "every_"))]


def test_what_holds_has_no_counterexample_and_what_a_fault_breaks_has_one() -> None:
    obligation = BY_NAME["round-invariant/step"]
    assert counterexample(obligation) is None
    assert counterexample(obligation, FAULTS["count-before-pop"].protocol) is not None
    assert counterexample(obligation, without=("only-accumulate",)) is not None


def test_the_word_that_refutes_negation_is_the_smallest_integer() -> None:
    state = counterexample(BY_NAME["false/negated-words"])
    assert state is not None
    assert str(-(2**63)) in next(line for line in state if line.startswith("word = "))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_spacer_finds_an_invariant_by_itself(ranks: int) -> None:
    verdict, found = spacer_finds(ranks)
    assert verdict is Verdict.HOLDS
    now = variables(ranks, PIPELINED)
    theirs = z3.substitute_vars(found, *now)
    at = positions(now, ranks)
    assert implied(theirs, safe(at, ranks))
    assert implied(ours(at, ranks), safe(at, ranks))


def test_spacers_invariant_and_ours_meet_in_the_first_state() -> None:
    _, found = spacer_finds(2)
    now = variables(2, PIPELINED)
    both = z3.And(z3.substitute_vars(found, *now), ours(positions(now, 2), 2), *(each == 0 for each in now))
    solver = z3.Solver()
    solver.add(both)
    assert solver.check() == z3.sat


def test_spacer_finds_the_way_to_a_violation_too() -> None:
    assert spacer_finds(2, FAULTS["count-before-pop"].protocol) == (Verdict.VIOLATED, None)
    assert spacer_finds(2, BLOCKING)[0] is Verdict.HOLDS


def implied(premise: object, conclusion: object) -> bool:
    solver = z3.Solver()
    solver.add(premise, z3.Not(conclusion))
    answer = solver.check()
    assert answer != z3.unknown
    return bool(answer == z3.unsat)
