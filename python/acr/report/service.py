"""The functions that the host calls: packed files of a folder -> the report as bytes."""

from __future__ import annotations

import json

from acr import layout
from acr.byte_fields import unpack
from acr.report import atif, batch_page, junit, pull_request, run_page, sarif, unfinished, words
from acr.report.plain import load, member
from acr.report.story import run_of

OTHER = b"(other run)"  # the files after this name are those of the other run


def _pairs(fields: list[bytes]) -> dict[str, bytes]:
    return {name.decode("utf-8", "replace"): data for name, data in zip(fields[::2], fields[1::2])}


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=True) + "\n"


def _pull_request(files: dict[str, bytes]) -> str:
    """The file "(template)" is not from the folder: it is the user's template of the body, if there is one."""
    template = files.get("(template)")
    text = None if template is None else template.decode("utf-8", "replace")
    return pull_request.make(run_of(files), member(load(files.get(layout.META)), "issue_url"), text)


def run(argument: bytes) -> bytes:
    """Format, version, then names and contents of a run folder's files."""
    form, version, *fields = unpack(argument)
    files = _pairs(fields)
    if OTHER in fields[::2]:
        end = fields[::2].index(OTHER) * 2
        pair = run_of(_pairs(fields[:end])), run_of(_pairs(fields[end + 2 :]))
        pages = run_page.render_pair(*pair, version.decode()) if form == b"html" else words.pair_text(*pair)
        return pages.encode("utf-8", "replace")
    told, shown = run_of(files), version.decode()
    made = {
        b"html": lambda: run_page.render_run(told, shown),
        b"live": lambda: run_page.render_run(told, shown, True),
        b"text": lambda: words.run_text(told),
        b"markdown": lambda: words.run_markdown(told),
        b"json": lambda: _json({**words.run_summary(told), "steps": atif.steps_of(told, files)}),
        b"junit": lambda: junit.render_junit("acr-host", words.run_cases(told)),
        b"atif": lambda: _json(atif.render_atif(told, files, shown)),
        b"sarif": lambda: _json(sarif.render_sarif(told, shown)),
        b"pull request": lambda: _pull_request(files),
    }
    return made[form]().encode("utf-8", "replace")


def tasks(argument: bytes) -> bytes:
    """Form, version, whether another folder is compared with ("1"), the number of the first folder's files, then names
    and contents of the files of both. There is no SARIF or ATIF of many runs."""
    form, version, compared, count, *fields = unpack(argument)
    split, is_compared = int(count) * 2, compared == b"1"
    files = _pairs(fields[:split])
    found, told = batch_page.tasks_of(files), load(files.get("(about)"))
    about = {
        **(told if isinstance(told, dict) else {}),
        "not_begun": unfinished.not_begun_of(files, {task.name for task in found}),
    }
    about["unfinished"] = unfinished.grading_of(files, {task.name for task in found if task.grade})
    about["models"] = list(dict.fromkeys(model for task in found for model in task.models)) or about.get("models")
    others = _pairs(fields[split:])
    others |= {name: data for name, data in files.items() if name == "(instances)"}
    there = load(others.get("(about)"))
    comparison = batch_page.compare_batches(found, batch_page.tasks_of(others), there) if is_compared else None
    made = {
        b"html": lambda: batch_page.render_batch(found, comparison, version.decode(), about=about),
        b"live": lambda: batch_page.render_batch(found, None, version.decode(), True),
        b"text": lambda: batch_page.batch_text(found, comparison, about),
        b"markdown": lambda: batch_page.batch_markdown(found, comparison, about),
        b"json": lambda: _json(batch_page.batch_summary(found, comparison, about)),
        b"junit": lambda: junit.render_junit("acr-host", batch_page.batch_cases(found)),
        b"csv": lambda: batch_page.batch_csv(found, is_compared, about),
    }
    return made[form]().encode("utf-8", "replace")
