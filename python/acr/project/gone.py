"""Finds, in a patch's diff, which tests the patch itself removes or renames, of the tests that disappear with it."""

from __future__ import annotations

import re
from collections import Counter

from acr.project.detect import is_test_file

_DEFINITION = re.compile(r"^([-+])[ \t]*(?:(?:async[ \t]+)?def[ \t]+|class[ \t]+)?(\w+)[ \t]*[(:=]", re.MULTILINE)


def _lost(diff: str) -> set[str]:
    """Names of classes, functions and variables of which a file has fewer definitions."""
    signs = Counter(_DEFINITION.findall(diff))
    return {name for _, name in signs if signs["-", name] > signs["+", name]}


def _name_in(path: str, test: str) -> list[str] | None:
    """The names of a test within its file; None if the test is not of this file."""
    words = re.findall(r"\w+", test.partition("[")[0].replace(".py::", "::"))
    module = re.findall(r"\w+", path.removesuffix(".py").removesuffix("/__init__"))
    sizes = range(min(len(module), len(words)), 0, -1)
    return next((words[size:] for size in sizes if module[-size:] == words[:size]), None)


def _is_removed(test: str, path: str, diff: str, has_cases: bool) -> bool:
    """Whether the diff of a file removes a test; `has_cases`: other cases of it are left."""
    base, _, parameters = test.partition("[")
    name, is_deleted = _name_in(path, test), "\n+++ /dev/null\n" in diff
    is_data = is_deleted and path.rpartition("/")[2].partition(".")[0] in re.findall(r"\w+", parameters)
    if name is None:  # maybe a base class in a file that is not run itself
        return is_data or (not is_test_file(path) and not _lost(diff).isdisjoint(re.findall(r"\w+", base)[-1:]))
    is_doctest = len(re.findall(r"^-.*>>>", diff, re.MULTILINE)) > len(re.findall(r"^\+.*>>>", diff, re.MULTILINE))
    return is_deleted or has_cases or not _lost(diff).isdisjoint(name) or (is_doctest and not is_test_file(path))


def find_removed(gone: list[str], before: list[str], now: list[str], diff: str) -> list[str]:
    """Of the tests `gone`, those that the patch removes or renames. `before`, `now`: all tests without and with it."""
    old, new = (Counter(test.partition("[")[0] for test in tests) for tests in (before, now))
    files = re.findall(r"^diff --git a/(.+?) b/.*\n((?:(?!diff --git ).*\n?)*)", diff, re.MULTILINE)
    left = {test: new[test.partition("[")[0]] if "[" in test else 0 for test in gone}
    renamed = {test for test in gone if 0 < left[test] >= old[test.partition("[")[0]]}
    return [test for test in gone if test in renamed or any(_is_removed(test, *file, left[test] > 0) for file in files)]
