"""Choosing among candidates: given patches, checked and counted, with or without attempts; replayed and resumed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hostile import TINY
from runs import read_json
from verifying import (
    NO_YES,
    OTHER,
    RIGHT,
    SCRIPT,
    Case,
    Line,
    added,
    case,
    check_same_files,
    guard,
    line,
    need_bubblewrap,
    patch,
    review,
    search,
    test_line,
    verified,
)

__all__ = ["case"]
NONE, USAGE = 1, 2
BEFORE = TINY["app.py"]
SEVENTH = "    return n // 7\n"
Candidate = Callable[..., list[object]]


@pytest.fixture
def candidate(case: Case) -> Candidate:
    """The option for a patch that gives the function this body."""
    made = []

    def make(after: str, files: Mapping[str, str] = {}) -> list[object]:  # noqa: B006
        file = case.repo.path / "app.py"
        file.write_text(BEFORE.replace("    return n // 3\n", after), "utf-8")
        for name, text in files.items():
            (case.repo.path / name).write_text(text, "utf-8")
        path = case.folder / f"candidate_{len(made)}.diff"
        path.write_bytes(case.repo.git_bytes("diff"))
        case.repo.git("checkout", "-q", ".")
        made.append(path)
        return ["--candidate", path]

    return make


def table(case: Case, *keys: str) -> list[Any]:
    """These members of each row of selected_patch.json; several as a tuple."""
    rows = [tuple(row[key] for key in keys) for row in case.selected()["candidates"]]
    return [row[0] if len(row) == 1 else row for row in rows]


def check_repeated(case: Case) -> None:
    """A replay that cannot run code, and the run resumed from the start of its journal, must give the same files."""
    check_same_files(case, 0)


def test_the_change_that_most_of_them_are_is_chosen(case: Case, candidate: Candidate) -> None:
    """Whitespace and comments do not make a different change; no model is called."""
    given = [*candidate(OTHER), *candidate(RIGHT), *candidate("    return n//2  # half of it\n")]
    result = case.run([], "--attempts", 0, *given).check()
    assert added(result) == [RIGHT] and case.records("model") == []
    assert case.selected()["selected"] == "candidates/2.diff"
    assert (
        case.selected()["choice"]
        == "chosen from 3 candidates: 2 candidates make this change, and 1 make the next best change"
    )
    assert table(case, "selected", "same_change") == [(False, 1), (True, 2), (False, 2)]
    check_repeated(case)
    case.host.run(*case.command[:-2]).one_line(USAGE, "different patches")


def test_what_a_check_rejects_is_not_chosen(case: Case, candidate: Candidate) -> None:
    """However many candidates it is; if all are rejected, that is the result."""
    validate = ["--validate", "grep -q 'n // 2' app.py", "--attempts", 0]
    given = [*candidate(OTHER), *candidate(RIGHT), *candidate("    # why\n" + OTHER), *candidate(SEVENTH)]
    result = case.run([], *validate, *given).check()
    assert added(result) == [RIGHT] and table(case, "proof") == ["refused", "none", "refused", "refused"]
    assert read_json(case.out / "result.json")["verdict"] == "validated"
    assert case.selected()["choice"].endswith(": the next best patch is refused")
    assert len(case.records("execution")) == 4, "equal changes are run once"
    check_repeated(case)
    result = case.run([], *validate, *candidate(OTHER))
    assert (result.exit, result.stdout, case.selected()["proof"]) == (NONE, b"", "refused")


def test_candidates_run_against_the_reproducers_of_attempts(case: Case, candidate: Candidate) -> None:
    """The attempt's own patch is judged wrong; the given patch that passes the attempt's script is chosen."""
    lines = [guard(), test_line(SCRIPT), *search(), patch(OTHER), review(NO_YES)]
    result = case.run(lines, *candidate(SEVENTH), *candidate(RIGHT)).check()
    assert added(result) == [RIGHT]
    assert case.selected()["choice"].endswith(
        "the chosen patch passes 1 of 1 reproducers, the next best patch passes 0"
    )
    assert table(case, "proof", "same_behaviour") == [("none", 1), ("none", 1), ("doubted", 0)]
    ran = [[(at["script"], at["result"]) for at in row] for row in table(case, "reproducers")]
    name = "attempt_0/reproducer_1.py"
    assert ran == [[(name, "reproduced")], [(name, "passed")], []]
    check_repeated(case)
    assert verified(case.run(lines, *candidate(SEVENTH))) == f"no ({name} fails with the patch, too)"
    assert case.selected()["proof"] == "doubted"


def test_the_examples_in_the_issue_decide_before_agreement(case: Case, candidate: Candidate) -> None:
    """Patches with which the examples print the same as without a patch lose, however many they are."""
    need_bubblewrap()
    issue = "It should be 2:\n\n```\n>>> from app import half\n>>> half(4)\n1\n```\n"
    idle = [*candidate("    return n // 3 + 0\n"), *candidate("    return 0 + n // 3\n")]
    given = [*idle, *candidate(RIGHT), *candidate("    return n//2  # half of it\n"), "--attempts", 0]
    result = case.run([], *given, "--issue-text", issue, "-v").check()
    assert added(result) == [RIGHT] and len(case.records("execution")) == 4, "equal changes are run once"
    assert table(case, "changes_examples", "same_behaviour") == [(False, 2), (False, 2), (True, 2), (True, 2)]
    why = "the chosen patch changes what the issue's examples print, and the next best patch does not"
    assert case.selected()["choice"] == f"chosen from 4 candidates: {why}"
    check_repeated(case)
    case.run([], *given, "--issue-text", issue, "--verify", "never").check()
    assert case.records("execution") == []


def test_one_that_breaks_tests_is_not_chosen(case: Case, candidate: Candidate) -> None:
    """The reviewer judges given patches, too. A patch's changes to tests do not count."""
    need_bubblewrap()
    tests = "import unittest\nfrom app import half\n\n\nclass T(unittest.TestCase):\n    def test_three(self):\n        self.assertEqual(half(3), 1)\n"
    (case.repo.path / "test_app.py").write_text(tests, "utf-8")
    case.repo.git("add", ".")
    case.repo.git("commit", "-qm", "tests")
    no = {"agent": "review", "content": json.dumps({"expected": "no", "reason": "half(3) stays 1"})}
    given = [*candidate(SEVENTH, {"test_app.py": tests.replace("1)", "0)")}), *candidate(RIGHT)]
    result = case.run([no], "--regressions", "--attempts", 0, "--python", "/usr/bin/python3", *given).check()
    assert added(result) == [RIGHT] and table(case, "no_regressions") == [False, True]
    assert read_json(case.out / "candidates" / "regression_1.json")["regressions"] == ["test_app.T.test_three"]


