"""Rejects names of files of a run, batch or evaluation outside runtime/layout/layout.h, which defines these names.

usage: layout.py [ROOT]; one line per finding, exit 1 if there is one. It ignores names without a dot or format, which
are also ordinary words, and literals with a space, which are messages that may mention a file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import source

C = (".c", ".h")
OWNER, PYTHON_OWNER = Path("runtime/layout/layout.h"), Path("python/acr/layout.py")
# (file, name): in this file, the name means something else.
ALLOWED = {
    ("runtime/verbs/demo.c", "issue.md"),  # of the bundled sample
    ("python/acr/dataset/rows.py", "eval.sh"),  # of a task repository
}
_NAME = re.compile(r'^#define (ACR_(?:FILE|DIR)_\w+)[^"/]*"([^"\n]+)"', re.MULTILINE)
_LITERAL = re.compile(r'"((?:\\.|[^"\\\n])*)"')


def owned(root: Path) -> dict[str, str]:
    """Name on disk -> its constant."""
    owner = root / OWNER
    return {
        name.strip("/"): constant for constant, name in _NAME.findall(source.read(owner) if owner.is_file() else "")
    }


def _spelled(text: str, names: dict[str, str]) -> Iterator[str]:
    for name in [] if re.search(r"\s", text) else names:
        if (
            ("." in name or "%" in name)
            and name in text
            and re.search(rf"(?<![\w.%-]){re.escape(name)}(?![\w.-])", text)
        ):
            yield name


def c_literals(text: str) -> Iterator[tuple[int, str]]:
    """(line, text) of the string literals in C, except in #include lines."""
    for number, line in enumerate(source.without_comments(text).splitlines(), 1):
        if not line.lstrip().startswith("#include"):
            yield from ((number, found) for found in _LITERAL.findall(line))


def python_literals(text: str) -> Iterator[tuple[int, str]]:
    """(line, text) of the strings in Python except docstrings; "%u" replaces the values of f-strings."""
    tree = ast.parse(text)
    said = {id(node.value) for node in source.statements(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            said |= {id(part) for part in node.values}
            parts = [part.value if isinstance(part, ast.Constant) else "%u" for part in node.values]
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.lineno, node.value


def literals(root: Path) -> Iterator[tuple[Path, int, str]]:
    """(path, line, text) of all strings of the program, except those of the owner."""
    for path in [
        *source.files(root / "native", *C),
        *source.files(root / "runtime", *C),
        *source.files(root / "python", ".py"),
    ]:
        inside = path.relative_to(root)
        if inside != OWNER:
            found = python_literals if path.suffix == ".py" else c_literals
            yield from ((inside, line, text) for line, text in found(source.read(path)))


def check(root: Path) -> Iterator[str]:
    """All findings."""
    names = owned(root)
    for path, line, text in literals(root):
        if path == PYTHON_OWNER:
            if re.search(r"\.\w+$|\w%u$", text) and text not in names:
                yield f'{path}:{line}: "{text}" is not in {OWNER}'
            continue
        for name in _spelled(text, names):
            if (path.as_posix(), name) not in ALLOWED:
                yield f'{path}:{line}: spells "{name}": use {names[name]} of {OWNER}'


if __name__ == "__main__":
    source.run(check)
