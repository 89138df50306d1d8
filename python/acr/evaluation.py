"""The results of grading many predictions: the final report, our own summary, and the comparison with another run."""

from __future__ import annotations

import json
import math
from pathlib import Path

from acr import layout
from acr.grading import reports
from acr.grading.audit import CLASSES
from acr.grading.audit import table as audit_table
from acr.grading.failures import ENVIRONMENT, Failure

_Z95 = 1.959963984540054  # the 97.5 % quantile of the normal distribution
_MB = 1024.0 * 1024
# members of an instance that few tasks have
_SOMETIMES = ("error", "no_tests", "doubt", "ungradable", "not_counted", "not_counted_fail_to_pass", "audit", "repo")
_MAX_NAMED = 5  # maximum ids of a class that are printed
_MAX_VERDICTS = 100_000
_MAX_DEPTH = 5  # logs/run_evaluation/RUN_ID/MODEL/ID
_MAX_REPORT_BYTES = 256 * 1024 * 1024
_SUBMITTED = ("submitted_ids", "completed_ids", "error_ids", "empty_patch_ids", "resolved_ids")
# Classes of failures in words for people. Other classes are shown by their names.
_WORDS = {
    "patch_does_not_apply": "the patch does not apply",
    "issue_remains": "tests of the issue fail",
    "issue_tests_not_run": "tests of the issue did not run",
    "tests_break": "other tests fail",
    "no_tests_found": "no tests were found in the output",
    "script_ended_early": "the script ended before the tests did",
    "time_out": "the tests took too long",
    "too_much_output": "the tests printed too much",
    "environment": "could not be run here",
}


def finish(argument: bytes) -> bytes:
    """Make the texts of a run's files and of the terminal (JSON) from the JSON of runtime/eval/final.c."""
    run = json.loads(argument)
    if run["keeps"]:
        _keep(run)
    graded = [row for row in run["rows"] if row["grade"]]
    for row in graded:
        if row["grade"] == reports.EMPTY and run["batch"]:
            row["error"] = row.get("error") or _why_of_run(Path(run["batch"]) / row["task"])
    endings = {row["task"]: row["grade"] for row in graded}
    failures = {row["task"]: Failure(*row["sign"]) for row in run["rows"] if row.get("sign")}
    report = reports.final(run["tasks"], endings, failures, run["rules"], None)
    lines: list[str] = []
    costs: list[str] = []
    summary = _summary(run, graded, lines, costs)
    table = audit_table if all(row.get("audit") for row in graded) else _table
    told = {
        "report": json.dumps(report, indent=4) + "\n",
        "line": {**report, "summary": summary},
        "table": table(graded) if graded else "",
        "sums": "\n".join(lines if run["quiet"] else lines + costs),
    }
    if run["results"]:
        told["results"] = json.dumps(reports.results(run["tasks"], endings, run["results"]), indent=4) + "\n"
    return json.dumps(told).encode()


def _why_of_run(folder: Path) -> str | None:
    """Why a task of a batch has no patch, in one line; None if its run folder does not say."""
    found = _load(folder / layout.RESULT)
    if not isinstance(found, dict):
        return None
    error = found.get("error")
    why = error.get("message") if isinstance(error, dict) else found.get("why")
    return " ".join(str(why).split())[:300] if why else None


def _keep(run: dict) -> None:
    """Add the tasks of an earlier report that this run did not select, with their grades."""
    report, summary = _load(Path(run["path"])), _load(Path(run["keeps"]))
    if not isinstance(report, dict) or not _is_final(report):
        return
    known = summary.get("instances", {}) if isinstance(summary, dict) else {}
    own, reasons = set(run["tasks"]), report.get("failure_reasons", {})
    for name in ("resolved", "unresolved", "error", "empty_patch", "incomplete"):
        for task in report.get(f"{name}_ids", ()):
            if task in own:
                continue
            run["tasks"].append(task)
            grade = name.removesuffix("_patch")
            if name != "incomplete":
                tier = ENVIRONMENT if task in report.get("infra_failure_ids", ()) else ""
                sign = [reasons[task], tier] if task in reasons else None
                found = known.get(task, {})
                found = found if found.get("grade") == grade else {}
                run["rows"].append({"task": task, "grade": grade, "late": False, "sign": sign, **_row(found)})


