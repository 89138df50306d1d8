"""What a batch or a grading that runs or was killed has left: the tasks that were not begun, and how many are graded."""

from __future__ import annotations

from typing import Any

from acr import layout
from acr.report.plain import count_of, line_of, load, member

MAX_ROWS = 10_000
UNFINISHED = "(unfinished)"  # end of the key of the list of tasks of a grading that did not end
_MAX_NOT_BEGUN = 10  # maximum names of tasks that were not begun


def wanted_of(files: dict[str, bytes]) -> set[str] | None:
    """The names of the tasks to include; None: all."""
    return set(files["(instances)"].decode("utf-8", "replace").split("\n")) if "(instances)" in files else None


def listed_in(files: dict[str, bytes], end: str) -> dict[str, None]:
    """The names of the tasks that the files whose names end so list, in their order."""
    lists = (member(load(data), "tasks") for name, data in files.items() if name.endswith(end))
    names = (name for each in lists if isinstance(each, list) for name in each if isinstance(name, str))
    return dict.fromkeys(line_of(name, 200) for name in names)


def grading_of(files: dict[str, bytes], graded: set[str]) -> dict[str, Any] | None:
    """How far a grading has come that did not end; None if there is none."""
    names = listed_in(files, UNFINISHED).keys()
    runs = any(member(load(data), "runs") is True for name, data in files.items() if name.endswith(UNFINISHED))
    return {"graded": len(names & graded), "tasks": len(names), "runs": runs} if names else None


def not_begun_of(files: dict[str, bytes], known: set[str]) -> list[str]:
    """The tasks that are not `known`, by the notes of the batch and its shards and of unfinished gradings."""
    wanted, names = wanted_of(files), listed_in(files, f"/{layout.LIVE}") | listed_in(files, UNFINISHED)
    left = [name for name in names if name not in known and (wanted is None or name in wanted)]
    return left[:MAX_ROWS] if len(known) < MAX_ROWS else []


def lines_on(about: object) -> list[str]:
    """Lines on an unfinished grading, and on how many tasks were not begun, with the first names."""
    names, grading = member(about, "not_begun") or [], member(about, "unfinished")
    more = f" and {len(names) - _MAX_NOT_BEGUN} more" if len(names) > _MAX_NOT_BEGUN else ""
    not_begun = f"{count_of(len(names), 'task')} not begun: {', '.join(names[:_MAX_NOT_BEGUN])}{more}"
    state, advice = ("runs", "") if member(grading, "runs") else ("unfinished", "; rerun the same command")
    told = f"grading {state}, {member(grading, 'graded')} of {member(grading, 'tasks')} graded{advice}"
    return ([told] if grading else []) + ([not_begun] if names else [])


def grade_by(verdict: dict[str, Any]) -> str:
    """The grade that a verdict.json tells; "" for none."""
    if "official_resolved" not in verdict:
        return ""
    return "error" if verdict.get("error") else "resolved" if verdict["official_resolved"] else "unresolved"
