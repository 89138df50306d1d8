"""Reads the output of test programs: test id -> PASSED, FAILED, ERROR, SKIPPED or XFAIL.

Ids are in the notation of the benchmark's lists: for pytest the second word of a summary line, so
an id with a blank in its parameters is cut there. Where one id is reported more than once the worst
status counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Callable

MAX_LOG_CHARS = 50_000_000
_WORST_LAST = ("PASSED", "XFAIL", "XPASS", "SKIPPED", "FAILED", "ERROR")
_STATUS = "|".join(_WORST_LAST)
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_AT_START = re.compile(rf"(?:{_STATUS})(?= )")
_AT_END = re.compile(rf"(\S*::.*?) ({_STATUS})(?: +\[ *\d+%\])?$")
_OPTION = re.compile(r"(.*?)\[(/[^/*][^*]*)\]$")
_SYMPY_HEADING = re.compile(r"_+ +(\S+\.py):(\S+) +_+$")
_SYMPY_LINE = re.compile(r"(test_\S+) (ok|F|E|f|X|s|w|T|K|\[OK\]|\[FAIL\])(?: .*)?$")
_SYMPY_MARKS = {
    "ok": "PASSED",
    "F": "FAILED",
    "E": "ERROR",
    "f": "XFAIL",
    "s": "SKIPPED",
}

Pairs = Iterator["tuple[str, str]"]


def worst(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """One status per id; of several the worst."""
    found: dict[str, str] = {}
    for name, status in pairs:
        rank = _WORST_LAST.index(status)
        if name not in found or rank > _WORST_LAST.index(found[name]):
            found[name] = status
    return found


def is_test_id(name: str) -> bool:
    """False for what only looks like an id: counts and progress marks such as `[1]`, `[100%]`."""
    return not name.startswith("[")


def _clean(line: str) -> str:
    return _CONTROLS.sub("", _COLOURS.sub("", line)).rstrip()


def _pytest_line(line: str) -> tuple[str, str] | None:
    """(id, status) of a summary line `STATUS id…` or of a verbose line `id STATUS [ 5%]`."""
    begin = _AT_START.match(line)
    if begin:
        words = line.replace(" - ", " ").split()
        named = len(words) > 1 and is_test_id(words[1])
        return (words[1], begin.group()) if named else None
    end = _AT_END.match(line)
    return (end.group(1).split()[0], end.group(2)) if end else None


def pytest_pairs(lines: Iterable[str]) -> Pairs:
    """Pairs of any pytest from 3 on, with -rA or -vv."""
    for line in lines:
        pair = _pytest_line(_clean(line))
        if pair:
            yield pair


def pytest_options_pairs(lines: Iterable[str]) -> Pairs:
    """As pytest_pairs; a parameter that is an absolute path keeps its last part only."""
    for name, status in pytest_pairs(lines):
        option = _OPTION.match(name)
        if option:
            name = f"{option.group(1)}[/{option.group(2).rsplit('/', 1)[-1]}]"
        yield name, status


def seaborn_pairs(lines: Iterable[str]) -> Pairs:
    """As pytest_pairs, without the tests that were only skipped or errored in collection."""
    for name, status in pytest_pairs(lines):
        if status in ("PASSED", "FAILED", "ERROR", "XFAIL"):
            yield name, status


def sympy_pairs(lines: Iterable[str]) -> Pairs:
    """Pairs of sympy's own runner with --verbose: `test_x ok`, and headings of failures."""
    for raw in lines:
        line = _clean(raw)
        heading = _SYMPY_HEADING.match(line)
        if heading:
            yield heading.group(2), "FAILED"
            continue
        mark = _SYMPY_LINE.match(line)
        if mark and mark.group(2) in _SYMPY_MARKS:
            yield mark.group(1), _SYMPY_MARKS[mark.group(2)]


def django_pairs(lines: Iterable[str]) -> Pairs:
    """Pairs of Django's runner at verbosity 2; an `ok` on a later line is the last open test's."""
    ends = {"ok": "PASSED", "OK": "PASSED", "FAIL": "FAILED", "ERROR": "ERROR"}
    open_name = ""
    for raw in lines:
        line = _clean(raw).strip()
        failed = re.match(r"(FAIL|ERROR): (.+)$", line)
        name, dots, tail = line.partition(" ... ")
        if failed:
            yield failed.group(2), ends[failed.group(1)]
        elif dots and (tail in ends or tail.startswith("skipped")):
            yield name, ends.get(tail, "SKIPPED")
            open_name = ""
        elif line.endswith(" ...") or dots:
            open_name = name.removesuffix(" ...")
        elif open_name and line.split(" ")[-1] in ends:
            yield open_name, ends[line.split(" ")[-1]]
            open_name = ""


_PARSERS: dict[str, Callable[[Iterable[str]], Pairs]] = {
    "sympy/sympy": sympy_pairs,
    "django/django": django_pairs,
    "mwaskom/seaborn": seaborn_pairs,
    "psf/requests": pytest_options_pairs,
    "pylint-dev/pylint": pytest_options_pairs,
}


def parse_log(repo: str, log: str) -> dict[str, str]:
    """Test id -> status of one test run of `repo` ("owner/name"); other repositories: pytest."""
    parser = _PARSERS.get(repo, pytest_pairs)
    return worst(parser(log[:MAX_LOG_CHARS].splitlines()))
