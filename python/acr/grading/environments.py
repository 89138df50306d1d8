"""Runs a task's tests without a container: defines its environment and a script that needs neither conda nor a commit.

A recipe is an object: its "repo" and "versions" (or "tasks", the ids to which it is limited), "python" (major.minor),
"pip" (pinned packages), "install" (a shell command in the project's folder, without network; see install_of), "test"
(the test command), "env" (its variables), "exclude" (a pattern of tests that cannot pass on a bare machine).
`environments.json` has the built-in recipes; the user's recipes come first.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import shlex
import sys
from pathlib import Path

from acr.grading.rules import FAIL_TO_PASS, PASS_TO_PASS, expected
from acr.grading.scripts import UnknownProject, changed_files, put_tests, tell_exit_code, test_lines

KEPT = "/tmp/kept"  # keeps the test files as they are before the patch


@functools.cache
def built_in_recipes() -> list[dict]:
    """The recipes that come with the program."""
    return json.loads(Path(__file__).with_name("environments.json").read_text(encoding="utf-8"))


def fault_of(recipes: object) -> str:
    """The first mistake in a user's recipes, in one line, or ""."""
    for number, recipe in enumerate(recipes if isinstance(recipes, list) else [], 1):
        fault = _fault(recipe)
        if fault:
            return f"recipe {number} {fault}"
    return "" if isinstance(recipes, list) else "the file is not a list of recipes"


def _fault(recipe: object) -> str:
    if not isinstance(recipe, dict):
        return "is not an object"
    unknown = [field for field in recipe if field not in _FIELDS]
    if unknown:
        return f'has an unknown field "{unknown[0]}" (known: {", ".join(_FIELDS)})'
    missing = [field for field in ("repo", "python", "pip", "test") if field not in recipe]
    if "versions" not in recipe and "tasks" not in recipe:
        missing.append("versions")
    if missing:
        return "has no " + ", ".join(f'"{field}"' for field in missing)
    for field, value in recipe.items():
        said, is_right = _FIELDS[field]
        if not is_right(value):
            return f'has a "{field}" that is not {said}'
    return ""


def _is_text(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_variables(value: object) -> bool:
    return isinstance(value, dict) and all(
        re.fullmatch(r"[A-Za-z_]\w*", name) is not None and _is_text(at) for name, at in value.items()
    )


def _is_pattern(value: object) -> bool:
    try:
        return _is_text(value) and re.compile(value) is not None
    except re.error:
        return False


def _is_python(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\d+\.\d+(\.\d+)?", value) is not None


_FIELDS = {
    "repo": ("a string", _is_text),
    "versions": ("a list of strings", _are_texts),
    "tasks": ("a list of strings", _are_texts),
    "python": ("a version such as 3.9", _is_python),
    "pip": ("a list of strings", _are_texts),
    "install": ("a string", _is_text),
    "test": ("a string", _is_text),
    "env": ("an object of strings", _are_variables),
    "exclude": ("a regular expression", _is_pattern),
}


def recipe_of(row: dict, own: list[dict]) -> dict:
    """The recipe for a row; a recipe for the task takes precedence over a recipe for the version. Raises UnknownProject."""
    if row.get("set") == "Harbor":
        raise UnknownProject("the verifier of a Harbor task runs only in its container; use --sandbox container")
    matching = [recipe for recipe in [*own, *built_in_recipes()] if recipe["repo"] == row.get("repo")]
    for recipe in matching:
        if row["instance_id"] in recipe.get("tasks", ()):
            return recipe
    for recipe in matching:
        if "tasks" not in recipe and row.get("version") in recipe["versions"]:
            return recipe
    if row.get("runs"):
        return _own_recipe(row)
    name, also = f"{row.get('repo')} {row.get('version', '')}", "" if "version" in row else '"version" to the row, and '
    raise UnknownProject(f"there is no environment for {name.strip()}; add {also}one with --environments")


def _own_recipe(row: dict) -> dict:
    """The recipe that a row of another data set contains. No network access while the project is installed."""
    given = row.get("environment") or {}
    install = re.sub(r"\bpip install\b", "pip install --no-deps --no-build-isolation", given.get("install") or "")
    python = re.match(r"\d+\.\d+", str(given.get("python") or ""))
    packages = given.get("pip") or []
    packages += [] if any(at.startswith("pytest") for at in packages) else ["pytest"]
    return {
        "repo": row.get("repo"),
        "python": python[0] if python else "{}.{}".format(*sys.version_info[:2]),
        "pip": list(dict.fromkeys(packages)),
        "install": re.sub(r"(-e\s*\.|\s\.)\[[^\]]*\]", r"\1", install),
        "test": "",
    }


def key_of(recipe: dict) -> str:
    """The name of the environment; recipes with the same Python and packages share it."""
    return hashlib.sha256(json.dumps([recipe["python"], recipe["pip"]]).encode()).hexdigest()[:32]


def install_of(row: dict, recipe: dict) -> str:
    """The command that installs the project; "{version}" in a recipe becomes the row's version, because git is not
    available."""
    return recipe.get("install", "").replace("{version}", str(row.get("version")))


def kept_files(row: dict) -> list[str]:
    """Test files that are restored after the patch is applied."""
    return changed_files(row["test_patch"])


def script_of(row: dict, recipe: dict, rules: int) -> str:
    """The bash script that runs in the project's folder after the patch."""
    kept = kept_files(row)
    lines = [
        *(f"export {name}={shlex.quote(value)}" for name, value in recipe.get("env", {}).items()),
        *([f"cp -rT {KEPT} ."] if kept else []),
        *put_tests(row, "true", "rm -rf")[0][bool(kept) :],
        *test_lines(row, recipe["test"]),
    ]
    if rules != 4:
        lines = tell_exit_code(lines)
    return "\n".join(["#!/bin/bash", "set -uxo pipefail", *lines]) + "\n"


def test_command(recipe: dict) -> str:
    """The command that runs all tests of the project in that environment."""
    return " ".join(
        [*(f"{name}={shlex.quote(value)}" for name, value in recipe.get("env", {}).items()), recipe["test"]]
    )


def hidden_tests(row: dict) -> list[str]:
    """The tests that must fail without a patch, as a runner names them: unittest's "test (a.b.C)" is "a.b.C.test"."""
    return [re.sub(r"^(\w+) \(([\w.]+)\)$", r"\2.\1", test) for test in expected(row, FAIL_TO_PASS)]


def without_excluded(row: dict, recipe: dict) -> dict:
    """The row, without expected tests that cannot pass on a bare machine; "not_counted" lists these tests, first those of
    FAIL_TO_PASS, whose number is "not_counted_fail_to_pass"."""
    if not recipe.get("exclude"):
        return row
    pattern = re.compile(recipe["exclude"])
    left = {
        key: [test for test in expected(row, key) if not pattern.search(test)] for key in (FAIL_TO_PASS, PASS_TO_PASS)
    }
    first, more = ([test for test in expected(row, key) if test not in left[key]] for key in left)
    told = {"not_counted": first + more, "not_counted_fail_to_pass": len(first)}
    return {**row, **left, **(told if first or more else {})}
