#!/usr/bin/env python3
"""Measures the time that `acr-host eval` adds to each task's tests, with several tasks at a time.

usage: grading.py --binary FILE --repo DIR [--rev REV] [--image NAME] [--tasks N] [--jobs N] [--rounds N] [--json FILE]
The tests are a command that takes a second. In each round, they run for each task, with as many tasks at a time as
there are jobs: alone in a work tree; with `eval` in bubblewrap, with trees that are written first (of N commits up to
REV); with existing trees; with the runs that decide whether a resolved task is believed (three runs of the tests); and,
if --image names an image with a repository in /testbed, in containers of that image (DOCKER_HOST selects the engine).
The time includes the start of the program and the final report. The value is the time of one task in its job, minus the
time of its tests. Exit 0 if every target was met, 1 if not, 3 if something could not be measured.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import program
import table
from corpus import clean_env, git
from timing import BenchError, Command, Spent, Step, Times, alternate, run

ONCE = (
    "--official-only"  # otherwise, the tests of such tasks run three times: for the grade, with canaries, with a decoy
)
TARGETS = {"bubblewrap": 1.0, "container": 3.0}
TEST = "import time\ntime.sleep(1)\nprint('PASSED bench::test')\n"
ADDED = "diff --git a/{0} b/{0}\nnew file mode 100644\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1,{1} @@\n{2}"
SCRIPT = "#!/bin/bash\nset -x\ncd /testbed\n: '>>>>> Start Test Output'\n{}\n: '>>>>> End Test Output'\n"


def added(name: str, text: str) -> str:
    """A diff that adds a file."""
    lines = text.splitlines()
    return ADDED.format(name, len(lines), "".join(f"+{line}\n" for line in lines))


@dataclass
class Subject:
    """The tasks, which are run alone and graded."""

    options: argparse.Namespace
    work: Path
    made: int = 0

    def __post_init__(self) -> None:
        (self.work / "repos" / "own").mkdir(parents=True)
        (self.work / "repos" / "own" / "project").symlink_to(self.options.repo.resolve())
        shown = git(self.options.repo, "rev-list", "--first-parent", f"-{self.options.tasks}", self.options.rev)
        commits = shown.decode().split()
        if len(commits) < self.options.tasks:
            raise BenchError(f"'{self.options.rev}' has only {len(commits)} commits")
        self._write("tasks.jsonl", [self._task(number, commit) for number, commit in enumerate(commits)])
        self._write(
            "preds.jsonl",
            [
                {
                    "instance_id": f"own__project-{number}",
                    "model_name_or_path": "bench",
                    "model_patch": added("added_by_bench.py", "1\n"),
                }
                for number in range(len(commits))
            ],
        )
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        recipe = {
            "repo": "own/project",
            "versions": ["1"],
            "python": version,
            "pip": [],
            "test": "python -B bench_test.py #",
        }
        (self.work / "recipes.json").write_text(json.dumps([recipe]))
        self.tree = self.work / "tree"
        self.tree.mkdir()
        (self.tree / "bench_test.py").write_text(TEST)

    def _task(self, number: int, commit: str) -> dict[str, Any]:
        row = {"instance_id": f"own__project-{number}", "repo": "own/project", "base_commit": commit, "version": "1"}
        row |= {"test_patch": added("bench_test.py", TEST), "FAIL_TO_PASS": '["bench::test"]', "PASS_TO_PASS": "[]"}
        script = SCRIPT.format(f'python3 -c "{TEST.strip()}"'.replace("\n", "; "))
        return row | {"log_parser": "parse_log_pytest", "eval_script": script, "image": self.options.image or "none"}

    def _write(self, name: str, rows: list[dict[str, Any]]) -> None:
        (self.work / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def bare(self) -> Spent:
        """Run the tests of all tasks alone."""
        command = Command([sys.executable, "-B", str(self.tree / "bench_test.py")], clean_env(), exits=(0,))

        def all_of_a_job(number: int) -> float:
            return sum(run(command).wall for _ in range(number, self.options.tasks, self.options.jobs))

        with ThreadPoolExecutor(self.options.jobs) as pool:
            return Spent(max(pool.map(all_of_a_job, range(self.options.jobs))), 0)

    def graded(self, cache: Path, *where: str) -> Spent:
        """Run `eval` on all tasks; each must be resolved. Errors: BenchError."""
        self.made += 1
        out = self.work / f"out-{self.made}"
        argv = [str(self.options.binary.resolve()), "eval", "--dataset", str(self.work / "tasks.jsonl")]
        argv += ["--predictions", str(self.work / "preds.jsonl"), "--run-id", "bench", "--out", str(out)]
        argv += ["--jobs", str(self.options.jobs), *where]
        env = clean_env(XDG_CACHE_HOME=str(cache), HOME=str(self.work))
        spent = run(Command(argv, env, exits=(0,)))
        report = json.loads((out / "bench.bench.json").read_text())
        if report["resolved_instances"] != self.options.tasks:
            raise BenchError(f"only {report['resolved_instances']} tasks were resolved; see '{out}'")
        return spent

    def in_bubblewrap(self, cache: Path, *more: str) -> Spent:
        """Run `eval` in the only environment."""
        recipes = str(self.work / "recipes.json")
        where = ["--sandbox", "environment", "--repos", str(self.work / "repos"), "--environments", recipes, *more]
        return self.graded(cache, *where)

    def cold(self) -> Spent:
        """Run `eval` with an empty cache of trees."""
        self.made += 1
        cache = self.work / f"cache-{self.made}"
        (cache / "acr-host").mkdir(parents=True)
        (cache / "acr-host" / "environments").symlink_to(self.work / "cache" / "acr-host" / "environments")
        return self.in_bubblewrap(cache, ONCE)


def measure(subject: Subject) -> list[table.Row]:
    """The table. Errors: BenchError."""
    options, kept = subject.options, subject.work / "cache"
    subject.in_bubblewrap(kept)  # create the environment
    steps: list[Step] = [subject.bare, subject.cold, lambda: subject.in_bubblewrap(kept, ONCE)]
    steps.append(lambda: subject.in_bubblewrap(kept))
    # Where, what, and how often a task's tests run.
    ways = [("bubblewrap", "new trees", 1), ("bubblewrap", "trees that are there", 1), ("bubblewrap", "checked too", 3)]
    if options.image:
        steps += [lambda: subject.graded(kept, ONCE), lambda: subject.graded(kept)]
        ways += [("container", options.image, 1), ("container", "checked too", 3)]
    bare, *graded = alternate(options.rounds, *steps)

    def each(seconds: float) -> float:
        return seconds * options.jobs / options.tasks

    rows = []
    for (way, what, runs), times in zip(ways, graded):
        over = Times(tuple(each(ours - runs * own) for ours, own in zip(times.seconds, bare.seconds)))
        beside = f"bare {runs} x {each(bare.median):.2f} s, eval {each(times.median):.2f} s a task"
        rows.append(table.Row(way, what, over.median, "s", TARGETS[way], table.milliseconds(over), beside))
    return rows


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = program.parser(__doc__, rounds=3)
    add = parser.add_argument
    add("--repo", type=Path, required=True, help="read this git repository")
    add("--rev", default="HEAD", help="grade tasks on commits up to this one")
    add("--image", help="also use containers of this image, with a repository in /testbed, bash, git and python3")
    add("--tasks", type=int, default=8, help="grade N tasks in each round")
    add("--jobs", type=int, default=2, help="grade N tasks in parallel")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    """Measure and print; returns the exit code."""
    options = arguments(argv)
    return program.main("grading.py", options, lambda work: measure(Subject(options, work)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
