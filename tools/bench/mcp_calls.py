#!/usr/bin/env python3
"""Compares calls over MCP: `acr-host mcp` and code-index-mcp, a code-search server in Python, on the same working tree.

usage: mcp_calls.py --binary FILE --repo DIR --peer PROGRAM [--rounds N] [--json FILE]
PROGRAM is `code-index-mcp` (pip install code-index-mcp); it searches with ripgrep if that is installed, and its
optional index of symbols is not built. --repo is a working tree of sympy, which is only read. Both servers run at the
same time and are asked in turn. A time is from the request to its answer, which for acr-host includes a check for
changed files. Exit 0 if every target was met, 1 if not, 3 if something could not be measured.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import program
import table
from corpus import clean_env
from timing import BenchError, Comparison, Spent, alternate

TARGET = 0.1
TEXT = "def as_coeff_Mul("
_SOURCES = {"file_pattern": "*.py", "context_lines": 3, "regex": False}
# The question, our tool with its arguments, and the other server's tool with its arguments.
CALLS: list[tuple[str, tuple[str, dict[str, Any]], tuple[str, dict[str, Any]]]] = [
    (
        "a class by name",
        ("search_class", {"class_name": "Add"}),
        ("search_code_advanced", {"pattern": "class Add(", **_SOURCES}),
    ),
    (
        "a method by name",
        ("search_method", {"method_name": "as_coeff_Mul"}),
        ("search_code_advanced", {"pattern": TEXT, **_SOURCES}),
    ),
    (
        "a text",
        ("search_code", {"code_str": "return self.func(*args)"}),
        ("search_code_advanced", {"pattern": "return self.func(*args)", **_SOURCES}),
    ),
]


class Server:
    """A running MCP server after its handshake."""

    def __init__(self, argv: list[str], work: Path) -> None:
        env = clean_env(HOME=str(work), XDG_CACHE_HOME=str(work / "cache"), TMPDIR=str(work))
        pipe = subprocess.PIPE
        self.name = Path(argv[0]).name
        self.child = subprocess.Popen(argv, env=env, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        self.number = 0
        client = {"name": "bench", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self.child.stdin
        self.child.stdin.write(json.dumps(message).encode() + b"\n")
        self.child.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> tuple[bytes, float]:
        """The line that answers a request, and the time in seconds. Errors: BenchError."""
        assert self.child.stdout
        self.number += 1
        begin = time.perf_counter()
        self._send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while line := self.child.stdout.readline():
            if b'"method"' not in line[:60] or b'"id"' in line[:60]:
                return line, time.perf_counter() - begin
        raise BenchError(f"'{self.name}' has ended")

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[str, Spent]:
        """The text of a tool's answer, and the time. Errors: BenchError, also if the tool fails."""
        before = self._cpu()
        line, seconds = self.ask("tools/call", {"name": tool, "arguments": arguments})
        spent = Spent(seconds, self._cpu() - before)
        result = json.loads(line).get("result", {"isError": True})
        if result.get("isError"):
            raise BenchError(f"'{self.name}' cannot answer {tool}: {line[:300].decode('utf-8', 'replace')}")
        return json.dumps(result["content"]), spent

    def _cpu(self) -> float:
        """CPU seconds of the process and of its children that have ended; above 0."""
        fields = Path(f"/proc/{self.child.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / 100 + 1e-9

    def end(self) -> None:
        """Close its input, and wait."""
        assert self.child.stdin
        self.child.stdin.close()
        try:
            self.child.wait(20)
        except subprocess.TimeoutExpired:
            self.child.kill()


def measure(ours: Server, peer: Server, rounds: int) -> list[table.Row]:
    """A row for each call; both answers must contain the expected text. Errors: BenchError."""
    rows = []
    for what, mine, theirs in CALLS:
        for server, call in ((ours, mine), (peer, theirs)):
            text, _ = server.call(*call)
            if "sympy/" not in text and "def " not in text:
                raise BenchError(f"'{server.name}' finds nothing by {call[0]}: {text[:200]}")
        times = alternate(rounds, lambda m=mine: ours.call(*m)[1], lambda t=theirs: peer.call(*t)[1])
        found = Comparison(*times)
        texts = f"{table.milliseconds(found.ours)}, minima x {found.least_ratio:.3f}"
        beside = f"{theirs[0]}: {table.milliseconds(found.peer)}, {1 / found.ratio:.0f} times ours"
        rows.append(table.Row("mcp", f"{mine[0]}: {what}", found.ratio, "x", TARGET, texts, beside))
    return rows


def measure_all(options: argparse.Namespace, work: Path) -> list[table.Row]:
    """Start both and ask. Errors: BenchError."""
    repo = str(options.repo.resolve())
    ours = Server([str(options.binary.resolve()), "mcp", "--repo", repo], work)
    peer = Server([str(options.peer.absolute())], work)
    try:
        peer.call("set_project_path", {"path": repo})
        return measure(ours, peer, options.rounds)
    finally:
        ours.end()
        peer.end()


def arguments(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = program.parser(__doc__, rounds=15)
    add = parser.add_argument
    add("--repo", type=Path, required=True, help="search this working tree of sympy")
    add("--peer", type=Path, required=True, help="run this code-index-mcp")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    """Measure and print; returns the exit code."""
    options = arguments(argv)
    return program.main("mcp_calls.py", options, lambda work: measure_all(options, work))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
