#!/usr/bin/env python3
"""Makes all comparisons in one run and one table: index and search, calls over MCP, edits, grading, each with an
installed program.

usage: compare.py --binary FILE --repo DIR [--rev REV] [--only PART]... [--aider PYTHON] [--code-index PROGRAM]
[--rounds N] [--json FILE]
DIR is a repository of sympy, which is only read. Unless they are given, pip installs aider and code-index-mcp into
separate environments, which are kept. Exit 0 if every target was met, 1 if not, 3 if something could not be measured.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Callable

import bench
import edits
import grading
import mcp_calls
import program
import rows
import sandbox
import table
from timing import BenchError

sys.path.append(str(Path(__file__).resolve().parents[1] / "lib"))

from venvs import EnvironmentFailure, make_venv  # noqa: E402

INDEXING = ("cold", "warm", "oneshot")
PINS = {"aider": "aider-chat==0.86.2", "code_index": "code-index-mcp==2.17.1"}


def installed(pin: str, program: str) -> Path:
    """The path of a program in an environment that has the package. Errors: BenchError."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "acr-tests"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    try:
        return make_venv(cache, version, [pin]) / "bin" / program
    except EnvironmentFailure as error:
        raise BenchError(str(error)) from error


def indexing(options: argparse.Namespace, work: Path) -> list[table.Row]:
    """Index and searches as whole processes, compared with git grep and plain parsing."""
    prepared = bench.prepare(options, work)
    print(f"{'repository':12} {bench.describe(prepared.here)}", flush=True)
    return [row for name in INDEXING for row in rows.ROWS[name](prepared)]


def calls(options: argparse.Namespace, work: Path) -> list[table.Row]:
    """Calls to running servers, compared with code-index-mcp."""
    tree = work / "tree"
    sandbox.make_repository(options.repo.resolve(), options.rev, tree)
    options.repo = tree
    options.peer = options.code_index or installed(PINS["code_index"], "code-index-mcp")
    return mcp_calls.measure_all(options, work)


def landing(options: argparse.Namespace, work: Path) -> list[table.Row]:
    """Edits, compared with aider's search/replace blocks."""
    options.peer = options.aider or installed(PINS["aider"], "python")
    return edits.measure(options, work)


def evaluation(options: argparse.Namespace, work: Path) -> list[table.Row]:
    """The time that grading adds to the tests."""
    options.rounds = min(options.rounds, 3)
    return grading.measure(grading.Subject(options, work))


PARTS: dict[str, Callable[[argparse.Namespace, Path], list[table.Row]]] = {
    "index": indexing,
    "mcp": calls,
    "edits": landing,
    "grading": evaluation,
}


def measure(options: argparse.Namespace, work: Path) -> list[table.Row]:
    """The table. Errors: BenchError."""
    found = []
    for name in options.only:
        (work / name).mkdir()
        found += PARTS[name](argparse.Namespace(**vars(options)), work / name)
    return found


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line, including options that only the parts read."""
    parser = program.parser(__doc__, rounds=9)
    add = parser.add_argument
    add("--repo", type=Path, required=True, help="read this git repository of sympy")
    add("--rev", default="HEAD", help="measure this commit")
    add("--only", action="append", choices=PARTS, default=[])
    add("--aider", type=Path, help="run aider with this Python (default: install it)")
    add("--code-index", type=Path, help="run this code-index-mcp (default: install it)")
    add("--symbol", default="Prefix", help="search for this class")
    parser.set_defaults(near=None, each=40, image=None, tasks=8, jobs=2)
    options = parser.parse_args(argv)
    options.only = options.only or list(PARTS)
    return options


def main(argv: list[str]) -> int:
    """Measure and print; returns the exit code."""
    options = arguments(argv)
    return program.main("compare.py", options, lambda work: measure(options, work), "git")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
