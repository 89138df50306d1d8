"""How a task's tests run without a container: its environment, and a script that needs neither conda nor a commit.

A recipe is an object: "repo" and "versions" that it is for (or "tasks", ids that need it alone), "python" (major.minor),
"pip" (pinned packages), "install" (a shell command in the project's folder, without network), "test" (the test command),
"env" (variables of it), "exclude" (a pattern of tests that cannot pass on a bare machine). `environments.json` holds
those that come with the program; a user's own come first.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import shlex
from pathlib import Path

from acr.grading.rules import END, FAIL_TO_PASS, PASS_TO_PASS, START, expected
from acr.grading.scripts import UnknownProject, added_files, changed_files, delimiter, directives, tell_exit_code, words

KEPT = "/tmp/kept"  # the test files as they were before the patch


@functools.cache
def _recipes() -> list[dict]:
    return json.loads(Path(__file__).with_name("environments.json").read_text(encoding="utf-8"))


def recipe_of(row: dict, own: list[dict]) -> dict:
    """The recipe for a row: one that names the task before one that names its version. Raises UnknownProject."""
    matching = [recipe for recipe in [*own, *_recipes()] if recipe["repo"] == row.get("repo")]
    for recipe in matching:
        if row["instance_id"] in recipe.get("tasks", ()):
            return recipe
    for recipe in matching:
        if "tasks" not in recipe and row.get("version") in recipe["versions"]:
            return recipe
    raise UnknownProject(
        f"there is no environment for {row.get('repo')} {row.get('version')} (add one by --environments)"
    )


def key_of(recipe: dict) -> str:
    """Names the environment: recipes with the same Python and packages share one."""
    return hashlib.sha256(json.dumps([recipe["python"], recipe["pip"]]).encode()).hexdigest()[:32]


def kept_files(row: dict) -> list[str]:
    """Test files that are put back after the patch."""
    return changed_files(row["test_patch"])


def script_of(row: dict, recipe: dict, rules: int) -> str:
    """The bash script that is run in the project's folder after the patch."""
    patch = row["test_patch"]
    added, kept = added_files(patch), kept_files(row)
    lines = [
        *(f"export {name}={shlex.quote(value)}" for name, value in recipe.get("env", {}).items()),
        *([f"cp -rT {KEPT} ."] if kept else []),
        *([f"rm -rf {words(added)}"] if added else []),
        f"git apply -v - <<'{delimiter(patch)}'\n{patch}\n{delimiter(patch)}",
        f": '{START}'",
        f"{recipe['test']} {words(directives(row))}",
        f": '{END}'",
    ]
    if rules != 4:
        lines = tell_exit_code(lines)
    return "\n".join(["#!/bin/bash", "set -uxo pipefail", *lines]) + "\n"


def without_excluded(row: dict, recipe: dict) -> dict:
    """The row, without expected tests that cannot pass on a bare machine."""
    if not recipe.get("exclude"):
        return row
    pattern = re.compile(recipe["exclude"])
    left = {
        key: [test for test in expected(row, key) if not pattern.search(test)] for key in (FAIL_TO_PASS, PASS_TO_PASS)
    }
    return {**row, **left}
