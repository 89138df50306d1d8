"""Tests of tools/recorded/{answered,replay_answers}.py: facts of quotes, comparison, the table."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "recorded"))

import answered  # noqa: E402
import changes  # noqa: E402
import replay_answers  # noqa: E402
from small_repository import SOURCE, git, make_repository  # noqa: E402

EDIT = "<file>{}</file>\n<original>\n{}\n</original>\n<patched>\n{}\n</patched>\n"


@pytest.fixture(name="project")
def fixture_project(tmp_path: Path) -> Path:
    """A git repository with one commit."""
    return make_repository(tmp_path / "maths", {"lib/maths.py": SOURCE})


def files_of(project: Path) -> answered.Files:
    """The files of the project's commit."""
    return answered.Files(project, git(project, "rev-parse", "HEAD").strip())


def test_edits_of_test_files_are_left_out() -> None:
    """Only the group of the other file is left, with its quote as written."""
    text = EDIT.format("a.py", "x", "y") + EDIT.format("tests/a.py", "x", "y")
    assert answered.edits_of(text) == [answered.Edit("a.py", "\nx\n", "\ny\n")]


@pytest.mark.parametrize(
    ("quote", "places", "near", "elided"),
    [
        ("return n // 3", 1, True, False),
        ("  def half(n):  \n\treturn n // 3", 1, True, False),
        ("return n // 2", 0, True, False),
        ("def half(n):\n    ...\n    return 'x'", 0, True, True),
        ("class Other:\n    pass", 0, False, False),
        ("return", 0, False, False),
    ],
)
def test_facts_of_a_quote(project: Path, quote: str, places: int, near: bool, elided: bool) -> None:
    """Whole lines without outer blanks are counted; else the nearest window tells."""
    found = answered.quote_of(files_of(project), answered.Edit("maths.py", quote, "pass"))
    assert (found.path, found.places) == ("lib/maths.py", places)
    assert (found.near, found.elided) == (near, elided)


def test_left_out_lines_count_as_elided() -> None:
    """The quoted lines stand in the file in order, with others between them but not too many."""
    file = ["class A:", '"""Text."""', "", "x = 1", "y = 2"]
    assert answered.is_elided(file, ["class A:", "x = 1"])
    assert not answered.is_elided(file, ["x = 1", "class A:"])
    assert not answered.is_elided(["class A:", *[""] * 60, "x = 1"], ["class A:", "x = 1"])


def test_layout_is_told_from_meaning() -> None:
    """Blank lines and indentation that means nothing are layout; another block is not."""
    assert answered.same_but_layout("if a:\n  b()\n", "if a:\n\n    b()\n")
    assert not answered.same_but_layout("if a:\n  b()\nc()\n", "if a:\n  b()\n  c()\n")
    assert not answered.same_but_layout("a = 1\n", "a = 2\n")


def diff_of(project: Path, text: str) -> str:
    """The diff of another content of the file."""
    (project / "lib" / "maths.py").write_text(text)
    diff = git(project, "diff")
    git(project, "checkout", "-q", ".")
    return diff


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (SOURCE.replace("3", "2"), "same"),
        (SOURCE.replace("    return n // 3", "        return n // 2"), "layout"),
        (SOURCE.replace("3", "4"), "other"),
        (SOURCE, "refused"),
    ],
)
def test_kind_of_a_change(project: Path, text: str, kind: str) -> None:
    """Against a recorded diff: equal files, equal meaning, neither, or no diff at all."""
    then = diff_of(project, SOURCE.replace("3", "2"))
    recorded = replay_answers.Recorded("t", "r", 1, "", "APPLICABLE_PATCH", then)
    ours = changes.encoded(diff_of(project, text))
    assert replay_answers.change_kind(project, "HEAD", ours, recorded)[0] == kind


def test_table_counts_the_groups() -> None:
    """A same, a refused and a new answer, each in its line."""

    def row(status: str, kind: str, places: int) -> replay_answers.Replayed:
        quote = answered.Quote("a.py", places, 0.9, 1, False)
        recorded = replay_answers.Recorded("t", "r", 1, "", status, "")
        return replay_answers.Replayed(
            recorded, (quote,), kind, "", "S", "", "", ({"level": "exact", "status": "applied"},)
        )

    rows = [
        row("APPLICABLE_PATCH", "same", 1),
        row("APPLICABLE_PATCH", "refused", 1),
        row("RAW_PATCH_BUT_UNMATCHED", "new", 0),
    ]
    text = replay_answers.summary(rows)
    assert "| applicable then, one place each | 2 | 1 | 0 | 0 | 0 | 1 | 1 (50.0 %) |" in text
    assert "| unmatched then, code exists | 1 | 0 | 0 | 0 | 1 | 0 | 1 (100.0 %) |" in text
