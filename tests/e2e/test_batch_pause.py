"""A batch whose key is rejected midway starts no further task, and the same command resumes once the key works."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Callable

import pytest
from host import Result
from loopback import KEY, Failure, LoopbackOpenAI
from repos import Repo, sample_repo
from runs import ANALYSE_2, CALLS, ISSUE, SCRIPT, contents, read_json, script_lines

RunHost = Callable[..., Result]
Serve = Callable[..., LoopbackOpenAI]

TASKS = ["brook__bill-1", "brook__bill-2", "brook__bill-3", "brook__bill-4"]
REFUSED = {
    401: ("auth", {"message": f"wrong key {KEY}", "code": "invalid_api_key"}),
    402: ("billing", {"message": "no credit is left", "code": "billing_error"}),
}


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Four tasks of one repository, in tmp_path/repos."""
    repo: Repo = sample_repo(tmp_path / "repos" / "brook" / "bill")
    rows = [
        {
            "instance_id": task,
            "repo": "brook/bill",
            "base_commit": repo.head,
            "problem_statement": ISSUE.read_text("utf-8"),
        }
        for task in TASKS
    ]
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(rows), "utf-8")
    return path


@pytest.fixture
def server(loopback_openai: Serve) -> LoopbackOpenAI:
    """A server that solves four tasks, one after another."""
    return loopback_openai(script_lines() * len(TASKS))


def batch(dataset: Path, out: Path, model: str, *more: object) -> list[object]:
    """The arguments of the batch."""
    repos = dataset.parent / "repos"
    command = ["swe-bench", "--dataset", dataset, "--repos", repos]
    return [*command, "--model", model, "--out", out, "--verify=never", *more]


def done(out: Path) -> list[str]:
    """The tasks whose patches are in preds.jsonl."""
    lines = (out / "preds.jsonl").read_text("utf-8").splitlines()
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return [row["instance_id"] for row in rows if row["model_patch"]]


@pytest.mark.parametrize("status", sorted(REFUSED))
def test_refused_key_pauses_and_the_same_command_goes_on(
    run_host: RunHost, server: LoopbackOpenAI, dataset: Path, tmp_path: Path, status: int
) -> None:
    name, error = REFUSED[status]
    server.fail(Failure("status", status, {}, {"error": error}), at=CALLS + ANALYSE_2)
    out = tmp_path / "out"
    command = batch(dataset, out, server.model)
    first = run_host(*command, env=server.environment).check(3)
    assert len(server.requests) == CALLS + ANALYSE_2 + 1
    assert done(out) == TASKS[:1]
    assert not (out / TASKS[2]).exists()
    last = first.err.splitlines()[-1]
    assert "paused; 2 tasks not begun; rerun the same command to resume" in last
    assert f"{name}: model '{server.model}'" in last
    second = run_host(*command, env=server.environment).check()
    assert len(server.requests) == len(TASKS) * CALLS + 1
    assert done(out) == TASKS
    assert "paused" not in second.err
    found = contents(out).items()
    assert [path for path, data in found if KEY.encode() in data] == []
    assert KEY not in first.err + first.out + second.err


def test_pause_stops_the_tasks_that_run_beside(
    run_host: RunHost, server: LoopbackOpenAI, dataset: Path, tmp_path: Path
) -> None:
    """With two tasks at a time, the one that was not rejected stops at its next call and sends no request."""
    refused = Failure("status", 401, {}, {"error": REFUSED[401][1]})
    server.fail(refused, at=0)
    server.seconds = 1  # otherwise it may finish before it notices the pause
    out = tmp_path / "out"
    command = batch(dataset, out, server.model, "--jobs", 2)
    result = run_host(*command, env=server.environment).check(3)
    assert "paused; " in result.err
    assert done(out) == []
    assert len(server.requests) < CALLS
    server.violations.clear()


