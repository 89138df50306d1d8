"""A project's own tests: how acr-host finds them, their outcomes, and which tests a patch breaks or fixes."""

from __future__ import annotations

import fcntl
import json
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable

import pytest
import sandboxes
from host import Host, Result
from repos import Repo, digest

MakeRepo = Callable[..., Repo]
RunHost = Callable[..., Result]

CODE = {"pkg/__init__.py": "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n"}
BROKEN = {"pkg/__init__.py": "def add(a, b):\n    return a + b + 1\n\n\ndef sub(a, b):\n    return a - b\n"}
BY_PYTEST = {
    "pytest.ini": "[pytest]\naddopts = -x --cov=pkg --cov-report=term -n 2\n",
    "tests/test_pkg.py": """import pytest
from pkg import add, sub


def test_add():
    assert add(1, 2) == 3


@pytest.mark.parametrize("n", [1, 2])
def test_sub(n):
    assert sub(n, n) == 0


def test_odd():
    assert add(1, 1) == 3


@pytest.mark.xfail
def test_expected():
    assert add(1, 1) == 5


@pytest.fixture
def broken():
    raise OSError("no such thing")


def test_error(broken):
    pass


@pytest.mark.skip
def test_skipped():
    pass
""",
}
BY_UNITTEST = {
    "tests/__init__.py": "",
    "tests/test_pkg.py": """import unittest
from pkg import add, sub


class PkgTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(1, 2), 3)

    def test_parts(self):
        for n in (1, 2):
            with self.subTest(n=n):
                self.assertEqual(sub(n, n), 0)

    def test_odd(self):
        self.assertEqual(add(1, 1), 3)

    def test_error(self):
        raise OSError("no such thing")

    @unittest.skip("never")
    def test_skipped(self):
        pass

    @unittest.expectedFailure
    def test_expected(self):
        self.assertEqual(add(1, 1), 5)
""",
}
COUNTS = {"passed": 3, "failed": 1, "errors": 1, "skipped": 1, "xfailed": 1}

pytestmark = pytest.mark.skipif(sandboxes.missing_bubblewrap() is not None, reason="bubblewrap does not work here")


def diff_of(repo: Repo, files: Mapping[str, str | None]) -> Path:
    """A diff that gives the repository's files these contents (None: removes them); the tree is then restored."""
    for path, text in files.items():
        (repo.path / path).unlink() if text is None else (repo.path / path).write_text(text)
    repo.git("add", "-A")
    diff = repo.git_bytes("diff", "--cached")
    repo.git("reset", "-q", "--hard")
    path = repo.path.with_name("change.diff")
    path.write_bytes(diff)
    return path


def outcome(host: Host, repo: Repo, *args: object, code: int = 0) -> dict[str, Any]:
    """The object that `tests --json` prints. Without a patch, the exit code is 1 if a test fails."""
    result = host.run("tests", "--repo", repo, "--json", *args, timeout=600)
    (row,) = result.rows()
    is_red = "--patch" not in args and row["counts"]["failed"] + row["counts"]["errors"] > 0
    result.check(1 if is_red else code)
    return row


@pytest.fixture(scope="session")
def with_pytest() -> list[str]:
    """Options that name a Python with pytest: this one, if the sandbox can see it."""
    return ["--python", sys.executable]


