"""The project's own tests in a run: a patch that breaks them is rejected, unless the issue asks for the change; also replayed and resumed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import sandboxes
from fewer import usually
from host import Host
from hostile import TINY, journal_of, write_script
from repos import Repo, make_repo
from runs import contents, journal, read_json
from verifying import (
    OTHER,
    RIGHT,
    SCRIPT,
    STRAIGHT,
    YES_YES,
    Case,
    Line,
    added,
    check_same_files,
    guard,
    line,
    patch,
    rejected,
    review,
    search,
    test_line,
    verified,
)

pytestmark = pytest.mark.skipif(sandboxes.missing_bubblewrap() is not None, reason="bubblewrap does not work here")

USAGE, ENVIRONMENT = 2, 3
HEAD = "import unittest\n\nfrom app import half\n\n\nclass AppTest(unittest.TestCase):\n"
THREE = "    def test_three(self):\n        self.assertEqual(half(3), 1)\n\n"
#: A test that asserts the bug.
SIX = "    def test_six(self):\n        self.assertEqual(half(6), 2)\n\n"
FAILS = "    def test_four(self):\n        self.assertEqual(half(4), 2)\n\n"
THREE_ID, SIX_ID, FOUR_ID = (f"tests.test_app.AppTest.test_{name}" for name in ("three", "six", "four"))
REASON = "half(6) should be 3"
#: A patch that passes the script, but nothing else.
ONLY_FOUR = "    return 2 if n == 4 else 0\n"


def says(expected: str, *expect: str) -> Line:
    """The reviewer's answer about a broken test."""
    return line("review", json.dumps({"expected": expected, "reason": REASON}), *expect)


@pytest.fixture
def tested(host: Host, tmp_path: Path) -> Case:
    """Runs on TINY with tests: one passes, one fails because of the bug, one asserts the bug."""
    files = {"tests/__init__.py": "", "tests/test_app.py": HEAD + THREE + FAILS + SIX}
    repo = make_repo(tmp_path / "repo", TINY | files)
    return Case(host, repo, tmp_path, ["--python", "/usr/bin/python3"])


def outcome_of(case: Case) -> Any:
    """The project's tests in result.json."""
    return read_json(case.out / "result.json").get("tests")


def check_repeated(case: Case, event: str = "tests", number: int = 0) -> None:
    """A replay that cannot run code, and a run resumed after that one of its records, must give the same files."""
    at = [position for position, record in enumerate(journal(case.out)) if record["event"] == event]
    check_same_files(case, at[number] + 1)


def test_what_breaks_a_test_is_refused_and_written_again(tested: Case) -> None:
    """There is no reproducer. The patch writer gets test, message and traceback; the reviewer is asked once for each
    test.
    """
    lines = [
        *[guard("no"), *search(), patch(OTHER)],
        says("yes", SIX_ID, "AssertionError: 1 != 2"),
        says("no", THREE_ID, "AssertionError: 0 != 1", "return n // 5", "half(4) is 1"),
        patch(RIGHT, THREE_ID, "Traceback", "self.assertEqual(half(3), 1)", "AssertionError: 0 != 1"),
    ]
    result = tested.run(lines, "--regressions").check()
    assert added(result) == [RIGHT]
    assert read_json(tested.out / "result.json")["verdict"] == "validated"
    assert [record["request"]["patch"] is not None for record in tested.records("tests")] == [False, True, True]
    refused, accepted = (read_json(tested.attempt / f"regression_{n}.json") for n in (1, 2))
    assert refused["regressions"] == [THREE_ID] and "0 != 1" in refused["messages"][THREE_ID]
    assert (accepted["compared"], accepted["regressions"], accepted["fixed"]) == (2, [], [FOUR_ID])
    assert outcome_of(tested)["expected"] == [{"test": SIX_ID, "reason": REASON}]
    assert f"tests: no regression in the 2 that passed before; expected to fail: {SIX_ID} ({REASON})" in result.err
    assert len(tested.asked("review")) == 2 and SIX_ID not in json.dumps(tested.asked("patch"))
    check_repeated(tested, number=2)


@pytest.mark.full
def test_tests_stop_soon_after_a_regression(host: Host, tmp_path: Path) -> None:
    """A patch is rejected before slow tests have run; if the issue expects the failure, all tests run."""
    slow = "import unittest\n\n\nclass ZTest(unittest.TestCase):\n    def test_slow(self):\n        import time\n"
    files = {"tests/__init__.py": "", "tests/test_app.py": HEAD + THREE + SIX}
    files["tests/test_zz.py"] = slow + "        time.sleep(12)\n"
    case = Case(host, make_repo(tmp_path / "repo", TINY | files), tmp_path, ["--python", "/usr/bin/python3"])
    lines = [guard("no"), *search(), patch(OTHER), says("yes", SIX_ID), says("no", THREE_ID), patch(RIGHT, THREE_ID)]
    result = case.run(lines, "--regressions", timeout=300).check()
    assert added(result) == [RIGHT]
    stopped, whole = (read_json(case.attempt / f"regression_{n}.json") for n in (1, 2))
    assert (stopped["stopped"], stopped["complete"], stopped["regressions"]) == (True, False, [THREE_ID])
    assert ("stopped" in whole, whole["compared"], whole["regressions"]) == (False, 3, [])
    asked = [record["request"] for record in case.records("tests")]
    assert [request.get("whole") for request in asked] == [None, None, None, True]
    case.host.run("replay", case.out).check()


