"""A folder of many runs, or of an evaluation: one row for each task, compared with another such folder."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from acr import layout
from acr.evaluation import compared, comparison_lines, why_of, wilson
from acr.layout import numbers
from acr.report import plots
from acr.report.junit import Case
from acr.report.markdown import aligned, escaped, markdown_table, plain_line
from acr.report.markup import Html, fold, join, page, section, table, tag
from acr.report.parse_diff import count_changed
from acr.report.plain import count_of, decode, line_of, load, member, number_of, rows_of, seconds_of, shortened, usd
from acr.report.story import SCRIPT_VERDICTS, VERDICTS, Run, error_of, kind_of, status_words, verdict_of
from acr.report.unfinished import MAX_ROWS, UNFINISHED, grade_by, lines_on, listed_in, wanted_of

_RUN = "(run)"  # key of what is known of a run that belongs to no batch
_PAGE, _LOG = "(page)", "(log)"  # keys of a task's files that hold the paths of its page and of its test log
_MAX_FAILING = 3  # maximum failing tests that a row names
_MAX_WHY = 240  # maximum characters of a reason in a row of a page or in Markdown
_WITHOUT_RESULT = ("failed", "stopped", "interrupted", "unfinished")  # statuses
# A verdict -> the status of a task without a row in the summary, e.g. because the batch was killed after the task's end.
_STATUS_OF = {"verified": "patch", "validated": "patch", "unverified": "patch", "not_reproduced": "none"}
_GRADES = ("resolved", "unresolved", "error", "empty_patch", "incomplete")  # names of the lists in final reports
_FAULTS = ("patch_does_not_apply", "time_out", "too_much_output")  # of a patch that is graded as an error
_UNGRADED = ("incomplete", "late")  # grades of tasks that were not graded
_OUTCOMES = {
    "doubted": "resolved (not believed)",
    "incomplete": "without a prediction",
    "late": "not graded before --max-time",
}


@dataclass
class Task:
    """`grade` is one of _GRADES, "late", or empty if the task was not graded; `verdict_file`: our verdict on the grade; `cost`:
    micro-USD."""

    name: str
    verdict: str = ""
    run_why: str = ""  # the reason for the run's verdict, or its error
    status: str = ""
    ended: str = ""  # how its run ended, by the summary
    grade: str = ""
    graded: dict[str, Any] = field(default_factory=dict)  # our verdict on the grade
    failure: str = ""  # class of its error, or of the fault that the grading found
    cost: int = 0
    calls: int = 0
    spent: dict[str, Any] = field(default_factory=dict)  # tokens and costs, as in cost.json
    attempts: int = 0
    models: list[str] = field(default_factory=list)  # of a run that belongs to no batch
    repo: str = ""
    changed: tuple[int, int] = (0, 0)  # lines that its patch adds and removes
    run_seconds: float = 0
    grade_seconds: float = 0
    setups: dict[str, float] = field(default_factory=dict)  # seconds to prepare the places of its run and its grading
    page: str = ""  # the page of its run, from the batch's folder
    log: str = ""  # the output of the tests that graded it, from the batch's folder
    failing: list[str] = field(default_factory=list)  # tests that failed when it was graded
    broken: list[str] = field(default_factory=list)  # those of them that pass without the patch
    audited: dict[str, Any] = field(default_factory=dict)  # the class of the task in an audit, and why
    other: str = ""  # grade or verdict in the other folder

    @property
    def outcome(self) -> str:
        if self.audited:
            return line_of(self.audited.get("class"), 60)
        has_stopped = self.ended in _WITHOUT_RESULT and self.verdict in ("", "none", "not_reproduced")
        return ("doubted" if self.doubt else self.grade) or (self.ended if has_stopped else self.verdict)

    @property
    def doubt(self) -> str:
        """Why the grade "resolved" is not believed; empty if it is believed."""
        return line_of(self.graded.get("why"), 1000) if self.grade == "resolved" else ""

    @property
    def was_run(self) -> bool:
        """Whether acr-host made its patch; of a prediction from elsewhere, nobody knows the calls and the cost."""
        return bool(self.verdict or self.ended or self.spent or self.models)

    @property
    def why(self) -> str:
        return self.reason()

    def reason(self, tests: str = "") -> str:
        """Why it has its outcome. `tests`: the failing tests, to name them there."""
        if self.audited:
            return line_of(self.audited.get("why"), 1000)
        if self.grade not in ("resolved", "unresolved", "error"):
            told = {"empty_patch": "there is no patch", "unfinished": "the run has no result yet"}
            return self.run_why or told.get(self.outcome, self.failure)
        told = {key: line_of(self.graded.get(key), 1000) for key in ("failure", "error", "no_tests")}
        dropped = self.graded.get("not_counted")
        row = {
            **told,
            "grade": self.grade,
            "doubt": self.doubt,
            "ungradable": line_of(self.graded.get("why_not_gradable"), 1000),
            "not_counted": [line_of(test, 300) for test in dropped] if isinstance(dropped, list) else [],
            "not_counted_fail_to_pass": number_of(self.graded.get("not_counted_fail_to_pass")),
        }
        return why_of({**row, "failure": row["failure"] or self.failure}, tests)

    @property
    def seconds(self) -> float:
        return self.run_seconds + self.grade_seconds

    @property
    def patch_lines(self) -> int:
        return sum(self.changed)

    @property
    def setup_seconds(self) -> float:
        return sum(self.setups.values())


def _take_result(task: Task, kind: str, data: bytes) -> None:
    found = load(data)
    if kind == layout.RESULT and not found:
        task.ended = task.ended or "unfinished"
    elif kind == layout.RESULT:
        task.ended = "" if task.ended == "unfinished" else task.ended
        task.verdict = verdict_of(found)
        task.run_why = line_of(error_of(found) or member(found, "why"), 1000) or task.run_why
        if task.verdict not in SCRIPT_VERDICTS:
            task.status = line_of(member(found, "status"), 60) or task.status
        task.changed = count_changed(member(found, "patch"))
    else:
        task.cost = number_of(member(found, "total", "cost_microusd"))
        task.calls = number_of(member(found, "total", "calls"))
        told = (member(found, key) for key in ("total", "by_stage"))
        task.spent, stages = (each if isinstance(each, dict) else {} for each in told)
        task.attempts = len({numbers(layout.ATTEMPT, name.partition("/")[0]) for name in stages} - {None})


def _take_facts(task: Task, facts: object) -> None:
    models = member(facts, "models")
    task.models = [line_of(each, 200) for each in models[:20]] if isinstance(models, list) else []
    task.repo = task.repo or line_of(member(facts, "repo"), 300)
    task.run_seconds = task.run_seconds or number_of(member(facts, "ms")) / 1000


def _take_note(found: dict[str, Task], folder: str, note: object) -> None:
    """Read the note of a batch, which lists its running tasks, or of an unfinished run, which says what it spent."""
    for row in rows_of(member(note, "running"), MAX_ROWS):
        task = _task(found, member(row, "task"))
        task.ended = task.ended or ("" if task.verdict else "unfinished")
        task.repo = task.repo or line_of(member(row, "repo"), 300)
    spent = member(note, "spent")
    if isinstance(spent, dict) and not _task(found, folder).spent:
        _take_result(_task(found, folder), layout.COST, json.dumps({"total": spent}).encode())


def _take_summary(found: dict[str, Task], summary: object) -> None:
    """Read a summary. A batch's has a list of tasks, with or without a folder; an evaluation's has an object of tasks."""
    tasks, instances = member(summary, "tasks"), member(summary, "instances")
    for row in rows_of(tasks, MAX_ROWS * 2):
        task = _task(found, member(row, "instance_id"))
        task.run_seconds = seconds_of(row.get("seconds"))
        task.setups["run"] = seconds_of(row.get("setup_seconds"))
        task.failure = line_of(row.get("error_class"), 60)
        task.ended = line_of(row.get("status"), 60)
        task.status = task.status or task.ended
        task.run_why = task.run_why or line_of(row.get("error"), 1000)
        task.repo = line_of(row.get("repo"), 300)
        task.spent = task.spent or (row["cost"] if isinstance(row.get("cost"), dict) else {})
    late = member(summary, "late")
    for name in late if isinstance(late, list) else ():
        _task(found, name).grade = "late"
    for name, row in instances.items() if isinstance(instances, dict) else ():
        task = _task(found, name)
        task.repo = task.repo or line_of(member(row, "repo"), 300)
        task.grade_seconds = seconds_of(member(row, "seconds"))
        task.setups["grading"] = seconds_of(member(row, "setup_seconds"))
        task.failure = line_of(member(row, "failure"), 60) or task.failure
        audited = member(row, "audit")
        task.audited = audited if isinstance(audited, dict) else {}
        task.graded = task.graded or {"error": member(row, "error"), "why": member(row, "doubt")}


def _take_report(task: Task, data: bytes) -> None:
    """The failing tests of a graded patch, from SWE-bench's report on it."""
    tests = member(load(data), task.name, "tests_status")
    for kind in ("FAIL_TO_PASS", "PASS_TO_PASS"):
        names = member(tests, kind, "failure")
        listed = [line_of(name, 1000) for name in names if isinstance(name, str)] if isinstance(names, list) else []
        task.failing += listed
        task.broken = listed  # of the last kind


