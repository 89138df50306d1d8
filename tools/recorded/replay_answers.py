#!/usr/bin/env python3
"""Replay the recorded answers with edits through `acr-host patch` and compare the changes.

Each task is one process on the task's commit, its answers as files. Of the answers that were
applicable then and whose every edit of a non-test file has one place in the file named, it counts
how many make the same change now; of those that did not match then although the quoted code exists,
how many are applicable now. Prints markdown: the totals, then every answer that is not the same.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import answered
import changes
import report
import tasks
import trees
from answered import Files, Quote
from host import Host
from tasks import APPLICABLE, Places, Run, Task

UNMATCHED = "RAW_PATCH_BUT_UNMATCHED"
SAME, LAYOUT, OTHER, REFUSED, NEW = "same", "layout", "other", "refused", "new"
KINDS = (SAME, LAYOUT, OTHER, NEW, REFUSED)


@dataclass(frozen=True)
class Recorded:
    """One answer with edits: whose, which of the run's (from 1), and what was made of it then."""

    instance_id: str
    run: str
    number: int
    response: str
    status: str
    diff: str

    @property
    def name(self) -> str:
        """A short name, also that of its file."""
        return f"{self.instance_id}.{self.run}.{self.number}"


@dataclass(frozen=True)
class Replayed:
    """One answer, the facts of its quotes, and what is made of it now."""

    recorded: Recorded
    quotes: tuple[Quote, ...]
    kind: str
    why: str
    status: str
    message: str
    diff: str
    edits: tuple[dict[str, Any], ...]

    @property
    def one_place(self) -> bool:
        """Whether every non-test edit is complete and has exactly one place."""
        whole = not answered.is_cut(self.recorded.response)
        return whole and bool(self.quotes) and all(q.places == 1 for q in self.quotes)

    @property
    def near(self) -> bool:
        """Whether the code that every non-test edit quotes exists in the named file."""
        return bool(self.quotes) and all(q.near for q in self.quotes)

    @property
    def levels(self) -> str:
        """How the edits matched."""
        return " ".join(edit["level"] for edit in self.edits)


def change_kind(
    tree: Path, commit: str, ours: bytes, recorded: Recorded
) -> tuple[str, str]:
    """(kind, how it differs) of our diff against the recorded one. Errors: GitError."""
    if recorded.status != APPLICABLE:
        return (NEW, "") if ours else (REFUSED, "")
    if not ours:
        return REFUSED, ""
    now = changes.change_of(tree, ours, commit)
    then = changes.change_of(tree, changes.encoded(recorded.diff), commit)
    if now == then:
        return SAME, ""
    why = changes.difference(tree, now, then)
    same_files = set(now) == set(then)
    if same_files and all(_layout(tree, now[path][1], then[path][1]) for path in now):
        return LAYOUT, why
    return OTHER, why


def _layout(tree: Path, ours: str, theirs: str) -> bool:
    texts = [
        trees.git(tree, "cat-file", "blob", blob).decode("utf-8", "replace")
        for blob in (ours, theirs)
        if blob
    ]
    return len(texts) == 2 and answered.same_but_layout(*texts)


