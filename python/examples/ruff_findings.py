"""A check of patches: rejects a patch if ruff reports errors in the changed files that it did not report before."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter

from acr.extensions import ChangedFile, Patch, Repo, patch_check

API = 1
RULES = "E9,F63,F7,F82"  # only certain errors: syntax, comparisons, undefined names


@patch_check
def no_new_findings(patch: Patch) -> str | None:
    """The new findings, with their lines; nothing if ruff is not installed."""
    if not shutil.which("ruff"):
        return None
    new = []
    for file in patch.files:
        if file.path.endswith(".py") and file.after is not None:
            before = Counter(message for _, message in findings(file.path, file.before or b""))
            for line, message in findings(file.path, file.after):
                before[message] -= 1
                if before[message] < 0:
                    new.append(f"{file.path}:{line}: {message}")
    return "\n".join(["new findings of ruff:", *new]) if new else None


def findings(path: str, source: bytes) -> list[tuple[int, str]]:
    """(line, message) of each finding in a file's text."""
    command = ["ruff", "check", "--isolated", "--no-cache", "--output-format=json", f"--select={RULES}"]
    done = subprocess.run(
        [*command, f"--stdin-filename={path}", "-"], input=source, capture_output=True, timeout=20, check=False
    )
    rows = json.loads(done.stdout or "[]")
    return [(row["location"]["row"], f"{row['code'] or 'syntax'} {row['message']}") for row in rows]


def test_says_what_is_new(repo: Repo) -> None:
    """An undefined name that existed before does not count against the patch."""
    old, new = b"print(missing)\n", b"print(missing)\nprint(absent)\n"
    assert no_new_findings(Patch("", [ChangedFile("a.py", old, old)], repo)) is None
    if shutil.which("ruff"):
        assert "absent" in (no_new_findings(Patch("", [ChangedFile("a.py", old, new)], repo)) or "")
