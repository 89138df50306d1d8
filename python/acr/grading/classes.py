"""The class of a failure: a short name for the reason why a task is not resolved. Reports count failures by class."""

from __future__ import annotations

from acr.grading import rules
from acr.grading.failures import ENVIRONMENT, classify

TIME_OUT = "time_out"
ENVIRONMENT_FAILED = "environment"
SCRIPT_ENDED_EARLY = "script_ended_early"
NO_TESTS_FOUND = "no_tests_found"
ISSUE_REMAINS = "issue_remains"
TESTS_BREAK = "tests_break"


def class_of(row: dict, log: str, report: dict, version: int) -> str:
    """The class of a log whose report (the content of report.json) does not say "resolved".

    The report decides first: if tests ran and failed, the environment is not at fault.
    """
    said = report[row["instance_id"]]
    found = rules.outcomes(log, row, version)
    if said["patch_successfully_applied"] and found:
        failed = said["tests_status"][rules.FAIL_TO_PASS]["failure"]
        return ISSUE_REMAINS if failed else TESTS_BREAK
    failure = classify(log)
    if failure and failure.reason == "tests_timed_out":
        return TIME_OUT
    if failure and failure.tier == ENVIRONMENT:
        return ENVIRONMENT_FAILED
    if rules.START not in log or rules.END not in log:
        return SCRIPT_ENDED_EARLY
    return NO_TESTS_FOUND
