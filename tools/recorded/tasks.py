"""The recorded data: tasks, runs and environments, and where they lie on this machine.

Locations come from options or environment variables only; nothing here writes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
APPLICABLE = "APPLICABLE_PATCH"


class DataError(Exception):
    """The recorded data cannot be read; the message names the file."""


@dataclass(frozen=True)
class Task:
    """One benchmark task; test ids are in the notation of the project's log parser."""

    instance_id: str
    repo: str
    base_commit: str
    version: str
    problem_statement: str
    patch: str
    test_patch: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """One recorded run of one task. `patches` holds (status, diff) of each answer in order."""

    run: str
    instance_id: str
    patches: tuple[tuple[str, str], ...]
    resolved: bool

    @property
    def applicable(self) -> list[str]:
        """The recorded diffs that applied, in order; the last one is the final diff."""
        return [diff for status, diff in self.patches if status == APPLICABLE and diff]

    @property
    def final_diff(self) -> str:
        """The last recorded applicable diff, or "" where there is none."""
        return self.applicable[-1] if self.applicable else ""


@dataclass(frozen=True)
class Places:
    """Every location and bound a tool of this folder needs."""

    shared: Path
    repos: Path
    work: Path
    jobs: int

    @property
    def recorded(self) -> Path:
        """The folder of the recorded data."""
        return self.shared / "recorded"

    @property
    def make_script(self) -> Path:
        """The program that prints one recorded run as a scripted model."""
        return self.shared / "tools" / "make_script.py"


def default_shared() -> Path:
    """The folder of shared data: $ACR_SHARED, else `../shared` beside the repository."""
    return Path(os.environ.get("ACR_SHARED") or ROOT / ".." / "shared").resolve()


def add_place_options(parser: argparse.ArgumentParser) -> None:
    """Add --shared, --repos, --work and --jobs, each with its environment variable."""
    env = os.environ.get
    work = env("ACR_RECORDED_WORK") or str(ROOT / "build" / "recorded")
    parser.add_argument(
        "--shared",
        type=Path,
        default=default_shared(),
        help="folder with recorded/ ($ACR_SHARED)",
    )
    parser.add_argument(
        "--repos",
        type=Path,
        default=env("ACR_REPOS"),
        help="folder of git repositories: owner/name, owner+name, owner__name ($ACR_REPOS)",
    )
    parser.add_argument(
        "--work",
        type=Path,
        default=Path(work),
        help="private work trees, venvs and results ($ACR_RECORDED_WORK)",
    )
    parser.add_argument("--jobs", type=int, default=2, help="tasks at the same time")


def replay_parser(doc: str, timeout: float, what: str) -> argparse.ArgumentParser:
    """The options that all replays share, described by the first line of `doc`; `timeout` seconds are for `what`."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    add_place_options(parser)
    option = parser.add_argument
    built = os.environ.get("ACR_HOST") or ROOT / "build" / "release" / "acr-host"
    option("--binary", type=Path, default=Path(built), help="acr-host ($ACR_HOST)")
    option("--timeout", type=float, default=timeout, help=f"seconds for {what}")
    option("--instance", action="append", default=[], help="only this task")
    option("--results", type=Path, help="JSON lines file, default in the work folder")
    return parser


def places_of(args: argparse.Namespace) -> Places:
    """Read the options added by add_place_options. Errors: DataError."""
    if args.repos is None:
        raise DataError("no folder of repositories: give --repos or ACR_REPOS")
    work = Path(args.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    return Places(Path(args.shared).resolve(), Path(args.repos).resolve(), work, max(1, args.jobs))


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file, one a line. Errors: DataError."""
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield json.loads(line)
                except ValueError as error:
                    raise DataError(f"{path}:{number}: {error}") from error
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error


def _names(value: Any) -> tuple[str, ...]:
    """A list of test ids, given as a list or as a string that holds a JSON list."""
    return tuple(json.loads(value) if isinstance(value, str) else value)


def load_tasks(places: Places) -> dict[str, Task]:
    """All tasks by instance id. Errors: DataError."""
    plain = ("instance_id", "repo", "base_commit", "version", "problem_statement")
    tasks = {}
    for row in rows(places.recorded / "tasks.jsonl"):
        tasks[row["instance_id"]] = Task(
            **{name: row[name] for name in plain},
            patch=row["patch"],
            test_patch=row["test_patch"],
            fail_to_pass=_names(row["FAIL_TO_PASS"]),
            pass_to_pass=_names(row["PASS_TO_PASS"]),
        )
    return tasks


def load_runs(places: Places) -> list[Run]:
    """All recorded runs in the order of the file. Errors: DataError."""
    runs = []
    for row in rows(places.recorded / "runs.jsonl"):
        patches = tuple((p["status"], p["diff"] or "") for p in row["patches"])
        runs.append(Run(row["run"], row["instance_id"], patches, bool(row["resolved"])))
    return runs


def raw_runs(places: Places) -> list[dict[str, Any]]:
    """The recorded runs with all their fields, in the order of load_runs. Errors: DataError."""
    return list(rows(places.recorded / "runs.jsonl"))


def load_environments(places: Places) -> list[dict[str, Any]]:
    """The entries that say how a task's own tests are run. Errors: DataError."""
    path = places.recorded / "environments.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {error}") from error


def find_repository(repos: Path, repo: str) -> Path | None:
    """The git repository of `owner/name` under `repos`, or None."""
    for joint in ("/", "+", "__"):
        for tail in ("", ".git"):
            path = repos / (repo.replace("/", joint) + tail)
            if path.is_dir():
                return path.resolve()
    return None


def has_commit(repository: Path, commit: str) -> bool:
    """Whether the repository holds the commit; reads only."""
    command = ["git", "-c", "safe.directory=*", "-C", str(repository)]
    command += ["cat-file", "-e", commit + "^{commit}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def repository_of(places: Places, task: Task) -> Path | None:
    """The repository that holds the task's commit, or None."""
    found = find_repository(places.repos, task.repo)
    return found if found and has_commit(found, task.base_commit) else None
