"""Returns the script that runs a task's tests: the row's own (5.x), or one generated from `projects.json`.

A generated script does what version 4 of SWE-bench's package would do in an image of that package, in which the project
is in /testbed and its environment is called testbed. It also removes the test files that the hidden tests add, in case
a patch contains them.
"""

from __future__ import annotations

import functools
import json
import re
import shlex
from pathlib import Path

from acr.grading.rules import END, START

FOLDER = "/testbed"
_ACTIVATE = ["source /opt/miniconda3/bin/activate", "conda activate testbed"]
_NOT_TESTS = (".json", ".png", "csv", ".txt", ".md", ".jpg", ".jpeg", ".pkl", ".yml", ".yaml", ".toml")
_FILE = re.compile(r"^diff --git a/.* b/(.*)$", re.MULTILINE)
_OLD_FILE = re.compile(r"^--- a/(.*?)\t?$", re.MULTILINE)
_CASE = re.compile(r"^[+ ]?\[case (\w[\w.-]*)\]", re.MULTILINE)
_EXIT_CODE = "SWEBENCH_TEST_EXIT_CODE"


class UnknownProject(LookupError):
    """The row has no script, and no table has its project or version."""


@functools.cache
def _projects() -> dict[str, dict]:
    return json.loads(Path(__file__).with_name("projects.json").read_text(encoding="utf-8"))


def project_of(row: dict) -> dict:
    """The entry of the row's project in projects.json; {}: none."""
    return _projects().get(row.get("repo"), {})


def specification(row: dict) -> dict:
    """{"test", "install", "before"} of the row's project and version; of SWE-Gym's projects also {"image"}, and
    nothing is installed again. Raises UnknownProject."""
    project = project_of(row)
    if not project:
        raise UnknownProject(f"'{row.get('repo')}' is not a known project: add \"eval_script\", or --environments FILE")
    exceptions = (other for other in project.get("except", ()) if row.get("version") in other["versions"])
    return {"before": [], "install": ":", **project, **next(exceptions, {})}


def script_of(row: dict, rules: int) -> str:
    """The whole bash script. By the rules of 5 it prints the exit code of the test command."""
    given = row.get("eval_script")
    lines = _lines(given) if given else _made(row)
    if rules != 4:
        lines = tell_exit_code(lines)
    return "\n".join(["#!/bin/bash", "set -uxo pipefail", *lines]) + "\n"


def test_command(row: dict) -> str:
    """The command that runs all of the project's tests in the task's image, without the files of the hidden tests; "" if
    unknown, so that the caller searches the project's files."""
    try:
        command = row.get("test_cmd") or specification(row)["test"]
    except UnknownProject:
        return ""
    is_usable = isinstance(command, str) and not command.startswith("tox ")  # tox would create its own environment
    hidden = {*changed_files(row.get("test_patch") or ""), *added_files(row.get("test_patch") or "")}
    return " ".join(word for word in command.split(" ") if word not in hidden) if is_usable else ""


def _lines(script: str) -> list[str]:
    return [line for line in script.strip().split("\n") if line not in ("#!/bin/bash", "set -uxo pipefail")]


def tell_exit_code(lines: list[str]) -> list[str]:
    """The script with added lines that print the exit code of the test command."""
    for at, line in enumerate(lines):
        if END in line:
            told = [f"{_EXIT_CODE}=$?", line, f'echo ">>>>> Test Exit Code: ${_EXIT_CODE}"']
            return lines[:at] + told + lines[at + 1 :]
    return lines


def _made(row: dict) -> list[str]:
    runs = row.get("runs")
    wanted = {} if runs else specification(row)
    commit = shlex.quote(row["base_commit"])
    safe = f"git config --global --add safe.directory {runs['begin'][-1][3:] if runs else FOLDER}"
    setter = (runs or {}).get("sets_tests")
    put, clean = ([setter], []) if setter else put_tests(row, f"git checkout {commit}", "rm -f")
    begin = [*runs["begin"], safe] if runs else [*_ACTIVATE, f"cd {FOLDER}", *wanted["before"], safe]
    status = ["git status", "git show", f"git -c core.fileMode=false diff {commit}"]
    prepare = runs["before"] if runs else [*status, wanted["install"]]
    return [*begin, *prepare, *put, *test_lines(row, wanted.get("test", "")), *clean]


def put_tests(row: dict, checkout: str, remove: str) -> tuple[list[str], list[str]]:
    """(commands that put the hidden tests in place, commands that remove them)."""
    patch = row["test_patch"]
    changed, added = changed_files(patch), added_files(patch)
    clean = [f"{checkout} {words(changed)}"] if changed else []
    clean += [f"{remove} {words(added)}"] if added else []
    end = delimiter(patch)
    return [*clean, *([f"git apply -v - <<'{end}'\n{patch}\n{end}"] if patch else [])], clean


def test_lines(row: dict, command: str) -> list[str]:
    """The commands that run the tests, between their marks; `command` is used for rows without a script."""
    runs, files = row.get("runs") or {}, row.get("test_files")
    if row.get("run_script"):
        end = delimiter(row["run_script"])
        script = f"cat >/tmp/run_script.sh <<'{end}'\n{row['run_script']}\n{end}"
        return [script, f": '{START}'", f"bash /tmp/run_script.sh {shlex.quote(files)}", f": '{END}'"]
    tests = [*runs.get("test", [])] or [command]
    if not runs or runs["adds_files"]:
        tests[-1] = f"{tests[-1]} {words(files or directives(row))}"
    return [f": '{START}'", *tests, f": '{END}'"]


def words(paths: list[str]) -> str:
    """Quotes paths as words of a shell command."""
    return " ".join(map(shlex.quote, paths))


def delimiter(text: str) -> str:
    """A line that ends a here-document and does not occur in the text."""
    number = 0
    while f"END_OF_TEST_PATCH_{number}" in text:
        number += 1
    return f"END_OF_TEST_PATCH_{number}"


def changed_files(patch: str) -> list[str]:
    """The files that a unified diff changes or removes, by their old names."""
    return _OLD_FILE.findall(patch)


def added_files(patch: str) -> list[str]:
    """The files that a unified diff adds."""
    return re.findall(r"^new file mode \d+\n(?:index .*\n)?--- /dev/null\n\+\+\+ b/(.*?)\t?$", patch, re.MULTILINE)


def directives(row: dict) -> list[str]:
    """The arguments of the test command: the test patch's files without data; modules for Django; case names for mypy's
    data files."""
    if row.get("repo") == "python/mypy" and (cases := _CASE.findall(row["test_patch"])):
        return ["-k", " or ".join(dict.fromkeys(cases))]
    files = [file for file in _FILE.findall(row["test_patch"]) if not file.endswith(_NOT_TESTS)]
    if row.get("repo") != "django/django":
        return files
    return [file.removesuffix(".py").removeprefix("tests/").replace("/", ".") for file in files]