def patched(
    driver: Host, repository: Path, commit: str, folder: Path, answers: list[Recorded]
) -> list[dict[str, Any]]:
    """The program's results, one an answer. Errors: RuntimeError."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{answer.name}.md" for answer in answers]
    for answer, file in zip(answers, files):
        file.write_bytes(answer.response.encode("utf-8", "surrogateescape"))
    arguments = ["patch", "--json", "--repo", str(repository), "--rev", commit]
    return driver.rows([*arguments, *map(str, files)], len(answers))


def replay_task(
    driver: Host, places: Places, task: Task, answers: list[Recorded]
) -> list[Replayed]:
    """Replay the answers of one task. Errors: GitError, RuntimeError."""
    repository = tasks.repository_of(places, task)
    if repository is None:
        return []
    tree = places.work / "answers" / task.instance_id / "objects"
    if not tree.is_dir():
        trees.borrow(repository, tree)
    files = Files(tree, task.base_commit)
    rows = patched(driver, repository, task.base_commit, tree.parent, answers)
    return [
        judge(tree, task.base_commit, files, answer, row)
        for answer, row in zip(answers, rows)
    ]


def judge(
    tree: Path, commit: str, files: Files, answer: Recorded, row: dict[str, Any]
) -> Replayed:
    """Put what the program made of one answer beside what was made of it then. Errors: GitError."""
    diff = changes.encoded(row["diff"] or "")
    kind, why = change_kind(tree, commit, diff, answer)
    quotes = tuple(
        answered.quote_of(files, edit) for edit in answered.edits_of(answer.response)
    )
    return Replayed(
        recorded=answer,
        quotes=quotes,
        kind=kind,
        why=why,
        status=row["status"],
        message=row["message"] or "",
        diff=row["diff"] or "",
        edits=tuple(row["edits"]),
    )


def _groups(rows: list[Replayed]) -> list[tuple[str, list[Replayed], str]]:
    then = [r for r in rows if r.recorded.status == APPLICABLE]
    missed = [r for r in rows if r.recorded.status == UNMATCHED]
    rest = [r for r in rows if r.recorded.status not in (APPLICABLE, UNMATCHED)]
    return [
        (
            "applicable then, one place each",
            [r for r in then if r.one_place],
            "kept >= 99 %",
        ),
        ("applicable then, others", [r for r in then if not r.one_place], "judged"),
        ("unmatched then, code exists", [r for r in missed if r.near], "new >= 60 %"),
        ("unmatched then, others", [r for r in missed if not r.near], "-"),
        ("neither then", rest, "-"),
    ]


def _ratios(row: Replayed) -> str:
    cells = [
        f"{q.places} places" if q.places else "elided" if q.elided else f"{q.ratio:.2f}"
        for q in row.quotes
    ]
    return ", ".join(cells)


def _line(row: Replayed) -> list[Any]:
    failed = [e for e in row.edits if e["status"] not in ("applied", "dropped_test")]
    state = ", ".join(sorted({e["status"] for e in failed})) or row.status
    what = row.why or (state if row.kind == REFUSED else "")
    return [row.recorded.name, _ratios(row), row.kind, row.levels, what]


def summary(rows: list[Replayed]) -> str:
    """The totals, then one table a group of the answers whose change is not the same."""
    groups = _groups(rows)
    heads = ["answers", "number", *KINDS, "kept or new", "target"]
    lines = []
    for name, group, target in groups:
        kinds = Counter(row.kind for row in group)
        good = kinds[SAME] + kinds[LAYOUT] + kinds[NEW]
        share = report.percent(good, len(group))
        lines.append(
            [name, len(group), *(kinds[k] for k in KINDS), f"{good} ({share})", target]
        )
    parts = [report.table(heads, lines)]
    for name, group, _ in groups:
        rest = [_line(row) for row in group if row.kind != SAME]
        if rest:
            heads = ["answer", "its quotes", "now", "levels", "what differs"]
            parts += [f"Not the same, {name}:", report.table(heads, rest)]
    return "\n\n".join(parts)


def _answers(runs: list[Run], rows: list[dict[str, Any]]) -> dict[str, list[Recorded]]:
    grouped: dict[str, list[Recorded]] = {}
    for run, row in zip(runs, rows):
        for number, patch in enumerate(row["patches"], 1):
            status, diff = run.patches[number - 1]
            text = patch["response"] or ""
            found = Recorded(run.instance_id, run.run, number, text, status, diff)
            grouped.setdefault(run.instance_id, []).append(found)
    return grouped


def replay_all(args: argparse.Namespace, places: Places) -> list[Replayed]:
    """Replay every chosen task, `jobs` at a time. Errors: DataError, GitError, RuntimeError."""
    known = tasks.load_tasks(places)
    grouped = _answers(tasks.load_runs(places), tasks.raw_runs(places))
    chosen = [i for i in grouped if not args.instance or i in args.instance]
    driver = Host(args.binary.resolve(), args.timeout, places.work / "cache")
    with ThreadPoolExecutor(places.jobs) as pool:
        done = pool.map(
            lambda i: replay_task(driver, places, known[i], grouped[i]), chosen
        )
        return [row for rows in done for row in rows]


def options(doc: str) -> argparse.Namespace:
    """The options of a tool that replays the answers, described by the first line of `doc`."""
    return tasks.replay_parser(doc, 300, "a task's answers").parse_args()


def main() -> int:
    """Exit 0 if the tables were printed, whatever they say; 2 if the answers were not replayed."""
    args = options(__doc__ or "")
    try:
        places = tasks.places_of(args)
        rows = replay_all(args, places)
    except (tasks.DataError, trees.GitError, RuntimeError) as error:
        print(f"replay_answers: {error}", file=sys.stderr)
        return 2
    out = args.results or places.work / "results-answers.jsonl"
    with out.open("w", encoding="utf-8") as lines:
        for row in rows:
            lines.write(json.dumps(asdict(row)) + "\n")
    print(summary(rows))
    print(f"\nresults: {out}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