def _row(instance: dict) -> dict:
    """The other members of a task's row, as written by _instance."""
    times = {
        name: round(1000 * instance.get(key, 0))
        for name, key in (("total_ms", "seconds"), ("tests_ms", "test_seconds"), ("setup_ms", "setup_seconds"))
    }
    sizes = {key: instance.get(key, 0) for key in ("peak_bytes", "image_bytes")}
    return times | sizes | {key: instance.get(key) for key in ("failure", *_SOMETIMES)}


def why_of(row: dict, tests: str = "") -> str:
    """The reason for a grade, in one line, with the failing `tests`; empty if the grade needs no reason."""
    failure, error = row.get("failure"), row.get("error")
    if row["grade"] == reports.EMPTY:
        return error or "there is no patch"
    is_told = error and failure in ("environment", "patch_does_not_apply")
    why = error if is_told else _WORDS.get(failure, failure or error or "")
    why += f": {row['no_tests']}" if row.get("no_tests") and why and not is_told else ""
    why = f"not believed: {row['doubt']}" if row.get("doubt") else why
    unfit = f"cannot be graded here: {row['ungradable']}" if row.get("ungradable") not in (None, "", why) else ""
    why = f"{why or 'tests fail'}: {tests}" if tests else why
    is_run = row["grade"] in (reports.RESOLVED, reports.UNRESOLVED) and not row.get("no_tests")
    count = row.get("not_counted_fail_to_pass") if is_run else 0
    dropped = [test.rpartition("::")[2] for test in (row.get("not_counted") or ())[:count]] if count else []
    named = ", ".join(dropped[:_MAX_NAMED]) + (", …" if len(dropped) > _MAX_NAMED else "")
    left_out = f"{count} FAIL_TO_PASS test{'' if count == 1 else 's'} excluded: {named}" if count else ""
    return "; ".join(filter(None, (why, unfit, left_out)))


def _table(graded: list[dict]) -> str:
    width = max([len("task"), *(len(row["task"]) for row in graded)])
    lines = [f"{'task':{width}}  {'grade':10}  {'time':>9}  {'memory':>8}  why"]
    for row in graded:
        was_run = row["total_ms"] > 0
        time = f"{row['total_ms'] / 1000:.1f} s" if was_run else "-"
        memory = f"{row['peak_bytes'] / _MB:.0f} MB" if was_run else "-"
        lines.append(f"{row['task']:{width}}  {row['grade']:10}  {time:>9}  {memory:>8}  {why_of(row)}".rstrip())
    return "\n".join(lines) + "\n"


