"""JUnit's XML, by the schema that Jenkins and others read: a test case for each claim of a run, or for each task."""

from __future__ import annotations

from html import escape

from acr.report.plain import visible

Case = tuple[str, str, str, str, float]  # suite, name, "passed" | "failed" | "error" | "skipped", message, seconds
_ELEMENTS = {"failed": "failure", "error": "error", "skipped": "skipped"}


def _quoted(text: str) -> str:
    """An attribute's value with escaped line ends, which readers would turn into blanks. `xml.sax.saxutils` has this, and imports a web client."""
    inside = escape(text)
    for letter in "\t\n\r":
        inside = inside.replace(letter, f"&#{ord(letter)};")
    return f'"{inside}"'


def _case(case: Case) -> str:
    suite, name, state, message, seconds = case
    head = f'<testcase classname={_quoted(visible(suite))} name={_quoted(visible(name))} time="{seconds:.3f}"'
    if state == "passed":
        return head + "/>"
    element, text = _ELEMENTS[state], visible(message)
    kind = "" if element == "skipped" else f" type={_quoted(state)}"
    return f"{head}><{element} message={_quoted(text)}{kind}>{escape(text)}</{element}></testcase>"


def render_junit(suite: str, cases: list[Case]) -> str:
    """The document."""
    counts = {state: sum(case[2] == state for case in cases) for state in ("failed", "error", "skipped")}
    seconds = sum(case[4] for case in cases)
    totals = f'tests="{len(cases)}" failures="{counts["failed"]}" errors="{counts["error"]}"'
    inside = "\n".join(map(_case, cases))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites name={_quoted(visible(suite))} {totals} time="{seconds:.3f}">\n'
        f'<testsuite name={_quoted(visible(suite))} {totals} skipped="{counts["skipped"]}" time="{seconds:.3f}">\n'
        f"{inside}\n</testsuite>\n</testsuites>\n"
    )