def _task(found: dict[str, Task], name: object) -> Task:
    """The task of that name; at most MAX_ROWS tasks are kept."""
    shown = line_of(name, 200)
    return found.setdefault(shown, Task(shown)) if len(found) <= MAX_ROWS * 2 else Task(shown)


def _take_unreported(found: dict[str, Task], unfinished: dict[str, None]) -> None:
    """Grade by their verdicts the tasks of an unfinished grading, which has no final report or that of an earlier one."""
    is_reported = any(task.grade for task in found.values())
    for task in list(found.values()):
        if task.name in unfinished or not is_reported:
            empty = task.grade if task.grade == "empty_patch" else ""
            task.grade = grade_by(task.graded) or (empty if task.name in unfinished else task.grade)
        if task.name in unfinished and not (task.grade or task.verdict or task.ended):
            del found[task.name]


def tasks_of(files: dict[str, bytes]) -> list[Task]:
    """The tasks of a folder, by the results of its run folders and its final reports; at most MAX_ROWS. The
    input "(instances)" is no file of the folder: if it is given, it lists the tasks to include."""
    wanted = wanted_of(files)
    found: dict[str, Task] = {}
    for name, data in files.items():
        folder, _, inside = name.partition("/")
        if inside in (layout.RESULT, layout.COST):
            _take_result(_task(found, folder), inside, data)
        elif inside == layout.LIVE:
            _take_note(found, folder, load(data))
        elif inside == _RUN:
            _take_facts(_task(found, folder), load(data))
        elif inside == _PAGE:
            _task(found, folder).page = data.decode("utf-8", "replace")
        elif inside == _LOG:
            _task(found, folder).log = data.decode("utf-8", "replace")
        elif inside == layout.PATCH:  # of a graded prediction
            _task(found, folder).changed = count_changed(data.decode("utf-8", "replace"))
        elif inside == layout.EVAL_REPORT:
            _take_report(_task(found, folder), data)
        elif inside == layout.VERDICT:
            verdict = load(data)
            task = _task(found, folder)
            task.graded = verdict if isinstance(verdict, dict) else {}
            task.grade_seconds = task.grade_seconds or number_of(task.graded.get("total_ms")) / 1000
            task.failure = task.failure or line_of(task.graded.get("failure"), 60)
        report = load(data) if not inside else None
        _take_summary(found, report)
        for grade in _GRADES:
            ids = member(report, f"{grade}_ids")
            for each in ids[: MAX_ROWS * 2] if isinstance(ids, list) else []:
                if isinstance(each, str):
                    _task(found, each).grade = grade
    _take_unreported(found, listed_in(files, UNFINISHED))
    return [found[name] for name in sorted(found) if wanted is None or name in wanted][:MAX_ROWS]


