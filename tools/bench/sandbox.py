#!/usr/bin/env python3
"""Compares the sandbox with git: `acr-host exec -- true` on a private copy, and a worktree that is added, used and
removed.

usage: sandbox.py --binary FILE --repo DIR [--rev REV] [--only BACKEND]... [--rounds N] [--json FILE]
The measured repository has only that one commit, and is created from the given one, which is only read. Each round
measures each way in turn: cold (empty cache: the tree is written first), warm, warm with changed files, and git.
Exit 0 if every target was met, 1 if not, 3 if something could not be measured.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import program
import table
from corpus import clean_env, git
from timing import Command, Comparison, Spent, Step, alternate, run

CHANGED_FILES = 5
TARGET_WARM, TARGET_COLD = 1 / 3, 1.25
# Backend -> the program that it needs; plain needs none.
BACKENDS = {"bubblewrap": "bwrap", "plain": ""}


@dataclass
class Subject:
    """The subject of the measurement: the program, a repository with one commit, and a diff of that commit."""

    binary: Path
    repository: Path
    patch: Path
    work: Path
    backend: str
    made: int = 0

    def fresh(self) -> Path:
        """A path below the work folder that does not exist yet."""
        self.made += 1
        return self.work / f"made-{self.made}"

    def ours(self, cache: Path, *more: str) -> Spent:
        """One `exec -- true`. Errors: BenchError."""
        where = ["--repo", str(self.repository), "--rev", "HEAD"]
        argv = [str(self.binary), "exec", *where, "--sandbox", self.backend, *more]
        env = clean_env(XDG_CACHE_HOME=str(cache), HOME=str(self.work))
        return run(Command([*argv, "--", "true"], env, exits=(0,)))

    def cold(self) -> Spent:
        """Run with an empty cache; the time to empty the cache does not count."""
        cache = self.fresh()
        spent = self.ours(cache)
        shutil.rmtree(cache, ignore_errors=True)
        return spent

    def peers(self) -> Spent:
        """Add a worktree, run `true` in it, and remove it. Errors: BenchError."""
        folder = str(self.fresh())
        start = ["git", "-C", str(self.repository), "worktree"]
        commands = [
            [*start, "add", "-q", "--detach", folder, "HEAD"],
            ["env", "-C", folder, "true"],
            [*start, "remove", "--force", folder],
        ]
        env = clean_env(HOME=str(self.work))
        spent = [run(Command(argv, env, exits=(0,))) for argv in commands]
        return Spent(sum(s.wall for s in spent), sum(s.cpu for s in spent))


def make_repository(source: Path, rev: str, path: Path) -> dict[str, bytes]:
    """A repository at `path` with one commit of that tree, packed; returns its regular files. Errors: BenchError."""
    path.mkdir()
    archive = path.with_suffix(".tar")
    git(source, "archive", "--format=tar", "-o", str(archive), rev)
    subprocess.run(["tar", "-xf", str(archive), "-C", str(path)], check=True)
    archive.unlink()
    who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    git(path, "init", "-q", "-b", "main")
    git(path, "add", "-A", "-f")
    git(path, *who, "commit", "-q", "-m", "tree")
    git(path, "repack", "-a", "-d", "-q")
    names = git(path, "ls-files", "-z").decode("utf-8", "surrogateescape").split("\0")
    files = [name for name in names if name and not (path / name).is_symlink()]
    return {name: (path / name).read_bytes() for name in files}


def make_patch(repository: Path, files: Sequence[str], patch: Path) -> None:
    """Write a diff that adds a line to a few source files, as a fix would. Errors: BenchError."""
    sources = [name for name in files if name.endswith(".py")] or list(files)
    step = max(len(sources) // CHANGED_FILES, 1)
    for name in sources[::step][:CHANGED_FILES]:
        with (repository / name).open("ab") as stream:
            stream.write(b"\n# changed\n")
    patch.write_bytes(git(repository, "diff", "--binary", "--full-index"))
    git(repository, "checkout", "-q", "--", ".")


def measure(subject: Subject, rounds: int) -> list[table.Row]:
    """The rows of one backend. Errors: BenchError."""
    kept = subject.fresh()
    steps: list[Step] = [
        subject.cold,
        lambda: subject.ours(kept),
        lambda: subject.ours(kept, "--patch", str(subject.patch)),
        subject.peers,
    ]
    alternate(1, *steps)
    *times, peer = alternate(rounds, *steps)
    kinds = ("cold", "warm", f"warm, {CHANGED_FILES} changed files")
    return [
        table.ratio_row(subject.backend, what, Comparison(ours, peer), target, "worktree add, true, remove")
        for what, ours, target in zip(kinds, times, (TARGET_COLD, TARGET_WARM, TARGET_WARM))
    ]


def measure_all(options: argparse.Namespace, work: Path) -> list[table.Row]:
    """The table, backend by backend; reports omitted backends. Errors: BenchError."""
    repository, patch = work / "repo", work / "patch"
    files = make_repository(options.repo.resolve(), options.rev, repository)
    make_patch(repository, sorted(files), patch)
    size = sum(map(len, files.values())) / 1e6
    print(f"{'tree':12} {len(files)} files, {size:.1f} MB\n", flush=True)
    found: list[table.Row] = []
    for backend in options.only:
        if BACKENDS[backend] and not shutil.which(BACKENDS[backend]):
            print(f"{backend}: left out: {BACKENDS[backend]} is not installed", flush=True)
            continue
        folder = work / backend
        folder.mkdir()
        found += measure(Subject(options.binary.resolve(), repository, patch, folder, backend), options.rounds)
    return found


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = program.parser(__doc__, rounds=9)
    add = parser.add_argument
    add("--repo", type=Path, required=True, help="read this git repository")
    add("--rev", default="HEAD", help="measure this commit")
    add("--only", action="append", choices=BACKENDS, default=[])
    options = parser.parse_args(argv)
    options.only = options.only or list(BACKENDS)
    return options


def main(argv: list[str]) -> int:
    """Measure and print; returns the exit code."""
    options = arguments(argv)
    return program.main("sandbox.py", options, lambda work: measure_all(options, work), "git")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
