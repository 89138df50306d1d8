"""Ceilings hold across processes, lying servers and kills; a resumed run counts earlier costs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any, Callable, NamedTuple

import pytest
from fewer import usually
from host import SLOWNESS, Host
from hostile import stop_in_call
from loopback import LoopbackOpenAI
from lying import PICO, USAGES, LyingServer
from repos import Repo

MODEL = "openai/gpt-4.1"
PRICE = (2, 8)  # the model's prices, in USD per million tokens
LIMIT = 100
TEXT = "word " * 40
ENV = {"OPENAI_API_KEY": "sk-test-0123456789abcdef", "ACR_RETRY_BASE_MS": "1"}


def usd(pico: int) -> str:
    """An amount in the form of --max-cost, exact."""
    return f"{pico // PICO}.{pico % PICO:012d}"


def env_of(server: LyingServer) -> dict[str, str]:
    """The variables of a run or a batch against the server."""
    return {**ENV, "OPENAI_BASE_URL": server.base_url}


class Ledger:
    """The contents of a ledger file."""

    def __init__(self, path: Path) -> None:
        self.reserved: dict[str, int] = {}
        self.stale: dict[str, int] = {}
        self.spent = self.reservations = 0
        for line in path.read_text().splitlines()[1:]:
            self._read(json.loads(line))
        self.spent += sum(self.stale.values())

    def _read(self, record: dict[str, Any]) -> None:
        if "reserve" in record:
            self.reservations += 1
            self.reserved[record["reserve"]] = record["pico"]
        elif "stale" in record:
            self.stale[record["stale"]] = self.reserved.pop(record["stale"])
        else:
            del self.reserved[record["settle"]]
            self.spent += record["pico"]


def ask(server: LyingServer, cap: int, *more: object) -> list[object]:
    """The arguments of one call under the ceiling `cap` (pico-USD) with the server's ledger."""
    return [
        *("ask", "--model", MODEL, "--base-url", server.base_url, "--json"),
        *("--ledger", server.ledger, "--max-cost", usd(cap), "--max-tokens", LIMIT),
        *more,
        TEXT,
    ]


def _end(child: subprocess.Popen[bytes]) -> int:
    child.communicate(timeout=120 * SLOWNESS)
    return child.returncode


def _wait_for_request(server: LyingServer, child: subprocess.Popen[bytes]) -> None:
    while child.poll() is None and not server.arrived.acquire(timeout=0.02):
        pass


def _worst_case(host: Host, folder: Path) -> int:
    """The amount that one such call reserves."""
    ledger = folder / "one.jsonl"
    with LyingServer(["500"], ledger, PRICE) as server:
        refused = host.run(*ask(server, PICO, "--retries", 0), env=ENV).check(3)
        assert " USD charged, because 127.0.0.1:" in refused.rows()[0]["error"]["message"]
        return server.billable