def _summary(run: dict, graded: list[dict], lines: list[str], costs: list[str]) -> dict:
    resolved, total = sum(row["grade"] == reports.RESOLVED for row in graded), len(run["tasks"])
    audits = [row["audit"] for row in graded if row.get("audit")]
    lines.append(_audited(run, audits) if audits else _counts(run, graded))
    late = [row["task"] for row in run["rows"] if row["late"]]
    if late:
        lines.append(f"{len(late):5}  not graded before --max-time")
    failures: dict[str, list[str]] = {}
    for row in graded:
        if row["failure"]:
            failures.setdefault(row["failure"], []).append(row["task"])
    doubts = {
        words: [row["task"] for row in graded if row.get(key) and row[key] != row.get("error")]
        for key, words in (
            ("doubt", "resolved, but not believed"),
            ("ungradable", "cannot be graded here"),
            ("not_counted_fail_to_pass", "graded without tests of FAIL_TO_PASS, which the recipe excludes"),
        )
    }
    for failure, tasks in [*failures.items(), *doubts.items()]:
        named = ", ".join(tasks[:_MAX_NAMED]) + (", …" if len(tasks) > _MAX_NAMED else "")
        if tasks:
            lines.append(f"{len(tasks):5}  {_WORDS.get(failure, failure)}: {named}")
    about = {
        "run_id": run["run_id"],
        "dataset": run["dataset"],
        "models": sorted({row["model"] for row in run["rows"] if row.get("model")}),
        "model_names": sorted({row.get("name") or row["model"] for row in run["rows"] if row.get("model")}),
    }
    if len(models := about["models"]) > 1:
        lines.append(f"predictions of {len(models)} models: the report is named after the model of the first")
    summary = {
        **about,
        "tasks": total,
        "resolved": resolved,
        "interval_95": wilson(resolved, total),
        "failures": failures,
        **({"late": late} if late else {}),
    }
    summary.update(_costs(run["rows"], costs))
    if run["usd"] is not None:
        each = run["usd"] / resolved if resolved else None
        summary.update(usd=run["usd"], usd_per_resolved=each)
        costs.append(f"{run['usd']:.6f} USD" + (f", {each:.6f} USD for each resolved task" if each else ""))
    if run["other"]:
        summary["comparison"] = _compare(run["other"], graded, lines)
    return {**summary, "instances": {row["task"]: _instance(row) for row in graded}}


def _share(count: int, total: int) -> str:
    """The share of a count in per cent, with its interval."""
    low, high = (100 * end for end in wilson(count, total))
    return f"{100 * count / total if total else 0:.1f}%; 95%: {low:.1f} to {high:.1f}%"


def _counts(run: dict, graded: list[dict]) -> str:
    def count(grade: str) -> int:
        return sum(row["grade"] == grade for row in graded)

    total, late = len(run["tasks"]), sum(row["late"] for row in run["rows"])
    resolved = count(reports.RESOLVED)
    was_run = any(row["failure"] != "environment" for row in graded)
    share = f" ({_share(resolved, total)})" if was_run else ""
    return (
        f"{resolved} of {total} tasks resolved{share}: "
        f"{count(reports.UNRESOLVED)} unresolved, {count(reports.ERROR)} with an error, "
        f"{count(reports.EMPTY)} with an empty patch, {total - len(graded) - late} without a prediction; "
        f"report in '{run['path']}'"
    )


def _audited(run: dict, audits: list[dict]) -> str:
    """Lines with the number of tasks in each class, and the differences of the runs."""
    kinds, total = [audit["class"] for audit in audits], len(run["tasks"])
    sound = kinds.count("sound")
    others = [f"{kinds.count(kind)} {kind.replace('_', ' ')}" for kind in CLASSES[1:] if kind in kinds]
    varied = list(dict.fromkeys(what for audit in audits for what in audit.get("varied", ())))
    return (
        f"{sound} of {total} tasks are sound ({_share(sound, total)})"
        f"{': ' if others else ''}{', '.join(others)}{'; runs differed in ' if varied else ''}{', '.join(varied)}"
    )


def _costs(rows: list[dict], lines: list[str]) -> dict:
    """The cost of grading, the greatest memory of one task, and how often each image was used."""
    keys = ("total_ms", "tests_ms", "setup_ms", "image_bytes")
    total, tests, setup, images = (sum(row.get(key, 0) for row in rows) for key in keys)
    peak = max((row["peak_bytes"] for row in rows), default=0)
    if total:
        told = f"graded in {total / 1000:.1f} s (sum of all jobs), of which tests {tests / 1000:.1f} s; peak memory {peak / _MB:.0f} MB"
        told += f"; set-up {setup / 1000:.1f} s more" if setup >= 100 else ""
        lines.append(told + (f"; images {images / _MB:.0f} MB" if images else ""))
    times = {"seconds": total / 1000, "test_seconds": tests / 1000, "setup_seconds": setup / 1000}
    return {**times, "peak_bytes": peak, "image_bytes": images}


