"""Grades logs as SWE-bench's own package does: edge cases of its rules and, in `full`, comparisons with the package itself."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from acr.byte_fields import pack, unpack
from acr.grading import classes, environments, recognise, reports, rules, scripts, service
from acr.grading.failures import Failure
from acr.grading.parsers import PARSERS, UnknownParser, parser_of

CORNERS = json.loads((Path(__file__).parents[1] / "cases" / "grading" / "corners.json").read_text("utf-8"))
EMPTY = {key: {"success": [], "failure": []} for key in ("FAIL_TO_FAIL", "PASS_TO_FAIL")}
# Here the package fails without a report, but acr-host grades what can be parsed.
STOPS = {
    ("half a character of UTF-8", "4"): "UnicodeDecodeError",
    ("half a character of UTF-8", "5"): "UnicodeDecodeError",
    ("seaborn's outcome alone", "4"): "IndexError",
}


def raw_log(case: dict) -> bytes:
    return case["log"].encode(case.get("encoding", "utf-8"))


def graded(case: dict, version: str) -> dict:
    row = {**case, "instance_id": "i"}
    return rules.report(row, "a patch", rules.read_log(raw_log(case)), int(version))["i"]


@pytest.mark.parametrize("version", ["4", "5"])
@pytest.mark.parametrize("case", CORNERS, ids=[case["name"] for case in CORNERS])
def test_a_corner_of_the_rules(case: dict, version: str) -> None:
    wanted = case["official"][version]
    got = graded(case, version)
    if isinstance(wanted, str):
        assert STOPS[case["name"], version] == wanted
        assert got["resolved"]
        return
    if "tests_status" in wanted:
        wanted = {**wanted, "tests_status": {**wanted["tests_status"], **EMPTY}}
    assert got == wanted


def test_no_patch_is_none() -> None:
    said = rules.report({"instance_id": "i"}, None, "", 5)["i"]
    assert (said["patch_is_None"], said["patch_exists"], said["resolved"]) == (True, False, False)


GOOD_RECIPE = {"repo": "a/b", "versions": ["1"], "python": "3.9", "pip": [], "test": "t"}


@pytest.mark.parametrize(
    ("recipes", "fault"),
    [
        ([GOOD_RECIPE, {**GOOD_RECIPE, "env": {"A": "b"}, "exclude": "x$", "install": "make"}], ""),
        ({"a": 1}, "the file is not a list of recipes"),
        ([GOOD_RECIPE, 1], "recipe 2 is not an object"),
        ([{**GOOD_RECIPE, "instal": "make"}], 'recipe 1 has an unknown field "instal" (known: repo, versions, tasks'),
        ([{"repo": "a/b", "versions": ["1"], "python": "3.9", "pip": []}], 'recipe 1 has no "test"'),
        ([{key: GOOD_RECIPE[key] for key in ("repo", "python", "pip", "test")}], 'recipe 1 has no "versions"'),
        ([{**GOOD_RECIPE, "python": 3.1}], 'recipe 1 has a "python" that is not a version such as 3.9'),
        ([{**GOOD_RECIPE, "pip": "x==1"}], 'recipe 1 has a "pip" that is not a list of strings'),
        ([{**GOOD_RECIPE, "exclude": "("}], 'recipe 1 has a "exclude" that is not a regular expression'),
        ([{**GOOD_RECIPE, "env": {"A B": "c"}}], 'recipe 1 has a "env" that is not an object of strings'),
    ],
)
def test_faults_of_recipes_are_told(recipes: object, fault: str) -> None:
    assert environments.fault_of(recipes).startswith(fault)
    assert bool(environments.fault_of(recipes)) == bool(fault)


def test_the_recipes_of_the_program_have_no_fault() -> None:
    assert environments.fault_of(json.loads(Path(environments.__file__).with_suffix(".json").read_text("utf-8"))) == ""


@pytest.mark.parametrize("ask", [service.prepare, service.environment])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"test_patch": None}, 'the row has no "test_patch"'),
        ({"test_patch": 3}, '"test_patch" of the row is not a string'),
        ({"base_commit": {}}, '"base_commit" of the row is not a string'),
        ({"FAIL_TO_PASS": "not JSON"}, '"FAIL_TO_PASS" of the row is not a list of tests'),
        ({"PASS_TO_PASS": 3}, '"PASS_TO_PASS" of the row is not a list of tests'),
        ({"FAIL_TO_PASS": {"a": 1}}, '"FAIL_TO_PASS" of the row is not a list of tests'),
        ({"FAIL_TO_PASS": None, "PASS_TO_PASS": ["t"]}, 'the row has no "FAIL_TO_PASS"'),
        ({"FAIL_TO_PASS": "[]", "PASS_TO_PASS": ["t"]}, 'the row has no "FAIL_TO_PASS"'),
        (
            {"test_patch": None, "base_commit": None, "FAIL_TO_PASS": [], "log_parser": "no"},
            'the row has no "base_commit", "test_patch", "FAIL_TO_PASS"; '
            f"there is no log parser 'no'; known: {', '.join(sorted(PARSERS))}",
        ),
        ({"log_parser": "../x"}, f"there is no log parser '../x'; known: {', '.join(sorted(PARSERS))}"),
    ],
)
def test_a_bad_row_is_one_line(ask: Callable[[bytes], bytes], change: dict, said: str) -> None:
    row = {"instance_id": "i", "repo": "sympy/sympy", "version": "1.12", "base_commit": "c", "test_patch": ""}
    row = {**row, "FAIL_TO_PASS": ["t"], **change}
    fields = [json.dumps(row).encode(), b"5", *([b""] if ask is service.environment else [])]
    assert [at.decode() for at in unpack(ask(pack(fields)))] == [said]


def test_unknown_parsers_are_named() -> None:
    with pytest.raises(UnknownParser, match="parse_log_nobody"):
        parser_of({"log_parser": "parse_log_nobody"})
    with pytest.raises(UnknownParser, match="a/b"):
        parser_of({"repo": "a/b"})


def test_a_parser_takes_any_text_in_bounded_steps() -> None:
    """Every parser must be fast on a line of a megabyte, and on many lines that begin a pattern."""
    texts = [
        " " * 200_000 + "x.py:y",
        "a ... Testing against Django installed in " * 2000,
        "_" * 200_000,
        "[" * 200_000,
    ]
    for parse in set(PARSERS.values()):
        for text in texts:
            for version in (4, 5):
                assert isinstance(parse(text, version), dict)


ROW = {
    "instance_id": "psf__requests-1",
    "repo": "psf/requests",
    "version": "2.4",
    "base_commit": "abc",
    "test_patch": "diff --git a/test_a.py b/test_a.py\n--- a/test_a.py\n+++ b/test_a.py\n@@ -1 +1 @@\n-a\n+b\n"
    "diff --git a/t/new one.py b/t/new one.py\nnew file mode 100644\n--- /dev/null\n+++ b/t/new one.py\t\n"
    "@@ -0,0 +1 @@\n+END_OF_TEST_PATCH_0\n",
}


def test_why_no_test_ran() -> None:
    """A module that the reference patch adds is missing because of the patch; of others, the row may not tell."""
    log = f"{rules.START}\nE   ModuleNotFoundError: No module named 'a.b'\n%s{rules.END}\n"
    adds = "--- /dev/null\n+++ b/src/a/b.py\n@@ -0,0 +1 @@\n+x\n"
    row = {"instance_id": "i", "repo": "o/p", "log_parser": "parse_log_pytest"}

    def why(more: dict, tests: str = "ERROR t.py\n") -> tuple[str, str]:
        return classes.why_none_ran(row | more, log % tests, 4)

    assert (
        why({"patch": "diff"})
        == why({"PASS_TO_PASS": ["t"]})
        == ("no module named 'a.b'", "the environment lacks 'a.b'")
    )
    assert why({"patch": adds, "PASS_TO_PASS": ["t"]}) == ("no module named 'a.b', which the reference patch adds", "")
    assert why({}) == ("no module named 'a.b': the environment lacks it, or the patch should add it", "")
    assert why({"patch": "diff"}, "FAILED t.py::a\n") == ("", "")


def test_a_made_script() -> None:
    script = scripts.script_of(ROW, 5)
    lines = script.splitlines()
    at = lines.index(": '>>>>> Start Test Output'")
    assert lines[at + 1] == "pytest -rA test_a.py 't/new one.py'"
    assert lines[at + 2] == "SWEBENCH_TEST_EXIT_CODE=$?"
    assert "git checkout abc test_a.py" in lines[:at]
    assert "rm -f 't/new one.py'" in lines[:at]  # removes a file of that name that the patch added
    assert "git apply -v - <<'END_OF_TEST_PATCH_1'" in lines
    assert subprocess.run(["bash", "-n"], input=script.encode(), check=False).returncode == 0


def test_a_row_s_own_script_tells_its_exit_code_under_5_only() -> None:
    row = {"eval_script": "#!/bin/bash\nset -uxo pipefail\nfalse\n: '>>>>> End Test Output'\ngit checkout x\n"}
    assert "SWEBENCH_TEST_EXIT_CODE=$?" in scripts.script_of(row, 5)
    assert "SWEBENCH_TEST_EXIT_CODE" not in scripts.script_of(row, 4)


def test_a_project_of_swe_gym_has_its_command_image_and_parser() -> None:
    patch = "--- a/check.test\n+++ b/check.test\n+[case testOne]\n+[case testTwo]\n"
    row = {
        "instance_id": "python__mypy-1",
        "repo": "python/mypy",
        "version": "1",
        "base_commit": "0",
        "test_patch": patch,
    }
    assert "\npytest -n0 -rA -k 'testOne or testTwo'\n" in scripts.script_of(row, 4)
    assert service.image_of(row) == "xingyaoww/sweb.eval.x86_64.python_s_mypy-1:latest"
    assert parser_of(row) is PARSERS["parse_log_pytest"]


def test_the_command_of_all_tests_names_no_hidden_test_files() -> None:
    patch = "--- a/tests/test_a.py\n+++ b/tests/test_a.py\n@@ -1 +1 @@\n-a\n+b\n"
    row = {"repo": "a/b", "test_cmd": "pytest  -rA tests/test_a.py", "test_patch": patch}
    assert scripts.test_command(row).split() == ["pytest", "-rA"]


def test_directives_of_django_are_modules() -> None:
    patch = "diff --git a/tests/a/test_b.py b/tests/a/test_b.py\ndiff --git a/x.json b/x.json\n"
    assert scripts.directives({"repo": "django/django", "test_patch": patch}) == ["a.test_b"]


def test_a_project_that_is_not_known() -> None:
    with pytest.raises(scripts.UnknownProject, match="a/b"):
        scripts.script_of({"repo": "a/b"}, 5)


def test_the_final_report() -> None:
    endings = {"b": "resolved", "a": "unresolved", "c": "error", "d": "empty"}
    failures = {"a": Failure("out_of_memory", "environment"), "c": Failure("missing_module", "ambiguous")}
    report = reports.final(["c", "b", "a", "d", "e"], endings, failures, 5, {"containers": ["z"], "images": []})
    assert report["completed_ids"] == ["a", "b"]
    assert report["incomplete_ids"] == ["e"]
    assert report["submitted_instances"] == 4
    assert (report["infra_failure_ids"], report["ambiguous_failure_ids"]) == (["a"], ["c"])
    assert report["failure_reasons"] == {"a": "out_of_memory", "c": "missing_module"}
    assert report["unstopped_containers"] == ["z"]
    assert "infra_failure_ids" not in reports.final(["a"], {}, {}, 4, None)


def recorded_logs(recorded: Path, folder: Path) -> list[tuple[dict, bytes, dict, int]]:
    """Row, log, report of the package, and its version, for each recorded log."""
    subprocess.run(["tar", "-xJf", recorded / "logs.tar.xz", "-C", folder], check=True)
    rows = {row["instance_id"]: row for row in map(json.loads, (folder / "dataset.jsonl").open(encoding="utf-8"))}
    found = []
    for said in sorted(folder.glob("*/official-*.json")):
        for name, report in json.loads(said.read_text()).items():
            (log,) = said.parent.glob(f"logs/run_evaluation/*/*/{name}/test_output.txt")
            found.append((rows[name], log.read_bytes(), report, int(said.name[len("official-")])))
    return found


def test_recorded_logs(recorded: Path, tmp_path: Path) -> None:
    logs = recorded_logs(recorded, tmp_path)
    assert len(logs) >= 336
    for row, raw, wanted, version in logs:
        name = row["instance_id"]
        assert rules.report(row, "a patch", rules.read_log(raw), version) == {name: wanted}, (name, version)


# ---- Beside the package itself ----

DRIVER = """
import json, sys, types
from swebench.harness import grading
out = []
for number, case in enumerate(json.load(open(sys.argv[1]))):
    log = sys.argv[1] + ".log"
    open(log, "wb").write(case["log"].encode(case.get("encoding", "utf-8")))
    spec = types.SimpleNamespace(**{"instance_id": "i", "version": "v", **case})
    if hasattr(grading, "MAP_REPO_VERSION_TO_SPECS"):
        grading.MAP_REPO_VERSION_TO_SPECS[case["repo"]] = {"v": {"test_cmd": ""}}
    try:
        out.append(grading.get_eval_report(spec, {"instance_id": "i", "model_patch": "a patch"}, log, True)["i"])
    except (IndexError, UnicodeDecodeError) as error:
        out.append(type(error).__name__)
