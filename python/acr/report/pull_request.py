"""A pull request of a run: title and body as Markdown."""

from __future__ import annotations

import json
import re
import textwrap
from typing import Any

from acr.report.markdown import block, code, escaped, plain_line
from acr.report.plain import clip, count_of, line_of, number_of, rows_of, visible
from acr.report.story import Execution, Run, cost_of, cost_words

MAX_TITLE = 100  # maximum characters of a title
MAX_BODY = 60_000  # maximum characters of a body; GitHub accepts 65,536
MAX_SCRIPT = 6000
MAX_FILES = 50
WIDTH = 96
_ADDRESS = re.compile(r"https?://[\w.:-]+(?:/[\w.~-]+)+/issues/\d+")
_PLACEHOLDER = re.compile(r"\{\{\s*([\w-]+)\s*\}\}")
TEMPLATE = """\
{{status}}
{{fixes}}

## What was wrong

{{places}}

## What changed

{{changes}}

## Evidence

{{evidence}}

{{script}}

{{cost}}
"""


def _status(run: Run) -> str:
    if run.verdict == "verified":
        return ""
    reason = f" ({code(run.why)})" if run.why else ""
    return f"> **{run.said}**{reason}: review this patch before you merge it.\n"


def _places(run: Run) -> str:
    shown = []
    for place in run.places[:20]:
        shown.append(
            "- " + ", ".join(filter(None, (code(place.file), place.name and code(place.name), place.span))) + "\n"
        )
        if place.behavior:
            lines = clip(place.behavior, 1500).splitlines()
            wrapped = "\n".join(textwrap.fill(line, WIDTH) for line in lines)
            shown.append("\n  It should do:\n\n" + textwrap.indent(block("text", wrapped), "  ") + "\n")
    if shown or run.models:
        return "".join(shown) or "The model named no bug location.\n"
    issue = clip(_issue(run), 1500)
    return f"The issue says:\n\n{block('text', issue)}" if issue else "No issue was given.\n"


def _files(run: Run) -> list[dict[str, Any]]:
    """The changed files."""
    return [{"path": file.path, "added": file.count_lines("+"), "removed": file.count_lines("-")} for file in run.files]


def _changes(run: Run) -> str:
    rows = _files(run)
    shown = [f"- {code(row['path'])} (+{row['added']} -{row['removed']})\n" for row in rows[:MAX_FILES]]
    return "".join(shown) + (f"- and {len(rows) - MAX_FILES} more files\n" if len(rows) > MAX_FILES else "")


def _outcome(found: Execution) -> str:
    return code(found.result) + (f" (exit {found.exit})" if found.exit else "")


def _tests(tests: Any) -> list[str]:
    if not isinstance(tests, dict):
        return []
    broken, expected = tests.get("regressions"), rows_of(tests.get("expected"))
    count = len(broken) if isinstance(broken, list) else 0
    more = f"; {len(expected)} fail as the issue expects" if expected else ""
    line = f"regressions: {count or 'none'} among {number_of(tests.get('compared'))} tests that passed before{more}"
    rows = [f"  - fails now: {code(name)}" for name in (broken[:10] if isinstance(broken, list) else [])]
    for name in [name for name in tests if name not in ("regressions", "expected")][:20]:
        ids = tests[name]
        rows += [f"  - {plain_line(name, 40)}: {len(ids)}"] if isinstance(ids, list) and ids else []
    return [line, *rows]


def _evidence(run: Run) -> str:
    attempt, found = run.attempt(), run.evidence()
    rows = [f"verdict: **{run.said}**" + (f" ({code(run.why)})" if run.why else "")]
    if found:
        rows.append(f"reproducer: {_outcome(found[1])} without the patch, {_outcome(found[2])} with it")
    if run.validation:
        rows.append(f"validation: {code(line_of(run.validate, 300))} {run.validation}")
    rows += _tests(run.tests)
    for review in (attempt.reviews if attempt else [])[-1:]:
        words = [code(review.get(name), 20) for name in ("patch-correct", "test-correct")]
        rows.append(f"review by a model: patch correct: {words[0]}, script correct: {words[1]}")
    return "".join(f"{row if row.startswith('  - ') else f'- {row}'}\n" for row in rows)


