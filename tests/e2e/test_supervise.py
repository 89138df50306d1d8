"""Runs the script that executes a project's tests in the sandbox as the host does: hostile projects, every version of Python."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import packages
import pytest
from host import ROOT

INSIDE = ROOT / "python" / "acr" / "project" / "inside"
SUPERVISE = INSIDE.joinpath("supervise.py").read_text("utf-8")
SOURCES = {path.name: path.read_text("utf-8") for path in INSIDE.glob("*.py") if path.name != "supervise.py"}
PLANS: dict[str, Any] = {
    "unittest": {"runner": "unittest", "args": ["discover"]},
    "pytest": {"runner": "pytest", "args": []},
    "hooked": {"runner": "hooked", "args": ["-m", "unittest", "test_it"]},
}
HEAD = "import unittest\n\n\nclass ItTest(unittest.TestCase):\n"
FORGED = [
    b"\xff\xfe",
    b"[]",
    b'"text"',
    b"[" * 100_000,
    b'{"lines": {}}',
    b'{"lines": {"a": 1}, "of": "t"}',
    b'{"lines": [], "of": "t"}',
    b'{"start": ["x"]}',
    b'{"test": 5, "outcome": "failed"}',
    b'{"test": ["x"], "outcome": "failed"}',
    b'{"test": "t", "outcome": ["failed"]}',
    b'{"test": "t", "outcome": "failed", "message": 5}',
    b'{"collected": 7}',
    b'{"collected": [7]}',
    *(
        b'{"test": "t", "outcome": "failed", "seconds": %s}' % value
        for value in (b'"abc"', b"NaN", b"1e999", b"9" * 999)
    ),
]


def python_of(version: str) -> str:
    """The first installed Python of that version; "" is this one."""
    return str(packages.installed_python(version)) if version else sys.executable


def start(python: str, folder: Path, request: object) -> subprocess.CompletedProcess[str]:
    """Send it a request in a project's folder."""
    argv, text = [python, "-Sc", SUPERVISE], json.dumps(request)
    return subprocess.run(argv, cwd=folder, input=text, capture_output=True, text=True, timeout=120)


def run(folder: Path, files: Mapping[str, str], runner: str = "unittest", version: str = "") -> dict[str, Any]:
    """The answer to a request to trace the tests of a project."""
    for name, text in files.items():
        folder.joinpath(name).write_text(text)
    request = {"files": SOURCES, "plan": PLANS[runner], "seconds": 60, "trace": True}
    done = start(python_of(version), folder, request)
    answer: dict[str, Any] = json.loads(done.stdout or "{}", parse_constant=pytest.fail)
    assert answer, done.stderr
    return answer


def outcomes(answer: dict[str, Any]) -> dict[str, str]:
    """Outcomes by the last parts of the tests' names."""
    return {test.replace("::", ".").rsplit(".", 1)[1]: outcome for test, outcome, *_ in answer["tests"]}


def lines(answer: dict[str, Any]) -> dict[str, Any]:
    """Lines that tests ran, by the last parts of the tests' names."""
    return {test.replace("::", ".").rsplit(".", 1)[1]: found for test, found in answer["lines"].items()}


def test_a_runner_of_modules_runs_the_nearest_first(tmp_path: Path) -> None:
    """The nearest modules run separately, so that they end before another module hangs; each test is reported once."""
    (tmp_path / "sub").mkdir()
    for name, body in (("near", "pass"), ("far", "import time; time.sleep(60)")):
        (tmp_path / "sub" / f"test_{name}.py").write_text(HEAD + f"    def test_{name}(self):\n        {body}\n")
    plan = {"runner": "hooked", "args": ["-m", "unittest"], "cwd": "sub", "select": "labels", "labels_at": 2}
    request = {"files": SOURCES, "plan": plan, "seconds": 4, "order": ["sub/test_near.py"]}
    answer = json.loads(start(sys.executable, tmp_path, request).stdout)
    assert outcomes(answer) == {"test_near": "passed"} and answer["exit"] is None
    assert answer["running"] == "test_far.ItTest.test_far"


