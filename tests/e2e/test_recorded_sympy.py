"""A recorded run of a real issue, sympy__sympy-24152, on its commit, and on a release that replaces the commit.

Needs the recorded data; for the commit, also a folder of repositories, $ACR_REPOS; for the release, the package
registry.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import pytest
from host import Result
from recorded_tools import encoded, environments, tasks, testlogs, trees
from repos import Repo, digest
from runs import journal, read_json

RunHost = Callable[..., Result]

RUN, INSTANCE = "acr-run-1", "sympy__sympy-24152"
RELEASE = "1.11.1"
CHANGED = "sympy/physics/quantum/tensorproduct.py"
PYTHONS = ("3.9", "3.11")
TEST_SECONDS = 300
# A substitute for bin/test, which a source release lacks.
RUN_TESTS = "import sys, sympy; sys.exit(not sympy.test(*sys.argv[1:], verbose=True, subprocess=False))"


@dataclass(frozen=True)
class Recorded:
    """The task, its recorded run, the way to run its tests, and the run as a script."""

    task: tasks.Task
    run: tasks.Run
    entry: dict[str, Any]
    script: Path
    issue: Path


@pytest.fixture(scope="module")
def case(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """The recorded run, with its script and issue written to a folder of this module."""
    folder = tmp_path_factory.mktemp("recorded")
    places = tasks.Places(recorded.parent, folder, folder, 1)
    task = tasks.load_tasks(places)[INSTANCE]
    (run,) = [run for run in tasks.load_runs(places) if (run.run, run.instance_id) == (RUN, INSTANCE)]
    entry = environments.choose_entry(tasks.load_environments(places), task)
    assert entry is not None and run.resolved
    command = [sys.executable, str(places.make_script), "--expect", RUN, INSTANCE]
    command.append(str(recorded / "runs.jsonl"))
    made = subprocess.run(command, capture_output=True, check=True)
    (folder / "script.jsonl").write_bytes(made.stdout)
    (folder / "issue.md").write_text(task.problem_statement, "utf-8")
    return Recorded(task, run, entry, folder / "script.jsonl", folder / "issue.md")


@pytest.fixture(scope="module")
def python(case: Recorded, pinned_python: Callable[..., Path]) -> Path:
    """A Python with sympy's dependencies, of the recorded version or else the system's."""
    for version in PYTHONS:
        try:
            environments.find_python(version)
        except environments.EnvironmentFailure:
            continue
        return pinned_python(case.entry["pip"], version)
    pytest.skip(f"no Python {' or '.join(PYTHONS)} to run sympy's tests with")


@pytest.fixture(scope="module")
def commit_repo(case: Recorded) -> Path:
    """A repository that contains the recorded commit."""
    if not os.environ.get("ACR_REPOS"):
        pytest.skip("no folder of repositories: set ACR_REPOS")
    found = tasks.find_repository(Path(os.environ["ACR_REPOS"]), case.task.repo)
    if not found or not tasks.has_commit(found, case.task.base_commit):
        pytest.skip(f"no {case.task.repo} with {case.task.base_commit} in ACR_REPOS")
    return found


def statuses(checkout: Repo, case: Recorded, python: Path) -> dict[str, str]:
    """Run the task's test file in a checkout; return test -> status."""
    (name,) = [line[6:] for line in case.task.test_patch.splitlines() if line.startswith("+++ b/")]
    words = case.entry["test"].replace("python", str(python), 1).split()
    if not (checkout.path / words[1]).exists():
        words = [str(python), "-c", RUN_TESTS]
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [*words, name],
        cwd=checkout.path,
        env=env | {"PYTHONDONTWRITEBYTECODE": "1"} | case.entry.get("env", {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=TEST_SECONDS,
    )
    found = testlogs.parse_log(case.task.repo, done.stdout.decode("utf-8", "replace"))
    assert found, done.stdout[-3000:]
    return found


def check_diff(diff: bytes, checkout: Repo, case: Recorded) -> None:
    """The change equals the recorded one, and git writes the same bytes."""
    before = (checkout.path / CHANGED).read_bytes()
    checkout.apply(encoded(case.run.final_diff))
    then = (checkout.path / CHANGED).read_bytes()
    assert then != before
    checkout.git("checkout", "-q", "--", ".")
    checkout.apply(diff)
    assert checkout.git("diff", "--name-only") == CHANGED
    assert (checkout.path / CHANGED).read_bytes() == then
    assert checkout.git_bytes("diff", "--full-index") == diff
    checkout.git("checkout", "-q", "--", ".")


def check_tests(diff: bytes, checkout: Repo, case: Recorded, python: Path) -> None:
    """The tests that show the issue fail before and pass after; the others always pass."""
    checkout.apply(encoded(case.task.test_patch))
    before = statuses(checkout, case, python)
    red = {name for name, status in before.items() if status not in ("PASSED", "XFAIL")}
    assert red == set(case.task.fail_to_pass)
    checkout.apply(diff)
    after = statuses(checkout, case, python)
    wanted = {*case.task.fail_to_pass, *case.task.pass_to_pass}
    assert {name: after.get(name) for name in wanted} == dict.fromkeys(wanted, "PASSED")


def resolve(run_host: RunHost, case: Recorded, repo: object, rev: str, out: Path) -> bytes:
    """Run the recorded answers; each search must find the recorded results. Returns the diff."""
    result = run_host(
        *("run", "--verify=never", "--repo", repo, "--rev", rev, "--issue", case.issue, "--out", out),
        *("--model", f"script:{case.script}"),
        timeout=120,
    ).check()
    assert result.err == ""
    places = read_json(out / "attempt_0/search/bug_locations_after_process.json")
    assert (CHANGED, "TensorProduct", "_eval_expand_tensorproduct") in [
        (place["file"], place["class"], place["func"]) for place in places
    ]
    lines = case.script.read_text("utf-8").splitlines()
    assert len(journal(out)) == len(lines), "not every recorded answer was used"
    replay = run_host("replay", out, timeout=120).check()
    assert replay.stdout == result.stdout
    return result.stdout


def test_on_the_recorded_commit(
    run_host: RunHost, case: Recorded, commit_repo: Path, python: Path, tmp_path: Path
) -> None:
    commit = case.task.base_commit
    diff = resolve(run_host, case, commit_repo, commit, tmp_path / "out")
    trees.make_tree(commit_repo, commit, tmp_path / "checkout")
    checkout = Repo(tmp_path / "checkout")
    check_diff(diff, checkout, case)
    check_tests(diff, checkout, case, python)


def test_on_the_source_release(
    run_host: RunHost, case: Recorded, release_repo: Callable[[str, str], Repo], tmp_path: Path
) -> None:
    release = release_repo("sympy", RELEASE)
    before = digest(release.path / ".git")
    diff = resolve(run_host, case, release, "HEAD", tmp_path / "out")
    assert digest(release.path / ".git") == before
    check_diff(diff, release.clone(tmp_path / "checkout"), case)


@pytest.mark.full
def test_the_recorded_change_mends_the_release(
    case: Recorded, release_repo: Callable[[str, str], Repo], python: Path, tmp_path: Path
) -> None:
    """The change that a run must make in `test_on_the_source_release`."""
    checkout = release_repo("sympy", RELEASE).clone(tmp_path / "checkout")
    check_tests(encoded(case.run.final_diff), checkout, case, python)