def _script(run: Run) -> str:
    attempt, found = run.attempt(), run.evidence()
    text = attempt.scripts.get(found[0], "") if attempt and found else ""
    if not text:
        return ""
    return f"<details><summary>The reproducer</summary>\n\n{block('python', clip(text, MAX_SCRIPT))}\n</details>\n"


def _cost(run: Run) -> str:
    names = ["recorded answers" if model.startswith("script:") else code(model) for model in run.models]
    cost, models = cost_of(run), ", ".join(names)
    used = f"{count_of(cost['calls'], 'model call')}, {cost_words(cost)}"
    made = f"Written by `acr-host` with {models}: {used}. A person should review it.\n"
    return made if models else "Judged by `acr-host` with the script; no model was used.\n"


def _issue(run: Run) -> str:
    """The issue's text; "" if it is only the title that `verify` gives to a run without an issue."""
    issue = run.issue.strip()
    return "" if not run.models and re.fullmatch("Verify a patch with .*", issue) else issue


def title(run: Run) -> str:
    """One line of at most MAX_TITLE characters, which says so if the patch is not proved."""
    mark = "" if run.verdict in ("verified", "validated") else "[unverified] "
    changed = (run.files[0].path + (", …" if run.files[1:] else "")) if run.files else "an issue"
    subject = re.sub(r"^[\s#>*-]+", "", run.title if _issue(run) else "") or changed
    return plain_line(f"{mark}Fix: {subject}", MAX_TITLE)


def address(value: Any) -> str | None:
    """The issue's URL, if it has one."""
    return value if isinstance(value, str) and len(value) <= 500 and _ADDRESS.fullmatch(value) else None


def _message(run: Run, issue: str | None) -> str:
    """The commit's message: the title, the proof, and the issue, named in a way that does not close it."""
    by = "Written by acr-host, with a model." if run.models else "Judged by acr-host, without a model."
    rows = [title(run), "", f"Verdict: {run.said}. {by}"]
    return "\n".join([*rows, *([f"Issue: {issue}"] if issue else [])]) + "\n"


def _trailer(run: Run) -> str:
    names = [f":{plain_line(model, 200)}" for model in run.models if not model.startswith("script:")]
    return "\n" + "".join(f"Assisted-by: acr-host{name}\n" for name in names or [""]) if run.models else ""


def _filled(template: str, values: dict[str, str]) -> str:
    """Fill in a template. Errors: ValueError (an unknown placeholder)."""
    unknown = sorted({name for name in _PLACEHOLDER.findall(template) if name not in values})
    if unknown:
        raise ValueError(f"there is no placeholder {{{{{visible(unknown[0])}}}}}; there are: {', '.join(values)}")
    return _PLACEHOLDER.sub(lambda found: values[found[1]].strip("\n"), template)


def make(run: Run, issue: Any, template: str | None) -> str:
    """Make JSON: {"title", "body", "message", "trailer", "issue", "files"}, or {"error"} if the template is wrong."""
    place = address(issue)
    values = {
        "title": escaped(title(run)), "verdict": run.verdict, "status": _status(run), "fixes": f"Fixes {place}" if place else "",
        "issue": place or "", "places": _places(run), "changes": _changes(run), "evidence": _evidence(run),
        "script": _script(run), "cost": _cost(run), "commit": run.commit if re.fullmatch("[0-9a-f]{40}", run.commit) else "",
    }  # fmt: skip
    try:
        body = _filled(template if template is not None else TEMPLATE, values)
    except ValueError as error:
        return json.dumps({"error": str(error)})
    if len(body) > MAX_BODY:
        body = _filled(template if template is not None else TEMPLATE, values | {"script": "", "places": ""})
    body = re.sub(r"\n{3,}", "\n\n", body).strip()[:MAX_BODY] + "\n"
    made = {"title": title(run), "body": body, "message": _message(run, place), "issue": place}
    return json.dumps(made | {"trailer": _trailer(run), "verdict": run.verdict, "files": _files(run)})
