"""Makes a script of the sessions in an issue, which asserts the output that the issue shows.

The issue may show wrong or right behaviour, so the script is only a draft; its runs without a patch tell which.
"""

from __future__ import annotations

import ast
import re

from acr.byte_fields import unpack
from acr.issue_examples import FENCE, MORE, PROMPT

_MOST = 40  # prompts
_OUT = re.compile(r"Out ?\[\d+\]: ?")
_UNSTABLE = re.compile(r"\.\.\.| at 0x[0-9a-f]+")
# Sources whose output says nothing about the issue, or is not written by repr.
_OTHER = re.compile(r"version|random|time|platform|path|__file__|\bid\(|environ|getpid|print(?!\()|help\(|dir\(")


def _prompts(lines: list[str]) -> list[tuple[str, str]]:
    """(source, shown output) of each prompt, in order."""
    found: list[tuple[list[str], list[str]]] = []
    is_shown = False  # whether the line belongs to the last prompt
    for line in lines:
        prompt, more = PROMPT.match(line), MORE.match(line)
        if prompt:
            found.append(([prompt[1] or ""], []))
        elif is_shown and more and not found[-1][1]:
            found[-1][0].append(more[1] or "")
        elif is_shown and line.strip() and not FENCE.match(line):
            found[-1][1].append(_OUT.sub("", line.strip()))
        is_shown = bool(prompt) or (is_shown and bool(line.strip()) and not FENCE.match(line))
    return [("\n".join(source), "\n".join(shown)) for source, shown in found]


def _observed(statement: ast.stmt) -> str:
    """An expression for the text that a prompt prints for a statement; "" if it is unknown."""
    if not isinstance(statement, ast.Expr):
        return ""
    call = statement.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != "print":
        return f"repr({ast.unparse(call)})"
    is_plain = len(call.args) == 1 and not call.keywords and not isinstance(call.args[0], ast.Starred)
    return f"str({ast.unparse(call.args[0])})" if is_plain else ""


def _is_exact(shown: str) -> bool:
    """Whether an output is the only text that Python prints for a value, so that it can be compared."""
    if not shown or "\n" in shown or _UNSTABLE.search(shown):
        return False
    try:
        ast.parse(shown, mode="eval")
    except (SyntaxError, ValueError):
        return False
    return True


def _script(issue: str, only: int) -> str:
    """The script; "" if there is none. `only`: the line of the only assertion to keep, as the last line; 0: all."""
    lines: list[str] = []
    at = 0  # the line's number in the script with all assertions
    has_assertion = False
    for source, shown in _prompts(issue.splitlines())[:_MOST]:
        if shown.startswith("Traceback") or "Error:" in shown:
            break
        statements = ast.parse(source).body
        for statement in statements:
            plain, observed = ast.unparse(statement).split("\n"), _observed(statement)
            is_shown = statement is statements[-1] and _is_exact(shown)
            is_asserted = is_shown and bool(observed) and not _OTHER.search(source)
            at += 1 if is_asserted else len(plain)
            if not is_asserted or only not in (0, at):
                lines += plain
                continue
            lines.append(f"assert {observed} == {shown!r}")
            has_assertion = True
            if only:
                return "\n".join(lines) + "\n"
    return "\n".join(lines) + "\n" if has_assertion and not only else ""


def draft(argument: bytes) -> bytes:
    """Packed (the issue, a line number or 0) -> the script, empty if there are no sessions; see _script."""
    issue, only = unpack(argument)
    try:
        return _script(issue.decode("utf-8", "replace"), int(only)).encode("utf-8", "surrogatepass")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return b""
