"""Refuses functions and files in which a reader gets lost.

usage: sizes.py [ROOT]; one line per finding, exit 1 if there is one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import source

MAX_FUNCTION_LINES = 80
MAX_FILE_LINES = 600
# What may be longer: "path" or "path:function" -> why. An entry that is not needed is a finding.
ALLOWED: dict[str, str] = {}

_NAME = re.compile(r"(\w+)\s*\($")


class Function(NamedTuple):
    """A function's name, first line (1-based) and number of lines."""

    name: str
    line: int
    lines: int


def _name_before(code: str, close: int) -> tuple[str, int]:
    """The name and its offset of the function whose parameter list ends at the `)` at `close`."""
    depth = 0
    for offset in range(close, -1, -1):
        depth += {")": 1, "(": -1}.get(code[offset], 0)
        if depth == 0:
            match = _NAME.search(code, 0, offset + 1)
            return (match[1], match.start()) if match else ("?", offset)
    return "?", close


def c_functions(text: str) -> Iterator[Function]:
    """The functions of a C file: blocks at depth 0 that follow a parameter list."""
    code = source.code_only(text)
    code = re.sub(
        r"^[ \t]*#(?:\\\n|[^\n])*",
        lambda m: re.sub(r"[^\n]", " ", m[0]),
        code,
        flags=re.MULTILINE,
    )
    depth, start = 0, None
    for offset, char in enumerate(code):
        if char == "{":
            before = code[:offset].rstrip() if depth == 0 else ""
            if before.endswith(")"):
                start = _name_before(before, len(before) - 1)
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0 and start:
                first = source.line_of(code, start[1])
                yield Function(start[0], first, source.line_of(code, offset) - first + 1)
                start = None


def python_functions(text: str) -> Iterator[Function]:
    """The functions of a Python file, nested ones included; none where it cannot be parsed."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield Function(
                node.name,
                node.lineno,
                (node.end_lineno or node.lineno) - node.lineno + 1,
            )


def too_long(root: Path) -> Iterator[tuple[str, str]]:
    """(key as in ALLOWED, finding) of everything over its limit."""
    for path in source.files(root, ".c", ".h", ".py"):
        inside, text = path.relative_to(root).as_posix(), source.read(path)
        count = len(text.splitlines())
        if count > MAX_FILE_LINES:
            yield inside, f"{inside}: has {count} lines, {MAX_FILE_LINES} are allowed"
        functions = python_functions if path.suffix == ".py" else c_functions
        for function in functions(text):
            if function.lines > MAX_FUNCTION_LINES:
                size = f"has {function.lines} lines, {MAX_FUNCTION_LINES} are allowed"
                yield (
                    f"{inside}:{function.name}",
                    f"{inside}:{function.line}: {function.name} {size}",
                )


def check(root: Path) -> Iterator[str]:
    """All findings."""
    found = dict(too_long(root))
    yield from (finding for key, finding in found.items() if key not in ALLOWED)
    yield from (f"sizes.py: {key} is allowed without need" for key in ALLOWED if key not in found)


if __name__ == "__main__":
    source.run(check)