def grade_of(run: Run) -> str:
    """The grade of a run's patch, with its reason and the first failing tests; "" if the patch was not graded."""
    task, verdict = Task(decode(run.grading.get("name"), 200)), load(run.grading.get(layout.VERDICT))
    if not isinstance(verdict, dict):
        return ""
    task.graded = verdict
    task.grade = grade_by(verdict) or "unresolved"
    _take_report(task, run.grading.get(layout.EVAL_REPORT, b""))
    why = _why_with_tests(task)
    return f"{_words(task.outcome)}{f' ({why})' if why else ''}"


def _results(tasks: list[Task]) -> dict[str, bool]:
    """Whether each task that was graded is resolved."""
    return {task.name: task.grade == "resolved" for task in _graded(tasks) if task.grade not in _UNGRADED}


def compare_batches(tasks: list[Task], others: list[Task], about: object) -> dict[str, Any]:
    """Compare with the tasks of another folder (`about`: as for render_batch), by the rules of `eval`. Set each task's
    outcome there, or why it cannot be compared."""
    is_graded, known = bool(_graded(tasks) or _graded(others)), {task.name: task.outcome for task in others}
    here, there = _results(tasks), _results(others)
    for task in tasks:
        unlike = ("graded only there", "not graded there")[task.name in here] if task.name in known else "not there"
        task.other = known.get(task.name, unlike) if (task.name in here) == (task.name in there) else unlike
    found = {
        "other": line_of(member(about, "folder"), 1000),
        **compared(here, there),
        "doubted": [task.name for task in tasks if task.doubt],
        "doubted_there": [task.name for task in others if task.doubt],
    }
    made = _about(about)
    other = f"'{found['other']}'{made and f' ({made})'}"
    lines = comparison_lines(found, other) if is_graded else [f"compared with {other}: not graded: nothing to compare"]
    return {**found, "lines": lines}


