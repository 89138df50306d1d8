#!/usr/bin/env python3
"""Replay the recorded answers through `acr-host patch` and judge the feedback on refused edits.

For each refused edit the code most like its quote is looked for without the program: every window
of the named file, and of each file of the commit that has a third of the quote's lines, is compared
by difflib. Where one is at least 0.8 alike, the message must show a place that is as alike, with
its file and lines. Prints markdown: the counts, then every edit whose message lacks it. Exit 0 if
none does.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import answered
import replay_answers
import report
import tasks
import trees
from answered import Edit, Files
from replay_answers import Replayed
from tasks import Places

NEAR = 0.8
MARGIN = 0.05
REFUSED = ("unmatched", "ambiguous", "no_file", "overlap", "empty_original")
_SHOWN = re.compile(
    r"(?:^|\s)(\S+\.\w+), lines (\d+)-(\d+)[^\n]*:\n```\n(.*?)```", re.DOTALL
)


@dataclass(frozen=True)
class Region:
    """Lines of a file, 1-based and inclusive, and how alike they are to a quote."""

    path: str
    first: int
    last: int
    ratio: float

    def __str__(self) -> str:
        return f"{self.path}:{self.first}-{self.last} ({self.ratio:.2f})"


@dataclass(frozen=True)
class Judged:
    """One refused edit: the best region there is, and the best one that the message shows."""

    answer: str
    number: int
    status: str
    there: Region | None
    shown: Region | None

    @property
    def kind(self) -> str:
        """`shown`, `lacking`, or `none` where nothing is near the quote."""
        if self.there is None:
            return "none"
        ok = self.shown and self.shown.ratio >= self.there.ratio - MARGIN
        return "shown" if ok else "lacking"


def lines_of(files: Files, path: str) -> list[str]:
    """The lines of a file without outer blanks. Errors: GitError."""
    return [line.strip() for line in files.text(path).splitlines()]


class Finder:
    """Looks for code in one commit, by the lines that files share with a quote."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.paths = [path for path in files.names() if path.endswith(".py")]
        self.having: dict[str, set[int]] = {}
        for number, path in enumerate(self.paths):
            for line in set(lines_of(files, path)):
                self.having.setdefault(line, set()).add(number)

    def candidates(self, quote: list[str], named: str) -> list[str]:
        """The named file, and those with a third of the quote's lines."""
        lines = {line for line in quote if len(line) > 3}
        counts: Counter[int] = Counter()
        for line in lines:
            counts.update(self.having.get(line, ()))
        most = [(i, n) for i, n in counts.most_common(40) if 3 * n >= len(lines)]
        found = [self.paths[i] for i, _ in most]
        return list(dict.fromkeys(([named] if named else []) + found))

    def best(self, quote: list[str], named: str) -> Region | None:
        """The region most like the quote, if it is at least NEAR. Errors: GitError."""
        best = None
        for path in self.candidates(quote, named):
            ratio, line = answered.best_window(lines_of(self.files, path), quote)
            if ratio >= NEAR and (best is None or ratio > best.ratio):
                best = Region(path, line, line + len(quote) - 1, ratio)
        return best


def shown_in(message: str, files: Files, quote: list[str]) -> Region | None:
    """The region of the message most like the quote; its code must be that of the file."""
    best = None
    for path, first, last, code in _SHOWN.findall(message):
        if path not in files.names():
            continue
        real = lines_of(files, path)[int(first) - 1 : int(last)]
        shown = [line.strip() for line in code.splitlines()]
        if shown != real[: len(shown)]:
            raise RuntimeError(f"the message shows other code than {path} has at {first}")
        ratio, line = answered.best_window(shown, quote)
        if best is None or ratio > best.ratio:
            best = Region(path, int(first) + line - 1, int(last), ratio)
    return best


def part_of(message: str, number: int) -> str:
    """What the message says of one edit."""
    parts = re.split(r"^Edit (\d+) \(", message, flags=re.MULTILINE)
    texts = {int(n): text for n, text in zip(parts[1::2], parts[2::2])}
    return texts.get(number, "")