def test_pytest(host: Host, make_repo: MakeRepo, with_pytest: list[str]) -> None:
    """Options of missing plug-ins, -x, or a file that cannot be imported do no harm; the baseline is cached; the
    patch's effects are found: also that a file becomes importable, which stands for its tests, and that a test is
    skipped.
    """
    late = "from pkg import late\n\n\ndef test_late():\n    assert late\n"
    sure = "@pytest.mark.skipif(hasattr(pkg, 'late'), reason='')\ndef test_sure(): pass\n"
    sure = f"import pkg\nimport pytest\n\n\n{sure}"
    files = {"tests/test_lost.py": "import nothere\n", "tests/test_late.py": late, "tests/test_sure.py": sure}
    repo = make_repo(CODE | BY_PYTEST | files)
    counts = COUNTS | {"errors": COUNTS["errors"] + 2, "passed": COUNTS["passed"] + 1}
    patch = diff_of(repo, {name: f"{text}\n\nlate = 1\n" for name, text in BROKEN.items()})
    before = digest(repo.path)
    row = outcome(host, repo, *with_pytest, "--list")
    assert (row["runner"], row["why"]) == ("pytest", "pytest.ini has pytest settings")
    assert row["counts"] == counts and row["missing"] == "nothere"
    outcomes = {test["test"]: test["outcome"] for test in row["tests"]}
    assert outcomes["tests/test_pkg.py::test_sub[2]"] == "passed"
    assert outcomes["tests/test_pkg.py::test_odd"] == "failed"
    assert outcomes["tests/test_pkg.py::test_error"] == "error"
    assert row["complete"] and not row["kept"] and row["not_run"] == [] and row["flaky"] == []
    row = outcome(host, repo, *with_pytest, "--patch", patch, code=1)
    assert row["kept"] and row["counts"] == counts
    assert row["regressions"] == ["tests/test_pkg.py::test_add"]
    assert "assert 4 == 3" in row["messages"]["tests/test_pkg.py::test_add"]
    assert sorted(row["fixed"]) == ["tests/test_late.py", "tests/test_pkg.py::test_odd"]
    assert row["skipped"] == ["tests/test_sure.py::test_sure"]
    assert (row["unstable"], row["unconfirmed"], row["removed"]) == ([], [], [])
    assert digest(repo.path) == before


def test_pytest_after_many_failures(host: Host, make_repo: MakeRepo, with_pytest: list[str]) -> None:
    """Quoting the source in each of hundreds of tracebacks would take longer than the tests themselves."""
    many = "import pytest\n\n\n@pytest.mark.parametrize('n', range(30))\ndef test_n(n):\n    assert n < 0\n"
    last = "import pkg\n\n\ndef test_add():\n    total = pkg.add(1, 2)\n    assert total == 3\n"
    repo = make_repo(CODE | {"tests/test_a.py": many, "tests/test_z.py": last})
    row = outcome(host, repo, *with_pytest, "--test-cmd", "pytest -p no:cacheprovider", "--list")
    told = [test.get("message", "") for test in row["tests"] if test["outcome"] == "failed"]
    assert len(told) == 30 and "def test_n" in told[0] and "def test_n" not in told[-1]
    assert "AssertionError: assert 29 < 0" in told[-1]


def test_unittest(host: Host, make_repo: MakeRepo) -> None:
    """Pytest is not installed. If a file cannot be imported with the patch, its tests count as broken. Modules in the
    root that are named like Python's are used only by the project.
    """
    mine = dict.fromkeys(["json.py", "base64.py", "tempfile.py"], "raise ImportError\n")
    repo = make_repo(CODE | BY_UNITTEST | mine)
    row = outcome(host, repo, "--python", "/usr/bin/python3", "--list")
    assert (row["runner"], row["counts"]) == ("unittest", COUNTS | {"passed": 2})
    assert {test["test"] for test in row["tests"]} >= {"tests.test_pkg.PkgTest.test_parts"}
    patch = diff_of(repo, {"pkg/__init__.py": "import nowhere_at_all\n"})
    row = outcome(host, repo, "--python", "/usr/bin/python3", "--patch", patch, code=1)
    assert sorted(row["regressions"]) == [
        f"tests.test_pkg.PkgTest.test_{name}" for name in ("add", "expected", "parts")
    ]


def test_commands(host: Host, make_repo: MakeRepo, with_pytest: list[str]) -> None:
    """An unknown shell command reports outcomes through the Python that it starts, or through its log."""
    repo = make_repo(CODE | BY_PYTEST | {"pytest.ini": "[pytest]\n"})
    row = outcome(host, repo, *with_pytest, "--test-cmd", "cd . && echo begun && exec python -m pytest tests")
    assert (row["runner"], row["counts"]) == ("command", COUNTS)
    row = outcome(host, repo, *with_pytest, "--test-cmd", "printf 'PASSED a.py::x\\nFAILED a.py::y - no\\n'; exit 1")
    assert (row["counts"]["passed"], row["counts"]["failed"]) == (1, 1)


