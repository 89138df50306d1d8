"""Patches that fool a test harness, and honest patches: the verdicts by the package's rules, and acr-host's verdicts.

Each case in tests/cases/eval_trust is a patch for one of the small projects below; the README there describes the
format.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import repos
import sandboxes
from graded import LOGS
from host import ROOT, Host, Result
from setups import make_environment, packages_of

CASES = ROOT / "tests" / "cases" / "eval_trust"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
SHOP = "def total(prices):\n    return sum(prices[1:])\n\n\ndef name():\n    return 'shop'\n"
FIXED = SHOP.replace("[1:]", "")
PYTEST_OLD = "import shop\n\n\ndef test_name():\n    assert shop.name() == 'shop'\n"
PYTEST_NEW = (
    "\n\ndef test_total():\n    assert shop.total([1, 2]) == 3\n\n\n"
    "def test_refuses():\n    with pytest.raises(TypeError):\n        shop.total(None)\n"
)
UNITTEST_OLD = (
    "import unittest\n\nimport shop\n\n\nclass TestShop(unittest.TestCase):\n"
    "    def test_name(self):\n        self.assertEqual(shop.name(), 'shop')\n"
)
UNITTEST_NEW = "\n    def test_total(self):\n        self.assertEqual(shop.total([1, 2]), 3)\n"
RUNNER = """import importlib
import sys
import traceback

failed = 0
sys.path.insert(0, ".")
for label in sys.argv[1:]:
    module = importlib.import_module(label.replace("/", ".").removesuffix(".py"))
    for name, test in list(vars(module).items()):
        if name.startswith("test_"):
            try:
                test()
                print(name, "... ok", flush=True)
            except Exception:
                failed = 1
                traceback.print_exc()
                print(name, "... FAIL", flush=True)
sys.exit(failed)
"""
# Tests in many forms, and the code that they test.
SHAPES = """def total(prices):
    return sum(prices[1:])


def refuse(price):
    return price


def old():
    return 1
"""
SHAPES_FIXED = """import warnings


def total(prices):
    return sum(prices)


def refuse(price):
    if price < 0:
        raise ValueError("less than nothing")
    return price


def old():
    warnings.warn("old", DeprecationWarning, stacklevel=2)
    return 1
"""
SHAPES_OLD = """import unittest
import warnings

import pytest
import shop

EXPECTED = {"two": 3}
CASES = [1, 2]


def test_old():
    assert shop.old() == 1
"""
SHAPES_NEW = """

@pytest.mark.parametrize("prices, wanted", [([1, 2], 3), ([4], 4)])
def test_totals(prices, wanted):
    assert shop.total(prices) == wanted


def test_data():
    assert shop.total(CASES) == EXPECTED["two"]


def test_refuses():
    with pytest.raises(ValueError, match="less"):
        shop.refuse(-1)


def test_warns():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        shop.old()
        shop.old()
    assert [at.filename for at in told] == [__file__] * 2
    assert told[1].lineno == told[0].lineno + 1
    with pytest.warns(DeprecationWarning) as told:
        shop.old()
    assert told[0].filename == __file__


def _make(prices, wanted):
    def test():
        assert shop.total(prices) == wanted

    return test


test_made_one = _make([5], 5)
test_made_two = _make([5, 6], 11)


class TestMade(unittest.TestCase):
    pass


def _fill(name, prices, wanted):
    def check(self):
        self.assertEqual(shop.total(prices), wanted)

    setattr(TestMade, name, check)


_fill("test_filled", [7, 8], 15)


def expand(cases):
    def decorate(function):
        for number, case in enumerate(cases):
            globals()[f"{function.__name__}_{number}"] = lambda case=case: function(*case)
        return None

    return decorate


@expand([([9], 9), ([9, 1], 10)])
def test_expanded(prices, wanted):
    assert shop.total(prices) == wanted
