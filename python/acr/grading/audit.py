"""Decides whether a task can be graded here, from several runs with the reference patch and without a patch.

The class of a task: "sound" (the reference patch always resolves it, an empty patch never), "flaky" (the reference
patch resolves it in some runs only), "accepts_empty" (an empty patch resolves it), "broken" (the reference patch never
resolves it, or the test patch does not apply), "environment" (no test outcomes could be read). Runs with another test
order or date do not change the class; they show which tests depend on the order or the date.
"""

from __future__ import annotations

import json
from collections import Counter

from acr.grading.classes import ISSUE_REMAINS, TESTS_BREAK

CLASSES = ("sound", "flaky", "accepts_empty", "broken", "environment")
_READ = (None, ISSUE_REMAINS, TESTS_BREAK, "patch_does_not_apply")  # failure classes of runs whose tests could be read
MAX_LISTED = 20


def judge(argument: bytes) -> bytes:
    """{"reference", "empty": [{"failure", "tests", "rejected" (the test patch), "order", "day"}], "history": whether the
    repository holds the fix}, as runtime/eval/audit.c sends it -> {"class", "why", …} (JSON)."""
    told = json.loads(argument)
    reference, empty = told["reference"], told["empty"]
    standard = [run for run in reference if not _is_reordered(run)]
    good, bad = _resolved(standard), _resolved(empty)
    flaky = _unsteady(standard)
    kind, why = "sound", None
    rejected = next(filter(None, (run.get("rejected") for run in [*reference, *empty])), None)
    if rejected:
        kind, why = "broken", f"the test patch does not apply: {rejected}"
    elif good == 0:
        kind, why = _of_failure(standard)
    elif good < len(standard):
        kind, why = "flaky", f"the reference patch resolves the task in {good} of {len(standard)} runs{_named(flaky)}"
    elif bad == len(empty):
        kind, why = "accepts_empty", "an empty patch resolves the task"
    elif bad:
        kind, why = "flaky", f"an empty patch resolves the task in {bad} of {len(empty)} runs"
    before = [_passed(run, 0) for run in empty]
    changed = _changed(reference, standard)
    report = {
        "class": kind, "why": why, "runs": len(reference), "reference_resolved": _resolved(reference),
        "empty_resolved": bad, "flaky": flaky, "passes_before": sorted(set.intersection(*before))[:MAX_LISTED],
        "depends_on_order_or_day": changed, "fix_in_history": told["history"],
        "varied": ["hash seed", "time zone"] * (len(reference) > 1)
        + ["test order"] * any(run.get("order") for run in reference)
        + ["day"] * any(run.get("day") for run in reference),
    }  # fmt: skip
    return json.dumps(report).encode()


def _is_reordered(run: dict) -> bool:
    return bool(run.get("order") or run.get("day"))


def _resolved(runs: list[dict]) -> int:
    return sum(run["failure"] is None for run in runs)


def _passed(run: dict, kind: int) -> set[str]:
    """The tests that passed: kind 0 are those that the patch must fix, 1 those that must keep passing."""
    tests = run.get("tests") or [{}, {}]
    return {name for name, passed in tests[kind].items() if passed}


def _passes(run: dict) -> set[str]:
    return _passed(run, 0) | _passed(run, 1)


def _unsteady(runs: list[dict]) -> dict[str, int]:
    """Tests that pass in only some of the runs -> the number of those runs."""
    counts = Counter(name for run in runs for name in _passes(run))
    return {name: count for name, count in sorted(counts.items()) if count < len(runs)} if len(runs) > 1 else {}


def _changed(reference: list[dict], standard: list[dict]) -> list[str]:
    """Tests that always pass in the usual order on the real day, but not in another order or on another day."""
    always = set.intersection(*map(_passes, standard)) if standard else set()
    return sorted({name for run in reference if _is_reordered(run) for name in always - _passes(run)})[:MAX_LISTED]


def _named(flaky: dict[str, int]) -> str:
    return f"; {next(iter(flaky))} is flaky" if flaky else ""


def _of_failure(runs: list[dict]) -> tuple[str, str]:
    """The class and the reason for a task that the reference patch never resolves."""
    failure = runs[0]["failure"]
    if failure not in _READ:
        return "environment", failure
    if failure == "patch_does_not_apply":
        return "broken", "the reference patch does not apply"
    failed = [name for kind in runs[0]["tests"] for name, passed in kind.items() if not passed]
    count = f"{len(failed)} test fails" if len(failed) == 1 else f"{len(failed)} tests fail"
    return "broken", f"with the reference patch {count}, such as {failed[0] if failed else 'none'}"


# ---- Many tasks ----


def table(rows: list[dict]) -> str:
    """The audits of many tasks, for people."""
    width = max([len("task"), *(len(row["task"]) for row in rows)])
    lines = [f"{'task':{width}}  {'class':13}  {'reference':>9}  {'empty':>6}  {'history':7}  why"]
    for row in rows:
        audit = row["audit"]
        runs, known = audit.get("runs"), audit.get("fix_in_history")
        counts = [f"{audit[key]}/{runs}" if runs else "-" for key in ("reference_resolved", "empty_resolved")]
        history = "-" if known is None else "has fix" if known else "clean"
        notes = [audit["why"]] if audit["why"] else []
        for key, one, many in (
            ("passes_before", "test already passes without a patch", "tests already pass without a patch"),
            ("depends_on_order_or_day", "test depends on order or day", "tests depend on order or day"),
        ):
            count = len(audit.get(key) or ())
            notes += [f"{count} {one if count == 1 else many}"] if count else []
        name, kind = row["task"], audit["class"]
        line = f"{name:{width}}  {kind:13}  {counts[0]:>9}  {counts[1]:>6}  {history:7}  {'; '.join(notes)}"
        lines.append(line.rstrip())
    return "\n".join(lines) + "\n"
