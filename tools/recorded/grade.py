#!/usr/bin/env python3
"""Grade diffs by the projects' own tests, on this machine and without containers.

Reads predictions (JSON lines with "instance_id" and "model_patch") and prints one JSON object for
each: {"instance_id", "resolved", "fail_to_pass": {"passed": [], "failed": []},
"pass_to_pass": {...}, "why"}. With --verify it grades each task's own patch, and no patch at all,
and says what is amiss.
Test programs run what the diff says, with this user's rights: grade only what you would run.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import environments
import tasks
import testlogs
import trees
from tasks import Places, Task

PASSING = ("PASSED", "XFAIL")
DATA_FILES = tuple(".json .png .csv .txt .md .jpg .jpeg .pkl .yml .yaml .toml .rst .cfg .ini .html".split())
MAX_LISTED = 3


@dataclass(frozen=True)
class Bench:
    """What one task needs to be graded: its work tree (reset to `ready`), venv and entry."""

    task: Task
    entry: dict[str, Any]
    venv: Path
    tree: Path


class NotGradable(Exception):
    """The task cannot be graded here; the message says why in a few words."""


def touched_files(diff: str) -> dict[str, bool]:
    """Path -> whether the diff leaves it standing, for each file of a unified diff."""
    files: dict[str, bool] = {}
    old = ""
    for line in diff.splitlines():
        if line.startswith("--- "):
            old = line[4:].split("\t")[0]
        elif line.startswith("+++ ") and old:
            new = line[4:].split("\t")[0]
            gone = new == "/dev/null"
            files[(old if gone else new).split("/", 1)[1]] = not gone
            old = ""
    return files


def test_files(test_patch: str) -> list[str]:
    """The files a test program is called with: those that stand after the test patch, no data."""
    stands = [path for path, there in touched_files(test_patch).items() if there]
    return [p for p in stands if not p.endswith(DATA_FILES)]


def _shell(bench_env: dict[str, str], tree: Path, command: str, seconds: int) -> tuple[str, bool]:
    """Run a shell command in its own session; returns (output, whether time ran out)."""
    child = subprocess.Popen(
        ["bash", "-c", command],
        cwd=tree,
        env=bench_env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    late = False
    try:
        output, _ = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        late = True
        os.killpg(child.pid, signal.SIGKILL)
        output, _ = child.communicate()
    return output.decode("utf-8", "replace"), late


def prepare(places: Places, entries: list[dict[str, Any]], task: Task) -> Bench:
    """Make (or find) the work tree and venv of a task. Errors: NotGradable."""
    entry = environments.choose_entry(entries, task)
    if entry is None:
        raise NotGradable("no environment")
    repository = tasks.repository_of(places, task)
    if repository is None:
        raise NotGradable("no repository")
    digest = environments.digest_of(entry, task.base_commit)[:12]
    tree = places.work / "trees" / f"{task.instance_id}-{digest}"
    try:
        venv = environments.make_venv(places.work, entry, task.instance_id)
        bench = Bench(task, entry, venv, tree)
        with trees.locked(tree):
            trees.make_tree(repository, task.base_commit, tree, tag=f"{task.version}.0")
            _install(places, bench)
    except (environments.EnvironmentFailure, trees.GitError) as error:
        raise NotGradable(f"no environment: {error}") from error
    return bench


def _install(places: Places, bench: Bench) -> None:
    """Run the entry's install step once and commit what it made as `ready`."""
    if trees.git(bench.tree, "tag", "--list", "ready"):
        return
    trees.reset_tree(bench.tree)
    if bench.entry.get("install"):
        env = environments.test_env(bench.venv, places.work, bench.entry)
        command = f"set -o pipefail; {bench.entry['install']}\necho install-exit=$?"
        output, late = _shell(env, bench.tree, command, environments.INSTALL_SECONDS)
        if late or not output.rstrip().endswith("install-exit=0"):
            tail = "; ".join(output.strip().splitlines()[-4:-1])
            raise environments.EnvironmentFailure(f"install step failed: {tail}")
    trees.git(bench.tree, "add", "-A", "-f")
    trees.git(bench.tree, "commit", "-q", "--allow-empty", "-m", "ready")
    trees.git(bench.tree, "tag", "ready")


