"""Checks that C has the format of .clang-format.

usage: c_style.py [ROOT]; one line per file, exit 1 if there is one, 77 without clang-format 14 (other versions format
differently).
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import source

VERSION = "14"
_PORTION = 40  # files per process


def clang_format() -> str | None:
    """The formatter of that version, or None."""
    for name in (f"clang-format-{VERSION}", "clang-format"):
        program = shutil.which(name)
        if program:
            said = subprocess.run([program, "--version"], capture_output=True, check=False, text=True).stdout
            if re.search(rf"version {VERSION}\.", said):
                return program
    return None


def check(root: Path) -> Iterator[str]:
    """All findings: for each file the first line that would change."""
    paths = [str(path) for path in source.files(root, ".c", ".h")]
    portions = [paths[at : at + _PORTION] for at in range(0, len(paths), _PORTION)]
    command = [clang_format() or "clang-format", "--style=file", "--dry-run"]
    with ThreadPoolExecutor(2) as pool:
        runs = pool.map(
            lambda some: subprocess.run(command + some, capture_output=True, check=False, text=True), portions
        )
        said = "".join(run.stderr for run in runs)
    first: dict[str, str] = {}
    for path, line in re.findall(r"^(/[^:\n]+):(\d+):\d+: (?:warning|error):", said, re.MULTILINE):
        first.setdefault(path, line)
    for path, line in first.items():
        yield f"{Path(path).relative_to(root)}:{line}: clang-format would change this line; clang-format -i does it"


if __name__ == "__main__":
    if not clang_format():
        source.skip(f"clang-format {VERSION} is not installed")
    source.run(check)
