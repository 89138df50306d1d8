"""`localize`: methods and lines that may cause a failure, ranked by the tests that run them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Callable

import packages
import pytest
import sandboxes
from fewer import usually
from host import Host
from repos import Repo, digest
from repos import make_repo as make_git_repo

MakeRepo = Callable[..., Repo]

CODE = """\
RATES = {"a": 2}


class Order:
    def __init__(self, lines):
        self.lines = lines

    def total(self):
        return sum(price * count for price, count in self.lines)

    def discount(self, percent):
        whole = self.total()
        if percent > 50:
            return whole * percent
        return whole - whole * percent / 100


def rate(name):
    def find():
        return RATES[name]

    return find()
"""
UNIT = """\
import threading
import unittest

from shop.order import Order, rate


class OrderTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(Order([(2, 3)]).total(), 6)

    def test_small(self):
        self.assertEqual(Order([(2, 5)]).discount(10), 9)

    def test_large(self):
        self.assertEqual(Order([(2, 5)]).discount(60), 4)

    def test_thread(self):
        found = []
        thread = threading.Thread(target=lambda: found.append(rate("a")))
        thread.start()
        thread.join()
        self.assertEqual(found, [2])

    def test_other(self):
        self.assertEqual(rate("b"), 2)
"""
NAME = "tests.test_order.OrderTest.test_"
NONE, USAGE = 1, 2

pytestmark = pytest.mark.skipif(sandboxes.missing_bubblewrap() is not None, reason="bubblewrap does not work here")


@pytest.fixture
def shop(make_repo: MakeRepo) -> Repo:
    """A package with two bugs, and its unittest tests."""
    return make_repo(
        {"shop/__init__.py": "", "shop/order.py": CODE, "tests/__init__.py": "", "tests/test_order.py": UNIT}
    )


def localize(host: Host, repo: Repo, *args: object) -> dict[str, Any]:
    """The object that it prints; the tree must stay unchanged."""
    before = digest(repo.path)
    (row,) = host.run("localize", "--repo", repo, "--json", *args, timeout=600).check().rows()
    assert digest(repo.path) == before
    return row


def named(row: dict[str, Any]) -> list[tuple[str | None, str | None, list[int]]]:
    """Class, function and rank of each method."""
    return [(method["class"], method["func"], method["rank"]) for method in row["methods"]]


def test_unittest(host: Host, shop: Repo) -> None:
    """The failing branch comes first; code that all tests run is less suspicious, and code that no failing test runs is
    missing.
    """
    row = localize(host, shop, "--python", "/usr/bin/python3", "--failing-test", NAME + "large")
    assert (row["failing"], row["passing"], row["complete"]) == ([NAME + "large"], 3, True)
    assert named(row) == [("Order", "discount", [1, 1]), ("Order", "__init__", [2, 3]), ("Order", "total", [2, 3])]
    assert row["methods"][0] == {
        **{"file": "shop/order.py", "class": "Order", "func": "discount"},
        **{"start": 11, "end": 15, "score": 1.0, "rank": [1, 1]},
    }
    assert row["lines"][0] == {"file": "shop/order.py", "start": 14, "end": 14, "score": 1.0, "rank": [1, 1]}
    assert (row["lines"][1]["start"], row["lines"][1]["end"]) == (12, 13)
    assert not [line for line in row["lines"] if line["start"] <= 15 <= line["end"] or line["start"] >= 18]


LAZY = """\
import unittest


class LazyTest(unittest.TestCase):
    def test_first(self):
        from shop import late

        self.assertEqual(late.double(2), 2)
        import shop.old

        self.assertEqual(shop.old.last(), 3)
        try:
            import shop.broken
        except ValueError:
            self.fail(late.after())

    def test_second(self):
        self.assertTrue(True)
"""
LATE = """\
def register():
    return 1


class Kept:
    size = register()

    def unused(self):
        return 2


def double(n):
    return n * register()


def after():
    return 3