def judge(
    row: Replayed, edits: list[Edit], files: Files, finder: Finder
) -> list[Judged]:
    """The refused edits of one answer. Errors: GitError, RuntimeError."""
    judged = []
    for number, (edit, outcome) in enumerate(zip(edits, row.edits), 1):
        quote = answered.bare_lines(edit.original)
        if outcome["status"] not in REFUSED or not quote:
            continue
        there = finder.best(quote, files.find(edit.file))
        shown = shown_in(part_of(row.message, number), files, quote)
        name, status = row.recorded.name, outcome["status"]
        judged.append(Judged(name, number, status, there, shown))
    return judged


def _all_edits(answer: str) -> list[Edit]:
    found = answered.GROUP.finditer(answer)
    return [Edit(m["file"].strip(), m["original"], m["patched"]) for m in found]


def judge_task(
    rows: list[Replayed], files: Files
) -> tuple[list[Judged], list[str]]:
    """The refused edits of a task, and the answers whose edits this tool reads otherwise."""
    finder, judged, unread = None, [], []
    for row in rows:
        edits = _all_edits(row.recorded.response)
        if not any(edit["status"] in REFUSED for edit in row.edits):
            continue
        if len(edits) != len(row.edits):
            unread.append(row.recorded.name)
            continue
        finder = finder or Finder(files)
        judged += judge(row, edits, files, finder)
    return judged, unread


def summary(judged: list[Judged], unread: list[str], rows: list[Replayed]) -> str:
    """The counts, and what is lacking."""
    kinds: dict[str, Counter[str]] = {}
    for each in judged:
        kinds.setdefault(each.status, Counter())[each.kind] += 1
    heads = ["refused edits", "code is near", "shown", "lacking", "no such code"]
    lines: list[list[Any]] = [
        [status, n["shown"] + n["lacking"], n["shown"], n["lacking"], n["none"]]
        for status, n in sorted(kinds.items())
    ]
    parts = [report.table(heads, lines)]
    rest = [j for j in judged if j.kind == "lacking"]
    lacking = [[j.answer, j.number, j.there, j.shown] for j in rest]
    if lacking:
        parts.append(report.table(["answer", "edit", "is there", "is shown"], lacking))
    if unread:
        parts.append("Edits that this tool reads otherwise: " + ", ".join(unread))
    sizes = sorted(len(row.message.encode()) for row in rows if row.message)
    if sizes:
        middle = sizes[len(sizes) // 2]
        parts.append(f"{len(sizes)} messages: median {middle} bytes, most {sizes[-1]}")
    return "\n\n".join(parts)


def run(args: argparse.Namespace, places: Places) -> tuple[list[Judged], str]:
    """Replay and judge all. Errors: DataError, GitError, RuntimeError."""
    known = tasks.load_tasks(places)
    rows = replay_answers.replay_all(args, places)
    judged, unread = [], []
    for name in dict.fromkeys(row.recorded.instance_id for row in rows):
        tree = places.work / "answers" / name / "objects"
        files = Files(tree, known[name].base_commit)
        of_task = [row for row in rows if row.recorded.instance_id == name]
        more, others = judge_task(of_task, files)
        judged += more
        unread += others
    return judged, summary(judged, unread, rows)


def main() -> int:
    """Exit 0 if no message lacks near code, 1 if one does, 2 if the answers were not replayed."""
    args = replay_answers.options(__doc__ or "")
    try:
        places = tasks.places_of(args)
        judged, text = run(args, places)
    except (tasks.DataError, trees.GitError, RuntimeError) as error:
        print(f"replay_feedback: {error}", file=sys.stderr)
        return 2
    out = args.results or places.work / "results-feedback.jsonl"
    with Path(out).open("w", encoding="utf-8") as lines:
        for each in judged:
            lines.write(json.dumps(asdict(each) | {"kind": each.kind}) + "\n")
    print(text)
    return 1 if any(each.kind == "lacking" for each in judged) else 0


if __name__ == "__main__":
    sys.exit(main())
