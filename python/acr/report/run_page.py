"""The page of one run."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from acr import layout
from acr.report import plots
from acr.report.batch_page import grade_of
from acr.report.journal import Step
from acr.report.markup import Html, fold, join, page, pre, section, table, tag
from acr.report.parse_diff import FileDiff
from acr.report.plain import count_of, line_of, member, number_of, rows_of, seconds_of, shortened, text_of, usd
from acr.report.story import (
    RESULTS,
    SCRIPT_VERDICTS,
    Attempt,
    Execution,
    Run,
    cost_of,
    cost_words,
    kind_of,
    stage_words,
    status_words,
)

MAX_CONVERSATION = 600_000  # maximum characters of all steps together
MAX_DIFF_LINES = 4000
_MARKS = {"+": "a", "-": "d"}
Section = tuple[str, str, Html]


def _summary(run: Run) -> Html:
    cost = cost_of(run)
    used = (
        f"{count_of(cost['calls'], 'call')}, {cost['input_tokens'] + cost['cached_tokens'] + cost['written_tokens']:,} tokens in, "
        f"{cost['output_tokens']:,} out, {cost_words(cost)}"
    )
    if not run.models and not cost["calls"] and not cost["charged_microusd"]:
        used = "no model was asked"
    if run.is_running:
        used = f"{count_of(cost['calls'], 'call')}, {cost_words(cost)} so far"
    badge = tag("span", run.said, class_=f"badge {'soft' if run.is_running else kind_of(run.verdict)}")
    lines = [
        tag("p", badge, " ", run.why),
        tag("p", ", ".join(run.models), "; " * bool(run.models), used, class_="soft"),
    ]
    if grade := grade_of(run):
        log = ["; ", tag("a", "test log", href=quote(run.test_log))] if run.test_log else []
        lines.append(tag("p", "Grade: ", grade, *log))
    if run.unread:
        lines.append(tag("p", "Not read: ", run.unread, class_="warn"))
    if run.error:
        lines.append(tag("p", run.error, class_="bad"))
    return join(lines)


# ---- Evidence ----


def _execution(title: str, found: Execution) -> Html:
    ended = "no exit code" if found.exit is None else f"exit code {found.exit}"
    limit = f", stopped by the limit of {found.limit}" if found.limit else ""
    why = "" if found.result == "passed" else found.why  # that it exits with 0
    return tag("div", tag("h3", title), tag("p", f"{RESULTS.get(found.result, found.result)} ({ended}{limit})"),
               tag("p", why) if why else "", pre(found.output, f"output {title}"))  # fmt: skip


def _review(row: dict[str, Any]) -> Html:
    said = f"review {number_of(row.get('round'))}: patch correct: {line_of(row.get('patch-correct'), 8)}, test correct: {line_of(row.get('test-correct'), 8)}"
    if problem := line_of(row.get("problem"), 1000):
        said = f"review {number_of(row.get('round'))}: not used: {problem}"
    names = ("patch-analysis", "patch-advice", "test-analysis", "test-advice")
    told = [
        tag("p", tag("strong", name.replace("-", " ")), " ", text_of(row.get(name), 4000))
        for name in names
        if row.get(name)
    ]
    return fold(said, *told, is_open=True) if told else tag("p", said)


def _agrees(value: Any) -> object:
    return "yes" if value is True else tag("strong", "no: disagrees", class_="bad") if value is False else "-"


def experiment_words(value: Any) -> Html:
    """A cell of the table of experiments, with its code as code."""
    parts = line_of(value, 600).split("`")
    return tag("span", *(tag("code", part) if at % 2 else part for at, part in enumerate(parts)))


def _experiments(run: Run) -> list[Html]:
    """The table of the experiments: what each changed, the expected end, and the actual end."""
    names, without = ("experiment", "changed", "expected", "happened"), ", without the patch"
    made = [row | {"experiment": f"{line_of(row.get('experiment'))}{without * line_of(row.get('changed'), 600).endswith(without)}"}
            for row in rows_of(member(run.experiments, "table"), 60)]  # fmt: skip
    rows = [[*(experiment_words(row.get(name)) for name in names), _agrees(row.get("agrees"))] for row in made]
    took = f", {seconds_of(member(run.experiments, 'seconds')):.1f} s"
    return [table([*names, "agrees"], rows, count_of(len(rows), "experiment") + took)] if rows else []


def _validation(run: Run) -> list[Html]:
    shown = tag("p", "Validation: ", tag("code", line_of(run.validate, 300)), " ", run.validation)
    return [shown] if run.validation else []


def _evidence(run: Run) -> Section:
    attempt, found = run.attempt(), run.evidence()
    content: list[object] = []
    if found and attempt:
        test, before, after = found
        content.append(fold(layout.REPRODUCER % test, pre(attempt.scripts.get(test, ""), "the script"), is_open=True))
        content.append(tag("div", _execution("without the patch", before), _execution("with the patch", after),
                           class_="pair"))  # fmt: skip
    elif attempt and attempt.executions:
        for (patch, test), execution in sorted(attempt.executions.items())[:20]:
            content.append(_execution(f"script {test}, {f'patch {patch}' if patch else 'no patch'}", execution))
    content += _validation(run)
    content += _experiments(run)
    content += [_review(row) for row in (attempt.reviews if attempt else [])[:20]]
    content += [fold(name, pre(text, name)) for name, text in (attempt.others.items() if attempt else [])]
    return section("evidence", "Evidence", *content)


# ---- Patch ----


def _file_diff(file: FileDiff, left: list[int]) -> Html:
    """The diff. The style sheet shows the numbers of a line before it, so that they are not copied with the text."""
    lines: list[Html] = []
    width = max((len(str(max(hunk.old, hunk.new) + len(hunk.lines))) for hunk in file.hunks), default=1)
    for hunk in file.hunks:
        head = f"@@ line {hunk.old} -> {hunk.new} @@ {hunk.title}"
        lines.append(tag("span", head, class_="h"))
        at = [hunk.old, hunk.new]
        for line in hunk.lines[: max(left[0], 0)]:
            sides = [line[:1] in marks for marks in (" -", " +")]
            numbers = " ".join(f"{number if is_in else '':>{width}}" for number, is_in in zip(at, sides))
            lines.append(tag("span", line, class_=_MARKS.get(line[:1]), data_n=numbers))
            at = [number + is_in for number, is_in in zip(at, sides)]
        left[0] -= len(hunk.lines)
    return join([tag("h3", file.path), tag("pre", *lines, class_="diff", tabindex="0", role="region",
                                           aria_label=f"diff of {file.path[:200]}")])  # fmt: skip


def _apply_command(run: Run) -> list[Html]:
    """The command that applies the patch, with a button that copies it; none for a patch that a check refuses."""
    if not (run.files and run.folder and run.repo) or run.verdict == "refused":
        return []
    command = f"git -C {shlex.quote(run.repo)} apply {shlex.quote(f'{run.folder}/{layout.PATCH}')}"
    button = tag("button", "Copy", type="button", class_="copy")
    return [tag("div", tag("code", command), " ", button, class_="command")]


def _patch(run: Run) -> Section:
    left = [MAX_DIFF_LINES]
    content: list[object] = [*_apply_command(run)]
    content += [_file_diff(file, left) for file in run.files[:100]]
    if left[0] < 0:
        content.append(tag("p", "The rest of the diff is in patch.diff.", class_="soft"))
    if not run.files and run.verdict not in SCRIPT_VERDICTS:
        content.append(
            tag(
                "p",
                "No patch is selected yet."
                if run.is_running
                else f"There is no patch{f': {status_words(run.status)}' if run.status else ''}.",
            )
        )
    for place in run.places[:20]:
        named = f"{place.file}, {place.span}"
        content.append(fold(f"As located: {named}", pre(place.code, named)))
    return section("patch", "Patch", *content)


def _name_of(attempt: Attempt, one: dict[str, Any]) -> str:
    """A try as elsewhere, counted from 1: "attempt 2, try 1"."""
    return f"attempt {attempt.number + 1}, try {number_of(one.get('try'))}"


def _edits(attempt: Attempt) -> list[list[object]]:
    rows: list[list[object]] = []
    for one in attempt.tries[:50]:
        for edit in rows_of(one.get("edits"), 50):
            first, last = number_of(edit.get("start")), number_of(edit.get("end"))
            place = f"{first}-{last}" if first else "-"
            quote = line_of(edit.get("quote"), 200) if edit.get("why") else ""
            rows.append([_name_of(attempt, one), line_of(edit.get("file")), place,
                         line_of(edit.get("level"), 20), line_of(edit.get("status"), 20),
                         line_of(edit.get("why"), 400) + (f": {shortened(quote, 60)}" if quote else "")])  # fmt: skip
    return rows


def _landing(run: Run) -> Section:
    rows = [row for attempt in run.attempts[:20] for row in _edits(attempt)]
    heads = ["try", "file", "lines", "found", "status", "why"]
    shown = table(heads, rows, "each edit, how exactly its quote matches the file, and where it was applied")
    return section("edits", "Where edits were applied", *[shown] if rows else [])


def _comparison(one: dict[str, Any]) -> list[object]:
    """The cells of a candidate that was compared with others."""
    ran, free, votes = rows_of(one.get("reproducers"), 200), one.get("no_regressions"), one.get("votes")
    passed = sum(each.get("result") == "passed" for each in ran)
    return [line_of(one.get("proof"), 20) or "-", "not known" if free is None else "none" if free else "some",
            f"{passed} of {len(ran)}" if ran else "-", number_of(one.get("same_behaviour")) or "-",
            number_of(one.get("same_change")), len(votes) if isinstance(votes, list) else 0]  # fmt: skip


def _candidates(run: Run) -> Section:
    """One row for each try, and for each given patch; more columns if the candidates were compared."""
    compared = {line_of(one.get("patch"), 100): one for one in run.compared} if run.choice and run.compared[1:] else {}
    more = ["proof", "regressions", "scripts passed", "behave alike", "same change", "votes"] if compared else []
    rows: list[list[object]] = []
    for attempt in run.attempts[:20]:
        for one in attempt.tries[:50]:
            number = number_of(one.get("try"))
            ran = [(test, found) for (patch, test), found in sorted(attempt.executions.items()) if patch == number]
            results = "; ".join(f"script {test}: {RESULTS.get(found.result, found.result)}" for test, found in ran[:5])
            found = compared.pop(f"{layout.ATTEMPT}/{layout.EXTRACTED}" % (attempt.number, number), None)
            cells = _comparison(found) if found else ["-"] * len(more)
            chosen = "selected" if run.selected == (attempt.number, number) else ""
            status = status_words(line_of(one.get("status"), 60))
            rows.append([_name_of(attempt, one), status, results or "no script ran", *cells, chosen])
    for path, one in compared.items():
        if path:
            status = status_words(line_of(one.get("status"), 60))
            rows.append([path, status, "", *_comparison(one), "selected" if one.get("selected") is True else ""])
    if len(rows) == 1 and rows[0][-1]:  # the summary says all of it
        return section("candidates", "Candidates")
    shown = table(
        ["candidate", "status", "with it", *more, "chosen"], rows, run.choice if more else "patches of all tries"
    )
    return section("candidates", "Candidates", *([shown] if rows else []))


# ---- Localisation, cost, conversation ----


def _known(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(first, last) for first, last in spans if 0 < first <= last <= 1_000_000][:100]


def _localisation(run: Run) -> Section:
    attempt, shown = run.attempt(), run.journal.shown
    edits = rows_of(attempt.tries[-1].get("edits")) if attempt and attempt.tries else []
    names = dict.fromkeys([*(place.file for place in run.places), *(file for file, lines in shown.items() if lines)])
    strips = []
    for name in list(names)[:12]:
        places = _known(place.lines for place in run.places if place.file == name)
        landed = [row for row in edits if line_of(row.get("file")) == name]
        edited = _known((number_of(row.get("start")), number_of(row.get("end"))) for row in landed)
        strips.append(plots.heat(name, shown.get(name, Counter()), places, edited))
    rows: list[list[object]] = [
        [place.file, place.klass, place.func, place.level, line_of(place.behavior, 600)] for place in run.places
    ]
    content: list[object] = [table(["file", "class", "function", "found by the name of", "what it should do"], rows,
                                   "places that the model named")] if rows else []  # fmt: skip
    if strips:
        content.append(tag("p", "Blue: lines that the model was shown. Framed: places of the bug. Below: edited lines.",
                           class_="soft"))  # fmt: skip
    return section("places", "Localisation", *content, *strips)


def _stages(run: Run) -> Section:
    stages = [(stage_words(name), sums) for name, sums in run.journal.stages.items()][:40]
    time = [(name, sums[1] / 1000, f"{sums[1] / 1000:.1f} s, {count_of(sums[0], 'step')}") for name, sums in stages]
    cost = [(name, float(sums[2]), usd(sums[2])) for name, sums in stages if sums[2]]
    content: list[object] = [tag("h3", "Time"), plots.bars("seconds by stage", time)] if time else []
    if cost:
        content += [tag("h3", "Cost"), plots.bars("cost by stage", cost)]
    return section("cost", "Cost and time", *content)


def _step(step: Step, number: int, left: list[int], judged: str) -> Html:
    what, comma, rest = step.title.partition(",")
    took = f", {step.wall_ms / 1000:.1f} s" if step.wall_ms else ""
    head = f"{number} {stage_words(what)}{comma}{rest}{judged}{took}"
    parts: list[object] = []
    for who, text in step.parts:
        left[0] -= len(text)
        parts += [tag("p", who, class_="who"), pre(text, who)] if left[0] > 0 else []
    if left[0] <= 0:
        return tag("p", head, class_="soft")
    return fold(head, *parts)


def _conversation(run: Run) -> Section:
    left, steps = [MAX_CONVERSATION], run.journal.steps
    made = rows_of(member(run.experiments, "table"), 200)
    refuted = {line_of(row.get("experiment"), 40) for row in made if row.get("agrees") is not True}
    agreed = {line_of(row.get("experiment"), 40) for row in made} - refuted
    shown: list[object] = []
    seeds = 0
    for at, step in enumerate(steps):
        if step.kind == "random":  # a seed tells a reader nothing
            seeds += 1
            continue
        if run.journal.left_out and at and step.number > steps[at - 1].number + 1:
            shown.append(tag("p", f"{run.journal.left_out:,} steps are left out here; journal.jsonl holds all.",
                             class_="soft"))  # fmt: skip
        judged = ", as expected" if step.experiment in agreed else ""
        shown.append(_step(step, step.number + 1 - seeds, left, judged))
    if left[0] <= 0:
        shown.insert(0, tag("p", "Long texts at the end are left out; journal.jsonl holds all.", class_="soft"))
    return section("steps", "Step by step", *shown)


def render_run(run: Run, version: str, is_live: bool = False) -> str:
    """The page, as text."""
    history = ", with searches of the git history" if run.has_history else ""
    commit = f"commit {run.base}" if run.commit else "the working tree"
    where = tag("p", f"{run.name}, {commit}{history}", class_="soft")
    sections = [
        _patch(run),
        section("issue", "Issue", where, pre(run.issue, "the issue")),
        _evidence(run), _landing(run), _candidates(run), _localisation(run), _stages(run), _conversation(run),
    ]  # fmt: skip
    return page(run.title, _summary(run), sections, version, is_live)


# ---- Two runs ----


def _column(run: Run) -> Html:
    """One of two runs: its verdict, evidence and patch."""
    left, cost = [MAX_DIFF_LINES // 2], cost_of(run)
    seconds = sum(sums[1] for sums in run.journal.stages.values()) / 1000
    used = f"{count_of(cost['calls'], 'call')}, {cost_words(cost)}, {seconds:.1f} s"
    badge = tag("span", run.said, class_=f"badge {kind_of(run.verdict)}")
    content: list[object] = [tag("h3", run.folder or run.name), tag("p", badge, " ", run.why),
                             tag("p", ", ".join(run.models), "; " * bool(run.models), used, class_="soft"),
                             *([tag("p", run.error, class_="bad")] if run.error else [])]  # fmt: skip
    if found := run.evidence():
        content += [_execution(f"{layout.REPRODUCER % found[0]} with the patch", found[2])]
    content += _validation(run)
    content += [_file_diff(file, left) for file in run.files[:50]] or [tag("p", "There is no patch.")]
    return tag("div", *content)


def render_pair(run: Run, other: Run, version: str) -> str:
    """Two runs side by side, as a page."""
    is_same = run.patch == other.patch
    said = "Both runs wrote the same patch." if is_same else "The patches differ."
    sections = [section("runs", "Side by side", tag("div", _column(run), _column(other), class_="pair"))]
    if run.issue:
        sections.append(section("issue", "Issue", pre(run.issue, "the issue")))
    return page(f"{run.title}: two runs", tag("p", said), sections, version)
