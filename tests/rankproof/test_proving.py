"""`rankproof prove`: one obligation a line, and a verdict on all of them together."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from rankproof import doubting, parallel, proving
from rankproof.model.protocol import PIPELINED
from rankproof.model.verdict import Verdict
from rankproof.proofs import answered as answered_module
from rankproof.proofs import prove as prove_module
from rankproof.proofs import stability
from rankproof.proofs.answered import answered
from rankproof.proofs.prove import Proof
from rankproof.proofs.solvers import Answer, z3_answers, z3_answers_both
from rankproof.proofs.theorems import FALSE_CLAIMS, OBLIGATIONS

FALSE = len(FALSE_CLAIMS)
ASKED = [each for each in OBLIGATIONS if each.applies(PIPELINED)]


def answers(*verdicts: Verdict) -> Callable[..., Iterator[Proof]]:
    """A prover that gives these verdicts."""

    def prove(names: Sequence[str], *, cross_check: bool) -> Iterator[Proof]:
        assert names
        assert cross_check is False
        for number, verdict in enumerate(verdicts):
            yield Proof(f"same-pops/{number}", "same-pops", "pops are the same", ("same-order",), verdict, 0.002)

    return prove


def test_every_obligation_has_a_line_with_name_verdict_and_time(rankproof: Callable[..., Any]) -> None:
    answer = rankproof("prove")
    lines = [line.split() for line in answer.out.splitlines() if re.search(r"\d ms$", line)]
    assert [(line[0], line[1]) for line in lines] == [(each.name, "holds") for each in ASKED]
    assert answer.out.splitlines()[-1] == (
        f"holds: {len(ASKED)} of {len(ASKED)} obligations hold, for every number of ranks, counts and steps; "
        f"{FALSE} of {FALSE} false claims are refuted"
    )
    assert answer.code == 0


def test_the_json_document_holds_every_proof(rankproof: Callable[..., Any]) -> None:
    document = json.loads(rankproof("prove", "--format", "json").out)
    assert [proof["obligation"] for proof in document["proofs"]] == [each.name for each in ASKED]
    assert {"property", "says", "needs", "verdict", "seconds"} < set(document["proofs"][0])
    assert document["verdict"] == "holds"


@pytest.mark.parametrize(
    ("verdicts", "code", "last"),
    [
        ((Verdict.HOLDS, Verdict.VIOLATED, Verdict.UNDETERMINED), 1, "violated: 1 of 3 obligations hold"),
        ((Verdict.HOLDS, Verdict.UNDETERMINED), 3, "undetermined: 1 of 2 obligations hold"),
        ((), 3, "undetermined: 0 of 0 obligations hold"),
    ],
)
def test_what_is_not_proved_decides_the_exit_code(
    rankproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, verdicts: tuple[Verdict, ...], code: int, last: str
) -> None:
    monkeypatch.setattr(proving, "answers", answers(*verdicts))
    answer = rankproof("prove")
    assert answer.code == code
    assert answer.out.splitlines()[-1].startswith(last)


def test_an_obligation_that_does_not_hold_is_said_in_words(
    rankproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proving, "answers", answers(Verdict.VIOLATED))
    assert "    pops are the same" in rankproof("prove").out.splitlines()


@pytest.fixture
def one_obligation(monkeypatch: pytest.MonkeyPatch) -> str:
    """A catalogue of one obligation and one false claim, asked in this process."""
    monkeypatch.setattr(proving, "_ASKED", ASKED[:1])
    monkeypatch.setattr(proving, "FALSE_CLAIMS", FALSE_CLAIMS[:1])
    monkeypatch.setattr(proving, "answers", answered)
    monkeypatch.setattr(doubting, "OBLIGATIONS", ASKED[:1])
    return ASKED[0].name


@pytest.mark.usefixtures("one_obligation")
def test_a_false_claim_is_shown_with_the_words_that_refute_it(rankproof: Callable[..., Any]) -> None:
    (claim,) = json.loads(rankproof("prove", "--format", "json").out)["false_claims"]
    assert (claim["name"], claim["verdict"]) == ("false/negated-words", "holds")
    out = rankproof("prove").out
    assert re.search(r"false/negated-words +refuted\n", out)
    assert str(-(2**63)) in out


def test_which_claims_share_a_solver_s_context_depends_on_nothing_but_the_catalogue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Sequence[str]] = []

    def each(_: object, groups: Sequence[Sequence[str]], **__: object) -> Iterator[tuple[Proof, ...]]:
        asked.extend(groups)
        return iter(())

    monkeypatch.setattr(parallel, "each", each)
    names = [each.name for each in (*ASKED, *FALSE_CLAIMS)]
    assert list(proving.answers(names, cross_check=False)) == []
    assert [name for group in asked for name in group] == names
    assert {len(group) for group in asked[:-1]} == {proving.TOGETHER}


def test_a_false_claim_that_can_be_proved_is_a_violation(
    rankproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, one_obligation: str
) -> None:
    assert one_obligation
    monkeypatch.setattr(proving, "FALSE_CLAIMS", ASKED[1:2])
    monkeypatch.setitem(answered_module._FALSE, ASKED[1].name, ASKED[1])
    answer = rankproof("prove")
    assert re.search(r"round-invariant/step +PROVED\n", answer.out)
    assert answer.out.splitlines()[-1].endswith("0 of 1 false claims are refuted")
    assert answer.code == 1


@pytest.mark.usefixtures("one_obligation")
def test_a_cross_check_asks_the_second_solver_each_text(
    rankproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def second(text: str, timeout_s: float) -> tuple[Answer, Answer]:
        asked.append(text)
        return z3_answers_both(text, timeout_s)

    monkeypatch.setattr(prove_module, "cvc5_answers_both", second)
    document = json.loads(rankproof("prove", "--cross-check", "--format", "json").out)
    assert (document["solvers"], document["verdict"], len(asked)) == (["z3", "cvc5"], "holds", 2)
    assert [text.count("(check-sat)") for text in asked] == [2, 2]


def test_solvers_that_disagree_are_loud_and_undetermined(
    rankproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, one_obligation: str
) -> None:
    monkeypatch.setattr(prove_module, "cvc5_answers_both", lambda text, timeout_s: (Answer.SAT, Answer.SAT))
    answer = rankproof("prove", "--cross-check")
    assert "THE SOLVERS DISAGREE: z3 says unsat, cvc5 says sat" in " ".join(answer.out.split())
    assert answer.out.splitlines()[-1].endswith(f"; THE SOLVERS DISAGREE on {one_obligation}")
    assert answer.code == 3


def test_every_obligation_and_every_false_claim_is_written_with_the_answer_that_is_due(
    rankproof: Callable[..., Any], tmp_path: Path, one_obligation: str
) -> None:
    folder = tmp_path / "new" / "folder"
    answer = rankproof("prove", "--export", folder)
    written = sorted(folder.iterdir())
    assert len(written) == 2 * len(ASKED) + FALSE
    assert f"{len(written)} files written to {folder}; each says what a solver has to answer" in answer.out.splitlines()
    text = (folder / f"{one_obligation.replace('/', '.')}.smt2").read_text()
    assert z3_answers(text) is Answer.UNSAT
    assert "(set-info :status unsat)" in text


def test_an_export_that_cannot_be_written_is_said_before_any_proof(
    rankproof: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    answer = rankproof("prove", "--export", tmp_path / "file")
    assert (answer.code, answer.out) == (2, "")
    line = f"rankproof: {tmp_path}/file: this is a file, and a folder is needed to write into"
    assert answer.err.splitlines()[-1] == line


def test_seeds_report_the_worst_time_the_unknowns_and_the_control(
    rankproof: Callable[..., Any], one_obligation: str
) -> None:
    out = " ".join(rankproof("prove", "--seeds", 3).out.split())
    assert re.search(rf"{one_obligation} holds worst \d+ ms, control within \d+ ms 3 questions: worst \d+ ms ", out)
    assert "0 unknown; control: 0 of 1 changed their answer under one seed and order" in out
    document = json.loads(rankproof("prove", "--seeds", 3, "--format", "json").out)
    (sweep,) = document["sweeps"]
    assert (sweep["obligation"], sweep["answers"], sweep["control"]) == (one_obligation, {"unsat": 3}, {"unsat": 3})


@pytest.mark.usefixtures("one_obligation")
def test_an_unknown_under_another_seed_is_undetermined(
    rankproof: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unlucky(text: str, timeout_s: float, seed: int) -> Answer:
        return Answer.UNKNOWN if seed == 2 else z3_answers(text, timeout_s, seed)

    monkeypatch.setattr(stability, "z3_answers", unlucky)
    answer = rankproof("prove", "--seeds", 3)
    assert "1 unknown" in answer.out
    assert answer.code == 3


def test_a_witness_has_a_value_for_each_rank(rankproof: Callable[..., Any], one_obligation: str) -> None:
    lines = rankproof("prove", "--witness").out.splitlines()
    place = next(index for index, line in enumerate(lines) if one_obligation in line)
    assert lines[place + 1].startswith("    witness: ")
    (proof,) = json.loads(rankproof("prove", "--witness", "--format", "json").out)["proofs"]
    assert any(line.startswith("ranks = rank 0") for line in proof["witness"])


def test_what_is_about_bits_is_begun_first(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def nothing(*_: object, size: object) -> Iterator[Proof]:
        asked.append(size)
        return iter(())

    monkeypatch.setattr(parallel, "each", nothing)
    assert list(proving.answers(["named-divergence/words", "same-pops/step"], cross_check=False)) == []
    (size,) = asked
    assert size(["named-divergence/words"]) > size(["same-pops/step"])
