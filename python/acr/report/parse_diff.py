"""A unified diff as files, hunks and lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from acr.report.plain import text_of

_MAX_DIFF = 4_000_000  # maximum characters of a diff whose lines are counted
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(.*)")


@dataclass
class Hunk:
    """A hunk; each of `lines` begins with its mark (" ", "-", "+", "\\")."""

    old: int
    new: int
    title: str
    lines: list[str] = field(default_factory=list)


@dataclass
class FileDiff:
    """Paths without a/ and b/; None: the file does not exist on that side."""

    old: str | None
    new: str | None
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def path(self) -> str:
        return self.new or self.old or "?"

    def count_lines(self, mark: str) -> int:
        """How many lines are added ("+") or removed ("-")."""
        return sum(line.startswith(mark) for hunk in self.hunks for line in hunk.lines)


def _path(line: str, side: str) -> str | None:
    name = line[4:].split("\t")[0].strip('"')
    return None if name == "/dev/null" else name.removeprefix(side)


def parse(diff: str) -> list[FileDiff]:
    """The files of a diff. Lines that do not belong to a diff are skipped."""
    files: list[FileDiff] = []
    lines = diff.split("\n")
    at, left = 0, [0, 0]
    while at < len(lines):
        line = lines[at]
        at += 1
        if files and files[-1].hunks and (left[0] > 0 or left[1] > 0 or line.startswith("\\")) and line[:1] in " -+\\":
            files[-1].hunks[-1].lines.append(line or " ")
            left[0] -= line[:1] in " -" and not line.startswith("\\")
            left[1] -= line[:1] in " +" and not line.startswith("\\")
        elif line.startswith("diff --git "):  # an empty or renamed file has nothing else
            path = line.rpartition(" b/")[2]
            files.append(FileDiff(path, path))
        elif line.startswith("--- ") and at < len(lines) and lines[at].startswith("+++ "):
            found_file = FileDiff(_path(line, "a/"), _path(lines[at], "b/"))
            if files and not files[-1].hunks and files[-1].path == found_file.path:
                files.pop()
            files.append(found_file)
            at += 1
        elif files and (found := _HUNK.match(line)):
            left = [int(found[2] or 1), int(found[4] or 1)]
            files[-1].hunks.append(Hunk(int(found[1]), int(found[3]), found[5].strip()))
    return files


def count_changed(diff: object) -> tuple[int, int]:
    """How many lines a diff, such as one in foreign JSON, adds and removes."""
    files = parse(text_of(diff, _MAX_DIFF))
    return sum(file.count_lines("+") for file in files), sum(file.count_lines("-") for file in files)


@dataclass(frozen=True)
class Change:
    """Lines `first` to `last` of the old file (`last` is `first` - 1 if none is removed) become `text`."""

    first: int
    last: int
    text: str
    ends_file: bool  # the last removed line has no line feed


def changes(file: FileDiff) -> list[Change]:
    """The replacements of a file, in order."""
    found: list[Change] = []
    for hunk in file.hunks:
        at = hunk.old + (1 if hunk.old == 0 else 0)
        first, removed, added, ends = at, 0, "", False
        for line in [*hunk.lines, " "]:
            mark, rest = line[:1], line[1:] + "\n"
            if mark == "-":
                removed, ends = removed + 1, False
            elif mark == "+":
                added += rest
            elif mark == "\\":
                ends = ends or removed > 0
                added = added.removesuffix("\n") if added else added
            else:
                if removed or added:
                    found.append(Change(first, first + removed - 1, added, ends))
                first, removed, added, ends = first + removed + 1, 0, "", False
    return found
