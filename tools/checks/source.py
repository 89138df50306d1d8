"""What the checks share: which files there are, C text without its comments, and how findings are printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parents[2]

_IGNORED = {"build", "out", "__pycache__"}
_FOREIGN = {"fixtures", "cases", "corpus"}
_C_TOKEN = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)|(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""",
    re.DOTALL,
)


def files(root: Path, *suffixes: str, foreign: bool = False) -> Iterator[Path]:
    """The tree's files with one of the suffixes, sorted; all files without suffixes.

    Hidden folders and what a build writes are left out; so are fixtures, cases and corpora, which
    are material and not code of ours, unless `foreign`.
    """
    skipped = _IGNORED if foreign else _IGNORED | _FOREIGN
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in skipped and not f.startswith("."))
        for name in sorted(names):
            if not suffixes or name.endswith(suffixes):
                yield Path(folder, name)


def tracked(root: Path) -> list[Path]:
    """The files that git tracks; without a repository, all but hidden folders and what a build writes."""
    if not (root / ".git").exists():
        return list(files(root, foreign=True))
    command = ["git", "-C", str(root), "ls-files", "-z"]
    listed = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split("\0")
    return [root / name for name in listed if name and (root / name).is_file()]


def is_script(path: Path) -> bool:
    """Whether a file without suffix begins with #!."""
    if path.suffix:
        return False
    with open(path, "rb") as handle:
        return handle.read(2) == b"#!"


def read(path: Path) -> str:
    """A file's text; bytes that are no UTF-8 are replaced."""
    return path.read_text(encoding="utf-8", errors="replace")


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def without_comments(text: str) -> str:
    """C text with each comment blanked; every other character keeps its line and column."""
    return _C_TOKEN.sub(lambda m: _blank(m[0]) if m["comment"] else m[0], text)


def code_only(text: str) -> str:
    """C text with comments and the insides of strings and character constants blanked."""

    def blank(match: re.Match[str]) -> str:
        whole = match[0]
        return _blank(whole) if match["comment"] else whole[0] + _blank(whole[1:-1]) + whole[-1]

    return _C_TOKEN.sub(blank, text)


def line_of(text: str, offset: int) -> int:
    """The 1-based line of an offset."""
    return text.count("\n", 0, offset) + 1


def skip(reason: str) -> None:
    """End as a test that is skipped, with its reason."""
    print(f"skipped: {reason}")
    sys.exit(77)


def run(check: Callable[[Path], Iterator[str]]) -> None:
    """Run a check over the tree named by the first argument, or this one; exits 1 with findings."""
    root = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    found = sorted(set(check(root)))
    for finding in found:
        print(finding)
    sys.exit(1 if found else 0)
