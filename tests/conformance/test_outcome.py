"""What a failed rank wrote is shown with the files that a person opens."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankproof.conformance.outcome import Died, Hung, Ok, Outcome, Raised, as_opened, where

WORDS = 'Traceback (most recent call last):\n  File "{}", line 3, in step\n    count()\nValueError: no\n'


def test_a_link_is_named_by_the_file_that_it_leads_to(tmp_path: Path) -> None:
    source, link = tmp_path / "engine.py", tmp_path / "build" / "engine.py"
    link.parent.mkdir()
    link.symlink_to(source)
    assert as_opened(WORDS.format(link)) == WORDS.format(source)


def test_a_file_below_the_working_directory_is_named_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert as_opened(WORDS.format(tmp_path / "src" / "engine.py")) == WORDS.format("src/engine.py")
    assert as_opened(WORDS.format(f"{tmp_path}-2/engine.py")) == WORDS.format(f"{tmp_path}-2/engine.py")


@pytest.mark.parametrize("name", ["<string>", "engine.py", "<frozen importlib._bootstrap>"])
def test_what_is_no_path_stays_as_it_is(name: str) -> None:
    assert as_opened(WORDS.format(name)) == WORDS.format(name)


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Raised("ValueError", "no", WORDS.format("a.py")), 'File "a.py", line 3, in step'),
        (Raised("ValueError", "no"), ""),
        (Died(-6, "what(): sizes differ\n\nExtension modules: torch"), "what(): sizes differ"),
        (Hung(1.0, '  File "/usr/lib/a.py", line 3 in step\n'), 'File "/usr/lib/a.py", line 3 in step'),
        (Ok(), ""),
    ],
)
def test_where_a_rank_failed_is_the_line_that_raised_or_the_last_that_it_wrote(outcome: Outcome, words: str) -> None:
    assert where(outcome) == words