def _words(outcome: str) -> str:
    """An outcome in the words that the terminal shows."""
    return _OUTCOMES.get(outcome) or VERDICTS.get(outcome, outcome.replace("_", " "))


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds else "-"


def _failing(task: Task) -> str:
    """The first failing tests of the issue and those that the patch breaks, and the number of the others."""
    own = task.failing[: len(task.failing) - len(task.broken)]
    broken = f"; broken: {_first(task.broken)}" if own and task.broken else _first(task.broken)
    return _first(own) + broken


def _first(names: list[str]) -> str:
    """The first names, and the number of the others."""
    more = f" and {len(names) - _MAX_FAILING} more" if len(names) > _MAX_FAILING else ""
    return ", ".join(names[:_MAX_FAILING]) + more


def _why_with_tests(task: Task) -> str:
    """Why a task has its outcome, for formats without a column of failing tests."""
    return task.reason(_failing(task) if task.grade == "unresolved" else "")


def _has_verdicts(tasks: list[Task]) -> bool:
    """Whether some tasks have a verdict of their run besides their grade."""
    return any(task.verdict for task in _graded(tasks))


def _crossed(tasks: list[Task]) -> list[list[str]]:
    """A table that counts the graded tasks by the verdict of their run (rows) and their grade (columns)."""
    graded = _graded(tasks) if _has_verdicts(tasks) else []
    count = Counter((VERDICTS.get(task.verdict, "no run"), _words(task.outcome)) for task in graded)
    verdicts, grades = (sorted({key[at] for key in count}) for at in (0, 1))
    rows = [[verdict, *(str(count[verdict, grade]) for grade in grades)] for verdict in verdicts]
    return [["verdict", *grades], *rows] if rows else []