def test_all_repositories_are_looked_for_before_the_first_task(
    run_host: RunHost, loopback_openai: Serve, dataset: Path, tmp_path: Path
) -> None:
    server = loopback_openai(SCRIPT)
    rows = json.loads(dataset.read_text("utf-8"))
    rows += [rows[0] | {"instance_id": f"gone-{n}", "repo": f"gone/{n}"} for n in (1, 1, 2)][1:]
    dataset.write_text(json.dumps(rows), "utf-8")
    command = batch(dataset, tmp_path / "out", server.model)
    said, *commands = run_host(*command, env=server.environment).check(2).err.splitlines()
    assert "find a repository of 'gone/1' and 1 more" in said and "owner+name, owner__name" in said
    assert [line.split(" '")[0] for line in commands] == [
        f"    git clone https://github.com/gone/{n}.git" for n in (1, 2)
    ]
    assert not server.requests and not (tmp_path / "out").exists()


def test_second_model_saves_the_batch(run_host: RunHost, loopback_openai: Serve, dataset: Path, tmp_path: Path) -> None:
    """A key is rejected, but there is a fallback model: every task is solved, and the first model is called once,
    although one task fails for another reason in between.
    """
    server = loopback_openai(SCRIPT)
    rows = json.loads(dataset.read_text("utf-8"))
    rows.insert(1, rows[0] | {"instance_id": "gone__gone-1", "base_commit": "0" * 40})
    dataset.write_text(json.dumps(rows), "utf-8")
    server.fail(Failure("status", 401, {}, {"error": REFUSED[401][1]}), at=0)
    script = f"script:{SCRIPT}"
    out = tmp_path / "out"
    command = batch(dataset, out, server.model, "--fallback-model", script)
    result = run_host(*command, env=server.environment).check(3)
    assert "paused" not in result.err
    assert len(server.requests) == 1
    assert done(out) == TASKS
    options = read_json(out / TASKS[0] / "meta.json")["options"]
    assert options["fallback_model"] == script


@pytest.mark.parametrize("status", [0, 200, 404, 500])
def test_a_server_that_only_fails_pauses_the_batch(
    run_host: RunHost, server: LoopbackOpenAI, dataset: Path, tmp_path: Path, status: int
) -> None:
    """Three tasks in a row get no answer; the fourth is not tried. Nobody reaches the server of status 0; that of
    status 200 is none of a model.
    """
    wrong = {"error": {"message": "there is no such model"}}
    server.fail(*[Failure("garbage") if status == 200 else Failure("status", status, {}, wrong)] * 60)
    if not status:
        server.stop()
    env = {**server.environment, "ACR_RETRY_BASE_MS": "1"}
    command = batch(dataset, tmp_path / "out", server.model, "--jobs", 1, "--max-cost", 500)
    paused = run_host(*command, env=env).check(3)
    assert "paused; 1 task not begun; rerun the same command to resume: 3 tasks in a row" in paused.err
    assert ("; tried 5 times" in paused.err or status in (200, 404)) and not (tmp_path / "out" / TASKS[3]).exists()
    rows = map(json.loads, (tmp_path / "out" / "shared" / "ledger.jsonl").read_text("utf-8").splitlines())
    charged = -(-sum(row["pico"] for row in rows if "settle" in row) // 10**6)
    line = f"{charged / 1e6:.6f} USD charged ({charged / 1e6:.6f} USD of it for calls without an answer)"
    assert (charged > 0) == (line in paused.progress) == bool(status)
    assert any(re.match(rf"failed +3 +{charged / 1e6:.6f} ", told) for told in paused.progress), paused.err
    totals = json.loads((tmp_path / "out" / "summary.json").read_text())["totals"]
    told = json.loads(run_host("report", tmp_path / "out", "--json").check().out)
    assert totals["charged_microusd"] == told["charged_microusd"] == charged
    (tmp_path / "out" / "summary.json").unlink()
    state = json.loads(run_host("watch", tmp_path / "out", "--once", "--json").out)
    assert state["spent"]["charged_microusd"] == charged
