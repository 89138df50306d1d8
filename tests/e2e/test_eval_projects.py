"""Grades real tasks from end to end on two real engines, which must give the same reports.

The projects are a pure one, one with a C extension that is recompiled before its tests, and one with its own test
runner. The rows are those of version 4, without image and script, except for the C extension's; `eval` builds the
images from Dockerfiles based on a root of Debian packages.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import packages
import pytest
import sandboxes
from graded import lines
from host import Host
from recorded_tools import tasks
from repos import Repo

pytestmark = pytest.mark.full

RECORDED = ["pallets__flask-5063", "sympy__sympy-24909"]
COMPILED = "pallets__markupsafe-1"
BASE = "acr-host-test/debian"
DEBIAN = "python3-dev python3-pip python3-pytest python-is-python3 gcc libc6-dev git patch"
DEBIAN += (
    " python3-mpmath python3-werkzeug python3-jinja2 python3-click python3-itsdangerous python3-blinker python3-dotenv"
)
ACTIVATE = "conda() { :; }\n"
# The error in a C extension, and its test.
RIGHT, WRONG = "= 'g';", "= 'l';"
TEST = '\n\ndef test_greater(escape):\n    assert escape("<>") == Markup("&lt;&gt;")\n'
SCRIPT = """#!/bin/bash
set -uxo pipefail
cd /testbed
git checkout {base} tests/test_markupsafe.py
git apply -v - <<'EOF_114329324912'
{patch}EOF_114329324912
python setup.py --quiet build_ext --inplace --force
: '>>>>> Start Test Output'
PYTHONPATH=src pytest -rA -p no:cacheprovider tests/test_markupsafe.py
: '>>>>> End Test Output'
git checkout {base} tests/test_markupsafe.py
"""


def diff(path: str, before: str, after: str) -> str:
    """The change of a file as git writes it."""
    changed = difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{path}", f"b/{path}")
    return f"diff --git a/{path} b/{path}\n{''.join(changed)}"


def compiled(folder: Path) -> tuple[dict[str, Any], Repo]:
    """A task whose fix is in C code, and its repository."""
    repo = packages.release_repo("markupsafe", "2.1.1").clone(folder / "markupsafe")
    source, tests = "src/markupsafe/_speedups.c", "tests/test_markupsafe.py"
    right, known = ((repo.path / path).read_text() for path in (source, tests))
    wrong = right.replace(RIGHT, WRONG)
    assert wrong != right
    base = repo.commit({source: wrong})
    test_patch = diff(tests, known, known + TEST)
    row = {"instance_id": COMPILED, "repo": "pallets/flask", "version": "2.3", "base_commit": base}
    row |= {"patch": diff(source, wrong, right), "test_patch": test_patch, "log_parser": "parse_log_pytest"}
    row |= {"FAIL_TO_PASS": ["tests/test_markupsafe.py::test_greater[markupsafe._speedups]"], "PASS_TO_PASS": []}
    row["PASS_TO_PASS"] = ["tests/test_markupsafe.py::test_greater[markupsafe._native]"]
    row |= {"eval_type": "pass_and_fail", "eval_script": SCRIPT.format(base=base, patch=test_patch)}
    return row, repo


def write_context(repository: Path, commit: str, folder: Path) -> None:
    """A Dockerfile for a task, and its project at its commit, without later commits."""
    project = folder / "project"
    project.mkdir(parents=True)
    serve = "git -c uploadpack.allowAnySHA1InWant=true upload-pack"
    fetch = ["fetch", "-q", "--depth", "1", "--upload-pack", serve, f"file://{repository.resolve()}", commit]
    for command in (["init", "-q"], fetch, ["checkout", "-q", "FETCH_HEAD"]):
        subprocess.run(["git", *command], cwd=project, check=True)
    subprocess.run(["tar", "-cf", folder / "testbed.tar", "-C", project, "."], check=True)
    shutil.rmtree(project)
    text = f"FROM {BASE}\nADD testbed.tar /testbed/\nWORKDIR /testbed\n"
    text += "ENV PIP_NO_INDEX=1 PIP_NO_BUILD_ISOLATION=0 PIP_BREAK_SYSTEM_PACKAGES=1 HOME=/root LANG=C.UTF-8\n"
    (folder / "Dockerfile").write_text(f"{text}RUN python -m pip install --no-deps -q -e .\n")


@pytest.fixture(scope="module")
def rows(recorded: Path, files: Path) -> list[dict[str, Any]]:
    """The tasks; fills the folder of their Dockerfiles."""
    if not os.environ.get("ACR_REPOS"):
        pytest.skip("no folder of repositories: set ACR_REPOS")
    known = [json.loads(line) for line in (recorded / "tasks.jsonl").read_text().splitlines()]
    found = [row for row in known if row["instance_id"] in RECORDED]
    for row in found:
        repository = tasks.find_repository(Path(os.environ["ACR_REPOS"]), row["repo"])
        if not repository:
            pytest.skip(f"no {row['repo']} in ACR_REPOS")
        write_context(Path(repository), row["base_commit"], files / row["instance_id"])
    row, repo = compiled(files.parent)
    write_context(repo.path, row["base_commit"], files / COMPILED)
    return [*found, row]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("material") / "files"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of Debian packages, with the effects of their scripts."""
    if not shutil.which("mmdebstrap"):
        pytest.skip("mmdebstrap is not installed")
    folder = tmp_path_factory.mktemp("root")
    (folder / "activate").write_text(ACTIVATE)
    hooks = ["--customize-hook=mkdir -p $1/opt/miniconda3/bin $1/testbed"]
    hooks.append(f"--customize-hook=copy-in {folder}/activate /opt/miniconda3/bin")
    command = ["mmdebstrap", "--quiet", "--variant=apt", f"--include={DEBIAN.replace(' ', ',')}", *hooks]
    done = subprocess.run([*command, "bookworm", folder / "root.tar"], capture_output=True, check=False, text=True)
    if done.returncode:
        pytest.skip(f"no root can be made of Debian's packages: {done.stderr.strip()[-300:]}")
    return folder / "root.tar"


