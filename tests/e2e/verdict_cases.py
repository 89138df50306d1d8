"""Makes runs from the pairs in tests/cases/verdict: a repository, and model answers with each patch and script."""

from __future__ import annotations

import json
from pathlib import Path

from verifying import YES_YES, Line, guard, line, review, test_line

FOLDER = Path(__file__).parents[1] / "cases" / "verdict"


def sections(name: str) -> dict[str, str]:
    """The parts of a case, by heading."""
    parts: dict[str, str] = {}
    heading = ""
    for text in (FOLDER / f"{name}.txt").read_text("utf-8").splitlines(keepends=True):
        if text.startswith("=== "):
            heading = text[4:].strip()
            parts[heading] = ""
        elif heading:
            parts[heading] += text
    return parts


def files(case: dict[str, str]) -> dict[str, str]:
    """The project without the patch; a run needs at least one file."""
    found = {name[7:]: text for name, text in case.items() if name.startswith("before ")}
    return found or {"README": "empty\n"}


def lines(case: dict[str, str]) -> list[Line]:
    """The answers of a run that leads directly to the patch, which the reviewer approves."""
    before = files(case)
    edits = []
    for name, text in case.items():
        if name.startswith("after "):
            old = before.get(name[6:], "")
            edits.append(f"<file>{name[6:]}</file>\n<original>\n{old}</original>\n<patched>\n{text}</patched>")
    where = {"file": next(iter(before)), "intended_behavior": "to be right"}
    found = json.dumps({"API_calls": [], "bug_locations": [where]})
    return [
        *[guard(), test_line(case["script"]), line("search", "The bug is there."), line("extract", found)],
        *[line("patch", "```\n" + "\n".join(edits) + "\n```"), review(YES_YES)],
    ]