def _rows(tasks: list[Task], is_compared: bool, has_pages: bool) -> Html:
    """`has_pages`: the pages of the tasks exist beside this page, unless a server shows it. Columns that would be
    empty for all tasks are left out."""
    status = {
        task.name: f"+{task.changed[0]}\xa0-{task.changed[1]}" if any(task.changed)
        else status_words(task.status) if task.status.isupper() and task.status != "APPLICABLE_PATCH" else ""
        for task in tasks
    }  # fmt: skip
    columns: list[tuple[str, bool, Callable[[Task], Html]]] = [
        ("task", True, lambda task: tag("td", tag("a", task.name, href=quote(task.page)) if task.page and has_pages else task.name,
                                        class_="name")),
        ("outcome", True, lambda task: tag("td", _words(task.outcome), class_=kind_of(task.outcome))),
        ("before", is_compared, lambda task: tag("td", _words(task.other), data_head="before")),
        ("verdict", _has_verdicts(tasks), lambda task: tag("td", VERDICTS.get(task.verdict, ""), data_head="verdict")),
        ("patch", any(status.values()), lambda task: tag("td", status[task.name], data_key=sum(task.changed), data_head="patch")),
        ("cost", any(task.cost for task in tasks), lambda task: tag("td", usd(task.cost) if task.calls else "-", class_="n", data_key=task.cost)),
        ("model", len({tuple(task.models) for task in tasks}) > 1,
         lambda task: tag("td", "+".join(task.models), data_head="model")),
        ("calls", any(task.calls for task in tasks), lambda task: tag("td", task.calls, class_="n", data_head="calls")),
        ("time", True, lambda task: tag("td", _time(task.seconds), class_="n", data_key=f"{task.seconds:.1f}")),
        ("set-up", any(task.setup_seconds >= 0.05 for task in tasks),
         lambda task: tag("td", _time(task.setup_seconds), class_="n", data_key=f"{task.setup_seconds:.1f}", data_head="set-up")),
        ("why", any(task.why for task in tasks), lambda task: tag("td", shortened(task.why, _MAX_WHY), class_="why")),
        ("failing tests", any(task.failing for task in tasks), lambda task: tag("td", _failing(task), class_="why", data_head="failing tests")),
        ("log", has_pages and any(task.log for task in tasks),
         lambda task: tag("td", tag("a", "test log", href=quote(task.log)) if task.log else "")),
    ]  # fmt: skip
    shown = [(head, cell) for head, is_wanted, cell in columns if is_wanted]
    kinds = dict.fromkeys(("cost", "calls", "time", "set-up"), "n")
    top = tag(
        "tr", *(tag("th", tag("button", head, type="button"), scope="col", class_=kinds.get(head)) for head, _ in shown)
    )
    rows = [tag("tr", *(cell(task) for _, cell in shown)) for task in tasks]
    whole = tag("table", tag("thead", top), tag("tbody", *rows), class_="sortable")
    return tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label="all tasks")


def _counts(tasks: list[Task]) -> list[tuple[str, int]]:
    return Counter(task.outcome or "unknown" for task in tasks).most_common()


def _sums(tasks: list[Task]) -> str:
    return ", ".join(f"{count} {_words(name)}" for name, count in _counts(tasks))


def _graded(tasks: list[Task]) -> list[Task]:
    """The tasks whose patches were graded; an audit grades the tasks themselves."""
    return [task for task in tasks if task.grade and not task.audited]


def _rate(tasks: list[Task]) -> str:
    """How many of the graded tasks are resolved, with Wilson's 95 % interval, and the cost of each resolved task."""
    graded = _graded(tasks)
    n, resolved = len(graded), sum(task.grade == "resolved" for task in graded)
    if not n:
        return ""
    share, low, high = (100 * part for part in (resolved / n, *wilson(resolved, n)))
    total = sum(task.cost for task in tasks)
    cost = f", {usd(round(total / resolved))} for each resolved task" if resolved and total else ""
    return f"; resolved {resolved} of {n} ({share:.1f} %, 95 % interval {low:.1f} to {high:.1f} %){cost}"