def test_pytest_runs_the_nearest_files_of_a_large_project_first(tmp_path: Path) -> None:
    """They run before pytest collects the other files, one of which ends the process."""
    (tmp_path / "test_far.py").write_text("import os\n\nos._exit(3)\n")
    (tmp_path / "test_near.py").write_text(HEAD + "    def test_near(self):\n        pass\n")
    order = ["test_near.py", *(f"test_{n}.py" for n in range(100)), "test_far.py"]
    request = {"files": SOURCES, "plan": PLANS["pytest"], "seconds": 60, "order": order}
    answer = json.loads(start(sys.executable, tmp_path, request).stdout)
    assert outcomes(answer) == {"test_near": "passed"} and answer["exit"] == 3


@pytest.mark.parametrize("runner", ["unittest", "pytest"])
def test_a_run_is_stopped_soon_after_the_failure_of_a_good_test(tmp_path: Path, runner: str) -> None:
    """The failure of another test does not stop it."""
    code = SUPERVISE.replace("MORE_SECONDS = 1", "MORE_SECONDS = 0.5")
    ids = {"unittest": "test_it.ItTest.test_", "pytest": "test_it.py::ItTest::test_"}
    for good, is_stopped in ((["b"], True), (["a"], False)):
        bodies = ["pass", "assert 0", f"import time; time.sleep({50 if is_stopped else 0})"]
        tests = [f"    def test_{name}(self):\n        {body}\n" for name, body in zip("abc", bodies)]
        (tmp_path / "test_it.py").write_text(HEAD + "\n".join(tests))
        request = {"files": SOURCES, "plan": PLANS[runner], "seconds": 60, "good": [ids[runner] + at for at in good]}
        argv, text = [sys.executable, "-Sc", code], json.dumps(request)
        done = subprocess.run(argv, cwd=tmp_path, input=text, capture_output=True, text=True)
        answer = json.loads(done.stdout)
        assert (answer["stopped"], answer["running"], outcomes(answer)["test_b"]) == (is_stopped, None, "failed")
        assert ("test_c" in outcomes(answer)) is not is_stopped


@pytest.mark.parametrize("runner", PLANS)
def test_modules_of_the_project_are_not_taken_for_those_of_python(tmp_path: Path, runner: str) -> None:
    """Neither the supervisor nor the reporters import them; the tests search their own folder first."""
    mine = dict.fromkeys(
        ["json.py", "base64.py", "tempfile.py", "struct.py", "unittest_report.py"], "raise ImportError\n"
    )
    if runner == "pytest":  # pytest itself needs some of them
        mine = {"json.py": mine["json.py"], "ctypes.py": "raise ImportError\n"}
    else:
        mine |= {"threading.py": "raise ImportError\n"} if runner == "hooked" else {}
    test = "    def test_path(self):\n        import os, sys\n        self.assertIn(sys.path[0], ('', os.getcwd()))\n"
    answer = run(tmp_path, {**mine, "helper.py": "", "test_it.py": "import helper\n" + HEAD + test}, runner)
    assert outcomes(answer) == {"test_path": "passed"}, answer["log"]
    assert lines(answer)["test_path"] == {"test_it.py": "7-8"}
    tmp_path.joinpath("glob.py").write_text("raise ImportError\n")
    tmp_path.joinpath("nose2.py").write_text("raise ImportError\n")
    assert "nose2" in json.loads(start(sys.executable, tmp_path, {"probe": True}).stdout)["modules"]


def test_an_old_python_is_named(tmp_path: Path) -> None:
    done = start(python_of("2.7.*"), tmp_path, {"probe": True})
    assert done.returncode == 1
    assert done.stderr.startswith("Python 3.6 or later is needed") and done.stderr.count("\n") == 1


def test_what_a_test_writes_into_the_report_is_no_harm(tmp_path: Path) -> None:
    """Lines that are no events are ignored; the others count."""
    tmp_path.joinpath("forged").write_bytes(b"\n".join(FORGED) + b"\n")
    body = """
    def test_a_forges(self):
        import glob, tempfile
        for name in glob.glob(tempfile.gettempdir() + "/acr-tests-*/report"):
            with open(name, "ab") as file, open("forged", "rb") as forged:
                file.write(forged.read())

    def test_b_fails(self):
        self.fail()
"""
    answer = run(tmp_path, {"test_it.py": HEAD + body})
    assert outcomes(answer) == {"test_a_forges": "passed", "test_b_fails": "failed"}
    assert set(lines(answer)) == set(outcomes(answer)) and not answer["lines_cut"]


