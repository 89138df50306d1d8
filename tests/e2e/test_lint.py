"""Edits with several readings among which only pylint can decide: its result is recorded, and a replay uses the record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import pytest
from host import Result
from repos import Repo
from runs import journal, write_script

RunHost = Callable[..., Result]
MakeRepo = Callable[..., Repo]

SHAPES = {"shapes.py": "class Circle:\n    def area(self):\n        r = self.r\n        a = r\n"}
# If it starts in the first column, the line is in the class, where `r` is unknown.
ANSWER = "<file>shapes.py</file>\n<original>\n        a = r\n</original>\n<patched>\n    a = r * 2\n</patched>\n"
IN_METHOD, IN_CLASS = b"\n+        a = r * 2\n", b"\n+    a = r * 2\n"


def lint_records(out: Path) -> list[dict[str, Any]]:
    """The linter's questions and answers in a run."""
    return [row for row in journal(out) if row["event"] == "lint"]


@pytest.fixture(name="finished")
def fixture_finished(run_host: RunHost, make_repo: MakeRepo, tmp_path: Path) -> Path:
    """The folder of a run whose only edit has two readings that compile."""
    place = {"file": "shapes.py", "class": "Circle", "method": "area"}
    found = {"API_calls": [], "bug_locations": [place]}
    script = write_script(
        tmp_path / "script.jsonl",
        [
            {"agent": "search", "content": "The bug is in Circle.area."},
            {"agent": "extract", "content": json.dumps(found)},
            {"agent": "patch", "content": ANSWER},
        ],
    )
    repo, out = make_repo(SHAPES), tmp_path / "out"
    where = ["--repo", repo, "--issue-text", "Too small.", "--model", script]
    run_host("run", "--verify=never", *where, "--out", out).check()
    return out


def test_pylint_tells_two_readings_apart(run_host: RunHost, make_repo: MakeRepo) -> None:
    """The reading with an unknown name is rejected, although it comes first."""
    done = run_host("patch", "--repo", make_repo(SHAPES), input=ANSWER.encode())
    assert IN_METHOD in done.check().stdout


def test_what_it_said_is_in_the_journal(finished: Path) -> None:
    """One question covers both versions; the answer has no reason for a missing result."""
    assert IN_METHOD in (finished / "patch.diff").read_bytes()
    [record] = lint_records(finished)
    assert [row["file"] for row in record["request"]["files"]] == ["shapes.py"]
    assert len(record["request"]["files"][0]["after"]) == 2
    in_class, in_method = record["answer"]["worse"]
    assert in_class > 0 and in_method == 0
    assert record["answer"]["why"] is None


def test_a_replay_does_not_ask_again(run_host: RunHost, finished: Path) -> None:
    """The replay has the same bytes."""
    done = run_host("replay", finished).check()
    assert done.stdout == (finished / "patch.diff").read_bytes()


@pytest.mark.parametrize("worse", [[0, 1], [None, None]], ids=["other", "silent"])
def test_what_was_said_is_obeyed(run_host: RunHost, finished: Path, worse: list[int | None]) -> None:
    """A resumed run uses the recorded answer, or the first reading if there was none."""
    rows = journal(finished)
    for row in rows:
        if row["event"] == "lint":
            row["answer"] = {"worse": worse, "why": None}
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (finished / "journal.jsonl").write_text(text, "utf-8")
    said = run_host("replay", finished)
    assert said.exit == 1 and "diverged" in said.err
    meta = json.loads((finished / "meta.json").read_text("utf-8"))
    meta["state"] = "ready"
    (finished / "meta.json").write_text(json.dumps(meta), "utf-8")
    assert IN_CLASS in run_host("replay", finished).check().stdout
