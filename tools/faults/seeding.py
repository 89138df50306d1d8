"""Finds the faults that can be injected into a C file, and chooses among them deterministically.

A fault replaces a span of a file's text. Only code inside functions changes: no comments, strings, assertions, log
lines or error messages, and no cleanup whose loss only causes a leak.
"""

from __future__ import annotations

import hashlib
import random
import re
import sys
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "checks"))

import c_code  # noqa: E402

KINDS = ("sync", "check", "comparison", "error", "off by one")

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_SHIFTED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_COMPARISON = re.compile(r"(?<![-<>=!+*/%&|^])\s(==|!=|<=|>=|<|>)\s(?!=)")
_DESCRIPTOR = re.compile(r"\bfd (?:<|>=) 0\Z")  # descriptor 0 is standard input, so the fault has no effect
_ONE = re.compile(r"(?<=[\w)\]]) [-+] 1u?\b(?!\s*\*)")
_SYNC = re.compile(r"\b(?:fsync|fsync_again|fdatasync|acr_dir_sync)\s*\(")
_IF = re.compile(r"\bif\s*\(")
_LEAVES = re.compile(r"\s*\{?\s*(?:return|continue|break|goto)\b")
_FAILS = re.compile(r"\s*\{?\s*(?:g_prefix_error\s*\([^;]*;\s*)?return (?:false|NULL|ACR_NULL\b|-1)")
_PASSES_ERROR = re.compile(r"(?<=[(,] )error\)|(?<=\()error\)")
# Calls whose arguments are messages or programming errors.
_NO_CODE = re.compile(
    r"\b(?:g_assert\w*|g_return\w*|_Static_assert|static_assert|g_debug|g_message|g_warning|g_critical|g_error|g_prefix_error"
    r"|g_set_error\w*|acr_set_error|acr_loops_note|acr_note\w*|g_printerr|assert|fail\w*)\s*\("
)


class Fault(NamedTuple):
    """A change: `before` at `offset` of `file` becomes `after`. `key` does not depend on line numbers."""

    file: str
    offset: int
    line: int
    function: str
    kind: str
    before: str
    after: str
    key: str

    def applied(self, text: str) -> str:
        """The file's text with the fault."""
        end = self.offset + len(self.before)
        assert text[self.offset : end] == self.before, f"{self.file}:{self.line} has changed"
        return text[: self.offset] + self.after + text[end:]


def _close(code: str, opened: int) -> int:
    """The offset of the `)` that matches the `(` at `opened`."""
    depth = 0
    for offset in range(opened, len(code)):
        depth += {"(": 1, ")": -1}.get(code[offset], 0)
        if depth == 0:
            return offset
    return len(code) - 1


def _spans(code: str, pattern: re.Pattern[str]) -> list[tuple[int, int]]:
    return [(match.start(), _close(code, match.end() - 1) + 1) for match in pattern.finditer(code)]


Change = tuple[str, int, int, str]  # kind, start, end, replacement


def _comparisons(code: str) -> Iterator[Change]:
    for match in _COMPARISON.finditer(code):
        sign = match[1]
        yield "comparison", match.start(1), match.end(1), _OPPOSITE[sign]
        if sign in _SHIFTED and not _DESCRIPTOR.search(code, 0, match.end() + 2):
            yield "off by one", match.start(1), match.end(1), _SHIFTED[sign]
    for match in _ONE.finditer(code):
        yield "off by one", match.start(), match.end(), ""


def _checks(code: str, text: str) -> Iterator[Change]:
    """Conditions of early exits become false; if the condition is a failed call, the failure is ignored."""
    for match in _IF.finditer(code):
        opened = match.end() - 1
        close = _close(code, opened)
        condition, rest = text[opened + 1 : close], code[close + 1 : close + 400]
        if not _LEAVES.match(rest):
            continue
        quiet = _PASSES_ERROR.sub("NULL)", condition)
        if quiet != condition and _FAILS.match(rest):
            yield "error", opened + 1, close, f"({quiet}) && false"
        elif "(" not in condition or not re.search(r"\w = |\+\+|--|get_next|read|next", condition):
            yield "check", opened + 1, close, f"false && ({condition})"


def _syncs(code: str) -> Iterator[Change]:
    for match in _SYNC.finditer(code):
        result = "true" if "dir_sync" in match[0] else "0"
        yield "sync", match.start(), _close(code, match.end() - 1) + 1, result


def candidates(path: str, text: str) -> Iterator[Fault]:
    """All possible faults of a file, in the order of the text."""
    parsed = c_code.parse(text)
    code = parsed.code
    silent = _spans(code, _NO_CODE)
    starts = [function.start for function in parsed.functions]
    seen: dict[tuple[str, ...], int] = {}
    for kind, start, end, after in sorted(
        [*_comparisons(code), *_checks(code, text), *_syncs(code)], key=lambda c: c[1]
    ):
        at = bisect_right(starts, start) - 1
        if at < 0 or start >= parsed.functions[at].end or start < code.index("{", parsed.functions[at].start):
            continue
        if kind != "sync" and any(first <= start < last for first, last in silent):
            continue
        function, line = parsed.functions[at].name, code.count("\n", 0, start) + 1
        place = (path, function, kind, " ".join(text[start:end].split()), after, _around(text, start, end))
        seen[place] = seen.get(place, 0) + 1
        key = hashlib.sha256("\0".join([*place, str(seen[place])]).encode()).hexdigest()[:12]
        yield Fault(path, start, line, function, kind, text[start:end], after, key)


def _around(text: str, start: int, end: int) -> str:
    """The lines with the change, without their layout."""
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    return " ".join(text[first:last].split())


def draw(path: str, text: str, seed: str) -> list[Fault]:
    """A file's faults in the order in which they run: first all syncs, then kinds in turn, and functions in turn."""
    found = list(candidates(path, text))
    dice = random.Random(f"{seed} {path}")
    dice.shuffle(found)
    order = [fault for fault in found if fault.kind == "sync"]
    rest = [fault for fault in found if fault.kind != "sync"]
    kinds = dice.sample(KINDS[1:], len(KINDS) - 1)
    turn, used = 0, {}
    while rest:
        wanted = kinds[turn % len(kinds)]
        turn += 1
        of_kind = [fault for fault in rest if fault.kind == wanted]
        if of_kind:
            taken = min(of_kind, key=lambda fault: used.get(fault.function, 0))
            used[taken.function] = used.get(taken.function, 0) + 1
            rest.remove(taken)
            order.append(taken)
    return order


def digest(*words: str) -> str:
    """A number that depends only on the words, for sorting."""
    return hashlib.sha256(" ".join(words).encode()).hexdigest()