def test_the_tests_nearest_to_given_patches_come_first(case: Case, candidate: Candidate) -> None:
    """This order also applies to the baseline that --regressions=always makes before any patch is checked."""
    need_bubblewrap()
    head = "import unittest\n{}\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        {}\n"
    (case.repo.path / "test_app.py").write_text(head.format("from app import half", "self.assertEqual(half(3), 1)"))
    (case.repo.path / "test_aaa.py").write_text(head.format("import time", "time.sleep(600)"))
    case.repo.git("add", ".")
    case.repo.git("commit", "-qm", "tests")
    given = [*candidate(RIGHT), *candidate(SEVENTH), "--regressions=always", "--test-time", 16]
    result = case.run([], "--attempts", 0, *given, "--python", "/usr/bin/python3").check()
    asked = [record["request"].get("only") for record in case.records("tests")]
    assert asked[:4] == [None, None, None, ["test_app.T.test_it"]], "the first check was cut short"
    assert {record["answer"]["compared"] for record in case.records("tests")} == {1}
    assert added(result) == [RIGHT] and table(case, "no_regressions") == [None, False]


def test_one_that_changes_tests_alone_is_not_chosen(case: Case, candidate: Candidate) -> None:
    """However many candidates it is; it does not count as free of regressions either."""
    (case.repo.path / "test_app.py").write_text("from app import half\n", "utf-8")
    case.repo.git("add", ".")
    case.repo.git("commit", "-qm", "tests")
    tests = candidate("    return n // 3\n", {"test_app.py": "from app import half\n\nassert half(3) == 1\n"})
    result = case.run([], "--attempts", 0, *tests, *tests, *candidate(RIGHT)).check()
    assert added(result) == [RIGHT]
    assert case.selected()["choice"].endswith(": the next best patch changes only tests")