def test_commands_of_a_guide_run_in_the_sandbox_alone(host: Host, make_repo: MakeRepo, tmp_path: Path) -> None:
    """A guide may contain any command: it is tried on the copy, and a working one is used."""
    victim = tmp_path / "victim"
    victim.mkdir()
    guide = f"# Tests\n\n```sh\nrm -rf {victim} * # test\n./run-checks --all\n```\n"
    cases = "import unittest, pkg\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        pkg.add(1, 2)\n"
    script = "#!/bin/sh\ntouch made\nexec python -m unittest checks.all\n"
    repo = make_repo(CODE | {"checks/all.py": cases, "AGENTS.md": guide, "run-checks": script})
    (repo.path / "run-checks").chmod(0o755)
    before = digest(repo.path)
    row = outcome(host, repo)
    assert (row["command"], row["counts"]["passed"]) == ("./run-checks --all", 1)
    assert row["why"] == "tried last: AGENTS.md names this command"
    assert victim.is_dir() and digest(repo.path) == before
    assert outcome(host, repo)["kept"]


def test_a_baseline_that_was_cut_off_is_made_again(host: Host, make_repo: MakeRepo) -> None:
    """It has only the tests that come first for one patch."""
    cases = (
        "import time, unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        time.sleep(SECONDS)\n"
    )
    tests = {f"tests/test_{s}.py": cases.replace("SECONDS", s) for s in ("0", "99")}
    repo = make_repo(CODE | {"tests/__init__.py": ""} | tests)
    rows = [outcome(host, repo, "--python", "/usr/bin/python3", "--test-time", 2) for _ in range(2)]
    assert [(row["complete"], row["kept"]) for row in rows] == [(False, False)] * 2


def test_two_processes_make_one_baseline(host: Host, make_repo: MakeRepo) -> None:
    """The second waits for the first; an interrupt ends its wait."""
    cases = "import time, unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        time.sleep(2)\n"
    repo = make_repo(CODE | {"tests/__init__.py": "", "tests/test_slow.py": cases})
    started = [host.start("tests", "--repo", repo, "--json") for _ in range(2)]
    rows = [json.loads(process.communicate(timeout=300)[0]) for process in started]
    assert sorted(row["kept"] for row in rows) == [False, True], rows
    assert [row["counts"]["passed"] for row in rows] == [1, 1]
    (lock,) = host.home.glob("**/baselines/*.lock")
    with lock.open("rb+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        lock.with_suffix("").unlink()
        process = host.start("tests", "--repo", repo, "--json")
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=12)  # longer than all of its tests take
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130


def test_next_guess(host: Host, make_repo: MakeRepo) -> None:
    """A command that runs no test is listed with the reason, and the next one is tried."""
    files = {"tox.ini": "[testenv]\ncommands = python -m unittest discover -s docs\n", "docs/conf.py": ""}
    row = outcome(host, make_repo(CODE | BY_UNITTEST | files), "--python", "/usr/bin/python3")
    assert row["counts"] == COUNTS | {"passed": 2}
    (tried,) = row["tried"]
    assert tried.startswith("python -m unittest discover -s docs: the command runs no tests")


RAISE = "raise RuntimeError('set SHOP_SETTINGS')\n"


@pytest.mark.parametrize(
    ("files", "where"),
    [
        (
            {"conftest.py": f"import pytest\n\n@pytest.fixture(autouse=True)\ndef db():\n    {RAISE}"},
            "test_a.py::test_add: ",
        ),
        pytest.param({"test_a.py": f"def test_add():\n    {RAISE}"}, "test_a.py::test_add: ", marks=pytest.mark.full),
        pytest.param({"test_a.py": RAISE}, "test_a.py: ", marks=pytest.mark.full),
        ({"conftest.py": RAISE}, ""),
    ],
    ids=["fixture", "test", "module", "conftest"],
)
def test_why_none_passes(
    host: Host, make_repo: MakeRepo, with_pytest: list[str], files: dict[str, str], where: str
) -> None:
    """The output has the exception, not only the number of failures."""
    files = CODE | {"test_a.py": "from pkg import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"} | files
    result = host.run("tests", "--repo", make_repo(files), *with_pytest, timeout=600)
    assert result.exit != 0
    assert f"{where}RuntimeError: set SHOP_SETTINGS" in result.out + result.err


