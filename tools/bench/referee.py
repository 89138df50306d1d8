#!/usr/bin/env python3
"""The referee beside pylint: one edit of a large file through acr-host, and pylint on that file.

usage: referee.py --binary FILE --repo DIR --rev REV [--file PATH]... [--rounds N]
Of each file the last line of a deep block is edited: row `compile` has a replacement with one
reading, as most have; row `lint` one whose two readings both compile and differ. The peer is
`pylint --disable=all --enable=E` on the file as it is, as a command. Whole processes, in turns.
Exit 0 if every target was met, 1 if not, 3 if something could not be measured.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import machine
import table
from corpus import clean_env, git
from timing import BenchError, Command, compare, run

FILES = ("sympy/core/expr.py", "sympy/solvers/ode/ode.py", "sympy/polys/polytools.py")
TARGET = 1 / 30
ANSWER = "<file>{}</file>\n<original>\n{}\n</original>\n<patched>\n{}\n</patched>\n"


def endings(source: str) -> list[tuple[ast.stmt, int]]:
    """Statements of one line that end a block of several, and the block's column; deepest first."""
    blocks = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.If, ast.For)) and not node.orelse and node.body[1:]
    ]
    last = [(node.body[-1], node.col_offset) for node in blocks]
    plain = [(each, col) for each, col in last if each.lineno == each.end_lineno]
    return sorted(plain, key=lambda each: -each[1])


def answer(path: str, source: str, two_readings: bool) -> str:
    """An edit of a line that occurs once; its replacement has one reading, or two that compile."""
    lines = source.split("\n")
    for each, column in endings(source):
        line = lines[each.lineno - 1]
        if lines.count(line) > 1 or not isinstance(each, (ast.Assign, ast.Expr)):
            continue
        new = f"{' ' * column}pass" if two_readings else f"{line}  # as before"
        return ANSWER.format(path, line, new)
    raise BenchError(f"'{path}' has no line for an edit")


def patched(command: Command) -> None:
    """Runs the edit once; it must apply. Errors: BenchError."""
    done = subprocess.run(
        [*command.argv, "--json"], input=command.stdin, env=command.env, capture_output=True, check=False
    )
    status = json.loads(done.stdout or "{}").get("status")
    if status != "APPLICABLE_PATCH":
        raise BenchError(f"the edit is {status}, not applied")


def rows_of(options: argparse.Namespace, path: str, work: Path) -> list[table.Row]:
    """The rows of one file. Errors: BenchError."""
    content = git(options.repo, "cat-file", "blob", f"{options.rev}:{path}")
    source = work / Path(path).name
    source.write_bytes(content)
    env = clean_env(XDG_CACHE_HOME=str(work / "cache"), PYLINTHOME=str(work / "lint"))
    lint = ["-m", "pylint", "--rcfile=", "--disable=all", "--enable=E", str(source)]
    peer = Command([machine.PYTHON, *lint], env, exits=tuple(range(32)))
    where = ["--repo", str(options.repo), "--rev", options.rev]
    rows = []
    for name, two in (("compile", False), ("lint", True)):
        text = answer(path, content.decode("utf-8"), two).encode()
        ours = Command([str(options.binary), "patch", *where], env, stdin=text)
        patched(ours)
        found = compare(options.rounds, lambda ours=ours: run(ours), lambda: run(peer))
        what = f"{len(content) // 1000} kB, {Path(path).name}"
        target = TARGET if name == "compile" else None
        rows.append(table.ratio_row(name, what, found, target, "pylint"))
    return rows


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--binary", type=Path, required=True, help="the acr-host to measure")
    add("--repo", type=Path, required=True, help="a git repository, which is only read")
    add("--rev", default="HEAD", help="the commit")
    add("--file", action="append", default=[], help="a file of it (default: sympy's)")
    add("--rounds", type=int, default=5, help="rounds of each comparison")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    """Measure and print; returns the exit code."""
    options = arguments(argv)
    options.binary, options.repo = options.binary.resolve(), options.repo.resolve()
    for name, fact in machine.describe(options.binary).items():
        print(f"{name:12} {fact}")
    found: list[table.Row] = []
    try:
        with tempfile.TemporaryDirectory(prefix="acr-bench-") as work:
            for path in options.file or FILES:
                found += rows_of(options, path, Path(work))
    except BenchError as error:
        print(f"referee: {error}", file=sys.stderr)
        return 3
    print(table.render(found))
    return 0 if all(row.met is not False for row in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
