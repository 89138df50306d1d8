#!/usr/bin/env python3
"""Replay recorded model runs through acr-host and compare the diffs with the recorded ones.

Each run becomes a script; `acr-host run` works on the recorded commit. Results go to a JSON lines
file (one object a run), a markdown summary to stdout. --properties checks each diff against git and
`acr-host replay`; --expect uses scripts that say what each request must hold; --grade runs the
projects' own tests on the diffs of the runs that resolved their issue when they were recorded.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import changes
import grade
import host
import report
import tasks
import trees
from host import Host, Outcome
from tasks import Places, Run, Task


@dataclass(frozen=True)
class Plan:
    """What is asked of every run."""

    places: Places
    host: Host
    expect: bool
    properties: bool
    validated: bool

    @property
    def mode(self) -> str:
        """The name of this plan's run folders and results."""
        return ("strict" if self.expect else "plain") + ("-validated" if self.validated else "")


def scratch_tree(places: Places, repository: Path, task: Task) -> Path:
    """The work tree of the task's commit, made once. Errors: GitError."""
    path = places.work / "scratch" / f"{task.repo.replace('/', '+')}-{task.base_commit[:12]}"
    with trees.locked(path):
        trees.make_tree(repository, task.base_commit, path)
    return path


def check_diff(tree: Path, patch: bytes) -> str:
    """Whether git applies a diff to the tree and prints the same bytes; "" or what is wrong."""
    with trees.locked(tree):
        trees.reset_tree(tree)
        try:
            trees.git(tree, "apply", "--check", "-", stdin=patch)
            trees.git(tree, "apply", "-", stdin=patch)
            trees.git(tree, "add", "-A", "-N")
            printed = trees.git(tree, "diff", "--full-index")
        except trees.GitError as error:
            return f"git apply: {error}"
        finally:
            trees.reset_tree(tree)
    return "" if printed == patch else first_difference("git diff", printed, patch)


def first_difference(name: str, theirs: bytes, ours: bytes) -> str:
    """One line that names the first line in which two texts differ."""
    pairs = zip(theirs.split(b"\n"), ours.split(b"\n"))
    for number, (a, b) in enumerate(pairs, 1):
        if a != b:
            return f"{name} differs in line {number}: {a[:80]!r}, ours {b[:80]!r}"
    return f"{name} has {len(theirs)} bytes, ours {len(ours)}"


def check_replay(plan: Plan, folder: Path, patch: bytes, code: int | None) -> str:
    """Whether `replay`, without script and network, prints the same; "" or what is wrong."""
    (folder / "script.jsonl").unlink(missing_ok=True)
    again = plan.host.call(["replay", str(folder / "out")], offline=True)
    if again.exit != code:
        return f"replay exits {again.exit}, the run {code}: {again.stderr_tail[-200:]}"
    if again.stdout != patch:
        return first_difference("replay", again.stdout, patch)
    after = host.patch_of(folder)
    return "" if after == patch else first_difference("patch.diff after replay", after, patch)


def properties(plan: Plan, tree: Path, folder: Path, outcome: Outcome) -> dict[str, str]:
    """Each property's name -> "" where it holds, else one line."""
    patch = host.patch_of(folder)
    found = {"replay": check_replay(plan, folder, patch, outcome.exit)}
    if patch:
        found["git"] = check_diff(tree, patch)
        if outcome.stdout != patch:
            found["stdout"] = first_difference("stdout", outcome.stdout, patch)
    return found


def compared(tree: Path, patch: bytes, run: Run) -> dict[str, Any]:
    """The comparison with the recorded diffs as fields of the result."""
    try:
        result = changes.compare(tree, patch, run.applicable)
    except trees.GitError as error:
        return {
            "kind": "other",
            "recorded_none": not run.final_diff,
            "why": f"git: {error}",
        }
    return {
        "kind": result.kind,
        "recorded_none": result.recorded_none,
        "why": result.why,
    }


def described(plan: Plan, folder: Path, outcome: Outcome) -> dict[str, Any]:
    """How the program ended and what it said, as fields of the result."""
    return {
        "exit": outcome.exit,
        "seconds": round(outcome.seconds, 3),
        "stderr_tail": outcome.stderr_tail,
        "unmet": outcome.unmet if plan.expect else "",
        "reason": host.reason(folder, outcome),
        "statuses": host.extract_statuses(folder)[0],
        "patch": host.patch_of(folder).decode("utf-8", "surrogateescape"),
    }