def test_lines_of_failing_tests_are_kept_where_there_is_no_room(tmp_path: Path) -> None:
    body = """
    def test_a_much(self):
        import glob, tempfile
        for name in glob.glob(tempfile.gettempdir() + "/acr-tests-*/report"):
            with open(name, "a") as file:
                for test in "xyz":
                    file.write('{"lines": {"a.py": "%s"}, "of": "filler.%s"}\\n' % ("1," * (7 << 20), test))

    def test_b_fails(self):
        self.fail()
"""
    answer = run(tmp_path, {"test_it.py": HEAD + body})
    assert list(lines(answer)) == ["test_b_fails", "x", "y"] and answer["lines_cut"]


STARTED = """import asyncio


def count():
    try:
        yield 1
        a = 2
        yield a
        yield 3
    except KeyError:
        yield 4
    finally:
        a = 5


async def wait():
    await asyncio.sleep(0)
    return 6


G, H, T = count(), count(), count()
next(G), next(H), next(T)
C = wait()
C.send(None)
"""
STARTED_BODY = """    def test_next(self):
        next(started.G)

    def test_send(self):
        try:
            started.C.send(None)
        except StopIteration:
            pass

    def test_throw(self):
        started.T.throw(KeyError())

    def test_close(self):
        started.H.close()
"""


@pytest.mark.parametrize("version", ["", "3.8.*", "3.12.*", "3.13.*"])
def test_generators_that_were_started_before_a_test(tmp_path: Path, version: str) -> None:
    """Such generators continue in the test, and so do coroutines."""
    files = {"started.py": STARTED, "test_it.py": "import started\n" + HEAD + STARTED_BODY}
    found = {test: of.get("started.py") for test, of in lines(run(tmp_path, files, version=version)).items()}
    assert found == {"test_next": "7-8", "test_send": "18", "test_throw": "10-11", "test_close": "10,13"}


def test_a_test_that_runs_tests(tmp_path: Path) -> None:
    """The nested tests are a part of it: they are neither tests of the project nor the end of its lines."""
    body = """    def test_nested(self):
        class Inner(unittest.TestCase):
            def test_inner(self):
                self.fail()

        class Broken(Inner):
            @classmethod
            def setUpClass(cls):
                raise ValueError

        for case in (Inner, Broken):
            suite = unittest.TestLoader().loadTestsFromTestCase(case)
            unittest.TextTestRunner(stream=io.StringIO()).run(suite)
        self.assertEqual(1, 1)

    def test_parts(self):
        for n in range(3):
            with self.subTest(n=n):
                self.assertEqual(n, 1)
"""
    answer = run(tmp_path, {"test_it.py": "import io\n" + HEAD + body})
    assert outcomes(answer) == {"test_nested": "passed", "test_parts": "failed"} and answer["not_run"] == []
    assert lines(answer)["test_nested"] == {"test_it.py": "7,9,11,14,16-19"}
    assert lines(answer)["test_parts"] == {"test_it.py": "22-24"}


def test_a_test_that_gives_the_number_of_the_tool_back(tmp_path: Path) -> None:
    """Lines are recorded again from the next test on, unless another tool has the number."""
    body = """    def test_a_frees(self):
        sys.monitoring.free_tool_id(3)

    def test_b_goes_on(self):
        pass

    def test_c_takes(self):
        sys.monitoring.free_tool_id(3)
        sys.monitoring.use_tool_id(3, "mine")

    def test_d_has_none(self):
        pass
"""
    answer = run(tmp_path, {"test_it.py": "import sys\n" + HEAD + body}, version="3.13.*")
    assert set(outcomes(answer).values()) == {"passed"} and len(answer["tests"]) == 4
    assert lines(answer)["test_b_goes_on"] == {"test_it.py": "10"} and lines(answer)["test_d_has_none"] == {}
