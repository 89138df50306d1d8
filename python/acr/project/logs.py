"""Parses logs of runners that report outcomes in no other way, with the parsers that grade benchmark tasks."""

from __future__ import annotations

import re

from acr.grading import parsers

_RULES = 5
_NAMES = {"PASSED": "passed", "FAILED": "failed", "SKIPPED": "skipped", "ERROR": "error", "XFAIL": "xfailed"}
_SYMPY_FILE = re.compile(r"^(\S+\.py)\[(\d+)\]")


def outcomes(name: str, log: str) -> dict[str, str]:
    """The outcomes in a log; `name`: the plan's parser."""
    if name == "sympy":
        return _sympy(log)
    found = [parser(log, _RULES) for parser in (parsers.pytest_v2, parsers.django, parsers.sympy)]
    best = max(found, key=len)
    return {test: _NAMES[outcome] for test, outcome in best.items() if outcome in _NAMES}


def _sympy(log: str) -> dict[str, str]:
    """Parse the log of each file separately, because one name may occur in several files."""
    found: dict[str, str] = {}
    file, part = "", []

    def take() -> None:
        for test, outcome in parsers.sympy("\n".join(part), _RULES).items():
            if file and outcome in _NAMES and test.startswith("test_"):
                found[f"{file}:{test}"] = _NAMES[outcome]
        part.clear()

    for line in log.split("\n"):
        begin = _SYMPY_FILE.match(line)
        if begin or line.startswith(("_____", "=====")):
            take()
            file = begin[1] if begin else ""
        part.append(line)
    take()
    return found
