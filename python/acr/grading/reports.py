"""The final report of a run: the outcome of every task, in the fields of SWE-bench's package 4 or 5."""

from __future__ import annotations

from acr.grading.failures import ENVIRONMENT, Failure

RESOLVED, UNRESOLVED, ERROR, EMPTY = "resolved", "unresolved", "error", "empty"


def final(
    tasks: list[str], endings: dict[str, str], failures: dict[str, Failure], rules: int, engine: dict | None
) -> dict:
    """The report's content.

    `tasks`: the ids of the selected rows; `endings`: for each prediction RESOLVED, UNRESOLVED, ERROR (no report) or
    EMPTY (no patch); `failures`: for unresolved predictions, by their logs; `engine`: the remaining {"containers",
    "images"}, None without an engine. Version 4 mentions an engine only if there is none.
    """

    def ids(*endings_wanted: str) -> list[str]:
        return sorted(task for task in tasks if endings.get(task) in endings_wanted)

    lists = {
        "completed": ids(RESOLVED, UNRESOLVED),
        "incomplete": sorted(task for task in tasks if task not in endings),
        "empty_patch": ids(EMPTY),
        "submitted": sorted(endings),
        "resolved": ids(RESOLVED),
        "unresolved": ids(UNRESOLVED),
        "infra_failure": sorted(task for task, found in failures.items() if found.tier == ENVIRONMENT),
        "ambiguous_failure": sorted(task for task, found in failures.items() if found.tier != ENVIRONMENT),
        "error": ids(ERROR),
    }
    advisory = ["infra_failure", "ambiguous_failure"] if rules != 4 else []
    counted = ["submitted", "completed", "resolved", "unresolved", *advisory, "empty_patch", "error"]
    listed = ["completed", "incomplete", "empty_patch", "submitted", "resolved", "unresolved", *advisory]
    report = {"total_instances": len(tasks)}
    report.update((f"{name}_instances", len(lists[name])) for name in counted)
    report.update((f"{name}_ids", lists[name]) for name in listed)
    if rules != 4:
        report["failure_reasons"] = {task: found.reason for task, found in sorted(failures.items())}
    report.update(error_ids=lists["error"], schema_version=2)
    if (engine is None) == (rules == 4):
        left = engine or {"containers": [], "images": []}
        report.update(
            unstopped_instances=len(left["containers"]),
            unstopped_containers=sorted(left["containers"]),
            unremoved_images=sorted(left["images"]),
        )
    return report


def results(tasks: list[str], endings: dict[str, str], name: str) -> dict:
    """The content of `eval_results.json` of SWE-bench Pro's harness, or of `results.json` of SWE-bench-Live's."""
    if name == "eval_results.json":
        return {task: endings[task] == RESOLVED for task in tasks if task in endings}
    lists = {"success": RESOLVED, "failure": UNRESOLVED, "error": ERROR, "empty_patch": EMPTY, "incomplete": None}
    return {f"{key}_ids": [task for task in tasks if endings.get(task) == ending] for key, ending in lists.items()}