"""

LAZY_FILES = {
    **{
        "shop/__init__.py": "",
        "shop/old.py": "# ends of lines as in old files\rdef last():\r    return 3\r",
        "shop/late.py": LATE,
        "shop/broken.py": "raise ValueError\n",
    },
    "test_lazy.py": LAZY,
}


def python_of(version: str) -> str | Path:
    """The first installed Python of that version; "" is Debian's."""
    return packages.installed_python(version) if version else "/usr/bin/python3"


@pytest.mark.parametrize(
    "version", usually(["", "3.[78].*"], ["", "3.[78].*", "3.9.*", "3.10.*", "3.11.*", "3.12.*", "3.13.*"])
)
def test_what_runs_at_an_import_is_not_blamed_on_the_test(host: Host, make_repo: MakeRepo, version: str) -> None:
    """Neither definitions nor functions that a module calls for itself count, but code after the import does. By a
    trace function in Python up to 3.8, one in C up to 3.11, then sys.monitoring.
    """
    row = localize(host, make_repo(LAZY_FILES), "--python", python_of(version))
    assert sorted(func for _, func, _ in named(row)) == ["after", "double", "last", "register"]


@pytest.mark.parametrize("version", usually(["3.12.*"], ["", "3.[78].*", "3.9.*", "3.12.*"]))
def test_what_runs_at_an_import_where_it_is_wanted(host: Host, make_repo: MakeRepo, version: str) -> None:
    """Counted as in published results: also lines of definitions and of classes."""
    row = localize(host, make_repo(LAZY_FILES), "--python", python_of(version), "--imports")
    names = {(owner, func) for owner, func, _ in named(row)}
    functions = {(None, "after"), (None, "double"), (None, "last"), (None, "register")}
    assert names == {("Kept", None), ("Kept", "unused")} | functions


DEEP = """\
def dig():
    return dig()


def give_up():
    return 1
"""
DEEP_TEST = """\
import unittest

from shop.deep import dig, give_up


class DeepTest(unittest.TestCase):
    def test_depth(self):
        try:
            dig()
        except RecursionError:
            self.assertEqual(give_up(), 2)
"""


def test_what_runs_after_a_stack_that_was_full(host: Host, make_repo: MakeRepo) -> None:
    """On a full stack, a trace function in Python fails and is removed; the one in C continues."""
    python = next(iter(packages.installed_pythons("3.11.*")), "/usr/bin/python3")
    row = localize(host, make_repo({"shop/deep.py": DEEP, "test_deep.py": DEEP_TEST}), "--python", python)
    assert sorted(func for _, func, _ in named(row)) == ["dig", "give_up"]


def test_all_that_fail(host: Host, shop: Repo) -> None:
    """No test is named; lines that threads run count, and every formula ranks."""
    for formula in ("dstar",):  # and below, the default
        row = localize(host, shop, "--python", "/usr/bin/python3", "--formula", formula)
        assert row["failing"] == [NAME + "large", NAME + "other"]
        names = [(name, func) for name, func, _ in named(row)]
        assert (None, "rate") in names and (None, "find") not in names, "a function inside one is a part of it"
        (rate,) = [line for line in row["lines"] if line["start"] == 19]
        (branch,) = [line for line in row["lines"] if line["start"] == 14]
        assert rate["score"] < branch["score"], "a passing test runs it, in a thread"
    text = host.run("localize", "--repo", shop, "--python", "/usr/bin/python3").check().out
    assert text.startswith("2 tests fail, 3 pass\nrank 1  score 0.7071  shop/order.py:11  Order.discount\n")
    assert "\nLines:\nrank 1" in text and "shop/order.py:14\n" in text