@pytest.mark.full
def test_with_a_reproducer_the_tests_come_after_the_review(tested: Case) -> None:
    """--test-cmd alone requests the check; a patch that --validate rejects is not tested."""
    lines = [
        *STRAIGHT[:-2],
        *[patch(ONLY_FOUR), review(YES_YES), patch(ONLY_FOUR + "\n", "no")],
        *[review(YES_YES), patch(RIGHT), review(YES_YES), says("yes", SIX_ID)],
    ]
    check = "grep -q 'n // 2' app.py || { echo no; exit 1; }"
    result = tested.run(lines, "--test-cmd", "python3 -m unittest", "--validate", check).check()
    assert added(result) == [RIGHT] and verified(result).startswith("yes")
    assert len(tested.records("tests")) == 1 and outcome_of(tested)["compared"] == 2


NAMED = [*search("Scores, in this order: 0.", "def half", FOUR_ID), patch(RIGHT)]


@pytest.mark.parametrize("options", [["--failing-test", FOUR_ID], ["--sbfl"]], ids=lambda o: o[0])
def test_the_search_agent_is_told_where_failing_tests_point(tested: Case, options: list[str]) -> None:
    """Named tests, or all failing ones; recorded, replayed and resumed."""
    assert added(tested.run([guard("no"), *NAMED], *options).check()) == [RIGHT]
    kept = read_json(tested.out / "sbfl.json")
    assert (kept["failing"], kept["passing"], kept["methods"][0]["func"]) == ([FOUR_ID], 2, "half")
    if options == ["--sbfl"]:
        check_repeated(tested, "sbfl")


@pytest.mark.parametrize("runner", usually(["pytest"], ["unittest", "pytest"]))
def test_without_a_reproducer_a_failing_test_is_traced(tested: Case, runner: str) -> None:
    """The search agent and the patch writer see its calls."""
    told = [*search("The failing test tests", "half(n=4) -> 1"), patch(RIGHT, "half(n=4) -> 1")]
    command = ["--sbfl", "--trace", "--regressions=never", "--test-cmd", f"python3 -m {runner}"]
    assert added(tested.run([guard("no"), *told], *command).check()) == [RIGHT]
    tested.host.run("replay", tested.out, env={"PATH": "/nonexistent"}).check()


@pytest.mark.parametrize("tests", usually(["unittest"], ["unittest", "pytest"]))
def test_the_script_that_shows_the_issue_counts_as_a_failing_test(tested: Case, tests: str) -> None:
    """It runs beside the first project test, with the same runner, and replaces tests that fail anyway."""
    name = "tests/test_acr_script.py::Script" if tests == "pytest" else "tests.test_acr_script.Script"
    told = [
        *search("Scores, in this order: 0.", "def half", "test_script"),
        patch(RIGHT),
        review(YES_YES),
        says("yes", "test_six"),
    ]
    tested.repo.commit({"tests/test_app.py": HEAD + THREE + SIX})
    case = Case(tested.host, tested.repo, tested.folder, tested.options)
    result = case.run([guard(), test_line(SCRIPT), *told], "--sbfl", "--test-cmd", f"python3 -m {tests}").check()
    assert added(result) == [RIGHT]
    (failing,) = read_json(case.out / "sbfl.json")["failing"]
    assert failing.startswith(name)
    assert not (tested.repo.path / "tests" / "test_acr_script.py").exists()


@pytest.mark.full
def test_where_nothing_fails_nothing_is_told(tested: Case) -> None:
    """A note if it was optional, an error if it was required, and nothing if it is off."""
    tested.repo.commit({"tests/test_app.py": HEAD + THREE})
    lines = [guard("no"), *search(), patch(RIGHT)]
    result = tested.run(lines, "--regressions", "-v").check()
    assert "cannot tell which code the failing tests point to: no test fails" in result.err
    assert not (tested.out / "sbfl.json").exists() and "Scores" not in json.dumps(tested.asked("search"))
    tested.run(lines, "--sbfl=always").one_line(ENVIRONMENT, "the project's tests cannot be traced: no test fails")
    tested.run(lines, "--regressions", "--sbfl=never").check()
    assert tested.records("sbfl") == []
    tested.run(lines, "--failing-test", "tests.no.Such.test").check()
    assert len(tested.records("sbfl")) == 1


