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
_NO_MODULE = re.compile(r"\bModuleNotFoundError: No module named '([\w.]+)'")
_INTERNAL = re.compile(r"(?m)^INTERNALERROR> (\S.*)$")  # its last line names the error


def missing_runner(log: str) -> str:
    """The message of a test command that could not start, if it is the only output; "" otherwise."""
    lines = [line for line in rules.output_of(log).splitlines()[1:] if line.strip() and not line.startswith(_TRACE)]
    found = _NO_RUNNER.match(lines[0]) if len(lines) == 1 else None
    return (found[1] or found[2]) if found else ""


def why_none_ran(row: dict, log: str, version: int) -> tuple[str, str]:
    """Why no test ran, and what is wrong with the environment if the tests end so without the patch, too; "": unknown.

    A module that a patch should add is missing without the patch, too. If the row has tests that pass without a patch,
    or a reference patch that does not add the module, the environment lacks it.
    """
    runner = missing_runner(log)
    if runner:
        return runner, f"the test command does not start: {runner}"
    output = rules.output_of(log)
    internal, modules = _INTERNAL.findall(output), _NO_MODULE.findall(output)
    if not (internal or modules) or set((rules.outcomes(log, row, version) or {}).values()) - {rules.ERROR}:
        return "", ""
    is_known = bool(row.get("patch") or rules.expected(row, rules.PASS_TO_PASS))
    if internal:
        told = f"pytest's INTERNALERROR: {internal[-1][:300]}"
        return told, told if is_known else ""
    name, path = modules[-1], modules[-1].replace(".", "/")
    added = rf"(?m)^(?:--- /dev/null\n\+\+\+ b|rename to )(?:\S*/|/)?{path}(?:/__init__)?\.py\s*$"
    if re.search(added, row.get("patch") or ""):
        return f"no module named '{name}', which the reference patch adds", ""
    both = "" if is_known else ": the environment lacks it, or the patch should add it"
    return f"no module named '{name}'{both}", f"the environment lacks '{name}'" if is_known else ""


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