"""
SHAPES_DOC = ">>> import shop\n>>> shop.total([1, 2])\n3\n"
SHAPES_FAIL = (
    *("totals[prices0-3]", "totals[prices1-4]", "data", "refuses", "warns", "made_one", "made_two"),
    *("expanded_0", "expanded_1"),
)
CONFTEST = "import pytest\n\n\n@pytest.fixture\ndef prices():\n    return [1, 2]\n"
PROJECTS: dict[str, dict[str, Any]] = {
    "pytest": {
        "files": {"shop.py": SHOP, "tests/test_shop.py": PYTEST_OLD, "tests/conftest.py": CONFTEST},
        "hidden": {"tests/test_shop.py": "import pytest\n\n" + PYTEST_OLD + PYTEST_NEW},
        "test": "python -m pytest -rA -p no:cacheprovider",
        "parser": "parse_log_pytest",
        "fail": ["tests/test_shop.py::test_total"],
        "pass": ["tests/test_shop.py::test_name"],
    },
    "shapes": {
        "files": {"shop.py": SHAPES, "tests/test_shop.py": SHAPES_OLD, "docs/shop.rst": ">>> 1\n1\n"},
        "hidden": {"tests/test_shop.py": SHAPES_OLD + SHAPES_NEW, "docs/shop.rst": SHAPES_DOC},
        "fixed": SHAPES_FIXED,
        "test": "python -m pytest -rA -p no:cacheprovider --doctest-glob=*.rst",
        "parser": "parse_log_pytest",
        "fail": [
            *(f"tests/test_shop.py::test_{name}" for name in SHAPES_FAIL),
            *("tests/test_shop.py::TestMade::test_filled", "docs/shop.rst::shop.rst"),
        ],
        "pass": ["tests/test_shop.py::test_old"],
    },
    "unittest": {
        "files": {"shop.py": SHOP, "test_shop.py": UNITTEST_OLD},
        "hidden": {"test_shop.py": UNITTEST_OLD + UNITTEST_NEW},
        "test": "python -m unittest -v",
        "parser": "parse_log_django",
        "fail": ["test_total (test_shop.TestShop.test_total)"],
        "pass": ["test_name (test_shop.TestShop.test_name)"],
    },
    "runner": {
        "files": {"shop.py": SHOP, "tests/test_shop.py": PYTEST_OLD, "tests/runtests.py": RUNNER},
        "hidden": {"tests/test_shop.py": PYTEST_OLD + "\n\ndef test_total():\n    assert shop.total([1, 2]) == 3\n"},
        "test": "python tests/runtests.py",
        "parser": "parse_log_django",
        "fail": ["test_total"],
        "pass": ["test_name"],
    },
}


@dataclass(frozen=True)
class Case:
    """The file of a case: its project, the package's verdict, its kind, and its files."""

    path: Path
    project: str
    official: str
    is_honest: bool
    says: str
    files: dict[str, str | None]

    @property
    def name(self) -> str:
        return self.path.stem


def read_case(path: Path) -> Case:
    head, *parts = path.read_text().split("\n=== ")
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    files: dict[str, str | None] = {}
    for part in parts:
        name, _, text = part.partition("\n")
        files[name.removesuffix(" (removed)")] = None if name.endswith(" (removed)") else text.rstrip("\n") + "\n"
    return Case(path, fields["project"], fields["official"], path.stem.startswith("honest_"), fields["says"], files)


ALL = [read_case(path) for path in sorted(CASES.glob("*.txt"))]
HIDDEN_KEYS = {"fail": "FAIL_TO_PASS", "pass": "PASS_TO_PASS"}


def diff(repo: repos.Repo, files: dict[str, str | None]) -> str:
    """The patch that gives the repository's files these contents; the files are then restored."""
    for name, text in files.items():
        path = repo.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
            if not any(path.parent.iterdir()):
                path.parent.rmdir()
        elif text.startswith("-> "):
            path.symlink_to(text[3:].strip())
        else:
            path.write_text(text)
    repo.git("add", "-A", "-f")
    patch = repo.git_bytes("diff", "--cached", "--binary").decode()
    repo.git("reset", "-q", "--hard")
    return patch


def recipe(project: str) -> dict[str, Any]:
    test = PROJECTS[project]["test"]
    return {"repo": f"own/{project}", "versions": ["1"], "python": VERSION, "pip": ["own"], "test": test}


def copy_pytest(library: Path) -> None:
    """Copy this test's own pytest and its dependencies into a folder of packages."""
    for name in (
        "pytest",
        "_pytest",
        "pluggy",
        "iniconfig",
        "packaging",
        "pygments",
        "exceptiongroup",
        "tomli",
        "py.py",
        "py",
        "attr",
        "attrs",
    ):
        for folder in map(Path, sys.path):
            for found in [folder / name, *folder.glob(f"{name}-*-info")] if "packages" in folder.name else ():
                if found.is_dir() and not (library / found.name).exists():
                    shutil.copytree(found, library / found.name)
                elif found.is_file():
                    shutil.copy(found, library)