def test_time(host: Host, make_repo: MakeRepo) -> None:
    """At the timeout, tests that did not run are reported; tests near the patch have run."""
    slow = "import time\nimport unittest\n\n\nclass SlowTest(unittest.TestCase):\n    def test_slow(self):\n        time.sleep(600)\n"
    near = "import unittest\nfrom pkg import other\n\n\nclass NearTest(unittest.TestCase):\n    def test_near(self):\n        other.f()\n"
    files = {"tests/__init__.py": "", "tests/test_a.py": slow, "tests/test_z.py": near}
    repo = make_repo(CODE | files | {"pkg/other.py": "def f():\n    return 1\n"})
    patch = diff_of(repo, {"pkg/other.py": "def f():\n    raise ValueError(1)\n"})
    options = ["--python", "/usr/bin/python3", "--test-time", "60", "--patch", patch]
    row = outcome(host, repo, *options, code=1)
    assert not row["complete"]
    assert row["regressions"] == ["tests.test_z.NearTest.test_near"]
    assert row["not_run"] == [row["running"]] == ["tests.test_a.SlowTest.test_slow"]


def test_flaky(host: Host, make_repo: MakeRepo) -> None:
    """Tests that depend on chance or on other tests are no regressions of a patch that changes nothing."""
    text = """import random
import unittest

STATE = []


class FlakyTest(unittest.TestCase):
    def test_a_chance(self):
        self.assertTrue(random.SystemRandom().random() < 0.5)

    def test_b_fills(self):
        if random.SystemRandom().random() < 0.5:
            STATE.append(1)

    def test_c_uses(self):
        self.assertTrue(STATE)
"""
    repo = make_repo(CODE | {"tests/__init__.py": "", "tests/test_flaky.py": text})
    patch = diff_of(repo, {"pkg/__init__.py": CODE["pkg/__init__.py"] + "\n\nX = 1\n"})
    assert outcome(host, repo, "--python", "/usr/bin/python3", "--patch", patch)["regressions"] == []


def test_a_patch_that_breaks_everything_is_refused_in_time(host: Host, make_repo: MakeRepo) -> None:
    """Files that cannot be imported count as run, even if the time limit comes before other files have run. Of very
    many broken tests only the first ones are confirmed, because confirming all would take too long.
    """
    head = "import time\nimport unittest\nimport pkg\n\n\nclass PkgTest(unittest.TestCase):\n"
    many = "".join(f"    def test_{n:02}(self):\n        pass\n\n" for n in range(20))
    slow = "    def test_slow(self):\n        time.sleep(4.4)\n"
    late = "import time\nimport unittest\n\n\nclass LateTest(unittest.TestCase):\n    def test_late(self):\n        time.sleep(36)\n"
    files = {"tests/__init__.py": "", "tests/test_pkg.py": head + many + slow, "tests/test_late.py": late}
    repo = make_repo(CODE | files)
    options = ["--patch", diff_of(repo, {"pkg/__init__.py": "def add(\n"}), "--test-time", 24]
    row = outcome(host, repo, "--python", "/usr/bin/python3", *options, code=1)
    assert row["regressions"] and set(row["regressions"]) <= {f"tests.test_pkg.PkgTest.test_{n:02}" for n in range(20)}
    assert "tests.test_pkg.PkgTest.test_slow" in row["unconfirmed"]


ENDED = "import os\nimport unittest\nimport pkg\n\n\nclass EndTest(unittest.TestCase):\n" + "".join(
    f"    def test_{n}(self):\n        self.assertEqual(pkg.add({n}, 1), {n + 1})\n\n" for n in range(3)
)


@pytest.mark.parametrize(
    ("code", "broken"),
    [
        ("import os\nos._exit(0)\n", [0, 1, 2]),  # before a test is collected
        pytest.param(
            "import os\n\n\ndef add(a, b):\n    os._exit(a == 1)\n", [0, 1, 2], marks=pytest.mark.full
        ),  # in the first test
        (
            "import os\nused = []\n\n\ndef add(a, b):\n    used.append(a)\n    return a + b if len(used) < 2 else os.abort()\n",
            [1],
        ),
    ],
    ids=["import", "test", "second test"],
)
def test_a_patch_that_ends_the_tests_process_breaks_them(
    host: Host, make_repo: MakeRepo, code: str, broken: list[int]
) -> None:
    """The process may end with any exit code, and each test may pass alone."""
    repo = make_repo(CODE | {"tests/__init__.py": "", "tests/test_end.py": ENDED})
    options = ["--python", "/usr/bin/python3", "--patch", diff_of(repo, {"pkg/__init__.py": code})]
    row = outcome(host, repo, *options, code=1)
    assert row["regressions"] == [f"tests.test_end.EndTest.test_{n}" for n in broken] and row["removed"] == []


