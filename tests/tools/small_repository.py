"""Small git repositories for the tests of this folder."""

from __future__ import annotations

import subprocess
from pathlib import Path

SOURCE = "def half(n):\n    return n // 3\n\n\ndef name():\n    return 'x'\n"
TESTS = "import maths\n\n\ndef test_name():\n    assert maths.name() == 'x'\n"


def git(cwd: Path, *args: str) -> str:
    """Run git with a fixed identity; returns stdout."""
    who = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
    done = subprocess.run(["git", *who, *args], cwd=cwd, check=True, capture_output=True, text=True)
    return done.stdout


def make_repository(path: Path, files: dict[str, str]) -> Path:
    """A repository at `path` (its folders made) with one commit of these files; returns `path`."""
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    git(path, "init", "-q", "-b", "main")
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", "first")
    return path
