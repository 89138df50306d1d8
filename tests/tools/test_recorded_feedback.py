"""Tests of tools/recorded/replay_feedback.py: what is near a quote, and what a message shows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "recorded"))

import answered  # noqa: E402
import replay_feedback  # noqa: E402
from replay_feedback import Finder, Judged, Region  # noqa: E402
from small_repository import SOURCE, git, make_repository  # noqa: E402

SHOWN = "is this. maths.py, lines {}, in half:\n```\n{}```\nWhat differs:\n"


@pytest.fixture(name="files")
def fixture_files(tmp_path: Path) -> answered.Files:
    """The files of a commit with one module."""
    make_repository(tmp_path, {"maths.py": SOURCE})
    return answered.Files(tmp_path, git(tmp_path, "rev-parse", "HEAD").strip())


def test_near_code_is_found_in_the_named_file_and_in_others(
    files: answered.Files,
) -> None:
    """By likeness where the file is named, by a shared line where it is not."""
    near = Finder(files).best(["def half(m):", "return m // 3"], "maths.py")
    assert near and (near.path, near.first, near.last) == ("maths.py", 1, 2)
    other = Finder(files).best(["def half(n):", "return n // 2"], "")
    assert other and (other.path, other.first) == ("maths.py", 1)
    assert Finder(files).best(["def double(x):", "return x + x"], "maths.py") is None


def test_what_a_message_shows_is_compared_with_the_file(files: answered.Files) -> None:
    """The best region of the message; other code than the file's is an error."""
    message = SHOWN.format("1-2", "def half(n):\n    return n // 3\n")
    quote = ["def half(n):", "return n // 3"]
    shown = replay_feedback.shown_in(message, files, quote)
    assert shown == Region("maths.py", 1, 2, 1.0)
    wrong = SHOWN.format("1-2", "def half(n):\n    return n // 4\n")
    with pytest.raises(RuntimeError, match="other code"):
        replay_feedback.shown_in(wrong, files, ["def half(n):"])


def test_each_edit_has_its_part_of_the_message() -> None:
    """The part ends where that of the next edit begins."""
    message = "None.\n\nEdit 1 (a.py): no.\nmore\n\nEdit 12 (b.py): no.\nlast\n"
    assert replay_feedback.part_of(message, 1) == "a.py): no.\nmore\n\n"
    assert replay_feedback.part_of(message, 12) == "b.py): no.\nlast\n"
    assert replay_feedback.part_of(message, 2) == ""


def test_near_code_must_be_shown_as_near() -> None:
    """Lacking is what is less alike than the best by more than a margin, or not there."""
    there, worse = Region("a.py", 1, 2, 0.9), Region("a.py", 5, 6, 0.5)
    assert Judged("x", 1, "unmatched", there, there).kind == "shown"
    assert Judged("x", 1, "unmatched", there, worse).kind == "lacking"
    assert Judged("x", 1, "unmatched", there, None).kind == "lacking"
    assert Judged("x", 1, "unmatched", None, worse).kind == "none"
