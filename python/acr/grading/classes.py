"""The class of a failure: a short name for the reason why a task is not resolved. Reports count failures by class."""

from __future__ import annotations

import re

from acr.grading import rules
from acr.grading.failures import ENVIRONMENT, classify

TIME_OUT = "time_out"
ENVIRONMENT_FAILED = "environment"
SCRIPT_ENDED_EARLY = "script_ended_early"
NO_TESTS_FOUND = "no_tests_found"
ISSUE_REMAINS = "issue_remains"
ISSUE_TESTS_NOT_RUN = "issue_tests_not_run"  # for example, because the row misspells their names
TESTS_BREAK = "tests_break"

# What Python and bash print if the test runner does not exist.
_NO_RUNNER = re.compile(r"(?:\S*python[\d.]*: (No module named \S+)|\S+: line \d+: (\S+: command not found))\Z")
_TRACE = ("+", ">>>>> ")  # lines that the script prints itself


def missing_runner(log: str) -> str:
    """The message of a test command that could not start, if it is the only output; "" otherwise."""
    lines = [line for line in rules.output_of(log).splitlines()[1:] if line.strip() and not line.startswith(_TRACE)]
    found = _NO_RUNNER.match(lines[0]) if len(lines) == 1 else None
    return (found[1] or found[2]) if found else ""


def class_of(row: dict, log: str, report: dict, version: int) -> str:
    """The class of a log whose report (the content of report.json) does not say "resolved".

    The report decides first: if tests ran and failed, the environment is not at fault.
    """
    said = report[row["instance_id"]]
    found = rules.outcomes(log, row, version)
    if said["patch_successfully_applied"] and found:
        failed = said["tests_status"][rules.FAIL_TO_PASS]["failure"]
        if not failed:
            return TESTS_BREAK
        was_run = rules.ERROR in found.values() or any(name.startswith(test) for test in failed for name in found)
        return ISSUE_REMAINS if was_run else ISSUE_TESTS_NOT_RUN
    failure = classify(log)
    if failure and failure.reason == "tests_timed_out":
        return TIME_OUT
    if failure and failure.tier == ENVIRONMENT:
        return ENVIRONMENT_FAILED
    if rules.START not in log or rules.END not in log:
        return SCRIPT_ENDED_EARLY
    return NO_TESTS_FOUND