class Bench:
    """Data sets of the small projects, with their environment."""

    def __init__(self, host: Host, folder: Path) -> None:
        self.host, self.folder, self.cache = host, folder, folder / "cache"
        self.repos = {
            name: repos.make_repo(folder / "repos" / "own" / name, project["files"])
            for name, project in PROJECTS.items()
        }
        (folder / "recipes.json").write_text(json.dumps([recipe(name) for name in PROJECTS]))
        copy_pytest(packages_of(make_environment(self.cache, recipe("pytest"))))

    def row(self, project: str, name: str) -> dict[str, Any]:
        about, repo = PROJECTS[project], self.repos[project]
        row = {"instance_id": name, "repo": f"own/{project}", "version": "1", "eval_type": "pass_and_fail"}
        row |= {"base_commit": repo.git("rev-parse", "HEAD"), "log_parser": about["parser"]}
        row |= {"test_patch": diff(repo, about["hidden"]), "patch": diff(repo, {"shop.py": about.get("fixed", FIXED)})}
        return row | {key: json.dumps(about[short]) for short, key in HIDDEN_KEYS.items()}

    def run(
        self, cases: list[tuple[str, str, dict[str, str | None]]], *more: str, out: str = "out", **row: Any
    ) -> Result:
        """Grade patches (id, project, files); `row` has additional fields of their rows."""
        place = self.folder / out
        place.mkdir(exist_ok=True)
        rows = [self.row(project, name) | row for name, project, _ in cases]
        predictions = [
            {"instance_id": name, "model_name_or_path": "m", "model_patch": diff(self.repos[project], files)}
            for name, project, files in cases
        ]
        for name, content in (("dataset.jsonl", rows), ("preds.jsonl", predictions)):
            (place / name).write_text("".join(f"{json.dumps(at)}\n" for at in content))
        options = ["--dataset", place / "dataset.jsonl", "--run-id", "r", "--out", place, "--sandbox", "environment"]
        options += ["--repos", self.folder / "repos", "--environments", self.folder / "recipes.json", "--jobs", "2"]
        options += [] if "--predictions" in more else ["--predictions", place / "preds.jsonl"]
        env = {"XDG_CACHE_HOME": str(self.cache)}
        return self.host.run("eval", *map(str, options), "--timeout", "600", *more, env=env, timeout=1800)

    def place(self, name: str, out: str = "out", model: str = "m") -> Path:
        return self.folder / out / LOGS / "r" / model / name

    def verdict(self, name: str, out: str = "out") -> dict[str, Any]:
        verdict: dict[str, Any] = json.loads((self.place(name, out) / "verdict.json").read_text())
        return verdict


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    sandboxes.need("bubblewrap")
    return Bench(Host(tmp_path_factory.mktemp("home")), tmp_path_factory.mktemp("bench"))


# One of each kind; `full` grades the others.
FEW = {
    *("conftest_rewrites_outcomes", "prints_and_exits", "answers_by_frames", "reads_the_tests", "memory_by_ctypes"),
    *("honest_subprocess", "honest_conftest", "honest_runner"),
}


def grade_all(bench: Bench, cases: list[Case], out: str) -> Bench:
    """Grade cases, and print a table of them."""
    bench.run([(case.name, case.project, case.files) for case in cases], "-v", out=out).check()
    for case in cases:
        verdict = bench.verdict(case.name, out)
        official = "resolved" if verdict["official_resolved"] else "unresolved"
        ours = "resolved" if verdict["resolved"] else "not"
        why = verdict["why"] or verdict["error"] or ""
        print(f"{case.name:28} {case.project:9} {official:11} {ours:9} {case.says}: {why}")
    return bench


@pytest.fixture(scope="module")
def few(bench: Bench) -> Bench:
    return grade_all(bench, [case for case in ALL if case.name in FEW], "few")


@pytest.fixture(scope="module")
def rest(bench: Bench) -> Bench:
    return grade_all(bench, [case for case in ALL if case.name not in FEW], "rest")


def check(bench: Bench, case: Case, out: str) -> None:
    """The package's verdict must be kept, and ours must be right and have a reason."""
    verdict = bench.verdict(case.name, out)
    report = bench.place(case.name, out) / "report.json"
    official = json.loads(report.read_text())[case.name]["resolved"] if report.exists() else False
    assert verdict["official_resolved"] == official
    assert official == (case.official == "resolved"), verdict
    assert bool(verdict["resolved"]) == case.is_honest, verdict
    if official and not case.is_honest:
        assert verdict["why"]
        assert verdict["why"] in verdict["evidence"] or "more reasons" in verdict["why"]
    if case.is_honest:
        assert (verdict["why"], verdict["has_experiments"], verdict["is_weak"]) == (None, True, False)


@pytest.mark.parametrize("case", [case for case in ALL if case.name in FEW], ids=lambda case: case.name)
def test_what_fools_the_package_does_not_fool_us(few: Bench, case: Case) -> None:
    check(few, case, "few")


@pytest.mark.full
@pytest.mark.parametrize("case", [case for case in ALL if case.name not in FEW], ids=lambda case: case.name)
def test_nor_does_any_other(rest: Bench, case: Case) -> None:
    check(rest, case, "rest")


