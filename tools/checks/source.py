"""Functions for all checks: list files, remove comments from C text, and print findings."""

from __future__ import annotations

import ast
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
    """The tree's files with one of the suffixes, sorted; without suffixes, all files.

    Hidden folders and build results are omitted, and, unless `foreign`, fixtures, cases and corpora, because they are
    data and not our code.
    """
    skipped = _IGNORED if foreign else _IGNORED | _FOREIGN
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in skipped and not f.startswith("."))
        for name in sorted(names):
            if not suffixes or name.endswith(suffixes):
                yield Path(folder, name)


def tracked(root: Path) -> list[Path]:
    """The files that git tracks; without a repository, all files except hidden folders and build results."""
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
    """A file's text; bytes that are not UTF-8 are replaced."""
    return path.read_text(encoding="utf-8", errors="replace")


def statements(tree: ast.Module) -> list[ast.AST]:
    """The module, and all its statements, exception handlers and cases; ast.walk also visits every expression."""
    found: list[ast.AST] = [tree]
    for node in found:
        for part in ("body", "handlers", "orelse", "finalbody", "cases"):
            found += getattr(node, part, ())
    return found


def blank(text: str) -> str:
    """As many blanks, with the same line ends."""
    return "\n".join([" " * len(line) for line in text.split("\n")])


def without_comments(text: str) -> str:
    """C text with comments replaced by blanks; all other characters keep their line and column."""
    return _C_TOKEN.sub(lambda m: blank(m[0]) if m["comment"] else m[0], text)


def code_only(text: str) -> str:
    """C text with comments and the contents of strings and character constants replaced by blanks."""

    def without_words(match: re.Match[str]) -> str:
        whole = match[0]
        return blank(whole) if match["comment"] else whole[0] + blank(whole[1:-1]) + whole[-1]

    return _C_TOKEN.sub(without_words, text)


def line_of(text: str, offset: int) -> int:
    """The 1-based line of an offset."""
    return text.count("\n", 0, offset) + 1


def skip(reason: str) -> None:
    """Exit as a skipped test, with this reason."""
    print(f"skipped: {reason}")
    sys.exit(77)


def run(check: Callable[[Path], Iterator[str]]) -> None:
    """Run a check on the tree named by the first argument, or on this tree; exit with 1 if there are findings."""
    root = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    found = sorted(set(check(root)))
    for finding in found:
        print(finding)
    sys.exit(1 if found else 0)
