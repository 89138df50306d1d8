"""Rejects functions, files and headers that are too long for a reader, and rooms that exceed their budget.

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
# The maximum number of lines of C and Python in each room, about 5 % above the present number. A room that needs more
# lines must delete others. Raise a budget in a separate commit that gives the reason; lower a budget that is a tenth
# too high.
BUDGETS = {
    "native/base": 3_620,
    "native/http": 1_820,
    "native/index": 3_370,
    "native/journal": 730,
    "native/llm": 8_890,
    "native/money": 1_840,
    "native/patch": 8_280,
    "native/sandbox": 7_200,
    "native/search": 6_840,
    "native/spectrum": 180,
    "native/vcs": 6_720,
    "python/acr": 14_900,
    "python/acr_host": 460,
    "python/examples": 280,
    "runtime": 220,
    "runtime/agents": 1_210,
    "runtime/batch": 2_990,
    "runtime/eval": 3_270,
    "runtime/extensions": 1_110,
    "runtime/layout": 90,
    "runtime/loops": 6_280,
    "runtime/project": 2_900,
    "runtime/py": 1_920,
    "runtime/report": 1_800,
    "runtime/serve": 3_330,
    "runtime/task": 6_730,
    "runtime/verbs": 10_450,
}
# Exceptions: "path" or "path:function" -> the reason. An entry that is not needed is a finding.
ALLOWED: dict[str, str] = {}


def c_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """(name, first line, number of lines) of the functions of a C file."""
    for function in c_code.parse(text).functions:
        yield function.name, function.line, function.lines


def python_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """(name, first line, number of lines) of the functions of a Python file, including nested functions; none if the file
    cannot be parsed."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in source.statements(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1


def too_long(root: Path) -> Iterator[tuple[str, str]]:
    """(key as in ALLOWED, finding) for everything that exceeds its limit."""
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
    """(key as in ALLOWED, finding) for each room that exceeds its budget."""
    counts: dict[str, int] = {}
    for side in ("native", "runtime", "python"):
        for path in source.files(root / side, ".c", ".h", ".py", ".pyi"):
            parts = path.relative_to(root).parts
            room = "/".join(parts[:2]) if len(parts) > 2 else parts[0]
            counts[room] = counts.get(room, 0) + path.read_bytes().count(b"\n")
    for room, count in counts.items():
        if room not in BUDGETS:
            yield room, f"{room}: has no budget of lines in sizes.py"
        elif count > BUDGETS[room]:
            yield room, f"{room}: has {count} lines, its budget is {BUDGETS[room]}"


def check(root: Path) -> Iterator[str]:
    """All findings."""
    found = {**dict(too_long(root)), **dict(whole(root))}
    yield from (finding for key, finding in found.items() if key not in ALLOWED)
    for key in ALLOWED:
        if key not in found and (root / key.partition(":")[0]).is_file():
            yield f"sizes.py: {key} is allowed without need"


if __name__ == "__main__":
    source.run(check)
