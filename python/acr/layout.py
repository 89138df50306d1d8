"""The names of the files in a run folder that Python reads, as in runtime/layout/layout.h; "%u" stands for a number."""

from __future__ import annotations

import re

META = "meta.json"
ISSUE = "issue.md"
JOURNAL = "journal.jsonl"
COST = "cost.json"
PATCH = "patch.diff"
SELECTED = "selected_patch.json"
RESULT = "result.json"
ERROR = "error.txt"
ATTEMPT = "attempt_%u"
SEARCH = "search/"
TOOL_CALLS = "tool_call_layers.json"
LOCATIONS = "bug_locations_after_process.json"
EXTRACTED = "extracted_patch_%u.diff"
EXTRACT_STATUS = "extract_status.json"
REPRODUCER = "reproducer_%u.py"
SCRIPT = "reproducer.py"
EXECUTION = "execution_%u_%u.json"
REVIEW = "review_p%u_t%u.json"
REGRESSION = "regression_%u.json"
EVAL_REPORT = "report.json"
VERDICT = "verdict.json"
EVALUATIONS = "logs/run_evaluation"
LIVE = "live.json"


def numbers(name: str, path: object) -> tuple[int, ...] | None:
    """The numbers in a path of the format `name`; None if the path has another format."""
    pattern = r"(\d{1,6})".join(map(re.escape, re.split("%u", name)))
    found = re.fullmatch(pattern, path) if isinstance(path, str) else None
    return tuple(map(int, found.groups())) if found else None