def vote(number: object, reason: str, *expect: str) -> Line:
    return line("select", json.dumps({"choice": number, "reason": reason}), *expect)


def test_the_model_chooses_among_equals(case: Case, candidate: Candidate) -> None:
    """Three votes in different orders; an invalid answer is requested again; the reasons are recorded."""
    given = [*candidate(OTHER), *candidate(RIGHT), *candidate(SEVENTH)]
    lines = [vote(4, "none"), vote(1, "by one", "not a number from 1 to 3"), vote("1", "by two"), vote(1, "by\nthree")]
    result = case.run(lines, "--attempts", 0, *given).check()
    found = [re.findall(r"return n // \d", json.dumps(request)) for request in case.asked("select")]
    bodies = [order[1::2] for order in found if order]  # the lines that each patch adds
    assert len(bodies) == 3 and len({tuple(order) for order in bodies}) > 1, "in another order"
    firsts = [order[0] for order in bodies]
    chosen = max(firsts, key=firsts.count)
    assert added(result) == [f"    {chosen}\n"]
    kept = {reason for row in case.selected()["candidates"] for reason in row.get("votes", [])}
    assert kept == {"by one", "by two", "by three"} and "the model chose this patch" in case.selected()["choice"]
    check_repeated(case)


def test_where_nobody_chooses_the_first_of_equals_is_taken(case: Case, candidate: Candidate) -> None:
    result = case.run([], "--attempts", 0, "-v", *candidate(OTHER), *candidate(RIGHT)).check()
    assert added(result) == [OTHER] and "the model chose none of the equal candidates" in result.err
    assert case.selected()["choice"].endswith("the chosen patch is the first of several equal patches")


def test_every_run_leaves_a_table(case: Case) -> None:
    result = case.run([guard("no"), *search(), patch(before="nowhere"), patch()]).check()
    assert added(result) == [RIGHT]
    rows = table(case, "patch", "status", "selected", "same_change")
    assert rows[0] == (None, "RAW_PATCH_BUT_UNMATCHED", False, 0)
    assert rows[1] == ("attempt_0/extracted_patch_2.diff", "APPLICABLE_PATCH", True, 1)
    assert "choice" not in case.selected() and "reproducers" not in case.selected()["candidates"][0]


def test_bad_candidates(case: Case, candidate: Candidate) -> None:
    """The error is found before there is a run folder."""
    bad = case.folder / "bad.diff"
    bad.write_text("--- a/app.py\n+++ b/app.py\n@@ -1,1 +1,1 @@\n-nowhere\n+x\n", "utf-8")
    case.run([], "--attempts", 0).one_line(USAGE, "--candidate")
    case.run([], "--attempts", 0, "--candidate", bad).one_line(USAGE, "bad.diff")
    bad.write_text("")
    case.run([], "--attempts", 0, "--candidate", bad).one_line(USAGE, "bad.diff", "changes nothing")
    case.run([], "--attempts", 0, "--candidate", case.folder / "none.diff").one_line(USAGE, "none.diff")
    assert not case.out.exists()
    case.run([], "--attempts", 0, *candidate(RIGHT) * 65).one_line(USAGE, "64")