EARLY = "the test run ends early with the patch ({}), but not without it"


@pytest.mark.parametrize(
    ("end", "left", "says"),
    [
        ("if n > 3 + time.time_ns() // 1000 % 4: raise ValueError('odd')", 6, EARLY.format("exit code 3, .*odd")),
        pytest.param("if n > 6: os._exit(1)", 7, EARLY.format("exit code 1"), marks=pytest.mark.full),
        pytest.param("if n > 6: os.abort()", 7, EARLY.format("signal 6"), marks=pytest.mark.full),
        pytest.param(
            "if n > 6: time.sleep(999)",
            7,
            "the test run hangs between tests with the patch, but not without it",
            marks=pytest.mark.full,
        ),
    ],
    ids=["error", "exit code of failed tests", "signal", "hang"],
)
def test_a_patch_with_which_the_runner_ends_is_refused(
    host: Host, make_repo: MakeRepo, end: str, left: int, says: str
) -> None:
    """Plugins and runners test themselves like this, and may end at another test each time; each test passes alone."""
    plugin = "import plug\n\nseen = []\n\n\ndef pytest_runtest_logreport(report):\n    seen.append(1)\n    plug.note(len(seen) // 3)\n"
    plugin += "\n\ndef pytest_runtest_protocol(item):\n    return item.name == 'test_n[2]' or None\n"  # never reported
    tests = "import pytest\n\n\n@pytest.mark.parametrize('n', range(14))\ndef test_n(n):\n    assert n >= 0\n"
    repo = make_repo({"plug.py": "def note(n):\n    pass\n", "conftest.py": plugin, "tests/test_n.py": tests})
    patch = diff_of(repo, {"plug.py": f"import os\nimport time\n\n\ndef note(n):\n    {end}\n"})
    row = outcome(host, repo, "--python", "/usr/bin/python3", "--patch", patch, code=1)
    assert len(row["regressions"]) == 1 and row["unconfirmed"] == [] and len(row["not_run"]) >= left
    assert re.fullmatch(says.replace("(", r"\(").replace(")", r"\)"), row["messages"][row["regressions"][0]])


def test_a_hang_before_the_time_limit_is_no_accepted_patch(host: Host, make_repo: MakeRepo, tmp_path: Path) -> None:
    """If there is no time to confirm it: the last lines say that the result is unknown, and where the tests hang."""
    tests = "import unittest\nimport pkg\n\n\nclass EndTest(unittest.TestCase):\n    def test_a(self):\n        pass\n"
    hangs = tests.replace("EndTest", "HangTest").replace("pass", "pkg.add(1, 2)")
    repo = make_repo(CODE | {"tests/__init__.py": "", "tests/test_a.py": tests, "tests/test_b.py": hangs})
    slow = "import time\nused = []\n\n\ndef add(a, b):\n    time.sleep(1000)\n    return a + b\n"
    patch = diff_of(repo, {"pkg/__init__.py": slow})
    options = ["--repo", repo, "--python", "/usr/bin/python3", "--test-cmd", "python3 -m unittest", "--test-time", 4]
    where = "the time limit was reached before all tests had run, during tests.test_b.HangTest.test_a"
    result = host.run("tests", *options, "--patch", patch, timeout=300).check(1)
    told = result.out
    assert sum("running python" in each for each in result.progress) == 1  # although it runs several times
    why = "1 failed and could not run again: tests.test_b.HangTest.test_a"
    assert told.splitlines()[-1] == f"whether the patch breaks tests is unknown: {why}; {where}"
    script = tmp_path / "script.jsonl"
    script.write_text(json.dumps({"agent": "review", "content": ""}) + "\n")
    model = ["--model", f"script:{script}", "--issue-text", "add hangs", "--out", tmp_path / "out"]
    result = host.run("run", *options, *model, "--attempts", 0, "--candidate", patch, "--regressions", timeout=300)
    last = result.err.splitlines()[-1]
    assert "verified: no (" in last and "tests.test_b.HangTest.test_a" in last


