"""Recorded runs as scripts, on the commits on which they were made: every run succeeds and can be repeated.

Needs the recorded data and, in $ACR_REPOS, the repositories; runs without a repository are omitted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from host import SLOWNESS
from recorded_tools import TOOLS

pytestmark = pytest.mark.full

SECONDS_FOR_ONE_RUN = 120  # a longer run hangs; the tables of replay_runs.py have the time of each run
RESOLVED_AGAIN = 0.95
EXPECTATIONS_MET = 0.97
SAME_CHANGE = 0.7  # share of runs with a recorded diff; tables of replay_runs.py show the others


def replayed(binary: Path, recorded: Path, folder: Path, *options: str) -> list[dict[str, Any]]:
    """The results of the runs that were possible; skips the test if there are none."""
    if SLOWNESS != 1:
        pytest.skip("the recorded runs are made with the release build only")
    if not os.environ.get("ACR_REPOS"):
        pytest.skip("no folder of repositories: set ACR_REPOS")
    results = folder / "results.jsonl"
    command = [sys.executable, str(TOOLS / "replay_runs.py")]
    command += ["--shared", str(recorded.parent), "--binary", str(binary), "--results", str(results)]
    done = subprocess.run([*command, *options], capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    print(done.stdout)
    rows = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["kind"] != "no repository"]


def told(rows: list[dict[str, Any]]) -> list[str]:
    """A line for each result, for failure messages."""
    names = ("instance_id", "run", "kind", "exit", "seconds", "why", "properties", "unmet")
    return [json.dumps({name: row[name] for name in names if name in row}) for row in rows]


def same_change(rows: list[dict[str, Any]]) -> None:
    """Fails if too few of the runs with a recorded diff give that diff, or an earlier one of the run."""
    gave = [row for row in rows if not row["recorded_none"]]
    other = [row for row in gave if row["kind"] != "same" and "equals recorded diff" not in (row["why"] or "")]
    assert len(other) <= (1 - SAME_CHANGE) * len(gave), "\n".join(told(other))


def test_every_run_ends_well_and_can_be_repeated(binary: Path, recorded: Path, tmp_path: Path) -> None:
    rows = replayed(binary, recorded, tmp_path, "--properties")
    assert rows, "none of the repositories is there"
    ended = [row for row in rows if row.get("exit") in (0, 1) and row["seconds"] <= SECONDS_FOR_ONE_RUN]
    assert told([row for row in rows if row not in ended]) == []
    assert told([row for row in rows if any(row["properties"].values())]) == []
    same_change(rows)


def test_searches_find_what_was_found_then(binary: Path, recorded: Path, tmp_path: Path) -> None:
    rows = replayed(binary, recorded, tmp_path, "--expect")
    assert rows, "none of the repositories is there"
    unmet = [row for row in rows if row.get("exit") not in (0, 1) or row["unmet"]]
    assert len(unmet) <= (1 - EXPECTATIONS_MET) * len(rows), "\n".join(told(unmet))
    same_change(rows)


def test_resolved_runs_resolve_again(binary: Path, recorded: Path, tmp_path: Path) -> None:
    rows = replayed(binary, recorded, tmp_path, "--resolved", "--validated", "--grade")
    assert rows, "none of the repositories is there"
    graded = [row for row in rows if not row["graded"]["why"].startswith("no environment")]
    assert graded, "none of the projects has an environment"
    missed = [row for row in graded if not row["graded"]["resolved"]]
    assert len(missed) <= (1 - RESOLVED_AGAIN) * len(graded), "\n".join(told(missed))