@pytest.mark.full
def test_what_always_breaks_tests_is_refused(tested: Case) -> None:
    """The result says so; an invalid answer is requested again, and a missing one excuses nothing."""
    lines = [*search(), patch(OTHER), line("review", "Well."), says("no", "cannot be parsed"), patch(OTHER)]
    result = tested.run([guard("no"), *lines], "--regressions=always", "--verify=never", "--tries", 2)
    assert rejected(tested, result) == [OTHER]
    assert verified(result) == f"no (the patch breaks tests that passed: {SIX_ID}, {THREE_ID})"
    assert outcome_of(tested)["regressions"] == [SIX_ID, THREE_ID] and len(tested.records("tests")) == 2


def test_nothing_is_run_unasked(tested: Case) -> None:
    """No test runs without an option or with --verify=never."""
    lines = [guard("no"), *search(), patch(OTHER)]
    for options in ([], ["--regressions=never", "--test-cmd", "exit 1"], ["--regressions=auto"]):
        result = tested.run(lines, *options).check()
        assert added(result) == [OTHER] and tested.records("tests") == []
        assert outcome_of(tested) is None and "tests:" not in result.err


def test_tests_that_cannot_be_run(tested: Case) -> None:
    """If the tests are required, the run ends before a model is called; otherwise it reports that nothing was compared."""
    lines = [guard("no"), *search(), patch(OTHER)]
    result = tested.run(lines, "--regressions", "--test-cmd", "true")
    result.one_line(ENVIRONMENT, "the project's tests cannot be compared", "no test could be run")
    assert tested.records("model") == []
    result = tested.run(lines, "--test-cmd", "true").check()
    assert added(result) == [OTHER] and "tests: not compared: no test could be run" in result.err
    assert verified(result).startswith("no (the project's tests were not compared: no test could be run: true: ")
    check_repeated(tested)


@pytest.mark.parametrize("options", [["--regressions=sometimes"], ["--test-time", "0"]])
def test_bad_options(tested: Case, options: list[str]) -> None:
    tested.run([guard("no")], *options).one_line(USAGE, options[0].partition("=")[0])


def test_nothing_hidden_reaches_a_model(host: Host, tmp_path: Path) -> None:
    """Neither requests nor the run folder contain a benchmark task's hidden tests or reference patch."""
    hidden_test = "    def test_eleven_hidden(self):\n        self.assertEqual(half(11), 5, 'eleven halved')\n"
    files = {"tests/__init__.py": "", "tests/test_app.py": HEAD + THREE}
    repo = make_repo(tmp_path / "repos" / "brook" / "bill", TINY | files)
    row = {
        "instance_id": "brook__bill-1",
        "repo": "brook/bill",
        "base_commit": repo.head,
        "problem_statement": "half(4) is 1, it should be 2",
        "test_patch": _diff(repo, "tests/test_app.py", HEAD + THREE + hidden_test),
        "patch": _diff(repo, "app.py", "def half(n):\n    return int(n).__floordiv__(2)  # the reference\n"),
        "FAIL_TO_PASS": '["tests.test_app.AppTest.test_eleven_hidden"]',
        "PASS_TO_PASS": '["tests.test_app.AppTest.test_never_named_elsewhere"]',
    }
    dataset = tmp_path / "tasks.jsonl"
    dataset.write_text(json.dumps(row) + "\n", "utf-8")
    lines = [*STRAIGHT[:-2], patch(ONLY_FOUR), review(YES_YES), says("no"), patch(RIGHT), review(YES_YES)]
    script = write_script(tmp_path / "script.jsonl", lines)
    options = [
        "--model",
        f"script:{script}",
        "--regressions",
        "--python",
        "/usr/bin/python3",
        "--out",
        tmp_path / "out",
    ]
    host.run("swe-bench", "--dataset", dataset, "--repos", tmp_path / "repos", *options).check()
    out = tmp_path / "out" / "brook__bill-1"
    assert read_json(out / "result.json")["verdict"] == "verified"
    asked = [json.dumps(record["request"]) for record in journal_of(out) if record["event"] == "model"]
    assert len(asked) >= 9 and any("half(4) is 1, it should be 2" in request for request in asked)
    everything = "\n".join([*asked, *(text.decode("utf-8", "replace") for text in contents(out).values())])
    assert THREE_ID in everything
    for secret in [
        "test_eleven_hidden",
        "half(11)",
        "eleven halved",
        "__floordiv__",
        "the reference",
        "test_never_named",
    ]:
        assert secret in json.dumps(row) and secret not in everything, secret


def _diff(repo: Repo, path: str, text: str) -> str:
    """A diff that gives a file this content; the tree is then restored."""
    (repo.path / path).write_text(text, "utf-8")
    diff = repo.git_bytes("diff").decode()
    repo.git("checkout", "-q", ".")
    return diff