HIDDEN = "with the patch, the test is not collected, although its code is not removed"
CASES_A = "import unittest\n\n\nclass ATest(unittest.TestCase):\n    def test_a(self):\n        pass\n\n    def test_b(self):\n        pass\n"
A_IDS = ["tests.test_a.ATest.test_a", "tests.test_a.ATest.test_b"]


@pytest.mark.parametrize(
    ("runner", "changes", "regressions", "removed", "skipped"),
    [
        ("pytest", {"conftest.py": "collect_ignore = ['tests/test_a.py']\n"}, [0, 1], [], []),
        pytest.param(
            *("pytest", {"pytest.ini": "[pytest]\naddopts = --deselect tests/test_a.py::ATest::test_a\n"}, [0], [], []),
            marks=pytest.mark.full,
        ),
        pytest.param(
            *("pytest", {"tests/test_a.py": CASES_A.replace("def test_a", "__test__ = False\n\n    def test_a")}),
            *([0, 1], [], []),
            marks=pytest.mark.full,
        ),
        (
            "unittest",
            {"tests/test_a.py": CASES_A + "\n\ndef load_tests(*args):\n    return unittest.TestSuite()\n"},
            [0, 1],
            [],
            [],
        ),
        ("unittest", {"tests/test_a.py": CASES_A.replace("def test_b", "def test_c")}, [], [1], []),
        pytest.param(
            *("pytest", {"tests/test_a.py": None, "tests/test_new.py": CASES_A}, [], [0, 1], []), marks=pytest.mark.full
        ),
        (
            "unittest",
            {
                "pkg/__init__.py": "import unittest\nraise unittest.SkipTest\n",
                "tests/test_a.py": "import pkg\n" + CASES_A,
            },
            [],
            [],
            [0, 1],
        ),
    ],
    ids=["ignored", "deselected", "not a test", "not loaded", "renamed", "moved", "skipped"],
)
def test_a_test_that_disappears_is_a_regression_unless_the_patch_removes_its_code(
    host: Host,
    make_repo: MakeRepo,
    runner: str,
    changes: dict[str, str | None],
    regressions: list[int],
    removed: list[int],
    skipped: list[int],
) -> None:
    """A patch must not hide the tests that it would break."""
    sure = CASES_A.replace("ATest", "SureTest").replace("test_a", "test_sure")
    repo = make_repo(CODE | {"tests/__init__.py": "", "tests/test_a.py": CASES_A, "tests/test_sure.py": sure})
    options = ["--python", "/usr/bin/python3", "--test-cmd", f"python3 -m {runner}", "--patch", diff_of(repo, changes)]
    row = outcome(host, repo, *options, code=1 if regressions else 0)
    ids = (
        [name.replace("tests.test_a.", "tests/test_a.py::").replace("Test.", "Test::") for name in A_IDS]
        if runner == "pytest"
        else A_IDS
    )
    found = [sorted(row[name]) for name in ("regressions", "removed", "skipped", "unstable", "unconfirmed")]
    assert found == [[ids[at] for at in expected] for expected in (regressions, removed, skipped, [], [])]
    assert set(row["messages"].values()) == {HIDDEN} if regressions else row["messages"] == {}


@pytest.mark.parametrize(
    "options,code,words",
    [
        (["--patch", "nowhere.diff"], 2, ["nowhere.diff"]),
        (["--repos", "x"], 2, ["--dataset"]),
        (["--test-time", "0"], 2, ["--test-time"]),
        (["--python", "/nowhere/python"], 2, ["/nowhere/python"]),
        (["--test-cmd", "true"], 1, ["no test could be run"]),
        (["--test-cmd", "python3 -m nosuch"], 3, ["no test could be run", "No module named nosuch"]),
    ],
)
def test_bad_input(run_host: RunHost, make_repo: MakeRepo, options: list[str], code: int, words: list[str]) -> None:
    run_host("tests", "--repo", make_repo(CODE), *options).one_line(code, *words)


