"""Compares two diffs by what they make of a commit, not by how they are written.

A change is the set of files after a diff was applied: path -> (mode, blob id). Index lines, context
and hunk borders play no part; test files are left out on both sides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import trees

_TEST_NAME = re.compile(r"test_.*\.py|.*_test\.py|conftest\.py")
_SECTION = re.compile(rb"^(?=diff --git )", re.MULTILINE)
_HEADER_PATH = re.compile(rb"^(?:---|\+\+\+) [ab]/([^\t\n]+)", re.MULTILINE)
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")

Images = "dict[str, tuple[str, str]]"


@dataclass(frozen=True)
class Comparison:
    """`kind` is same, other or none (no change produced); `why` says more where not the same."""

    kind: str
    recorded_none: bool
    why: str


def is_test_file(path: str) -> bool:
    """A path part `test` or `tests`, or a file named `test_*.py`, `*_test.py`, `conftest.py`."""
    *folders, name = path.split("/")
    return (
        bool({"test", "tests"} & set(folders)) or _TEST_NAME.fullmatch(name) is not None
    )


def encoded(diff: str) -> bytes:
    """A diff read from JSON as bytes, with the final newline that git wants."""
    text = diff if not diff or diff.endswith("\n") else diff + "\n"
    return text.encode("utf-8", "surrogateescape")


def without_tests(diff: bytes) -> bytes:
    """The diff without its sections of test files.

    Recorded diffs may hold hunks that only apply to test files of a later commit.
    """
    kept = []
    for section in _SECTION.split(diff):
        header = section.split(b"\n@@ ", 1)[0]
        paths = _HEADER_PATH.findall(header)
        names = [path.decode("utf-8", "surrogateescape") for path in paths]
        if not any(is_test_file(name) for name in names):
            kept.append(section)
    return b"".join(kept)


def change_of(tree: Path, diff: bytes, ref: str = "base") -> Images:
    """The change a diff makes to `ref` of a tree, without test files. Errors: GitError."""
    diff = without_tests(diff)
    if not diff.strip():
        return {}
    images = trees.post_image(tree, ref, diff)
    return {path: image for path, image in images.items() if not is_test_file(path)}


def _first_line(tree: Path, ours: tuple[str, str], theirs: tuple[str, str]) -> str:
    """Where two contents of one file part for the first time: "line N", or what else differs."""
    if not ours[1] or not theirs[1]:
        return "one of them deletes it"
    if ours[1] == theirs[1]:
        return f"modes {ours[0]} and {theirs[0]}"
    text = trees.git(tree, "diff", "--no-ext-diff", "-U0", theirs[1], ours[1])
    hunk = _HUNK.search(text.decode("utf-8", "replace"))
    return f"line {hunk.group(1)}" if hunk else "binary content"


def difference(tree: Path, ours: Images, theirs: Images) -> str:
    """One line that says how two changes differ, or "" for equal ones."""
    parts = [f"{path} changed by ours only" for path in sorted(set(ours) - set(theirs))]
    parts += [
        f"{path} changed by the recorded only"
        for path in sorted(set(theirs) - set(ours))
    ]
    for path in sorted(set(ours) & set(theirs)):
        if ours[path] != theirs[path]:
            parts.append(
                f"{path} differs from {_first_line(tree, ours[path], theirs[path])}"
            )
    return "; ".join(parts)


def compare(
    tree: Path, produced: bytes, recorded: list[str], ref: str = "base"
) -> Comparison:
    """Compare a produced diff with the recorded applicable diffs, the last of which is final.

    A produced change that equals an earlier recorded one is `other`, and `why` names it.
    Errors: GitError where the produced diff or the final recorded one does not apply.
    """
    theirs = [change_of(tree, encoded(diff), ref) for diff in recorded[-1:]]
    none = not theirs or not theirs[0]
    ours = change_of(tree, produced, ref)
    if not ours:
        return Comparison("none", none, "" if none else "no change produced")
    if theirs and ours == theirs[0]:
        return Comparison("same", none, "")
    for number, diff in enumerate(recorded[:-1], 1):
        if ours == change_of(tree, encoded(diff), ref):
            count = len(recorded)
            return Comparison(
                "other", none, f"equals recorded diff {number} of {count}"
            )
    why = "the recorded run has no diff" if none else difference(tree, ours, theirs[0])
    return Comparison("other", none, why)