def grade(engine: sandboxes.Engine, host: Host, folder: Path, files: Path) -> dict[str, Any]:
    """The results of an engine's run for each prediction: the final report, and each task's report.json."""
    reports: dict[str, Any] = {}
    for which in ("gold", "empty"):
        out = folder / f"{engine.folder.name}-{which}"
        command = ["eval", "--dataset", folder / "dataset.jsonl", "--predictions", which, "--run-id", "x", "--out", out]
        command += ["--dockerfiles", files, "--jobs", "2", "--no-pull"]
        env = {"DOCKER_HOST": f"unix://{engine.socket}"}
        host.run(*map(str, command), env=env, timeout=1500).check()
        reports[which] = json.loads((out / f"{which}.x.json").read_text())
        for path in sorted(out.rglob("report.json")):
            reports[f"{which} {path.parent.name}"] = json.loads(path.read_text())
    return reports


def test_three_projects_have_the_same_reports_on_both_engines(
    host: Host, tmp_path: Path, rows: list[dict[str, Any]], root: Path, files: Path
) -> None:
    lines(tmp_path / "dataset.jsonl", rows)
    here = [name for name in ("podman", "dockerd") if not sandboxes.missing_for(name)]
    if not here:
        pytest.skip("there is no engine")
    reports = {}
    for name in here:
        engine = sandboxes.start(name, tmp_path / name, {BASE: root})
        try:
            before = engine.images()
            reports[name] = grade(engine, host, tmp_path, files)
            assert (engine.images(), engine.containers()) == (before, [])
        finally:
            engine.stop()
    first = reports[here[0]]
    tasks = sorted([*RECORDED, COMPILED])
    assert (first["gold"]["resolved_ids"], first["gold"]["unresolved_ids"]) == (tasks, [])
    assert first["empty"]["empty_patch_ids"] == tasks or first["empty"]["unresolved_ids"] == tasks
    for report in reports.values():
        assert report == first
    if len(here) < 2:
        pytest.skip(f"only {here[0]} is here: as wanted there, but compared with nothing")
