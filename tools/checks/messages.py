"""Compares the program's messages with tests/cases/messages.txt, which lists all of them for review.

usage: messages.py [ROOT]; one line per finding, exit 1 if there is one. messages.py --write [ROOT] updates the list.

A message is a string literal of at least three words, one of which may be a value (%s, {}), in the C code of native/
and runtime/, where adjacent literals are joined, or in the Python code of python/. Docstrings, code and lists of words
are not listed.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import source

LIST = Path("tests/cases/messages.txt")
_TOKEN = re.compile(
    r"""/\*.*?\*/|//[^\n]*|\s+|^[ \t]*\#[ \t]*include[^\n]*|"(?P<text>(?:\\.|[^"\\\n])*)"|'(?:\\.|[^'\\\n])*'"""
    r"|(?:G_G\w+_FORMAT|PRI[a-z]\d+)(?P<format>)|.",
    re.DOTALL | re.MULTILINE,
)
_WORD = re.compile(r"(?<![\w/<.-])[A-Za-z][a-z']+(?=[\s,.:;!?)]|$)")
_VALUE = re.compile(r"%[\d.*]*[a-z]+|\{\}")
_CODE = re.compile(
    r"^(?:SELECT|CREATE|INSERT|DELETE|UPDATE|PRAGMA|BEGIN|import|def|class|from \w+ import) |\|.*\||\(\?|\\[wds]|[;{]\\n|\"\$|^\.globl"
)


def is_text(literal: str) -> bool:
    """Whether a literal reads like a sentence and is not code."""
    words = len(_WORD.findall(literal.replace("\\n", " ")))
    return words >= 2 and words + len(_VALUE.findall(literal)) >= 3 and not _CODE.search(literal)


def c_texts(code: str) -> Iterator[str]:
    """The string literals in C code; adjacent literals are joined."""
    parts: list[str] = []
    for match in [*_TOKEN.finditer(code), None]:
        if match and match["text"] is not None:
            parts.append(match["text"])
        elif match and match["format"] is not None:
            parts.append("d")
        elif parts and not (match and (match[0].isspace() or match[0].startswith(("/*", "//")))):
            yield "".join(parts)
            parts = []


def python_texts(code: str) -> Iterator[str]:
    """The strings in Python code except docstrings; {} replaces the values of f-strings."""
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(code)):
        if id(node) in skipped:
            continue
        if isinstance(node, (ast.Expr, ast.Attribute)):
            skipped.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in ast.walk(node)}
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def listed(root: Path) -> Iterator[str]:
    """The lines of the list: a heading for each file, and its texts in their order."""
    for folder in ("native", "runtime", "python"):
        for path in source.files(root / folder, ".c", ".h", ".py"):
            texts = (c_texts if path.suffix != ".py" else python_texts)(source.read(path))
            if rows := list(dict.fromkeys(text.replace("\n", "\\n") for text in texts if is_text(text))):
                yield f"== {path.relative_to(root).as_posix()}"
                yield from rows


def _with_files(lines: list[str]) -> Iterator[str]:
    file = ""
    for line in lines:
        if line.startswith("== "):
            file = line[3:]
        else:
            yield f"{file}: {line!r}"


def check(root: Path) -> Iterator[str]:
    """All findings."""
    path = root / LIST
    known = path.read_text("utf-8").splitlines() if path.is_file() else []
    now = list(listed(root))
    there, listed_there = set(_with_files(now)), set(_with_files(known))
    renew = "renew the list: python3 tools/checks/messages.py --write"
    yield from (f"{LIST}: lacks {text}; {renew}" for text in there - listed_there)
    yield from (f"{LIST}: no longer in {text}; {renew}" for text in listed_there - there)
    if there == listed_there and now != known:
        yield f"{LIST}: is not in the order of the sources; {renew}"


if __name__ == "__main__":
    if "--write" in sys.argv:
        sys.argv.remove("--write")
        ROOT = Path(sys.argv[1]) if len(sys.argv) > 1 else source.ROOT
        (ROOT / LIST).write_text("".join(f"{row}\n" for row in listed(ROOT)), "utf-8")
    else:
        source.run(check)
