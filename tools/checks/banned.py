"""Rejects calls of banned functions (not in comments and strings), and bare excepts in Python.

usage: banned.py [ROOT]; one line per finding, exit 1 if there is one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import source

# A pattern for the function's whole name, and the replacement.
BANNED = {
    r"v?sprintf": "g_strdup_printf, g_snprintf or a GString",
    r"strcpy|strcat": "g_strdup, g_strconcat or a GString",
    r"strtok": "g_strsplit",
    r"gets": "acr_file_read",
    r"alloca|g_alloca|g_newa": "g_malloc with a cleanup attribute",
    r"system|popen|v?fork|g_spawn_\w+": "acr_spawn_run",
    r"atoi|atol|atoll|atof": "g_ascii_string_to_signed or g_ascii_strtod",
    r"PyErr_Print(?:Ex)?": "turn the exception into a GError",
    r"PyRun_Simple\w*": "import a module and call it",
    r"assert": "g_assert",
    r"g_regex_\w+": "PCRE2 with match limits, in native/search",
    r"g_(?:thread|mutex|rec_mutex|rw_lock|cond|private)_\w+": "pthread",
    r"g_(?:object|signal|main_loop|io_channel|idle|timeout)_\w+": "nothing beyond GLib's core",
}
_C_RULES = [(re.compile(name), hint) for name, hint in BANNED.items()]
_CALLED = re.compile(r"(?<![\w.>])(\w+)\s*\(")


@cache
def hint_for(name: str) -> str | None:
    """The replacement for a banned C function; None if the function is not banned."""
    return next((hint for rule, hint in _C_RULES if rule.fullmatch(name)), None)


def check_c(root: Path, path: Path) -> Iterator[str]:
    """Findings of one C file."""
    text = source.code_only(source.read(path))
    for match in _CALLED.finditer(text):
        if hint := hint_for(match[1]):
            line = source.line_of(text, match.start())
            yield f"{path.relative_to(root)}:{line}: {match[1]} is banned; use {hint}"


def check_python(root: Path, path: Path) -> Iterator[str]:
    """Findings of one Python file; a file that cannot be parsed is a finding, too."""
    inside = path.relative_to(root)
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError) as error:
        yield f"{inside}:{getattr(error, 'lineno', 0) or 0}: cannot be parsed: {error}"
        return
    for node in source.statements(tree):
        if isinstance(node, ast.ExceptHandler) and node.type is None:
            yield f"{inside}:{node.lineno}: a bare except is banned; name what is caught"


def check(root: Path) -> Iterator[str]:
    """All findings."""
    for path in source.files(root, ".c", ".h"):
        yield from check_c(root, path)
    for path in source.files(root, ".py"):
        yield from check_python(root, path)


if __name__ == "__main__":
    source.run(check)
