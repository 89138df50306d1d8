"""Makes a script of the Python examples in an issue: sessions with prompts, and fenced blocks that are Python.

The script runs the statements one by one, as an interactive session does, and prints what each shows: its output, or
the type of its exception. Messages, addresses and the folder are left out, because they differ between equal patches.
"""

from __future__ import annotations

import ast
import itertools
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 200  # statements
PROMPT = re.compile(r"\s*(?:>>>|In ?\[\d+\]:)(?: (.*)|$)")
MORE = re.compile(r"\s*\.{3,}:?(?: (.*)|$)")
FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*([\w.+-]*)")
_LANGUAGES = ("", "py", "python", "python3", "pycon", "ipython")
_SCRIPT = """\
import contextlib
import io
import os
import re
import sys

shown = io.StringIO()
names = {{"__name__": "__main__"}}
with contextlib.redirect_stdout(shown):
    for statement in {statements!r}:
        try:
            exec(compile(statement + "\\n", "<issue>", "single"), names)
        except BaseException as error:
            print("raises", type(error).__name__)
text = shown.getvalue().replace(os.getcwd(), ".")
sys.stdout.write(re.sub("0x[0-9a-fA-F]+", "0x", text))
"""


def script(issue: bytes) -> bytes:
    """The script; empty if the issue has no example."""
    lines = issue.decode("utf-8", "replace").splitlines()
    found = [*_examples(lines)][:_MOST]
    return _SCRIPT.format(statements=found).encode() if found else b""


def _examples(lines: list[str]) -> Iterator[str]:
    """The statements of sessions, and of fenced blocks without sessions."""
    at = 0
    while at < len(lines):
        fence, begin = FENCE.match(lines[at]), at
        at += 1
        if fence:
            at = next((i + 1 for i in range(at, len(lines)) if lines[i].strip() == fence[1]), len(lines))
            block = lines[begin + 1 : at - 1]
        else:
            while at < len(lines) and not FENCE.match(lines[at]):
                at += 1
            block = lines[begin:at]
        if any(map(PROMPT.match, block)):
            yield from _typed_statements(block)
        elif fence and fence[2].lower() in _LANGUAGES:
            yield from map(ast.unparse, _parse_statements("\n".join(block)))


def _typed_statements(lines: list[str]) -> Iterator[str]:
    """The input at the prompts, without what is not Python."""
    for number, line in enumerate(lines):
        if prompt := PROMPT.match(line):
            more = itertools.takewhile(bool, map(MORE.match, lines[number + 1 :]))
            text = "\n".join(match[1] or "" for match in [prompt, *more] if match)
            yield from [text] if _parse_statements(text) else []


def _parse_statements(text: str) -> list[ast.stmt]:
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
