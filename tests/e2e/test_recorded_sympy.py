"""A recorded run of a real issue, sympy__sympy-24152, on a release that replaces the commit; test_recorded_runs has
the commits. Needs the recorded data and the package registry."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import pytest
from host import Result
from recorded_tools import encoded, tasks
from repos import Repo, digest
from runs import journal, read_json

RunHost = Callable[..., Result]

RUN, INSTANCE = "acr-run-1", "sympy__sympy-24152"
RELEASE = "1.11.1"
CHANGED = "sympy/physics/quantum/tensorproduct.py"


@dataclass(frozen=True)
class Recorded:
    """The recorded run, its script and its issue."""

    run: tasks.Run
    script: Path
    issue: Path


@pytest.fixture(scope="module")
def case(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """The recorded run, with its script and issue written to a folder of this module."""
    folder = tmp_path_factory.mktemp("recorded")
    places = tasks.Places(recorded.parent, folder, folder, 1)
    task = tasks.load_tasks(places)[INSTANCE]
    (run,) = [run for run in tasks.load_runs(places) if (run.run, run.instance_id) == (RUN, INSTANCE)]
    assert run.resolved
    command = [sys.executable, str(places.make_script), "--expect", RUN, INSTANCE]
    command.append(str(recorded / "runs.jsonl"))
    made = subprocess.run(command, capture_output=True, check=True)
    (folder / "script.jsonl").write_bytes(made.stdout)
    (folder / "issue.md").write_text(task.problem_statement, "utf-8")
    return Recorded(run, folder / "script.jsonl", folder / "issue.md")


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


def test_on_the_source_release(
    run_host: RunHost, case: Recorded, release_repo: Callable[[str, str], Repo], tmp_path: Path
) -> None:
    release = release_repo("sympy", RELEASE)
    before = digest(release.path / ".git")
    diff = resolve(run_host, case, release, "HEAD", tmp_path / "out")
    assert digest(release.path / ".git") == before
    check_diff(diff, release.clone(tmp_path / "checkout"), case)