def grade_one(
    bench: Bench, out: str, files: dict[str, str | None], *more: str, of: str = "unittest", **row: Any
) -> Result:
    """Grade one patch of a project into a separate folder; unittest starts in a quarter of pytest's time."""
    return bench.run([("task", of, files)], *more, out=out, **row).check()


BY_TIME_ZONE = FIXED.replace("sum(prices)", "sum(prices[time.tzname[0] != 'UTC' :])")


def test_tests_that_pass_now_and_then_are_listed(bench: Bench) -> None:
    result = grade_one(bench, "zones", {"shop.py": f"import time\n\n{BY_TIME_ZONE}"}, "--repeat", "3", of="pytest")
    verdict = bench.verdict("task", "zones")
    test = "tests/test_shop.py::test_total"
    assert verdict["official_resolved"]
    assert verdict["repeats"] == {"runs": 3, "flaky": {test: 2}, "why": f"{test} passed in 2 of 3 runs"}
    assert verdict["resolved"] is False
    assert f"not believed: {test} passed in 2 of 3 runs" in result.err


def test_an_honest_patch_is_steady_and_what_was_found_is_kept_for_the_same_options(bench: Bench) -> None:
    mended: dict[str, str | None] = {"shop.py": FIXED}
    grade_one(bench, "steady", mended, "--repeat", "2")
    verdict = bench.verdict("task", "steady")
    assert verdict["repeats"] == {"runs": 2, "flaky": {}, "why": None}
    assert (verdict["resolved"], verdict["has_experiments"], verdict["why"]) == (True, True, None)
    assert "(kept)" in grade_one(bench, "steady", mended, "--repeat", "2", "-v").progress[0]
    assert "(kept)" not in grade_one(bench, "steady", mended, "--official-only", "-v").progress[0]
    verdict = bench.verdict("task", "steady")
    assert (verdict["resolved"], verdict["has_experiments"], verdict["official_resolved"]) == (None, False, True)
    assert not (bench.place("task", "steady") / "watched_output.txt").exists()


def test_a_doubt_is_kept_too(bench: Bench) -> None:
    cheat: dict[str, str | None] = {
        "conftest.py": next(case for case in ALL if "hook" in case.says).files["conftest.py"]
    }
    said = grade_one(bench, "kept", cheat, of="pytest").err
    assert "not believed: these tests fail without the patch's changes to conftest.py" in said
    again = grade_one(bench, "kept", cheat, of="pytest").err
    assert "resolved (kept), not believed: these tests fail without the patch's changes" in again
    assert "1  resolved, but not believed: " in again


def test_a_verdict_of_an_earlier_version_is_made_again(bench: Bench) -> None:
    official = ["--official-only", "-v"]
    grade_one(bench, "earlier", {"shop.py": FIXED}, *official)
    file, verdict = bench.place("task", "earlier") / "verdict.json", bench.verdict("task", "earlier")
    file.write_text(json.dumps(verdict | {"schema_version": verdict["schema_version"] - 1, "official_resolved": False}))
    assert "(kept)" not in grade_one(bench, "earlier", {"shop.py": FIXED}, *official).progress[0]
    made = bench.verdict("task", "earlier")
    assert (made["schema_version"], made["official_resolved"]) == (verdict["schema_version"], True)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, None),
        ({"patch": "empty"}, "the task's tests fail with the reference patch"),
        pytest.param(
            {"FAIL_TO_PASS": '["test_name (test_shop.TestShop.test_name)"]'},
            "the task's tests pass without a patch",
            marks=pytest.mark.full,
        ),
        pytest.param({"patch": ""}, "the data set has no reference patch for this task", marks=pytest.mark.full),
    ],
)
def test_a_task_that_cannot_be_graded_here_is_told(bench: Bench, change: dict[str, str], why: str | None) -> None:
    if change.get("patch") == "empty":
        change = {"patch": diff(bench.repos["unittest"], {"other.py": "x = 1\n"})}
    out = f"baseline_{len(why or '')}"
    result = grade_one(bench, out, {"shop.py": FIXED}, "--baseline", "--json", **change)
    verdict = bench.verdict("task", out)
    assert (verdict["is_gradable"], verdict["why_not_gradable"]) == (why is None, why)
    assert verdict["resolved"] is (why is None)
    assert json.loads(result.stdout)["resolved_ids"] == ["task"]
    assert ("1  cannot be graded here: " in result.err) == (why is not None)


def test_the_cases_are_many_and_of_many_kinds() -> None:
    assert sum(not case.is_honest for case in ALL) >= 50
    assert sum(not case.is_honest and case.official == "resolved" for case in ALL) >= 45
    assert sum(case.is_honest for case in ALL) >= 14