def test_failing_tests_are_named(run_host: RunHost, make_repo: MakeRepo) -> None:
    """The first ten, how to list all, and the exit code of the test command."""
    cases = "".join(f"    def test_{n:02}(self):\n        assert {n} < 1\n" for n in range(12))
    repo = make_repo({"test_many.py": f"import unittest\n\n\nclass Many(unittest.TestCase):\n{cases}"})
    told = run_host("tests", "--repo", repo, "--test-cmd", "python3 -m unittest").check(1).out
    assert "(exit code 1)\nfailing (11):\n  test_many.Many.test_01\n" in told
    assert told.endswith("  test_many.Many.test_10\n  … and 1 more\n  (--list names all)\n")


def test_nothing_to_run(run_host: RunHost, make_repo: MakeRepo) -> None:
    run_host("tests", "--repo", make_repo({"a.py": "x = 1\n"})).one_line(1, "--test-cmd")
    run_host("tests", cwd="/").one_line(2, "--repo")


@pytest.mark.full
@pytest.mark.parametrize("kind", ["order", "sleep", "state", "network"])
def test_flaky_suites_50_runs(host: Host, make_repo: MakeRepo, kind: str, with_pytest: list[str]) -> None:
    """However a suite is flaky, no false regression is reported. One test always passes, as each suite needs one."""
    repo = make_repo(CODE | FLAKY[kind] | {"tests/test_sure.py": "def test_sure():\n    pass\n"})
    patch = diff_of(repo, {"pkg/__init__.py": CODE["pkg/__init__.py"] + "\n\nX = 1\n"})
    for _ in range(50):
        row = outcome(host, repo, *with_pytest, "--no-cache", "--patch", patch)
        assert row["regressions"] == [], json.dumps(row)


FLAKY: dict[str, dict[str, str]] = {
    "order": {
        "conftest.py": "import random\n\n\ndef pytest_collection_modifyitems(items):\n    random.SystemRandom().shuffle(items)\n",
        "tests/test_order.py": "SEEN = []\n\n\ndef test_a():\n    SEEN.append('a')\n\n\ndef test_b():\n    assert 'a' in SEEN\n\n\n"
        "def test_c():\n    assert 'c' not in SEEN and SEEN.append('c') is None\n\n\ndef test_d():\n    assert not SEEN\n",
    },
    "sleep": {
        "tests/test_sleep.py": "import os\nimport threading\nimport time\n\n\ndef test_race():\n    done = []\n"
        "    late = os.urandom(1)[0] / 256 / 50\n    thread = threading.Thread(target=lambda: (time.sleep(late), done.append(1)))\n"
        "    thread.start()\n    time.sleep(0.01)\n    had = bool(done)\n    thread.join()\n    assert had\n\n\n"
        "def test_clock():\n    assert time.time_ns() // 1000 % 2\n"
    },
    "state": {
        "tests/test_state.py": "import os\nimport pathlib\n\nFILE = pathlib.Path('left_behind')\n\n\ndef test_a():\n"
        "    if os.urandom(1)[0] < 128:\n        FILE.write_text('x')\n\n\ndef test_b():\n    assert FILE.exists()\n\n\n"
        "def test_c():\n    assert not FILE.exists()\n"
    },
    "network": {
        "tests/test_network.py": "import os\nimport socket\n\n\ndef test_out():\n    socket.create_connection(('192.0.2.1', 80), 1)\n\n\n"
        "def test_loopback():\n    server = socket.create_server(('127.0.0.1', 0))\n    if os.urandom(1)[0] < 128:\n        server.close()\n"
        "        raise ConnectionError('lost')\n    socket.create_connection(server.getsockname(), 5).close()\n    server.close()\n"
    },
}


@pytest.mark.full
@pytest.mark.parametrize(
    "name,version,pins,passed",
    [
        ("itsdangerous", "2.2.0", ["pytest==7.4.4", "freezegun==1.5.1"], 200),
        ("bottle", "0.13.2", [], 250),
        ("six", "1.16.0", ["pytest==7.4.4"], 150),
        ("click", "8.1.7", ["pytest==7.4.4"], 400),
    ],
)
def test_releases(
    host: Host,
    release_repo: Callable[..., Repo],
    pinned_python: Callable[..., Path],
    name: str,
    version: str,
    pins: list[str],
    passed: int,
) -> None:
    """Source releases, with only the option for a Python that has the dependencies."""
    repo = release_repo(name, version)
    row = outcome(host, repo, "--python", pinned_python(pins))
    assert row["counts"]["passed"] >= passed and row["complete"], json.dumps(row)