def _changed(tasks: list[Task], comparison: dict[str, Any]) -> Html:
    known = {task.name: task for task in tasks}
    changed = [known[name] for name in (*comparison["lost"], *comparison["gained"])]
    rows: list[list[object]] = [[task.name, _words(task.other), _words(task.outcome)] for task in changed[:500]]
    shown = table(["task", "before", "now"], rows, "tasks whose outcome changed")
    lines = (tag("p", line) for line in comparison["lines"])
    return join([*lines, fold("Tasks whose outcome changed", shown, is_open=True) if rows else ""])


def _errors(tasks: list[Task]) -> Html:
    bad = [task for task in tasks if kind_of(task.outcome) == "bad" and (task.failure or task.run_why)]
    groups: dict[tuple[str, str], list[str]] = {}
    for task in bad:  # reasons that differ only in numbers count as one; the first one is shown
        groups.setdefault((task.failure, re.sub(r"\d+", "N", task.why)), []).append(task.why)
    most = sorted(groups.items(), key=lambda group: -len(group[1]))[:30]
    rows: list[list[object]] = [[shortened(whys[0] or failure, _MAX_WHY), len(whys)] for (failure, _), whys in most]
    return table(["why", "tasks"], rows) if rows else Html("")


def _most(title: str, amounts: list[tuple[str, float, str]]) -> Html:
    known = [each for each in amounts if each[1] > 0]
    return plots.bars(title, sorted(known, key=lambda each: -each[1])[:15]) if known else Html("")


def _about(about: object) -> str:
    """The models, the tasks and the date."""
    models = member(about, "models")
    listed = ", ".join(line_of(each, 200) for each in models[:20]) if isinstance(models, list) else ""
    history = "with searches of the git history" if member(about, "search_history") is True else ""
    run_id = line_of(member(about, "run_id"), 200)
    tag_of = line_of(member(about, "tag"), 200)
    parts = [
        listed,
        tag_of and f"tag {tag_of}",
        history,
        line_of(member(about, "dataset"), 300),
        run_id and f"run {run_id}",
    ]
    return ", ".join(filter(None, [*parts, line_of(member(about, "date"), 30)]))


def render_batch(
    tasks: list[Task],
    comparison: dict[str, Any] | None,
    version: str,
    is_live: bool = False,
    about: object = None,
) -> str:
    """The page, as text. `comparison`: see compare_batches; `about`: an object with folder, models, dataset, run_id, date
    and the names of tasks not begun, or nothing."""
    counts = [(_words(name), count) for name, count in _counts(tasks)]
    kinds = [kind_of(name) for name, _ in _counts(tasks)]
    price = f"; {_price(tasks, about)}" if any(task.was_run for task in tasks) else ""
    said = f"{count_of(len(tasks), 'task')}: {_sums(tasks)}{price}{_rate(tasks)}"
    filter_field = tag("label", "Filter: ", Html('<input id="filter" type="search">'))
    count = tag("span", f"{len(tasks)} of {len(tasks)}", id="count", role="status", class_="soft")
    costs = _most("dearest tasks", [(task.name, float(task.cost), usd(task.cost)) for task in tasks])
    times = _most("longest tasks", [(task.name, task.seconds, f"{task.seconds:.1f} s") for task in tasks])
    outcomes = [plots.bars("tasks by outcome", [(n, float(c), str(c)) for n, c in counts], kinds)] if counts else []
    if crossed := _crossed(tasks):
        counted: list[list[object]] = [[name, *map(int, amounts)] for name, *amounts in crossed[1:]]
        outcomes.append(table(crossed[0], counted, "tasks by the verdict of their run and by their grade"))
    sections = [
        section("outcomes", "Outcomes", *outcomes),
        section("errors", "Why tasks failed", _errors(tasks)),
        section("cost", "Cost and time", *([tag("div", costs, times, class_="pair")] if costs or times else [])),
        section("tasks", "Tasks", tag("p", filter_field, " ", count), _rows(tasks, bool(comparison), not is_live)),
    ]
    if comparison:
        sections.insert(1, section("changed", "Compared", _changed(tasks, comparison)))
    resolved = sum(task.grade == "resolved" for task in tasks)
    title = count_of(len(tasks), "task") + (f", {resolved} resolved" if _graded(tasks) else "")
    made = _about(about)
    top = join(tag("p", line) for line in (said, *lines_on(about)))
    return page(f"{title}: {made}" if made else title, top, sections, version, is_live)