def _restore_tests(bench: Bench) -> None:
    """Put the files of the test patch back as they were at the base, then apply the patch."""
    for path in touched_files(bench.task.test_patch):
        if trees.git(bench.tree, "ls-tree", "ready", "--", path):
            trees.git(bench.tree, "checkout", "-q", "ready", "--", path)
        else:
            (bench.tree / path).unlink(missing_ok=True)
    trees.apply_diff(bench.tree, bench.task.test_patch.encode("utf-8", "surrogateescape"))


def run_tests(places: Places, bench: Bench, patch: str, seconds: int) -> tuple[str, str]:
    """Apply a patch and run the task's tests; returns (log, why it could not be done or "")."""
    with trees.locked(bench.tree):
        trees.reset_tree(bench.tree, "ready")
        if patch.strip():
            text = patch if patch.endswith("\n") else patch + "\n"
            try:
                trees.apply_diff(bench.tree, text.encode("utf-8", "surrogateescape"))
            except trees.GitError as error:
                return "", f"patch does not apply: {error}"
        try:
            _restore_tests(bench)
        except (trees.GitError, OSError) as error:
            return "", f"test patch does not apply: {error}"
        command = " ".join([bench.entry["test"], *test_files(bench.task.test_patch)])
        env = environments.test_env(bench.venv, places.work, bench.entry)
        log, late = _shell(env, bench.tree, command, seconds)
        trees.reset_tree(bench.tree, "ready")
        return log, f"tests ran out of {seconds} s" if late else ""


def split_names(names: Iterable[str], found: dict[str, str], skip: Callable[[str], bool]) -> dict:
    """The listed tests as {"passed": […], "failed": […]}; absent and skipped tests failed.

    Left out are names that `skip` accepts and names that are not test ids.
    """
    kept = [name for name in names if testlogs.is_test_id(name) and not skip(name)]
    passed = [name for name in kept if found.get(name) in PASSING]
    return {"passed": passed, "failed": [name for name in kept if name not in set(passed)]}


def verdict(task: Task, entry: dict[str, Any], found: dict[str, str], why: str) -> dict[str, Any]:
    """The printed object for the statuses `found`; `why` is set where no test could be run."""
    pattern = entry.get("exclude")
    excluded = environments.excluder(pattern)
    fail = split_names(task.fail_to_pass, found, excluded)
    keep = split_names(task.pass_to_pass, found, excluded)
    if not why and fail["failed"]:
        count = len(fail["failed"]) + len(fail["passed"])
        why = f"{len(fail['failed'])} of {count} fail-to-pass tests do not pass"
    if not why and keep["failed"]:
        names = ", ".join(keep["failed"][:MAX_LISTED])
        why = f"{len(keep['failed'])} pass-to-pass tests do not pass: {names}"
    return {
        "instance_id": task.instance_id,
        "resolved": not why,
        "fail_to_pass": fail,
        "pass_to_pass": keep,
        "why": why,
    }


def nothing_graded(task_id: str, why: str) -> dict[str, Any]:
    """The printed object for a prediction of which nothing could be run."""
    empty: dict[str, list[str]] = {"passed": [], "failed": []}
    names = ("fail_to_pass", "pass_to_pass")
    return {
        "instance_id": task_id,
        "resolved": False,
        **{name: {k: list(v) for k, v in empty.items()} for name in names},
        "why": why,
    }


