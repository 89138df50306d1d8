"""Checks how functions that can fail are declared and called, that owned locals are initialised, and the names of error
domains.

usage: declarations.py [ROOT]; one line per finding, exit 1 if there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import c_code
import source

_OWNED = re.compile(r"\bg_auto(?:free|ptr|list|slist|queue)?\b\s*(?:\(\s*\w+\s*\))?(?P<names>[^;={}()]*);")
_QUARK = re.compile(r"G_DEFINE_QUARK\s*\(\s*(?P<name>[^,]*?)\s*,")
_FALLIBLE = re.compile(r"\bGError\s*\*\s*\*")
_RESULT = re.compile(r"\*|\b(?:bool|gboolean)\b")
_PROTOTYPE = re.compile(r"(\w+)\s*\(")
_RETURNED = re.compile(r"\breturn\b\s*([^;]*);")
_FAILED = re.compile(r"false|FALSE|NULL|(?:\w*fail\w*|acr_(?:set|pass)_error)\s*\(.*", re.DOTALL)
_CALLED_FOR_NOTHING = re.compile(r"(?:[;{}]|\belse)\s*(\w+)\s*\(")


def returns_result(head: str) -> bool:
    """Whether a function whose return type is in `head` returns a bool or a pointer."""
    return "typedef" not in head and bool(_RESULT.search(head))


def prototypes(file: c_code.File) -> Iterator[tuple[str, str, int]]:
    """(name, the whole prototype, offset of the name) of a header's functions that can fail and return a result."""
    at = 0
    for statement in re.split(r"[;{}]", file.code):
        match = _PROTOTYPE.search(statement)
        if match and _FALLIBLE.search(statement, match.end()) and returns_result(statement[: match.start()]):
            yield match[1], statement, at + match.start()
        at += len(statement) + 1


def definitions(file: c_code.File) -> Iterator[c_code.Function]:
    """A file's functions that can fail and return a result, except those that document every result."""
    for function in file.functions:
        head = file.code[max(file.code.rfind(end, 0, function.start) for end in ";}") + 1 : function.start]
        arguments, _, body = file.body(function).partition("{")
        if _FALLIBLE.search(arguments) and returns_result(head):
            if not all(_FAILED.fullmatch(returned) for returned in _RETURNED.findall(body)):
                yield function


def must_use(files: list[c_code.File]) -> Iterator[str]:
    """Findings on the headers' prototypes."""
    can_succeed = {function.name for file in files for function in definitions(file)}
    defined = {function.name for file in files for function in file.functions}
    for file in files:
        for name, statement, offset in prototypes(file) if file.path.suffix == ".h" else ():
            if "ACR_MUST_USE" not in statement and (name in can_succeed or name not in defined):
                yield f"{file.path}:{source.line_of(file.code, offset)}: {name} can fail and is not ACR_MUST_USE"


def dropped(file: c_code.File) -> Iterator[str]:
    """Findings about ignored results of functions of the same file; the compiler checks other calls."""
    fallible = {function.name for function in definitions(file)}
    for function in file.functions if fallible else ():
        for match in _CALLED_FOR_NOTHING.finditer(file.body(function)):
            if match[1] in fallible:
                line = source.line_of(file.code, function.start + match.start(1))
                yield f"{file.path}:{line}: the result of {match[1]} is dropped"


def begun(file: c_code.File) -> Iterator[str]:
    """Findings about g_auto locals without an initial value."""
    for match in _OWNED.finditer(file.code):
        names = " ".join(match["names"].split())
        if names:
            yield f"{file.path}:{source.line_of(file.code, match.start())}: {names!r} is owned and not initialised"


def quarks(file: c_code.File) -> Iterator[str]:
    """Findings on the names of error domains."""
    for match in _QUARK.finditer(file.code):
        if not match["name"].isidentifier():
            line = source.line_of(file.code, match.start())
            yield f"{file.path}:{line}: the quark {match['name']!r} is not an identifier"


def check(root: Path) -> Iterator[str]:
    """All findings."""
    files = c_code.program(root)
    yield from must_use(files)
    for file in files:
        for rule in (dropped, begun, quarks):
            yield from rule(file)


if __name__ == "__main__":
    source.run(check)
