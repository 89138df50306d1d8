"""Rejects functions of native/ and runtime/ that the program never reaches, including functions that only tests use.

usage: unused.py [ROOT]; one line per function, exit 1 if there is one. A function counts as reached if `main`, a table,
a macro or a reached function names it. The check compares names in the text, so it may miss a dead function, but needs
no build.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import c_code
import source

_MACRO = re.compile(r"\bG_DEFINE_\w+\([^()]*\)")
_CALLED_FROM_OUTSIDE = {
    "mbedtls_x509_crt_parse_file",  # acr-host defines this function, so that libgit2 does not call its own
    *("acr_trace_begin", "acr_trace_end", "acr_trace_join"),  # called by the project's Python in the sandbox
}
Key = tuple[str, str]  # file ("" for exported names), name


def outside_names(file: c_code.File) -> set[str]:
    """The words in macros and initialisers of a file; prototypes do not count."""
    outside = file.outside()
    texts = [line for line in file.directives if "define" in line] + _MACRO.findall(outside)
    texts += [statement for statement in _MACRO.sub("", outside).split(";") if "=" in statement]
    return {word for text in texts for word in c_code.WORD.findall(text)}


def unreached(files: list[c_code.File]) -> list[tuple[c_code.File, c_code.Function]]:
    """The functions that `main` does not reach."""
    bodies: dict[Key, tuple[c_code.File, c_code.Function]] = {}
    for file in files:
        for function in file.functions:
            local = function.static and file.path.suffix == ".c"
            bodies[str(file.path) if local else "", function.name] = (file, function)

    def meant(file: c_code.File, words: set[str]) -> set[Key]:
        keys = {(str(file.path), word) for word in words} & bodies.keys()
        return keys | {("", word) for word in words if ("", word) in bodies and (str(file.path), word) not in keys}

    waiting = [key for key in bodies if not key[0] and key[1] in {"main", *_CALLED_FROM_OUTSIDE}]
    for file in files:
        waiting += meant(file, outside_names(file))
    reached = set(waiting)
    while waiting:
        file, function = bodies[waiting.pop()]
        new = meant(file, set(c_code.WORD.findall(file.body(function)))) - reached
        reached |= new
        waiting += new
    return [bodies[key] for key in bodies if key not in reached]


def check(root: Path) -> Iterator[str]:
    """All findings."""
    for file, function in unreached(c_code.program(root)):
        yield f"{file.path}:{function.line}: {function.name} is reached by no part of the program"


if __name__ == "__main__":
    source.run(check)