class Grader:
    """Grades patches, keeping each result under the digest of all that decides it."""

    def __init__(self, places: Places, seconds: int = 1800, fresh: bool = False) -> None:
        self.places = places
        self.seconds = seconds
        self.fresh = fresh
        self.tasks = tasks.load_tasks(places)
        self.entries = tasks.load_environments(places)
        self._benches: dict[str, Bench | str] = {}
        self._guard = threading.Lock()

    def bench(self, task: Task) -> Bench:
        """The task's bench, prepared once. Errors: NotGradable."""
        with self._guard:
            known = self._benches.get(task.instance_id)
        if known is None:
            try:
                known = prepare(self.places, self.entries, task)
            except NotGradable as error:
                known = str(error)
            with self._guard:
                self._benches[task.instance_id] = known
        if isinstance(known, str):
            raise NotGradable(known)
        return known

    def grade(self, instance_id: str, patch: str, run_empty: bool = False) -> dict[str, Any]:
        """Grade one patch; an empty one is run only if `run_empty`."""
        task = self.tasks.get(instance_id)
        if task is None:
            return nothing_graded(instance_id, "no such task")
        if not patch.strip() and not run_empty:
            return nothing_graded(instance_id, "empty patch")
        try:
            bench = self.bench(task)
        except NotGradable as error:
            return nothing_graded(instance_id, str(error))
        key = environments.digest_of(bench.entry, task.base_commit, task.test_patch, patch)
        path = self.places.work / "results" / instance_id / f"{key[:24]}.log"
        if self.fresh or not path.is_file():
            log, why = run_tests(self.places, bench, patch, self.seconds)
            if why:
                return verdict(task, bench.entry, testlogs.parse_log(task.repo, log), why)
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(f".{threading.get_ident()}")
            part.write_text(log, encoding="utf-8")
            part.rename(path)
        found = testlogs.parse_log(task.repo, path.read_text(encoding="utf-8"))
        return verdict(task, bench.entry, found, "")

    def grade_all(self, predictions: list[tuple[str, str]], run_empty: bool = False) -> list[dict]:
        """Grade (instance id, patch) pairs, `places.jobs` at a time, in the order given."""
        with ThreadPoolExecutor(self.places.jobs) as pool:
            graded = pool.map(lambda pair: self.grade(*pair, run_empty=run_empty), predictions)
            return list(graded)


def verify(grader: Grader, chosen: list[str]) -> int:
    """Grade each task's own patch and none; prints a line each, returns how many are amiss."""
    gold = [(name, grader.tasks[name].patch) for name in chosen]
    with_gold = grader.grade_all(gold)
    without = grader.grade_all([(name, "") for name in chosen], run_empty=True)
    amiss = 0
    for name, full, bare in zip(chosen, with_gold, without):
        possible = bool(full["fail_to_pass"]["passed"] or full["fail_to_pass"]["failed"])
        good = full["resolved"] and not bare["resolved"] and not bare["fail_to_pass"]["passed"]
        amiss += possible and not good
        row = {"instance_id": name, "ok": good if possible else None}
        row |= {"with_patch": full["why"] or "resolved", "without": bare["why"] or "resolved"}
        print(json.dumps(row), flush=True)
    return amiss


def read_predictions(lines: Iterable[str]) -> list[tuple[str, str]]:
    """(instance id, patch) of JSON lines. Errors: DataError with the line's number."""
    pairs = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                row = json.loads(line)
                pairs.append((row["instance_id"], row["model_patch"] or ""))
            except (ValueError, KeyError, TypeError) as error:
                raise tasks.DataError(f"line {number} is not a prediction: {error!r}") from error
    return pairs


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    tasks.add_place_options(parser)
    parser.add_argument("--timeout", type=int, default=1800, help="seconds for one test run")
    parser.add_argument("--fresh", action="store_true", help="run again what was graded before")
    parser.add_argument("--verify", action="store_true", help="grade the tasks' own patches")
    parser.add_argument("--instance", action="append", default=[], help="only this task")
    parser.add_argument("predictions", nargs="?", default="-", help="JSON lines; - is stdin")
    return parser.parse_args()


def main() -> int:
    """Exit 0 if all was graded (or verified), 1 if --verify found a task amiss, 2 on bad input."""
    args = _options()
    try:
        grader = Grader(tasks.places_of(args), args.timeout, args.fresh)
        if args.verify:
            chosen = [name for name in grader.tasks if not args.instance or name in args.instance]
            return 1 if verify(grader, chosen) else 0
        if args.predictions == "-":
            pairs = read_predictions(sys.stdin)
        else:
            pairs = read_predictions(Path(args.predictions).read_text("utf-8").splitlines())
    except (tasks.DataError, OSError) as error:
        print(f"grade: {error}", file=sys.stderr)
        return 2
    for row in grader.grade_all([p for p in pairs if not args.instance or p[0] in args.instance]):
        print(json.dumps(row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