json.dump(out, sys.stdout)
"""
PIECES = [
    "PASSED", "FAILED", "SKIPPED", "ERROR", "XFAIL", " - ", "[1]", "[100%]", "t::a", "t[x y]", "t[/a/b]", "t[//a]",
    "t[/a*b]", " ", "\t", "\x1b[32m", "[0m", " ... ok", " ...  OK", " ... FAIL", " ... ERROR", " ... skipped", "FAIL: t",
    "ERROR: t", "ok", "test_a", " F", " E", "____ ", "x.py:test_a", " ____", "\n", "\n", "\n", "\r", " ... ",
    "--version is equivalent to version", " ... Internal Server Error: /a/\nok\n", "MouseButton.LEFT", "é", "Killed",
    " ... Testing against Django installed in x silenced).\nok\n", "Tests: 3", "no tests ran", "t[", "t[a",
    ">>>>> Test Exit Code: 1", ">>>>> Test Exit Code: 0", ">>>>> Tests Timed Out",
    "Applying sites.0002_alter_domain_unique...test_no_migrations",
]  # fmt: skip
PROJECTS = {
    "pytest-dev/pytest": "pytest", "psf/requests": "requests", "astropy/astropy": "astropy", "sympy/sympy": "sympy",
    "matplotlib/matplotlib": "matplotlib", "mwaskom/seaborn": "seaborn", "django/django": "django",
}  # fmt: skip
IDS = ["t::a", "t[x", "t[x y]", "t[/b]", "t[/a/b]", "t", "test_a", "x.py:test_a", "[1]", "t[", "t[a", "PASSED"]


def random_case(rng: random.Random) -> dict:
    repo = rng.choice(list(PROJECTS))
    body = "".join(rng.choices(PIECES, k=rng.randint(1, 60)))
    start = rng.choice([f"{rules.START}\n"] * 9 + [""])
    end = rng.choice([f"\n{rules.END}\n"] * 9 + [""])
    return {
        "name": body,
        "repo": repo,
        "log_parser": f"parse_log_{PROJECTS[repo]}",
        "eval_type": rng.choice(["pass_and_fail", "pass_and_fail", "fail_only"]),
        "FAIL_TO_PASS": rng.sample(IDS, rng.randint(0, 4)),
        "PASS_TO_PASS": rng.sample(IDS, rng.randint(0, 4)),
        "log": start + body + end + rng.choice(PIECES),
    }


@pytest.mark.full
@pytest.mark.parametrize(("version", "release"), [("4", "4.1.0"), ("5", "5.0.2")])
def test_beside_the_package(version: str, release: str, tmp_path: Path) -> None:
    """Compares the grades of made-up and random logs with those of the installed package."""
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", f"swebench=={release}"], check=True)
    rng = random.Random(0)
    cases = CORNERS + [random_case(rng) for _ in range(5000)]
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    done = subprocess.run([python, "-c", DRIVER, tmp_path / "cases.json"], check=True, capture_output=True)
    for case, wanted in zip(cases, json.loads(done.stdout), strict=True):
        if not isinstance(wanted, str):
            assert graded(case, version) == wanted, case


@pytest.mark.parametrize(
    ("files", "name", "version"),
    [
        (
            {"django/db/models/base.py": "", "django/__init__.py": "VERSION = (4, 0, 0, 'alpha', 0)"},
            "django/django@4.0",
            "4.0",
        ),
        (
            {"lib/matplotlib/pyplot.py": "", "doc/users/prev_whats_new/whats_new_3.9.0.rst": ""},
            "matplotlib/matplotlib@3.6",
            "3.9",
        ),
        (
            {"src/_pytest/python.py": "", "doc/en/changelog.rst": "pytest 2.9.1 (2016)\n---"},
            "pytest-dev/pytest@4.4",
            "2.9",
        ),
        (
            {"astropy/units/core.py": "", "docs/whatsnew/5.1.rst": "", "docs/whatsnew/4.0.rst": ""},
            "astropy/astropy@5.1",
            "5.1",
        ),
        (
            {"pylint/checkers/base_checker.py": "", "pylint/__pkginfo__.py": "numversion = (2, 15, 1)"},
            "pylint-dev/pylint@2.15",
            "2.15",
        ),
        ({"src/flask/app.py": "", "pyproject.toml": 'version = "3.1.0"'}, "pallets/flask@2.3", "3.1"),
        ({"xarray/core/dataset.py": ""}, "pydata/xarray@0.12", "0.12"),
        ({"a.py": ""}, None, "not a checkout"),
        ({"sklearn/base.py": "", "sympy/core/basic.py": ""}, None, "not a checkout"),
    ],
)
def test_a_checkout_is_recognised_by_its_files(files: dict[str, str], name: str | None, version: str) -> None:
    """The version of the nearest recipe: equal, earlier, or else the first; the newest if the checkout states no version."""
    if name is None:
        with pytest.raises(recognise.UnknownRecipe, match=version):
            recognise.find_recipe("auto", list(files), files)
    else:
        assert recognise.find_recipe("auto", list(files), files)[1:] == (name, version)
