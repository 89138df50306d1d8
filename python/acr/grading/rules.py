"""Grades a log by the rules of version 4 or 5 of SWE-bench's package: returns the content of report.json."""

from __future__ import annotations

import json
import re

from acr.grading.failures import ENVIRONMENT, classify
from acr.grading.parsers import ERROR, FAILED, PASSED, SKIPPED, XFAIL, parser_of

START, END = ">>>>> Start Test Output", ">>>>> End Test Output"
NOT_GRADED = tuple(
    f">>>>> {what}" for what in ("Patch Apply Failed", "Reset Failed", "Tests Errored", "Tests Timed Out")
)
FAIL_TO_PASS, PASS_TO_PASS = "FAIL_TO_PASS", "PASS_TO_PASS"

_EXIT_CODE = re.compile(r">>>>> Test Exit Code:\s*(-?\d+)")
_TIME = re.compile(r"\s*(?:\[\d[\d.]*\s*m?s\]|in \d[\d.]*\s*(?:m?s|msec|sec)\w*|\(\d[\d.]*\s*m?s\))$")
# Signs that a test suite ran although the parser found no test; a count of zero is no sign.
_SUITE_RAN = re.compile(
    r"Executed [1-9]\d* of \d+|TOTAL: [1-9]\d* (?:SUCCESS|FAILED)|[1-9]\d* passing|Tests:\s+[1-9]\d*"
    r"|Test Suites:\s+(?:\d+ \w+, )*[1-9]\d* total|^# tests [1-9]\d*|[1-9]\d* specs?, \d+ failures?|': ok$",
    re.MULTILINE,
)
# Projects whose parsers find only failed tests; in version 5, a field of the row marks such parsers.
_FAIL_ONLY_PROJECTS = ("chartjs/Chart.js", "processing/p5.js", "markedjs/marked")


def read_log(raw: bytes) -> str:
    """The text of a log, decoded as Python reads a text file; invalid UTF-8 is replaced, where the package raises an
    error."""
    return raw.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")


def output_of(log: str) -> str:
    """The part of a log between the marks of test output; a log without marks is returned whole."""
    return log.split(START)[1].split(END)[0] if START in log else log


def outcomes(log: str, row: dict, rules: int) -> dict[str, str] | None:
    """{test: outcome} of a log; None: the log cannot be graded, and the patch counts as not applied."""
    if any(mark in log for mark in NOT_GRADED) or START not in log or END not in log:
        return None
    parse = parser_of(row)
    found = parse(output_of(log), rules) or parse(log, rules)
    if row.get("strips_times"):
        found = {_TIME.sub("", test): outcome for test, outcome in found.items()}
    if rules == 4:
        return found
    if not found and not _SUITE_RAN.search(log):
        return None
    code = _EXIT_CODE.search(log)
    hides_failure = code and int(code[1]) != 0 and found and not {FAILED, ERROR}.intersection(found.values())
    return None if hides_failure else found


def expected(row: dict, key: str) -> list[str]:
    """The row's tests under `key`, given as a list or as its JSON text."""
    tests = row.get(key) or []
    return json.loads(tests) if isinstance(tests, str) else list(tests)


def tests_status(row: dict, found: dict[str, str], rules: int) -> dict[str, dict[str, list[str]]]:
    """Sorts each expected test into success or failure. Version 4 drops skipped tests."""
    if rules == 4:
        is_fail_only = row.get("repo") in _FAIL_ONLY_PROJECTS
    else:
        is_fail_only = row.get("eval_type") == "fail_only"
    status = {}
    for key in (FAIL_TO_PASS, PASS_TO_PASS):
        sorted_tests = {"success": [], "failure": []}
        for test in expected(row, key):
            test = _TIME.sub("", test) if row.get("strips_times") else test
            if is_fail_only:
                good = found.get(test) != FAILED
            elif row.get("counts"):
                good = _is_counted(found.get(test), key, row["counts"])
            else:
                good = _is_good(_outcome(test, found, rules), key, rules)
            if good is not None:
                sorted_tests["success" if good else "failure"].append(test)
        status[key] = sorted_tests
    for key in ("FAIL_TO_FAIL", "PASS_TO_FAIL"):  # never counted, but part of the format
        status[key] = {"success": [], "failure": []}
    return status


def _outcome(test: str, found: dict[str, str], rules: int) -> str | None:
    """A test's outcome. From 5 on, if the id was cut inside a parameter, the outcome on which all tests with that
    beginning agree."""
    if test in found or rules == 4 or test.count("[") <= test.count("]"):
        return found.get(test)
    matches = [outcome for name, outcome in found.items() if name.startswith(test)]
    return matches[0] if len({outcome in (PASSED, XFAIL) for outcome in matches}) == 1 else None


def _is_good(outcome: str | None, key: str, rules: int) -> bool | None:
    """Whether an outcome counts as success; None: it counts as neither success nor failure."""
    if outcome in (PASSED, XFAIL):
        return True
    if outcome == SKIPPED:
        return None if rules == 4 else key == PASS_TO_PASS
    return False if outcome in (None, FAILED, ERROR) else None


def _is_counted(outcome: str | None, key: str, how: str) -> bool:
    """Whether an outcome counts as success for the harness of another data set (`dataset/sets.py`)."""
    if how == "not failed" and key == PASS_TO_PASS:
        return outcome not in (FAILED, ERROR)
    return outcome == PASSED


def is_resolved(status: dict[str, dict[str, list[str]]]) -> bool:
    """Whether all fail-to-pass tests pass and no pass-to-pass test fails."""
    return not status[FAIL_TO_PASS]["failure"] and not status[PASS_TO_PASS]["failure"]


def report(row: dict, patch: str | None, log: str, rules: int) -> dict:
    """The content of report.json for one prediction."""
    said = {"patch_is_None": patch is None, "patch_exists": patch is not None}
    said.update(patch_successfully_applied=False, resolved=False)
    if rules != 4:
        said["infra_failure"] = False
    found = outcomes(log, row, rules) if patch is not None else None
    if found is not None:
        status = tests_status(row, found, rules)
        said.update(patch_successfully_applied=True, resolved=is_resolved(status), tests_status=status)
    elif patch is not None and rules != 4:
        failure = classify(log)
        if failure:
            said.update(infra_failure=failure.tier == ENVIRONMENT, infra_failure_reason=failure.reason)
    return {row["instance_id"]: said}
