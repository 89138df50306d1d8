"""Tests of tools/release without building: what it would release, and when it refuses."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHANGES = "# Changes\n\n## Unreleased\n\n- New.\n\n## 0.1.0 (2020-01-01)\n\n- Old.\n"


def git(tree: Path, *words: str) -> None:
    """Run git with a fixed identity, without the user's settings."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(tree), *identity, *words], check=True, capture_output=True)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with the script, a changelog, and one release."""
    shutil.copytree(ROOT / "tools" / "lib", tmp_path / "tools" / "lib", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "tools" / "release", tmp_path / "tools")
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "All")
    git(tmp_path, "tag", "-am", "first", "v0.1.0")
    return tmp_path


def release(tree: Path, *words: str) -> tuple[int, str]:
    """Exit code and output of the script."""
    done = subprocess.run([str(tree / "tools" / "release"), *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_dry_run_shows_the_new_changes_alone(tree: Path) -> None:
    code, text = release(tree, "--dry-run", "0.2.0")
    assert code == 0 and "- New." in text and "- Old." not in text


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--dry-run", "0.1.0"], "exists"),
        (["--dry-run", "0.0.9"], "below the newest"),
        (["--dry-run", "two"], "usage"),
        ([], "usage"),
    ],
)
def test_a_version_that_cannot_be_next_is_refused(tree: Path, words: list[str], why: str) -> None:
    code, text = release(tree, *words)
    assert code != 0 and why in text


def test_a_changed_checkout_is_refused(tree: Path) -> None:
    (tree / "CHANGELOG.md").write_text(CHANGES + "\n")
    code, text = release(tree, "--dry-run", "0.2.0")
    assert code == 1 and "has changes" in text


def test_without_changes_there_is_no_release(tree: Path) -> None:
    (tree / "CHANGELOG.md").write_text("# Changes\n\n## Unreleased\n\n## 0.1.0 (2020-01-01)\n\n- Old.\n")
    git(tree, "commit", "-qam", "Nothing new")
    code, text = release(tree, "--dry-run", "0.2.0")
    assert code == 1 and "says nothing" in text