def _table_of(tasks: list[Task], is_compared: bool) -> list[list[str]]:
    """The headings of a table with a row for each task, then the rows."""
    rows = [["task", "outcome"]] + [[task.name, _words(task.outcome)] for task in tasks]
    more = [["before"]] + [[_words(task.other)] for task in tasks] if is_compared else []
    verdicts = [["verdict"]] + [[VERDICTS.get(task.verdict, "")] for task in tasks] if _has_verdicts(tasks) else []
    costs = [["cost"]] + [[usd(task.cost)] for task in tasks] if any(task.cost for task in tasks) else []
    whys = [["why"]] + [[_why_with_tests(task)] for task in tasks]
    return [sum(parts, []) for parts in zip(*filter(None, (rows, more, verdicts, costs, whys)))]


def batch_text(tasks: list[Task], comparison: dict[str, Any] | None, about: object) -> str:
    """Models, data set and evaluation, a line for each task, then the totals."""
    lines = [*aligned(_table_of(tasks, bool(comparison))), *aligned(_crossed(tasks))]
    spent = _price(tasks, about) if _charged_in_all(tasks, about) else ""
    ends = [f"{_sums(tasks)}{_rate(tasks)}", spent, *lines_on(about), *(comparison or {}).get("lines", ())]
    return "".join(f"{line.rstrip()}\n" for line in [_about(about), *lines, *ends] if line)


def batch_markdown(tasks: list[Task], comparison: dict[str, Any] | None, about: object) -> str:
    """A table of the outcomes, then a table of the tasks."""
    rows = "".join(f"| {_words(name)} | {count} |\n" for name, count in _counts(tasks))
    counted = _crossed(tasks)
    crossed = f"{markdown_table(counted, _MAX_WHY)}\n" if counted else ""
    made = f": {escaped(plain_line(_about(about), 600))}" if _about(about) else ""
    listed = markdown_table(_table_of(tasks, bool(comparison)), _MAX_WHY)
    ends = [*(comparison or {}).get("lines", ()), *lines_on(about)]
    told = "".join(f"{escaped(plain_line(line, 2000))}\n\n" for line in ends if line)
    return f"### acr-host: {count_of(len(tasks), 'task')}{made}\n\n| outcome | tasks |\n|---|---|\n{rows}\n{crossed}{told}{listed}"


def batch_summary(tasks: list[Task], comparison: dict[str, Any] | None, about: object) -> dict[str, Any]:
    """The output of `--format json`."""
    rows = [
        {"task": task.name, "outcome": task.outcome, "verdict": task.verdict or None, "grade": task.grade or None,
         "doubt": task.doubt or None, "why": task.why, "error_class": task.failure or None, "failing_tests": task.failing, "seconds": task.seconds,
         "setup_seconds": task.setup_seconds,
         "cost_microusd": task.cost, "calls": task.calls,
         **({"before": task.other} if comparison else {})}
        for task in tasks
    ]  # fmt: skip
    made = {key: member(about, key) for key in ("models", "dataset", "run_id")}
    return {
        "kind": "many",
        **made,
        "counts": dict(_counts(tasks)),
        "cost_microusd": sum(t.cost for t in tasks),
        "charged_microusd": _charged_in_all(tasks, about),
        "tasks": rows,
        "not_begun": member(about, "not_begun") or [],
        **({"unfinished_grading": member(about, "unfinished")} if member(about, "unfinished") else {}),
        **({"comparison": {key: each for key, each in comparison.items() if key != "lines"}} if comparison else {}),
    }


