"""A folder of many runs, or of an evaluation: one row for each task, compared with another such folder."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from acr.report import plots
from acr.report.junit import Case
from acr.report.markup import Html, fold, join, page, section, table, tag
from acr.report.plain import line_of, load, member, number_of, usd
from acr.report.story import VERDICTS

MAX_ROWS = 10_000
_RESULT = re.compile(r"([^/]+)/(result|cost)\.json")
_GRADES = ("resolved", "unresolved", "error", "empty_patch", "incomplete")  # as final reports name their lists


@dataclass
class Task:
    """`grade` is one of _GRADES, or empty: not graded; `cost`: micro-USD."""

    name: str
    verdict: str = ""
    why: str = ""
    status: str = ""
    grade: str = ""
    cost: int = 0
    calls: int = 0
    other: str = ""  # the grade, or the verdict, in the folder compared with

    @property
    def outcome(self) -> str:
        return self.grade or self.verdict


def _take_result(task: Task, kind: str, data: bytes) -> None:
    found = load(data)
    if kind == "result":
        verdict = member(found, "verdict")
        task.verdict = verdict if verdict in VERDICTS else "none"
        task.why = line_of(member(found, "error") or member(found, "why"), 200)
        task.status = line_of(member(found, "status"), 60)
    else:
        task.cost = number_of(member(found, "total", "cost_microusd"))
        task.calls = number_of(member(found, "total", "calls"))


def tasks_of(files: dict[str, bytes]) -> list[Task]:
    """The tasks of a folder, by the results of its run folders and its final reports; at most MAX_ROWS."""
    found: dict[str, Task] = {}
    for name, data in files.items():
        if match := _RESULT.fullmatch(name):
            task = found.setdefault(match[1], Task(line_of(match[1], 200)))
            _take_result(task, match[2], data)
            continue
        report = load(data) if "/" not in name else None
        for grade in _GRADES:
            ids = member(report, f"{grade}_ids")
            for each in ids[: MAX_ROWS * 2] if isinstance(ids, list) else []:
                if isinstance(each, str):
                    found.setdefault(each, Task(line_of(each, 200))).grade = grade
    return [found[name] for name in sorted(found)][:MAX_ROWS]


def compare(tasks: list[Task], others: list[Task]) -> None:
    """Sets what became of each in the other folder."""
    known = {task.name: task.outcome for task in others}
    for task in tasks:
        task.other = known.get(task.name, "not there")


def _kind(outcome: str) -> str:
    return {"resolved": "good", "verified": "good", "validated": "good", "unverified": "warn"}.get(outcome, "bad")


def _rows(tasks: list[Task], is_compared: bool) -> Html:
    heads = ["task", "outcome", "patch", "cost", "calls", "why", *(["before"] if is_compared else [])]
    top = tag("tr", *(tag("th", tag("button", head, type="button"), scope="col") for head in heads))
    rows = []
    for task in tasks:
        cells = [
            tag("td", task.name), tag("td", task.outcome, class_=_kind(task.outcome)), tag("td", task.status),
            tag("td", usd(task.cost), class_="n", data_key=task.cost), tag("td", task.calls, class_="n"),
            tag("td", task.why), *([tag("td", task.other)] if is_compared else []),
        ]  # fmt: skip
        rows.append(tag("tr", *cells))
    shown = tag("table", tag("thead", top), tag("tbody", *rows), class_="sortable")
    return tag("div", shown, class_="scroll", tabindex="0", role="region", aria_label="all tasks")


def _counts(tasks: list[Task]) -> list[tuple[str, int]]:
    return Counter(task.outcome or "unknown" for task in tasks).most_common()


def _changed(tasks: list[Task]) -> Html:
    better = [task for task in tasks if _kind(task.outcome) == "good" and _kind(task.other) != "good"]
    worse = [task for task in tasks if _kind(task.outcome) != "good" and _kind(task.other) == "good"]
    rows: list[list[object]] = [[task.name, task.other, task.outcome] for task in [*worse, *better][:500]]
    text = f"{len(better)} better, {len(worse)} worse"
    shown = table(["task", "before", "now"], rows, "tasks whose outcome changed")
    return join([tag("p", text), fold("Tasks whose outcome changed", shown)])


def _errors(tasks: list[Task]) -> Html:
    found = Counter(re.sub(r"\d+", "N", task.why) for task in tasks if _kind(task.outcome) == "bad" and task.why)
    rows: list[list[object]] = [[count, why] for why, count in found.most_common(30)]
    return table(["tasks", "why"], rows, "why tasks failed; numbers are written as N")


def render(tasks: list[Task], is_compared: bool, version: str, is_live: bool = False) -> str:
    """The page, as text."""
    counts = _counts(tasks)
    total = sum(task.cost for task in tasks)
    said = f"{len(tasks)} tasks: " + ", ".join(f"{count} {name}" for name, count in counts) + f"; {usd(total)}"
    field = tag("label", "Filter: ", Html('<input id="filter" type="search">'))
    count = tag("span", f"{len(tasks)} of {len(tasks)}", id="count", role="status", class_="soft")
    dear = sorted(tasks, key=lambda task: -task.cost)[:15]
    sections = [
        section("outcomes", "Outcomes", plots.bars("tasks by outcome", [(n, float(c), str(c)) for n, c in counts])),
        section("errors", "Why tasks failed", _errors(tasks)),
        section("cost", "Cost", plots.bars("dearest tasks", [(t.name, float(t.cost), usd(t.cost)) for t in dear])),
        section("tasks", "Tasks", tag("p", field, " ", count), _rows(tasks, is_compared)),
    ]
    if is_compared:
        sections.insert(1, section("changed", "Compared", _changed(tasks)))
    return page("acr-host: many runs", tag("p", said), sections, version, is_live)


def text(tasks: list[Task]) -> str:
    """A line for each task, then the sums."""
    width = max((len(task.name) for task in tasks), default=4)
    lines = [
        f"{task.name:{width}}  {task.outcome:11}  {usd(task.cost):>12}  {task.other and f'before: {task.other}  '}{task.why}"
        for task in tasks
    ]
    return (
        "\n".join([*(line.rstrip() for line in lines), ", ".join(f"{count} {name}" for name, count in _counts(tasks))])
        + "\n"
    )


def markdown(tasks: list[Task]) -> str:
    """A table of the outcomes."""
    rows = "".join(f"| {name} | {count} |\n" for name, count in _counts(tasks))
    return f"### acr-host: {len(tasks)} tasks\n\n| outcome | tasks |\n|---|---|\n{rows}"


def summary(tasks: list[Task], is_compared: bool) -> dict[str, Any]:
    """What `--format json` prints."""
    rows = [
        {"task": task.name, "outcome": task.outcome, "verdict": task.verdict or None, "grade": task.grade or None,
         "why": task.why, "cost_microusd": task.cost, "calls": task.calls,
         **({"before": task.other} if is_compared else {})}
        for task in tasks
    ]  # fmt: skip
    return {"kind": "many", "counts": dict(_counts(tasks)), "cost_microusd": sum(t.cost for t in tasks), "tasks": rows}


def cases(tasks: list[Task]) -> list[Case]:
    """A test case for each task."""
    states = {"good": "passed", "warn": "skipped", "bad": "failed"}
    return [
        ("tasks", task.name, "error" if task.grade == "error" else states[_kind(task.outcome)],
         task.why or task.outcome, 0.0)
        for task in tasks
    ]  # fmt: skip
