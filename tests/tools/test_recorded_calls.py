"""Tests of tools/recorded/replay_calls.py: calls, facts of a commit, judging of answers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "recorded"))

import called  # noqa: E402
import host  # noqa: E402
import replay_calls  # noqa: E402
from small_repository import SOURCE, TESTS, git, make_repository  # noqa: E402


@pytest.fixture(name="project")
def fixture_project(tmp_path: Path) -> Path:
    """A git repository with one commit."""
    files = {"maths.py": SOURCE, "test_maths.py": TESTS}
    return make_repository(tmp_path / "maths", files)


def call_of(name: str, found: Any = None, **arguments: str) -> called.Call:
    """A call that was answered then."""
    return called.Call("t", name, tuple(arguments.items()), True, found)


@pytest.mark.parametrize(
    ("call", "identifier"),
    [
        (call_of("search_method", method_name="Poly.degree(self, f)"), "degree"),
        (call_of("search_class", class_name="pkg.mod.Poly"), "Poly"),
        (call_of("search_code", code_str="x = half(n)"), "n"),
        (call_of("search_code", code_str="@"), ""),
    ],
)
def test_identifier_of_a_call(call: called.Call, identifier: str) -> None:
    assert call.identifier == identifier


def test_calls_are_merged_per_task(tmp_path: Path) -> None:
    row = {"func_name": "search_code", "arguments": {"code_str": "x"}, "call_ok": True}
    turns = [[row | {"found": None}], [row | {"found": [["a.py", "", "f"]]}]]
    runs = [{"instance_id": name, "tool_calls": turns} for name in ("t", "u")]
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(run) + "\n" for run in runs))
    calls = called.load_calls(path)
    assert [(c.instance_id, c.times) for c in calls] == [("t", 2), ("u", 2)]
    assert calls[0].found == {("a.py", "", "f")}


def test_a_commit_knows_uses_and_definitions(project: Path) -> None:
    commit = called.Commit(project, git(project, "rev-parse", "HEAD").strip())
    assert commit.uses("name") == {"maths.py": 1, "test_maths.py": 1}
    assert commit.outside_tests("name") == ["maths.py"]
    defined = [(d.path, d.owner, d.line) for d in commit.definitions("half")]
    assert defined == [("maths.py", "", 1)]
    assert commit.definitions("maths") == []


OUTPUT = "<file>maths.py</file>\n<func>half</func>\n<code>\n1 def half(n):\n</code>\n"


@pytest.mark.parametrize(
    ("ok", "output", "answered"),
    [
        (True, OUTPUT, True),
        (False, OUTPUT, False),
        (True, OUTPUT.replace("1 def half(n)", "2 return half"), False),
        (True, OUTPUT.replace("half(n)", "halfway(n)"), False),
    ],
)
def test_an_answer_shows_the_definition(project: Path, ok: bool, output: str, answered: bool) -> None:
    commit = called.Commit(project, git(project, "rev-parse", "HEAD").strip())
    call = call_of("search_method", method_name="half")
    answer = replay_calls.Answer(ok, output, frozenset(), 0)
    assert replay_calls.judge(call, answer, commit).answered is answered


def test_places_found_then_are_looked_for(project: Path) -> None:
    commit = called.Commit(project, git(project, "rev-parse", "HEAD").strip())
    found = frozenset({("maths.py", "", ""), ("maths.py", "", "gone")})
    call = call_of("search_code", found, code_str="half")
    ours = frozenset({("maths.py", "Odd", "half")})
    lost = replay_calls.judge(call, replay_calls.Answer(True, OUTPUT, ours, 1), commit)
    assert [place for place, _ in lost.lost] == [("maths.py", "", "gone")]


def test_calls_are_replayed_through_the_program(project: Path, tmp_path: Path) -> None:
    program = tmp_path / "acr-host"
    answer = {"ok": True, "output": OUTPUT, "results": []}
    program.write_text("#!/bin/sh\nwhile read -r line; do cat <<'END'\n" + json.dumps(answer) + "\nEND\ndone\n")
    program.chmod(0o755)
    driver = host.Host(program, 10, tmp_path / "cache")
    calls = [call_of("search_method", method_name=name) for name in ("half", "it's")]
    answers = replay_calls.answers_of(driver, project, "HEAD", calls)
    assert [a.code() for a in answers] == [{("maths.py", 1): "def half(n):"}] * 2