def test_what_a_test_writes_into_the_report(host: Host, make_repo: MakeRepo) -> None:
    """Such lines cost no more than real ones; a test that fails only under the tracer or did not run is no failure."""
    forged = json.dumps({"of": "test_forge.py::test_c", "lines": {"shop/order.py": ",".join(["1-16777216"] * 3000)}})
    tests = """\
import os
from shop.order import rate

def test_a():
    assert rate("b") == 2

def test_b():
    assert "ACR_TESTS_TRACE" not in os.environ

def test_c():
    report = os.path.join(os.path.dirname(os.environ.get("ACR_TESTS_TRACE", "")), "report")
    open(report, "a").write(FORGED + "\\n")

def test_d():
    if "ACR_TESTS_TRACE" in os.environ:
        os._exit(0)
"""
    files = {"shop/__init__.py": "", "shop/order.py": CODE, "pytest.ini": "[pytest]\n"}
    repo = make_repo(files | {"test_forge.py": f"FORGED = {forged!r}\n{tests}"})
    row = localize(host, repo, "--python", sys.executable)
    assert (row["failing"], row["complete"]) == (["test_forge.py::test_a"], False)
    assert row["methods"][0]["func"] == "rate"


# The part of sympy's own runner that a test needs: the calls of its reporter.
RUNNER = """\
import os
import sys


class PyTestReporter:
    def entering_filename(self, filename, n):
        pass

    def entering_test(self, f):
        pass

    def test_pass(self, char="."):
        pass

    test_xfail = test_xpass = test_skip = test_fail = test_exception = test_pass

    def import_error(self, filename, exc_info):
        pass


class SymPyTests:
    def __init__(self, files):
        self._testfiles = [os.path.abspath(file) for file in files]

    def test(self, sort=True):
        if sort:
            self._testfiles.sort()
        for name in self._testfiles:
            self.test_file(name, PyTestReporter())

    def test_file(self, name, reporter):
        space = {"__file__": name}
        exec(compile(open(name).read(), name, "exec"), space)
        tests = [value for key, value in space.items() if key.startswith("test_")]
        reporter.entering_filename(name, len(tests))
        for test in tests:
            reporter.entering_test(test)
            try:
                test()
            except AssertionError:
                reporter.test_fail(sys.exc_info())
            else:
                reporter.test_pass()
"""
SYMPY = {
    "sympy/__init__.py": "",
    "sympy/testing/__init__.py": "",
    "sympy/testing/runtests.py": RUNNER,
    "sympy/half.py": "def half(n):\n    return n // 2\n\n\ndef whole(n):\n    return n\n",
    "sympy/tests/test_half.py": "from sympy.half import half, whole\n\n\ndef test_whole():\n    assert whole(1) == 1\n",
    "bin/test_names.py": "FOUND = ['sympy/tests/test_half.py', 'sympy/core/tests/test_add.py']\n",
    "sympy/core/tests/test_add.py": "def test_add():\n    assert 1 + 1 == 2\n",
    "bin/test": """\
import sys
import test_names
from sympy.testing import runtests

runtests.SymPyTests([name for name in sys.argv[1:] if name.endswith(".py")] or test_names.FOUND).test()
""",
}
HALF = "\n\ndef test_half():\n    assert half(1) == 0.5\n"
HALF_ID = "sympy/tests/test_half.py:test_half"


def test_sympy(host: Host, make_repo: MakeRepo) -> None:
    """Sympy's reporter reports the outcomes, in the folder of the runner and of the tree."""
    test = SYMPY["sympy/tests/test_half.py"] + HALF
    row = localize(host, make_repo(SYMPY | {"sympy/tests/test_half.py": test}), "--python", "/usr/bin/python3")
    assert (row["failing"], row["passing"], named(row)) == ([HALF_ID], 2, [(None, "half", [1, 1])])


def test_sympy_runs_the_files_first_that_are_nearest_to_a_patch(host: Host, make_repo: MakeRepo) -> None:
    """Otherwise the tests that run within the time limit would be unrelated to the patch."""
    repo = make_repo(SYMPY)
    half = repo.path / "sympy" / "half.py"
    half.write_text(half.read_text().replace("n // 2", "n / 2"))
    patch = repo.git("diff") + "\n"
    repo.git("checkout", "-q", ".")
    options = ["--repo", repo, "--patch", "-", "--list", "--json", "--python", "/usr/bin/python3"]
    (row,) = host.run("tests", *options, input=patch, timeout=600).check().rows()
    assert [test["test"].split("/")[-1] for test in row["tests"]] == ["test_half.py:test_whole", "test_add.py:test_add"]


