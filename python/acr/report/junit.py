"""JUnit's XML, by the schema that Jenkins and others read: a test case for each claim of a run, or for each task."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from acr.report.plain import visible

Case = tuple[str, str, str, str, float]  # suite, name, "passed" | "failed" | "error" | "skipped", message, seconds
_ELEMENTS = {"failed": "failure", "error": "error", "skipped": "skipped"}


def _case(case: Case) -> str:
    suite, name, state, message, seconds = case
    head = f'<testcase classname={quoteattr(visible(suite))} name={quoteattr(visible(name))} time="{seconds:.3f}"'
    if state == "passed":
        return head + "/>"
    element, text = _ELEMENTS[state], visible(message)
    kind = "" if element == "skipped" else f" type={quoteattr(state)}"
    return f"{head}><{element} message={quoteattr(text)}{kind}>{escape(text)}</{element}></testcase>"


def render_junit(suite: str, cases: list[Case]) -> str:
    """The document."""
    counts = {state: sum(case[2] == state for case in cases) for state in ("failed", "error", "skipped")}
    seconds = sum(case[4] for case in cases)
    totals = f'tests="{len(cases)}" failures="{counts["failed"]}" errors="{counts["error"]}"'
    inside = "\n".join(map(_case, cases))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites name={quoteattr(visible(suite))} {totals} time="{seconds:.3f}">\n'
        f'<testsuite name={quoteattr(visible(suite))} {totals} skipped="{counts["skipped"]}" time="{seconds:.3f}">\n'
        f"{inside}\n</testsuite>\n</testsuites>\n"
    )