def replay_one(plan: Plan, task: Task, run: Run) -> dict[str, Any]:
    """Replay one run; returns its result object (fields: see README.md)."""
    row: dict[str, Any] = {"instance_id": run.instance_id, "run": run.run}
    row |= {"repo": task.repo, "mode": plan.mode, "recorded_resolved": run.resolved}
    row["recorded_statuses"] = [status for status, _ in run.patches]
    repository = tasks.repository_of(plan.places, task)
    if repository is None:
        return row | {"kind": "no repository"}
    folder = plan.places.work / "runs" / plan.mode / run.instance_id / run.run
    try:
        tree = scratch_tree(plan.places, repository, task)
        host.write_inputs(plan.places, task, run, folder, plan.expect, plan.validated)
        outcome = plan.host.call(host.run_arguments(repository, task, folder))
    except (trees.GitError, OSError, subprocess.CalledProcessError) as error:
        return row | {"kind": "not run", "why": str(error)}
    row |= described(plan, folder, outcome)
    row |= compared(tree, host.patch_of(folder), run)
    if plan.properties and outcome.exit in (0, 1):
        row["properties"] = properties(plan, tree, folder, outcome)
    return row


def replay_all(plan: Plan, known: dict[str, Task], runs: list[Run], out: Path) -> list[dict]:
    """Replay runs, `jobs` at a time; each result is appended to `out` as soon as it is there."""
    rows = []
    with (
        out.open("w", encoding="utf-8") as lines,
        ThreadPoolExecutor(plan.places.jobs) as pool,
    ):
        for row in pool.map(lambda r: replay_one(plan, known[r.instance_id], r), runs):
            lines.write(json.dumps(row) + "\n")
            lines.flush()
            rows.append(row)
            print(report.progress_line(len(rows), len(runs), row), file=sys.stderr)
    return rows


def grade_rows(places: Places, rows: list[dict[str, Any]]) -> None:
    """Grade the diffs of runs recorded as resolved; adds "graded" to their results."""
    chosen = [row for row in rows if row["recorded_resolved"] and "patch" in row]
    grader = grade.Grader(places)
    pairs = [(row["instance_id"], row["patch"]) for row in chosen]
    for row, graded in zip(chosen, grader.grade_all(pairs)):
        row["graded"] = graded


_SWITCHES = {
    "--resolved": "only runs recorded as resolved",
    "--expect": "scripts that expect what was found",
    "--validated": "leave out answers that were refused then",
    "--properties": "check git apply and replay",
    "--grade": "run the projects' own tests",
}


def _options() -> argparse.Namespace:
    parser = tasks.replay_parser(__doc__ or "", 120, "one run")
    option = parser.add_argument
    option("--run", action="append", default=[], help="only this recorded run")
    for name, text in _SWITCHES.items():
        option(name, action="store_true", help=text)
    return parser.parse_args()


def _chosen(args: argparse.Namespace, runs: list[Run]) -> list[Run]:
    return [
        run
        for run in runs
        if (not args.instance or run.instance_id in args.instance)
        and (not args.run or run.run in args.run)
        and (not args.resolved or run.resolved)
    ]


def main() -> int:
    """Exit 0 if the tables were printed, whatever they say; 2 if nothing could be run."""
    args = _options()
    try:
        places = tasks.places_of(args)
        known, runs = tasks.load_tasks(places), _chosen(args, tasks.load_runs(places))
    except tasks.DataError as error:
        print(f"replay_runs: {error}", file=sys.stderr)
        return 2
    if not os.access(args.binary, os.X_OK):
        print(
            f"replay_runs: no program at '{args.binary}': give --binary",
            file=sys.stderr,
        )
        return 2
    driver = Host(args.binary.resolve(), args.timeout, places.work / "cache")
    plan = Plan(places, driver, args.expect, args.properties, args.validated)
    out = args.results or places.work / f"results-{plan.mode}.jsonl"
    rows = replay_all(plan, known, runs, out)
    if args.grade:
        grade_rows(places, rows)
        out.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    print(report.summary(rows))
    print(f"\nresults: {out}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