def _charged(task: Task) -> int:
    """What the task's calls count against ceilings, in micro-USD."""
    return max(task.cost, number_of(task.spent.get("charged_microusd")))


def _charged_in_all(tasks: list[Task], about: object) -> int:
    """The same for a batch, which also counts calls that a kill cut off, for which no task has an answer."""
    return max(sum(map(_charged, tasks)), number_of(member(about, "charged_microusd")))


def _price(tasks: list[Task], about: object) -> str:
    total, charged = sum(task.cost for task in tasks), _charged_in_all(tasks, about)
    return usd(total) + (f" for answers, {usd(charged)} charged" if charged > total else "")


_AMOUNTS = ("calls", "input_tokens", "cached_tokens", "output_tokens", "cost_microusd", "charged_microusd")
_HEAD = (
    *("instance_id", "repository", "state", "verdict", "grade", "resolved", "reason", "failing_tests", "attempts"),
    *(*_AMOUNTS[:4], "cost_usd", "charged_usd", "seconds", "grade_seconds", "patch_lines", "model", "setup_seconds"),
)


def _csv_cell(value: object) -> object:
    """A spreadsheet would run a text that begins like a formula, so such a text gets an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value[:1] in tuple("=+-@") else value


def batch_csv(tasks: list[Task], is_compared: bool, about: object) -> str:
    """A row for each task, as CSV by RFC 4180, for spreadsheets and data frames."""
    models, unbegun = member(about, "models"), member(about, "not_begun") or []
    model = "+".join(line_of(each, 200) for each in models) if isinstance(models, list) else ""
    rows: list[list[object]] = [[*_HEAD, *(["before"] if is_compared else [])]]
    for task in tasks:
        spent = [task.attempts, *(number_of(task.spent.get(key)) for key in _AMOUNTS)] if task.was_run else []
        state = task.ended or _STATUS_OF.get(task.verdict, task.verdict) or task.outcome
        grade = "" if task.audited or task.grade in _UNGRADED else task.grade
        is_known = grade not in ("", "error") or task.failure in _FAULTS
        graded = [grade.removesuffix("_patch"), str(grade == "resolved").lower() if is_known else ""]
        named = [task.name, task.repo, state, task.verdict, *graded, task.why]
        amounts = [*spent[:5], *(f"{microusd / 1e6:.6f}" for microusd in spent[5:])] or [""] * 7
        is_timed = task.run_seconds or task.ended not in ("", "unfinished")
        times = [f"{task.run_seconds:.3f}" if is_timed else "", f"{task.grade_seconds:.3f}"]
        rows.append(
            [
                *(*named, json.dumps(task.failing) if task.failing else "", *amounts, *times, task.patch_lines),
                *("+".join(task.models) or model, f"{task.setup_seconds:.3f}", *([task.other] if is_compared else [])),
            ]
        )
    rows += [[name, "", "not_begun", *[""] * (len(rows[0]) - 3)] for name in unbegun]
    text = io.StringIO()
    csv.writer(text).writerows([_csv_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _is_error(task: Task) -> bool:
    """Whether the task could not be run or graded, so that nothing is known about its patch."""
    has_result = task.grade in ("resolved", "unresolved", "empty_patch")
    return task.outcome in ("error", "failed", "unfinished") or (
        not has_result and task.status in ("failed", "stopped", "interrupted")
    )


def batch_cases(tasks: list[Task]) -> list[Case]:
    """A test case for each task."""
    states = {"good": "passed", "warn": "skipped", "bad": "failed"}
    return [
        ("tasks", task.name, "error" if _is_error(task) else states[kind_of(task.outcome)],
         _why_with_tests(task) or task.failure or _words(task.outcome), task.seconds)
        for task in tasks
    ]  # fmt: skip