def test_a_call_is_made_to_fit_or_refused(host: Host, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    with LyingServer(["no usage"], ledger, PRICE) as server:
        wide = [*("--max-tokens", "100000")]
        cap = 2000 * 8 * 10**6  # less than 2,000 tokens of answer
        host.run(*ask(server, cap, *wide), env=ENV).check()
        assert 0.99 * cap < server.billable <= cap
        refused = host.run(*ask(server, cap, *wide), env=ENV).check(4)
        assert refused.rows()[0]["error"]["class"] == "ceiling"
        assert refused.rows()[0]["error"]["attempts"] == 0
        assert server.received == 1


@pytest.mark.parametrize("lie", usually([*list(USAGES)[::8], "no usage"], [*USAGES, "no usage", "null usage"]))
def test_what_a_server_says_and_cannot_be_counts_for_what_was_reserved(host: Host, tmp_path: Path, lie: str) -> None:
    """Calls with impossible counts cannot exceed the ceiling: three fit, and the fourth is not sent."""
    ledger = tmp_path / "ledger.jsonl"
    one = _worst_case(host, tmp_path)
    with LyingServer([lie], ledger, PRICE) as server:
        exits = [host.run(*ask(server, one * 7 // 2), env=ENV).exit for _ in range(3)]
        wide = Ledger(ledger)
        refused = host.run(*ask(server, wide.spent), env=ENV).check(4)
    assert exits == [0, 0, 0] and wide.spent == 3 * one, (exits, wide.spent, one)
    assert server.received == 3 and refused.rows()[0]["error"]["class"] == "ceiling"
    assert server.billable == wide.spent


def test_tokens_have_a_ceiling_of_their_own(host: Host, tmp_path: Path) -> None:
    with LyingServer(["no usage"], tmp_path / "l", PRICE) as server:
        tokens = ["--max-tokens-total", "1500"]
        exits = [host.run(*ask(server, PICO, *tokens), env=ENV).exit for _ in range(5)]
    assert exits[0] == 0 and exits[-1] == 4, exits
    assert server.received * LIMIT < 1500


# ---- Runs and batches


class HonestRun(NamedTuple):
    """A run of the sample's issue with an honest server: its arguments and its folder."""

    server: LoopbackOpenAI
    command: list[Any]
    out: Path


@pytest.fixture
def honest(
    loopback_openai: Callable[..., LoopbackOpenAI], sample: Path, sample_repo: Repo, tmp_path: Path
) -> HonestRun:
    """A run that has not begun."""
    server, out = loopback_openai(sample / "answers.jsonl"), tmp_path / "out"
    command = [
        *("run", "--verify=never", "--repo", sample_repo.path, "--issue", sample / "issue.md"),
        *("--out", out, "--model", server.model, "--verify=never"),
    ]
    return HonestRun(server, command, out)


def test_a_run_stops_at_its_ceiling_and_goes_on_with_a_higher_one(
    host: Host, honest: HonestRun, tmp_path: Path
) -> None:
    server, command, out = honest
    stopped = host.run(*command, "--max-tokens-total", 12000, env=server.environment)
    assert "of the run reached" in stopped.check(4).err
    asked = len(server.requests)
    assert asked > 0
    away = (out / "ledger.jsonl").rename(tmp_path / "away")
    lost = host.run(*command, "--max-tokens-total", 10**7, env=server.environment)
    lost.one_line(3, "ledger.jsonl")
    away.rename(out / "ledger.jsonl")
    again = host.run(*command, "--max-tokens-total", 12000, env=server.environment)
    assert "of the run reached" in again.check(4).err
    assert len(server.requests) == asked
    done = host.run(*command, "--max-tokens-total", 10**7, env=server.environment).check()
    assert done.stdout
    assert " out, cost unknown, " in done.err, done.err  # the counts are plausible; the price is not known
    state = Ledger(out / "ledger.jsonl")
    assert not state.reserved and state.reservations == len(server.requests)
    replayed = host.run("replay", out).check()
    assert replayed.stdout == done.stdout
    assert "from the recorded run; nothing was sent" in replayed.err
    total = json.loads((out / "cost.json").read_text())["total"]
    assert total["calls"] == len(server.requests)


def test_an_interrupted_call_counts_and_every_sum_says_so(host: Host, honest: HonestRun) -> None:
    """The message, the last line, the files of the interrupted run and the refusal name what the ledger has."""
    server, command, out = honest
    stopped = stop_in_call(host, server, 3, command, signal.SIGINT)
    ledger = Ledger(out / "ledger.jsonl")
    lost = next(json.loads(line) for line in (out / "ledger.jsonl").read_text().splitlines()[-1:])["pico"]
    charged, part = -(-ledger.spent // 10**6), -(-lost // 10**6)
    assert f"the interrupted call counts as its maximum, {part / 1e6:.6f} USD, because" in stopped.err
    assert f"{charged / 1e6:.6f} USD charged ({part / 1e6:.6f} USD of it for calls without an answer)" in stopped.err
    total = json.loads((out / "cost.json").read_text())["total"]
    assert (total["charged_microusd"], total["unanswered_microusd"]) == (charged, part)
    refused = host.run(*command, "--max-cost", usd(ledger.spent), env=server.environment).check(4)
    assert f"spent ({part / 1e6:g} USD of it for calls that were cut off" in refused.err
    server.stop()
    server._failures.clear()
    server.start()
    done = host.run(*command, env=server.environment).check()
    spent = -(-Ledger(out / "ledger.jsonl").spent // 10**6)
    for name in ("cost.json", "result.json"):  # the files of a finished run do not depend on interruptions
        made = json.loads((out / name).read_text())
        total = made.get("total") or made["cost"]
        assert total["charged_microusd"] in range(spent - part - 1, spent - part + 2), name
        assert "unanswered_microusd" not in total
    assert f"{spent / 1e6:.6f} USD charged ({part / 1e6:.6f} USD of it for calls without an answer)" in done.err
    host.run("replay", out).check()


def test_the_time_of_a_run_is_over(host: Host, sample: Path, sample_repo: Repo, tmp_path: Path) -> None:
    ledger = tmp_path / "out" / "ledger.jsonl"
    with LyingServer(["hang"], ledger, PRICE) as server:
        command = [
            *("run", "--verify=never", "--repo", sample_repo.path, "--issue", sample / "issue.md"),
            *("--out", tmp_path / "out", "--model", MODEL, "--verify=never"),
            *("--max-time", 1.5 * SLOWNESS),
        ]
        ended = host.run(*command, env=env_of(server)).check(4)
        assert server.received == 1
    assert "time" in ended.err
    assert (tmp_path / "out" / "patch.diff").read_bytes() == b""
    assert Ledger(ledger).spent > 0  # it is unknown whether it was billed


def batch(repo: Repo, sample: Path, folder: Path, tasks: int) -> list[Any]:
    """The arguments of a batch of that many tasks, each with the sample's issue."""
    dataset, repos = folder / "tasks.jsonl", folder / "repos" / "o"
    row = {"repo": f"o/{repo.path.name}", "base_commit": "HEAD", "problem_statement": (sample / "issue.md").read_text()}
    rows = [json.dumps({"instance_id": f"task-{n}", **row}) for n in range(tasks)]
    dataset.write_text("\n".join(rows))
    repos.mkdir(parents=True)
    (repos / repo.path.name).symlink_to(repo.path)
    return [
        *("swe-bench", "--dataset", dataset, "--repos", folder / "repos"),
        *("--out", folder / "out", "--verify=never"),
    ]


def test_a_batch_has_one_ceiling_for_all_of_its_tasks(
    host: Host, sample: Path, sample_repo: Repo, tmp_path: Path
) -> None:
    ledger = tmp_path / "out" / "shared" / "ledger.jsonl"
    cap = 3 * PICO
    command = batch(sample_repo, sample, tmp_path, 6)
    with LyingServer(["no usage", "500", "cut"], ledger, PRICE) as server:
        ended = host.run(
            *(*command, "--model", MODEL, "--jobs", 4, "--max-cost", usd(cap)),
            *("--task-max-tokens", 10**6),
            env=env_of(server),
            timeout=120 * SLOWNESS,
        ).check(4)
    assert "stopped at a ceiling" in ended.err
    assert server.received > 3
    assert server.billable <= cap and not server.unreserved, server.unreserved[:3]
    assert not Ledger(ledger).reserved


def test_what_is_only_reserved_keeps_no_task_from_beginning(
    host: Host, sample: Path, sample_repo: Repo, tmp_path: Path
) -> None:
    ledger = tmp_path / "out" / "shared" / "ledger.jsonl"
    command = batch(sample_repo, sample, tmp_path, 1)
    ledger.parent.mkdir(parents=True)
    with LyingServer(["hang"], ledger, PRICE) as server:
        holder = host.start(*ask(server, PICO), env=ENV)
        _wait_for_request(server, holder)
        held = json.loads(ledger.read_text().splitlines()[1])["tokens"]
        ended = host.run(
            *(*command, "--model", MODEL, "--max-tokens-total", held), *("--max-time", 2 * SLOWNESS), env=env_of(server)
        ).check(4)
        holder.kill()
        _end(holder)
    assert (tmp_path / "out" / "task-0" / "meta.json").exists(), ended.err


def test_a_task_begins_no_ledger_of_a_batch_anew(host: Host, honest: HonestRun, tmp_path: Path) -> None:
    """If the ledger was removed during the batch, a new one would count nothing as spent."""
    server, command, _ = honest
    given = {str(name)[2:].replace("-", "_"): str(value) for name, value in zip(command[2:-1:2], command[3:-1:2])}
    spec = given | {"model": [given["model"]], "shared_dir": str(tmp_path / "gone"), "batch_max_tokens": 10**6}
    spec["issue_text"] = Path(spec.pop("issue")).read_text("utf-8")
    handed = json.dumps({"parent": os.getpid(), "spec": spec})
    ended = host.run("batch-task", "task-0", input=handed, env=server.environment).check(3)
    assert "gone/ledger.jsonl" in json.loads(ended.out)["error"]["message"]
    assert not (tmp_path / "gone" / "ledger.jsonl").exists() and not server.requests


def test_a_batch_with_a_damaged_ledger_begins_no_task(
    host: Host, sample: Path, sample_repo: Repo, tmp_path: Path
) -> None:
    ledger = tmp_path / "out" / "shared" / "ledger.jsonl"
    ledger.parent.mkdir(parents=True)
    ledger.write_text("no ledger")
    command = batch(sample_repo, sample, tmp_path, 2)
    host.run(*command, "--model", MODEL, "--max-cost", 1, env=ENV).one_line(2, "ledger.jsonl")
    assert ledger.read_text() == "no ledger"


def test_a_batch_goes_on_with_a_higher_ceiling(
    host: Host, loopback_openai: Callable[..., LoopbackOpenAI], sample: Path, sample_repo: Repo, tmp_path: Path
) -> None:
    server = loopback_openai(sample / "answers.jsonl")
    command = [*batch(sample_repo, sample, tmp_path, 1), "--model", server.model]
    for _ in range(2):
        ended = host.run(*command, "--max-tokens-total", 12000, env=server.environment)
        assert "1 stopped at a ceiling" in ended.check(4).err
    ended = host.run(*command, "--max-tokens-total", 10**7, env=server.environment)
    assert "1 with a patch" in ended.check().err
    for ledger in (tmp_path / "out").glob("*/ledger.jsonl"):
        assert Ledger(ledger).reservations == len(server.requests)


def test_a_batch_whose_ledger_is_gone_begins_no_task(
    host: Host, loopback_openai: Callable[..., LoopbackOpenAI], sample: Path, sample_repo: Repo, tmp_path: Path
) -> None:
    """A new ledger would count nothing as spent."""
    server = loopback_openai(sample / "answers.jsonl")
    command = [*batch(sample_repo, sample, tmp_path, 1), "--model", server.model, "--max-tokens-total", 12000]
    host.run(*command, env=server.environment).check(4)
    asked, ledger = len(server.requests), tmp_path / "out" / "shared" / "ledger.jsonl"
    ledger.unlink()
    host.run(*command, env=server.environment).one_line(3, f"'{ledger}' was removed")
    assert len(server.requests) == asked and not ledger.exists()


def test_a_task_of_a_batch_has_a_ceiling_of_its_own(
    host: Host, sample: Path, sample_repo: Repo, tmp_path: Path
) -> None:
    command = batch(sample_repo, sample, tmp_path, 2)
    with LyingServer(["no usage"], tmp_path / "out/shared/ledger.jsonl", PRICE) as server:
        ended = host.run(
            *(*command, "--model", MODEL, "--task-max-cost", "0.5"), env=env_of(server), timeout=120 * SLOWNESS
        ).check(4)
    assert "2 stopped at a ceiling" in ended.err
    for n in range(2):
        assert 0 < Ledger(tmp_path / f"out/task-{n}/ledger.jsonl").spent <= PICO // 2


def test_the_time_of_a_batch_is_over(host: Host, sample: Path, sample_repo: Repo, tmp_path: Path) -> None:
    command = batch(sample_repo, sample, tmp_path, 3)
    with LyingServer(["hang"], tmp_path / "none", PRICE) as server:
        ended = host.run(
            *(*command, "--model", MODEL, "--max-time", 2 * SLOWNESS), env=env_of(server), timeout=60 * SLOWNESS
        ).check(4)
    assert "3 tasks: 0 with a patch, 0 without, 0 failed, 1 stopped at a ceiling, 2 not begun; " in ended.err
    watched = host.run("watch", tmp_path / "out", "--once").check().out
    assert watched.startswith("3 of 3 tasks, 2 not begun, 1 stopped\n")
    assert "1 stopped" in (told := host.run("report", tmp_path / "out", "-f", "text").check().out)
    assert "2 tasks not begun: task-1, task-2" in told
    assert server.received <= 1


def test_what_is_wrong_with_each_task_is_told_before_the_first(
    host: Host, sample: Path, sample_repo: Repo, tmp_path: Path
) -> None:
    command = [*batch(sample_repo, sample, tmp_path, 1), "--model", f"script:{sample / 'answers.jsonl'}"]
    host.run(*command, "--prompts", tmp_path / "none").one_line(2, str(tmp_path / "none"))
    host.run(*command, "--fallback-model", "nowhere/x").one_line(2, "names an unknown provider")
    host.run(*command, "--batch-api").one_line(2, "--batch-api", "batch interface")
    host.run(*command[:-1], "script:none.jsonl").one_line(2, "cannot read script")
    host.run(*command[:-1], MODEL).one_line(3, "no key for model")
    assert not (tmp_path / "out").exists()
    said = ("task-0: ", 'no "log_parser", such as "parse_log_pytest", ', "; nothing was run")
    host.run(*command, "--grade=environment").one_line(2, *said)
    plan = host.run(*command[:-1], MODEL, "--dry-run", "--task-max-cost", 2, "--max-cost", 9, env=ENV).check()
    assert "at most 2.000000 USD" in plan.out and "1, first task-0; 0 already finished" in plan.out, plan.out
    at = command.index("--out")
    plan = host.run(*command[:at], *command[at + 2 : -1], "openai/gpt4.1", "--dry-run", env=ENV).check()
    assert "(its price is not known; the highest known price is charged); did you mean 'openai/gpt-4.1'?" in plan.out
    assert "preds.jsonl and summary.json in the folder that --out names" in plan.out
    assert not (tmp_path / "out" / "task-0").exists()
    slow = ["--model", "ollama/x", "--base-url", "http://127.0.0.1:9", "--task-max-time", "0.001"]
    assert "limit --task-max-time reached" in host.run(*command[:-2], *slow).check(4).err


def test_a_finished_task_needs_neither_money_nor_time(
    host: Host, sample: Path, sample_repo: Repo, tmp_path: Path
) -> None:
    """A free model needs no money either; a batch that begins no task also writes predictions."""
    command = [*batch(sample_repo, sample, tmp_path, 1), "--model", f"script:{sample / 'answers.jsonl'}"]
    stopped = host.run(*command, "--max-time", "0.001").check(4)
    assert "0 failed, 1 not begun" in stopped.err and (tmp_path / "out" / "preds.jsonl").read_text() == ""
    assert "1 with a patch" in host.run(*command, "--max-cost", 0).check().err
    assert "1 with a patch" in host.run(*command, "--max-time", "0.001").check().err


def test_a_ledger_that_cannot_be_opened_is_the_environments_fault(host: Host, tmp_path: Path) -> None:
    with LyingServer(["no usage"], tmp_path / "none" / "ledger.jsonl", PRICE) as server:
        refused = host.run(*ask(server, PICO), env=ENV).check(3)
        assert server.received == 0
    assert "cannot open ledger" in refused.stdout.decode()


# ---- Prices


def test_a_file_of_prices_goes_before_the_table(host: Host, tmp_path: Path) -> None:
    prices = tmp_path / "prices.json"
    row = {"input_cost_per_token": 1e-9, "output_cost_per_token": 1e-9}
    prices.write_text(json.dumps({"openai/mine": row, "gpt-4.1": row}))
    ledger = tmp_path / "ledger.jsonl"
    with LyingServer(["no usage"], ledger, PRICE) as server:
        told = host.run(*ask(server, PICO, "--prices", prices), env=ENV).check()
        assert told.err == ""
    assert 0 < Ledger(ledger).spent < 10**7
    prices.write_text('{"m": {"input_cost_per_token": "cheap"}}')
    refused = host.run(*ask(server, PICO, "--prices", prices), env=ENV)
    refused.one_line(2, "input_cost_per_token", "prices.json")


def test_a_model_without_price_is_counted_as_the_dearest(host: Host, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    with LyingServer(["no usage"], ledger, (150, 600)) as server:
        command = ask(server, PICO)
        command[command.index(MODEL)] = "openai/gpt4.1"
        told = host.run(*command, env=ENV).check()
        assert told.rows()[0]["cost_microusd"] is None
        assert server.billable <= Ledger(ledger).spent
    assert "price of model 'openai/gpt4.1' is not known (did you mean 'openai/gpt-4.1'?): its tokens" in told.err
