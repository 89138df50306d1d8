"""Checks Python with ruff: the linter's rules and the format that pyproject.toml configures.

usage: python_style.py [ROOT]; ruff's findings, exit 1 if there is one, 77 without ruff, which is searched for in
build/tools/venv, where tools/check installs it, and on PATH.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import source


def ruff() -> str | None:
    """The program's path, or None."""
    private = source.ROOT / "build" / "tools" / "venv" / "bin" / "ruff"
    return str(private) if private.is_file() else shutil.which("ruff")


def check(root: Path) -> Iterator[str]:
    """All findings."""
    options = ["--no-cache", "--quiet", "--config", str(source.ROOT / "pyproject.toml")]
    for command in (["check", "--output-format", "concise"], ["format", "--check"]):
        run = subprocess.run(
            [str(ruff()), *command, *options, "."], cwd=root, capture_output=True, check=False, text=True
        )
        lines = run.stdout.splitlines()
        if run.returncode not in (0, 1) or (run.returncode and not lines):
            lines.append(f"ruff {command[0]} failed: {run.stderr.strip()[:300]}")
        yield from (line for line in lines if line.strip())


if __name__ == "__main__":
    if not ruff():
        source.skip("ruff is not installed: pip install ruff")
    source.run(check)