def _instance(row: dict) -> dict:
    return {
        "grade": row["grade"],
        "failure": row["failure"],
        "seconds": row["total_ms"] / 1000,
        "test_seconds": row["tests_ms"] / 1000,
        "setup_seconds": row.get("setup_ms", 0) / 1000,
        "peak_bytes": row["peak_bytes"],
        "image_bytes": row["image_bytes"],
        **{key: row[key] for key in _SOMETIMES if row.get(key)},
    }


def wilson(good: int, total: int) -> list[float]:
    """The interval that contains a share with 95 % probability (E. B. Wilson, 1927); 0 to 1 without tries."""
    if total == 0:
        return [0, 1]
    share, z2 = good / total, _Z95 * _Z95 / total
    middle = (share + z2 / 2) / (1 + z2)
    half = _Z95 * math.sqrt(share * (1 - share) / total + z2 / 4 / total) / (1 + z2)
    # rounded, so that the ends are exactly 0 and 1 if none or all are good
    return [max(0, round(middle - half, 12)), min(1, round(middle + half, 12))]


def mcnemar(gained: int, lost: int) -> float:
    """McNemar's exact test, two-sided: the probability that chance alone makes changes at least as uneven as these."""
    n = gained + lost
    return min(1, 2 * sum(math.comb(n, k) for k in range(min(gained, lost) + 1)) / 2**n)


