"""Parses C for the checks: finds functions with their place and body, and the text outside functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import source

WORD = re.compile(r"[A-Za-z_]\w*")

_NAME = re.compile(r"(\w+)\s*\($")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_STRETCH = re.compile(r"[^{}]+|[{}]")


class Function(NamedTuple):
    """A function's name, first line (1-based), number of lines, offsets of its name and end, and whether it is static."""

    name: str
    line: int
    lines: int
    start: int
    end: int
    static: bool


class File(NamedTuple):
    """A C file: path relative to the root, code without comments, directives and the contents of strings, its functions."""

    path: Path
    code: str
    directives: list[str]
    functions: list[Function]

    def body(self, function: Function) -> str:
        """The text of a function, beginning with its name."""
        return self.code[function.start : function.end]

    def outside(self) -> str:
        """The text outside functions; a function's head is included up to its name."""
        parts, at = [], 0
        for function in self.functions:
            parts.append(self.code[at : function.start])
            at = function.end
        return ";".join([*parts, self.code[at:]])


def _name_before(code: str, close: int) -> tuple[str, int]:
    """The name and its offset of the function whose parameter list ends at the `)` at `close`."""
    depth = 0
    for offset in range(close, -1, -1):
        depth += {")": 1, "(": -1}.get(code[offset], 0)
        if depth == 0:
            match = _NAME.search(code, max(0, offset - 200), offset + 1)
            return (match[1], match.start()) if match else ("?", offset)
    return "?", close


def functions(code: str) -> Iterator[Function]:
    """The functions in C text without comments and directives: top-level blocks that follow a parameter list."""
    depth, head, opened, before = 0, 0, None, ""
    for match in _STRETCH.finditer(code):
        if match[0] == "{":
            stripped = before.rstrip()
            if depth == 0 and stripped.endswith(")"):
                opened = _name_before(code, match.start() - len(before) + len(stripped) - 1)
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if depth == 0 and opened:
                name, start = opened
                begun = max(head, code.rfind(";", head, start) + 1)
                first = source.line_of(code, start)
                lines = source.line_of(code, match.start()) - first + 1
                yield Function(name, first, lines, start, match.end(), "static" in code[begun:start].split())
                opened = None
            if depth == 0:
                head = match.end()
        before = match[0] if match[0] not in "{}" else ""


def parse(text: str, path: Path = Path()) -> File:
    """Parse the text of a file."""
    code = source.code_only(text)
    directives = _DIRECTIVE.findall(code)
    code = _DIRECTIVE.sub(lambda m: source.blank(m[0]), code)
    return File(path, code, directives, list(functions(code)))


def program(root: Path) -> list[File]:
    """The C files and headers of native/ and runtime/."""
    found = [path for side in ("native", "runtime") for path in source.files(root / side, ".c", ".h")]
    return [parse(source.read(path), path.relative_to(root)) for path in found]
