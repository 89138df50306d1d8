"""Refuses functions, files and headers in which a reader gets lost, and a program that grows without end.

usage: sizes.py [ROOT]; one line per finding, exit 1 if there is one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import c_code
import source

MAX_FUNCTION_LINES = 60
MAX_FILE_LINES = 600
MAX_PRIVATE_HEADER_BYTES = 10_240
MAX_PROGRAM_LINES = 85_680  # C and Python of native/, runtime/ and python/ together
# What may be longer: "path" or "path:function" -> why. An entry that is not needed is a finding.
ALLOWED: dict[str, str] = {}


def c_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """(name, first line, number of lines) of the functions of a C file."""
    for function in c_code.parse(text).functions:
        yield function.name, function.line, function.lines


def python_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """The same of a Python file, nested ones included; none where it cannot be parsed."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1


def too_long(root: Path) -> Iterator[tuple[str, str]]:
    """(key as in ALLOWED, finding) of everything over its limit."""
    for path in source.files(root, ".c", ".h", ".py"):
        inside, text = path.relative_to(root).as_posix(), source.read(path)
        count = len(text.splitlines())
        if count > MAX_FILE_LINES:
            yield inside, f"{inside}: has {count} lines, {MAX_FILE_LINES} are allowed"
        size = len(text.encode())
        if path.name.endswith("_private.h") and size > MAX_PRIVATE_HEADER_BYTES:
            yield inside, f"{inside}: has {size} bytes, {MAX_PRIVATE_HEADER_BYTES} are allowed"
        functions = python_functions if path.suffix == ".py" else c_functions
        for name, line, lines in functions(text):
            if lines > MAX_FUNCTION_LINES:
                yield (
                    f"{inside}:{name}",
                    f"{inside}:{line}: {name} has {lines} lines, {MAX_FUNCTION_LINES} are allowed",
                )


def whole(root: Path) -> Iterator[tuple[str, str]]:
    """The same of the program as a whole."""
    sides = [root / side for side in ("native", "runtime", "python")]
    paths = [path for side in sides for path in source.files(side, ".c", ".h", ".py", ".pyi")]
    count = sum(path.read_bytes().count(b"\n") for path in paths)
    if count > MAX_PROGRAM_LINES:
        yield "program", f"native, runtime, python: have {count} lines, {MAX_PROGRAM_LINES} are allowed"


def check(root: Path) -> Iterator[str]:
    """All findings."""
    found = {**dict(too_long(root)), **dict(whole(root))}
    yield from (finding for key, finding in found.items() if key not in ALLOWED)
    for key in ALLOWED:
        if key not in found and (root / key.partition(":")[0]).is_file():
            yield f"sizes.py: {key} is allowed without need"


if __name__ == "__main__":
    source.run(check)