def _needed(changed: int) -> int | None:
    """The smallest net change, among that many changed tasks, that exceeds noise (p < 0.05); None if no change does."""
    nets = (changed - 2 * lost for lost in range(changed // 2, -1, -1) if mcnemar(changed - lost, lost) < 0.05)
    return next(nets, None)


# ---- Another run ----


class _Unusable(Exception):
    pass


def read_other(argument: bytes) -> bytes:
    """Read a path (JSON text) to compare with: a final report, its folder, or the folder of a run's reports. Returns
    {"path", "submitted", "resolved"}, or {"fault"}: the reason."""
    path = json.loads(argument)
    try:
        submitted, resolved = _read(Path(path))
    except _Unusable as error:
        return json.dumps({"fault": f"--compare: {error}"}).encode()
    doubted = sorted(_doubted_of(Path(path)) & resolved)
    return json.dumps(
        {"path": path, "submitted": sorted(submitted), "resolved": sorted(resolved), "doubted": doubted}
    ).encode()


def _doubted_of(path: Path) -> set[str]:
    """The tasks of an evaluation whose grades are not believed, according to our verdicts beside the reports."""
    run_id, place = "*", path
    if path.is_file():  # MODEL.RUN_ID.json
        names = [
            each.name for each in path.parent.glob(f"{layout.EVALUATIONS}/*") if path.stem.endswith(f".{each.name}")
        ]
        run_id, place = max(names, key=len, default=""), path.parent
    verdicts = [
        *place.glob(f"{layout.EVALUATIONS}/{run_id}/*/*/{layout.VERDICT}"),
        *place.glob(f"*/{layout.VERDICT}"),
        *place.glob(f"*/*/{layout.VERDICT}"),
    ]
    read = ((each.parent.name, _load(each)) for each in verdicts[:_MAX_VERDICTS] if run_id)
    return {
        name for name, found in read if isinstance(found, dict) and found.get("official_resolved") and found.get("why")
    }


def _read(path: Path) -> tuple[set[str], set[str]]:
    if not path.is_dir():
        if not path.exists():
            raise _Unusable(f"'{path}' does not exist; name a final report or the folder of an evaluation")
        return _ids(path, _load(path))
    finals = [file for file in sorted(path.glob("*.json")) if _is_final(_load(file))]
    if len(finals) > 1:
        raise _Unusable(f"'{path}' holds several final reports; name one of them, such as '{finals[0]}'")
    if finals:
        return _ids(finals[0], _load(finals[0]))
    submitted: set[str] = set()
    resolved: set[str] = set()
    _walk(path, _MAX_DEPTH, submitted, resolved)
    if not submitted:
        raise _Unusable(f"'{path}' holds neither a final report nor report.json files")
    return submitted, resolved


def _load(path: Path) -> object:
    """The JSON in a file; None if it is not JSON."""
    try:
        if path.stat().st_size <= _MAX_REPORT_BYTES:
            return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        pass
    return None


def _is_final(report: object) -> bool:
    return isinstance(report, dict) and isinstance(report.get("resolved_ids"), list)


def _ids(path: Path, report: object) -> tuple[set[str], set[str]]:
    if not _is_final(report):
        raise _Unusable(f"'{path}' is not a final report")
    lists = (report.get(key) for key in _SUBMITTED)
    found = [{each for each in ids if isinstance(each, str)} for ids in lists if isinstance(ids, list)]
    return set().union(*found), found[-1]


def _walk(path: Path, depth: int, submitted: set[str], resolved: set[str]) -> None:
    if (path / layout.PATCH).exists() or (path / layout.EVAL_REPORT).exists():
        if path.name in submitted:
            raise _Unusable(f"the folder contains task '{path.name}' twice; name the folder of one evaluation")
        submitted.add(path.name)
        report = _load(path / layout.EVAL_REPORT)
        own = report.get(path.name) if isinstance(report, dict) else None
        if isinstance(own, dict) and own.get("resolved") is True:
            resolved.add(path.name)
        return
    for inner in sorted(path.iterdir()) if depth else ():
        if inner.is_dir() and not inner.is_symlink():
            _walk(inner, depth - 1, submitted, resolved)


def compared(here: dict[str, bool], there: dict[str, bool]) -> dict:
    """Which tasks are gained and lost: of the tasks that are graded here and there, whether each is resolved."""
    groups: dict[str, list[str]] = {name: [] for name in ("gained", "lost", "both", "neither", "only_here")}
    names = {(True, True): "both", (True, False): "gained", (False, True): "lost", (False, False): "neither"}
    for task, is_resolved in here.items():
        groups[names[is_resolved, there[task]] if task in there else "only_here"].append(task)
    gained, lost = len(groups["gained"]), len(groups["lost"])
    return {
        **groups,
        "compared": len(here) - len(groups["only_here"]),
        "only_there": len(there.keys() - here.keys()),
        "mcnemar_p": mcnemar(gained, lost),
        "net_change_above_noise": _needed(gained + lost),
    }


def comparison_lines(comparison: dict, other: str) -> list[str]:
    """The lines on a comparison. `other`: what it was compared with."""
    gained, lost, both, neither, only_here = (
        len(comparison[name]) for name in ("gained", "lost", "both", "neither", "only_here")
    )
    changed, needed, count = gained + lost, comparison["net_change_above_noise"], comparison["compared"]
    lines = [
        f"compared with {other}: {gained} gained, {lost} lost, {both} in both, {neither} in neither "
        f"(McNemar's exact p = {comparison['mcnemar_p']:.3g}); {count} task{'' if count == 1 else 's'} compared, "
        f"{only_here} graded only here, {comparison['only_there']} only there"
    ]
    doubts = len(comparison["doubted"]), len(comparison["doubted_there"])
    if any(doubts):
        lines.append(f"resolved, but not believed: {doubts[0]} here, {doubts[1]} there; these tasks count as resolved")
    told = f"of {changed} tasks that changed, a net change of {needed} would exceed the noise (p < 0.05)"
    few = f"{changed} task{'' if changed == 1 else 's'} changed: too few to tell a difference from noise (p < 0.05)"
    return [*lines, told if needed else few]


def _compare(other: dict, graded: list[dict], lines: list[str]) -> dict:
    """Compare the graded tasks with those of another evaluation, and add lines about it."""
    resolved = set(other["resolved"])
    here = {row["task"]: row["grade"] == reports.RESOLVED for row in graded}
    comparison = {
        "other": other["path"],
        **compared(here, {task: task in resolved for task in other["submitted"]}),
        "doubted": [row["task"] for row in graded if row.get("doubt")],
        "doubted_there": other.get("doubted", []),
    }
    lines += comparison_lines(comparison, f"'{other['path']}'")
    return comparison
