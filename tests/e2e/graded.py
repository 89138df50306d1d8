"""A small project, patches for it, and the files that `eval` reads to grade them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import repos
import sandboxes

LOGS = Path("logs") / "run_evaluation"
CODE = "def f(x):\n    return x\n"
FIX = """diff --git a/m.py b/m.py
--- a/m.py
+++ b/m.py
@@ -1,2 +1,2 @@
 def f(x):
-    return x
+    return x + 1
"""
# Runs the tests in an image.
SCRIPT = """#!/bin/bash
set -uxo pipefail
cd /testbed
: '>>>>> Start Test Output'
python3 - <<'EOF'
import m
print("PASSED t::a" if m.f(1) == 2 else "FAILED t::a - wrong")
print("PASSED t::b")
EOF
: '>>>>> End Test Output'
"""


def lines(path: Path, rows: list[Any]) -> Path:
    """Writes a file of JSON lines."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def make_root(
    folder: Path,
    files: dict[str, str],
    more: Sequence[str] = (),
    project: repos.Repo | None = None,
    with_python: bool = True,
) -> Path:
    """An archive of an image's root, with a repository of these files in /testbed, or `project`, and with bash, git,
    patch and other programs; skips the test if they are missing."""
    programs = [found for name in ("git", "patch") if (found := shutil.which(name))]
    if len(programs) < 2 or not shutil.which("bash"):
        pytest.skip("bash, git or patch is not installed")
    repo = project or repos.make_repo(folder / "repo", files)
    tree = {str(path.relative_to(repo.path)): path.read_bytes() for path in repo.path.rglob("*") if path.is_file()}
    sandboxes.make_rootfs(tree, folder / "root.tar", ["/bin/bash", *programs, *more], with_python)
    return folder / "root.tar"
