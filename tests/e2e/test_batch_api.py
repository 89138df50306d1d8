"""`swe-bench --batch-api`: the next calls of all tasks form one batch, at half the price; no answer is lost or paid twice."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from batching import KEY, BatchServer
from host import SLOWNESS, Host
from repos import Repo, sample_repo
from runs import ISSUE

USAGE, CEILING = 2, 4
TASKS = ["brook__bill-1", "brook__bill-2"]
MODELS = {"openai": "openai/gpt-4.1-mini", "anthropic": "anthropic/claude-haiku-4-5"}


class Bench:
    """Two tasks of the sample, and a command that runs them."""

    def __init__(self, host: Host, folder: Path) -> None:
        self.host, self.out = host, folder / "out"
        sample_repo(folder / "repos" / "brook" / "bill")
        head = Repo(folder / "repos" / "brook" / "bill").head
        issue = ISSUE.read_text("utf-8")
        rows = [
            {"instance_id": n, "repo": "brook/bill", "base_commit": head, "problem_statement": f"{issue}\n{n}\n"}
            for n in TASKS
        ]
        dataset = folder / "tasks.jsonl"
        dataset.write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.command: list[object] = [
            "swe-bench", "-d", dataset, "-r", folder / "repos", "-o", self.out, "--verify=never", "--jobs", 2, "--batch-api",
        ]  # fmt: skip

    def arguments(self, server: BatchServer, *more: object) -> list[object]:
        return [*self.command, "--model", MODELS[server.kind], *more]

    def patches(self) -> dict[str, str]:
        rows = [json.loads(line) for line in (self.out / "preds.jsonl").read_text().splitlines()]
        return {row["instance_id"]: row["model_patch"] for row in rows}

    def costs(self) -> list[Any]:
        return [json.loads((self.out / name / "cost.json").read_text())["total"] for name in TASKS]


@pytest.fixture
def bench(host: Host, tmp_path: Path) -> Bench:
    return Bench(host, tmp_path)


def quick(server: BatchServer, scale: int = 10) -> dict[str, str]:
    """Shortens waits: a step takes `scale` milliseconds instead of a second."""
    return server.environment | {"ACR_RETRY_BASE_MS": str(scale)}


ONE = ("--instance", TASKS[0])


def check_paid_once(bench: Bench, server: BatchServer, again: int = 0) -> None:
    """Every task has its patch; no call except `again` was sent in two batches; each call costs half."""
    assert server.violations == []
    assert all("seasonal.py" in patch for patch in bench.patches().values())
    assert len(server.sent()) - again == len(set(server.sent()))
    costs = [json.loads(file.read_text())["total"] for file in bench.out.glob("*/cost.json")]
    assert sum(cost["calls"] for cost in costs) == len(set(server.sent())) + server.singles
    for cost in costs:
        assert cost["unknown_cost_calls"] == 0 and cost["charged_microusd"] == cost["cost_microusd"]
        if not server.singles:
            assert abs(cost["standard_microusd"] - 2 * cost["cost_microusd"]) <= 2 * cost["calls"]


@pytest.mark.parametrize("kind", MODELS)
def test_calls_of_all_tasks_are_pooled(bench: Bench, kind: str) -> None:
    with BatchServer(kind) as server:
        result = bench.host.run(*bench.arguments(server), env=quick(server, 80)).check()
    check_paid_once(bench, server)
    assert server.singles == 0 and len(bench.patches()) == 2 and len(server.batches) < len(server.sent())
    assert KEY not in (bench.out / "shared" / "batches.jsonl").read_text()
    assert any("1 of 1 calls answered" in line or "2 of 2 calls answered" in line for line in result.progress)


@pytest.mark.parametrize(
    ("kind", "manner", "again"),
    [
        ("openai", "reordered", 0),
        ("openai", "twice", 0),
        ("anthropic", "slow", 0),
        ("openai", "lost", 1),
        ("anthropic", "lost", 1),
        ("openai", "expired", 1),
        ("openai", "failing", 1),
        ("anthropic", "failing", 1),
        ("openai", "silent", 0),
        ("anthropic", "silent", 0),
    ],
)
def test_no_answer_is_lost(bench: Bench, kind: str, manner: str, again: int) -> None:
    """A call without an answer is sent again in the next batch; a batch whose creation got no response is found again."""
    with BatchServer(kind, manner) as server:
        bench.host.run(*bench.arguments(server, *ONE), env=quick(server)).check()
    check_paid_once(bench, server, again)
    assert server.singles == 0


@pytest.mark.parametrize("kind", MODELS)
def test_without_batches_the_standard_interface_is_asked(bench: Bench, kind: str) -> None:
    with BatchServer(kind, "refusing") as server:
        result = bench.host.run(*bench.arguments(server, *ONE), env=quick(server)).check()
    check_paid_once(bench, server)
    assert server.singles > 0 and server.batches == []
    assert any("could not be sent" in line and "no batches here" in line for line in result.progress)


def test_a_refused_key_stops_the_batch(bench: Bench) -> None:
    with BatchServer("openai") as server:
        result = bench.host.run(*bench.arguments(server), env=quick(server) | {"OPENAI_API_KEY": "sk-wrong"}).check(3)
    assert "paused" in result.err and server.batches == []


def test_the_ceiling_holds_against_a_server_that_lies(bench: Bench) -> None:
    """A call is reserved before it is pooled, and an impossible usage is not believed."""
    with BatchServer("openai", "lying") as server:
        bench.host.run(*bench.arguments(server, "--max-cost", "0.05"), env=quick(server)).check(CEILING)
    lines = [json.loads(line) for line in (bench.out / "shared" / "ledger.jsonl").read_text().splitlines()]
    assert server.batches and sum(line.get("spent_pico", 0) for line in lines) <= 0.05e12


@pytest.mark.parametrize("kind", MODELS)
def test_killed_and_resumed(bench: Bench, kind: str) -> None:
    """Earlier batches are polled, not sent again; results that arrived are read from the file."""
    with BatchServer(kind) as server:
        for most in (1, 3, 6):
            process = bench.host.start(*bench.arguments(server, *ONE), env=quick(server))
            until = time.monotonic() + 60 * SLOWNESS
            while len(server.batches) < most and time.monotonic() < until:
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            process.wait()
        bench.host.run(*bench.arguments(server, *ONE), env=quick(server)).check()
    assert server.violations == [] and "seasonal.py" in bench.patches()[TASKS[0]]
    assert len(server.sent()) == len(set(server.sent())) and server.singles == 0


def test_options(bench: Bench) -> None:
    with BatchServer("openai") as server:
        bench.host.run(*bench.arguments(server, "--service-tier", "flex")).one_line(
            USAGE, "--batch-api", "--service-tier"
        )
    result = bench.host.run(*bench.command, "--model", "gemini/gemini-2.5-flash", env={"GEMINI_API_KEY": "x"}).check(3)
    assert "cannot be called with --batch-api" in result.err
