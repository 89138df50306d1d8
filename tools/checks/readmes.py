"""Checks that each folder with code has a README.md of 5 to 25 lines.

usage: readmes.py [ROOT]; one line per finding, exit 1 if there is one. The top README.md has its own limits. A README
may describe the folders below its folder in tests/ (tests/unit/vcs). C files that a README names must exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import source

CODE = (".c", ".h", ".py", ".pyi", ".cmake", ".txt")
SHORTEST, LONGEST = 5, 25
TOP_LINES, TOP_WORDS = 200, 1720  # of the top README.md


def code_folders(root: Path) -> dict[Path, list[str]]:
    """Folder relative to the root -> names of the code files that lie in it."""
    found: dict[Path, list[str]] = {}
    for path in source.files(root):
        if path.suffix in CODE or source.is_script(path):
            found.setdefault(path.parent.relative_to(root), []).append(path.name)
    return found


def check_length(root: Path, folder: Path) -> Iterator[str]:
    """Findings about the length of an existing README."""
    text = source.read(root / folder / "README.md")
    lines, words = len(text.splitlines()), len(text.split())
    longest = TOP_LINES if folder == Path(".") else LONGEST
    if not SHORTEST <= lines <= longest:
        yield f"{folder / 'README.md'}: has {lines} lines, {SHORTEST} to {longest} are wanted"
    if folder == Path(".") and words > TOP_WORDS:
        yield f"README.md: has {words} words, {TOP_WORDS} are allowed"


def check_names(root: Path) -> Iterator[str]:
    """Findings about C files that a README names but that do not exist."""
    present = {path.name for path in source.files(root, ".c")}
    for path in source.files(root, "README.md"):
        for name in re.findall(r"`(?:[\w.-]+/)*([\w-]+\.c)`", source.read(path)):
            if name not in present:
                yield f"{path.relative_to(root)}: there is no {name}"


def check(root: Path) -> Iterator[str]:
    """All findings."""
    yield from check_names(root)
    for folder in code_folders(root):
        if (root / folder / "README.md").is_file():
            yield from check_length(root, folder)
        elif not (len(folder.parts) > 2 and folder.parts[0] == "tests"):
            yield f"{folder}: has code and no README.md"
        elif not (root / folder.parent / "README.md").is_file():
            yield f"{folder}: has code and no README.md, nor has the folder above"


if __name__ == "__main__":
    source.run(check)