@pytest.mark.full
def test_hidden_tests_of_a_benchmark_task(host: Host, tmp_path: Path) -> None:
    """Only their files run, with the task's test patch; the tree without it lacks such a test."""
    if not packages.installed_pythons("3.9*") or packages.unreachable():
        pytest.skip("no Python 3.9 (~/.pyenv/versions), or no package registry")
    repo = make_git_repo(tmp_path / "repos" / "sympy" / "sympy", SYMPY)
    (repo.path / "sympy" / "tests" / "test_half.py").write_text(SYMPY["sympy/tests/test_half.py"] + HALF)
    row = {
        **{"instance_id": "sympy__sympy-1", "repo": "sympy/sympy", "version": "1.9", "base_commit": repo.head},
        **{
            "problem_statement": "half is whole",
            "test_patch": repo.git("diff") + "\n",
            "patch": "",
            "PASS_TO_PASS": "[]",
        },
        "FAIL_TO_PASS": '["test_half"]',
    }
    repo.git("checkout", "-q", ".")
    dataset = tmp_path / "tasks.jsonl"
    dataset.write_text(json.dumps(row) + "\n", "utf-8")
    task = ["localize", "--dataset", dataset, "--instance", "sympy__sympy-1", "--repos", tmp_path / "repos"]
    env = {"PYENV_ROOT": str(Path.home() / ".pyenv")}
    (found,) = host.run(*task, "--json", "--hidden-tests", env=env, timeout=600).check().rows()
    assert (found["failing"], named(found)) == ([HALF_ID], [(None, "half", [1, 1])])
    assert "sympy/tests/test_half.py" in found["command"]
    task += ["--sandbox", "environment"]  # its only sandbox may be named
    host.run(*task, "--json", env=env, timeout=600).one_line(NONE, "no test fails")
    host.run(*task[:-1], "plain").one_line(USAGE, "leave out", "--sandbox")


def test_hidden_tests_need_a_data_set(host: Host, shop: Repo) -> None:
    host.run("localize", "--repo", shop, "--hidden-tests").one_line(USAGE, "--hidden-tests", "--dataset")


@pytest.mark.parametrize(
    "options,code,words",
    [
        (["--failing-test", NAME + "small"], NONE, [NAME + "small", "does not fail"]),
        (["--failing-test", "nowhere"], NONE, ["nowhere"]),
        (["--formula", "guess"], USAGE, ["--formula"]),
        (["--test-cmd", "printf 'FAILED a.py::y - no\\nPASSED a.py::x\\n'; exit 1"], NONE, ["which lines"]),
    ],
)
def test_what_cannot_be_told(host: Host, shop: Repo, options: list[str], code: int, words: list[str]) -> None:
    host.run("localize", "--repo", shop, "--python", "/usr/bin/python3", *options).one_line(code, *words)


def test_nothing_fails(host: Host, make_repo: MakeRepo) -> None:
    repo = make_repo(
        {
            "test_a.py": "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        pass\n",
            "a.py": "",
        }
    )
    host.run("localize", "--repo", repo, "--python", "/usr/bin/python3").one_line(NONE, "no test fails")


def test_no_test_can_be_imported(host: Host, make_repo: MakeRepo) -> None:
    """The message names the missing module, and does not blame the runner."""
    test = "import unittest\nimport not_there\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        pass\n"
    repo = make_repo({"app.py": "X = 1\n", "test_app.py": test})
    result = host.run("localize", "--repo", repo, "--python", "/usr/bin/python3")
    result.one_line(NONE, "no test passes", "No module named 'not_there'")
