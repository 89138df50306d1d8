"""`watch`: shows a batch or run while it works, after it has ended, and after it was killed."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Callable
from urllib.parse import urlsplit

import pytest
import schemas
from host import SLOWNESS, Host, kill, without_progress
from loopback import Failure, LoopbackOpenAI
from repos import Repo, digest, sample_repo
from runs import ANALYSE_2, CALLS, ISSUE, SCRIPT, arguments, read_json, script_lines
from screens import on_screen

Serve = Callable[..., LoopbackOpenAI]
TASKS = ["bill-1", "bill-2", "bill-3"]


@pytest.fixture
def batch(tmp_path: Path) -> list[object]:
    """The arguments of a batch of three tasks, without --model; the commit of the second is missing."""
    head = sample_repo(tmp_path / "repos" / "brook" / "bill").head
    common = {"repo": "brook/bill", "problem_statement": ISSUE.read_text("utf-8")}
    rows = [{"instance_id": task, "base_commit": "0" * 40 if "2" in task else head, **common} for task in TASKS]
    dataset = tmp_path / "tasks.json"
    dataset.write_text(json.dumps(rows), "utf-8")
    command = ["swe-bench", "--dataset", dataset, "--repos", tmp_path / "repos", "--verify=never"]
    return [*command, "--max-cost", "500", "--out", tmp_path / "out", "--model"]


@pytest.fixture
def server(loopback_openai: Serve) -> LoopbackOpenAI:
    """Solves the first task, and hangs in the second analysis of the third."""
    server = loopback_openai(script_lines() * 2)
    server.fail(Failure("hang"), at=CALLS + ANALYSE_2)
    return server


@pytest.fixture
def at_work(host: Host, batch: list[object], server: LoopbackOpenAI) -> subprocess.Popen[bytes]:
    """The batch while it works on its third task."""
    child = host.start(*batch, server.model, env=server.environment)
    server.wait_for(CALLS + ANALYSE_2 + 1)
    return child


def now(host: Host, out: Path) -> dict[str, Any]:
    """The state that --once --json prints."""
    return json.loads(host.run("watch", out, "--once", "--json").check().out)


def until(what: Callable[[], bool]) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + 30 * SLOWNESS
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_batch_at_work_and_then_killed(
    host: Host, at_work: subprocess.Popen[bytes], tmp_path: Path, server: LoopbackOpenAI
) -> None:
    out = tmp_path / "out"
    before = digest(out)
    state = now(host, out)
    assert (state["kind"], state["state"], state["finished"]) == ("batch", "running", False)
    assert (state["total"], state["ended"]) == (3, 2)
    assert state["by_status"] == {"patch": 1, "failed": 1} and state["by_error_class"] == {"environment": 1}
    assert state["by_verdict"] == {"unverified": 1, "none": 1}
    assert state["by_outcome"] == {"unverified": 1, "failed": 1}
    [task] = state["running"]
    assert (task["task"], task["stage"], task["number"], task["calls"]) == ("bill-3", "analyse", 2, ANALYSE_2)
    assert state["ceiling"]["cost_microusd"] == 500_000_000 and state["spent"]["calls"] == CALLS + ANALYSE_2
    assert state["left"]["ms"] > 0
    text = host.run("watch", out, "--once").check().out
    assert re.match(r"2 of 3 tasks, 1 failed, 1 with a patch, about \d+ s to go\n", text)
    assert f"process {at_work.pid} is running\n" in text and "% of 500.00 USD)" in text
    doing = r"^runs: bill-3 · round 2: analyse(?: · waiting for an answer)? · \d+ s · \d\.\d{4} USD$"
    assert re.search(doing, text, re.MULTILINE)
    watching = host.start("watch", out)
    until(lambda: bool(watching.stderr and os.read(watching.stderr.fileno(), 65536)))
    assert digest(out) == before, "watch writes nothing"
    os.kill(at_work.pid, signal.SIGKILL)
    stdout, stderr = watching.communicate(timeout=30 * SLOWNESS)
    gone = f"process {at_work.pid} has ended, and the batch is not finished; rerun the same command to resume"
    assert watching.returncode == 1
    assert without_progress(stderr)[0].decode() == f"acr-host watch: {gone}\n"
    assert gone in stdout.decode()
    state = now(host, out)
    assert (state["state"], state["finished"], state["parts"][0]["state"]) == ("gone", False, "gone")
    server.violations.clear()


@pytest.mark.parametrize("columns", [80, 200])
def test_on_a_terminal_until_the_batch_is_over(
    host: Host, batch: list[object], loopback_openai: Serve, tmp_path: Path, columns: int
) -> None:
    server = loopback_openai(script_lines() * 2)
    server.seconds = 0.05
    child = host.start(*batch, server.model, env=server.environment)
    until((tmp_path / "out" / "shared" / "live.json").exists)
    shown = on_screen(host, "watch", tmp_path / "out", columns=columns, env={"NO_COLOR": "1"})
    child.communicate(timeout=60)
    assert shown.exit == 0
    for view in shown.views:
        block = [line for line in view if re.match(r"\d of 3 tasks", line)]
        assert len(block) <= 1 and all(len(line) <= columns for line in view), view
    assert any(re.match(r"bill-[13] · round \d: \w+ · \d+ s", line) for view in shown.views for line in view)
    assert any("% of the ceiling)" in line for view in shown.views for line in view)
    text = "\n".join(shown.lines)
    assert "2/3 bill-2: failed: " in text
    assert "3 of 3 tasks, 2 with a patch, 1 failed" in text and shown.lines[-1] == "finished"
    assert " · " not in text
    state = now(host, tmp_path / "out")
    assert (state["state"], state["finished"], state["running"]) == ("over", True, [])


def test_dated_lines_of_a_run_and_its_end(
    host: Host, sample_repo: Repo, loopback_openai: Serve, tmp_path: Path
) -> None:
    server = loopback_openai(script_lines())
    server.fail(Failure("hang"), at=ANALYSE_2)
    out = tmp_path / "run"
    command = arguments(sample_repo.path, out, "--max-cost", 500, model=server.model)
    child = host.start(*command, env=server.environment)
    server.wait_for(ANALYSE_2 + 1)
    state = now(host, out)
    assert (state["kind"], state["total"], state["running"][0]["stage"]) == ("run", 1, "analyse")
    assert state["parts"][0]["pid"] == child.pid
    watching = host.start("watch", out)
    until(lambda: bool(watching.stderr and os.read(watching.stderr.fileno(), 65536)))
    os.kill(child.pid, signal.SIGINT)
    child.communicate(timeout=30)
    stdout, stderr = watching.communicate(timeout=30 * SLOWNESS)
    assert watching.returncode == 1
    assert f"not finished: interrupted; rerun the same command with --out {out} to resume\n".encode() in stderr
    total, spent = read_json(out / "cost.json")["total"], now(host, out)["spent"]
    assert total["unanswered_microusd"] > 0, "the interrupted call counts as its maximum"
    assert (spent["calls"], spent["charged_microusd"]) == (total["calls"], total["charged_microusd"])
    assert f"{spent['charged_microusd'] / 1e6:.4f} USD" in host.run("watch", out, "--once").check().out
    assert not (out / "live.json").exists(), "what has ended in order leaves no note"
    resumed = host.run(*command, env=server.environment).check()
    assert resumed.out.startswith("diff --git ")
    done = host.run("watch", out).check()
    assert done.out.startswith("run: patch\nverdict: unverified\n")
    server.violations.clear()


def test_an_answer_is_awaited(host: Host, sample_repo: Repo, loopback_openai: Serve, tmp_path: Path) -> None:
    server = loopback_openai(script_lines())
    server.fail(Failure("stall"), at=ANALYSE_2)
    out, events = tmp_path / "run", tmp_path / "events"
    run = arguments(sample_repo.path, out, "--events", events, model=server.model)
    child = host.start(*run, env=server.environment)
    waiting = r"round 2: analyse · waiting for an answer · 671 tokens · \d+ s"
    until((out / "live.json").exists)
    until(lambda: any(re.fullmatch(waiting, task["doing"]) for task in now(host, out)["running"]))
    assert re.search(waiting, host.run("watch", out, "--once").check().out)
    page = Path(host.run("report", out).check().out.strip()).read_text("utf-8")
    calls = now(host, out)["spent"]["calls"]
    assert '<span class="badge soft">running</span>' in page and "No patch is selected yet." in page
    assert calls > 0 and f"{calls} calls, " in page and "has no result yet" not in page
    os.kill(child.pid, signal.SIGINT)
    child.communicate(timeout=30 * SLOWNESS)
    told = [json.loads(line) for line in events.read_text("utf-8").splitlines()]
    assert [fault for event in told for fault in schemas.faults("events", event)] == []
    assert [event["tokens"] for event in told if event["event"] == "waiting"][-1] == 671
    server.violations.clear()


def test_shards_are_one_batch(host: Host, batch: list[object], tmp_path: Path) -> None:
    script = f"script:{SCRIPT}"
    host.run(*batch, script, "--shard", "1/2").check()
    state = now(host, tmp_path / "out")
    assert (state["state"], state["total"], state["ended"]) == ("running", 3, 2)
    assert [(part["name"], part["state"]) for part in state["parts"]] == [
        ("shard-1-of-2", "over"),
        ("shard-2-of-2", "waiting"),
    ]
    assert state["ceiling"]["cost_microusd"] == 500_000_000
    host.run(*batch, script, "--shard", "2/2").check(3)
    result = host.run("watch", tmp_path / "out").check()
    assert result.out.startswith("3 of 3 tasks, 2 with a patch, 1 failed\n")
    assert now(host, tmp_path / "out" / "shard-2-of-2")["ended"] == 1


def test_what_is_no_folder_of_ours_is_refused(host: Host, tmp_path: Path) -> None:
    host.run("watch", tmp_path / "nothing").one_line(2, "does not exist")
    (tmp_path / "empty").mkdir()
    host.run("watch", tmp_path / "empty", "--once").one_line(2, "is neither a run folder nor a batch folder")
    host.run("watch").one_line(2, "give the folder of a run")
    host.run("watch", tmp_path, "--json").one_line(2, "--json needs --once")


def _plant(folder: Path, note: object, summary: object = None) -> Path:
    (folder / "shared").mkdir(parents=True)
    (folder / "shared" / "live.json").write_text(note if isinstance(note, str) else json.dumps(note), "utf-8")
    if summary:
        (folder / "summary.json").write_text(json.dumps(summary), "utf-8")
    return folder


def test_hostile_files_are_shown_escaped_and_links_not_followed(host: Host, tmp_path: Path) -> None:
    bad, huge = "\x1b[2J\u202eevil\n\x07", 2**62
    process = {"pid": 1, "start": 1, "boot": "other", "host": bad + "x" * 500, "begun_ms": -huge}
    row = {"instance_id": bad, "status": bad, "verdict": bad, "error": bad, "error_class": bad}
    row["cost"] = {"calls": huge, "cost_microusd": huge, "charged_microusd": -huge, "input_tokens": huge}
    running = [{"task": "../../up", "begun_ms": 1}, {"task": "linked", "begun_ms": -huge}, 5]
    note = {"process": process, "over": True, "why": bad, "next": huge, "running": running, "jobs": -huge}
    note |= {"tasks": [bad, "linked", "../../up", 7, None], "pace": {"tasks": huge, "ms": huge, "microusd": huge}}
    note["ceilings"] = {"cost_microusd": huge, "tokens": huge, "ms": huge}
    out = _plant(tmp_path / "out", note, {"tasks": [row, 3, None, {"instance_id": {}}]})
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "live.json").write_text(json.dumps({"process": process, "stage": "SECRET"}), "utf-8")
    (out / "linked").symlink_to(secret)
    for args in (["--once"], ["--once", "--json"], ["--verbose"]):
        result = host.run("watch", out, *args).check(0 if "--once" in args else 1)
        shown = result.stdout + result.stderr + "".join(result.progress).encode()
        assert b"SECRET" not in shown and b"\x1b" not in shown and ("--json" in args or "\u202e".encode() not in shown)
    for name, broken in enumerate(["", "[", "{}", '{"tasks": 1, "process": 3}', '{"process"', "\0" * 40]):
        folder = _plant(tmp_path / f"broken-{name}", broken)
        state = now(host, folder)
        assert state["ended"] == 0 and state["state"] in ("gone", "over")
    linked = tmp_path / "by-link"
    linked.mkdir()
    (linked / "shared").symlink_to(out / "shared")
    assert now(host, linked)["total"] == 0


def test_the_next_command_is_seen_not_the_one_before(
    host: Host, at_work: subprocess.Popen[bytes], batch: list[object], server: LoopbackOpenAI, tmp_path: Path
) -> None:
    """A killed batch is resumed: the old note of the killed task is ignored."""
    kill(at_work)
    out = tmp_path / "out"
    assert read_json(out / "bill-3" / "live.json")["stage"] == "analyse"
    host.run(*batch, server.model, env=server.environment).check(3)
    assert not (out / "bill-3" / "live.json").exists()
    result = host.run("watch", out).check()
    assert result.out.startswith("3 of 3 tasks, 2 with a patch, 1 failed\n")
    server.violations.clear()


# ---- The page ----


class Browser:
    """A browser's view of the address that --serve printed."""

    def __init__(self, url: str) -> None:
        at = urlsplit(url)
        assert at.hostname == "127.0.0.1" and re.fullmatch(r"token=\w{20,}", at.query)
        self.port, self.token = at.port, at.query.removeprefix("token=")

    def ask(self, path: str, token: str | None = None, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30 * SLOWNESS)
        connection.request(method, f"{path}?token={self.token if token is None else token}", headers=headers)
        return connection.getresponse()

    def event(self, stream: http.client.HTTPResponse) -> dict[str, Any]:
        """The next state that arrives."""
        while line := stream.readline():
            if line.startswith(b"data: "):
                return dict(json.loads(line.removeprefix(b"data: ")))
        raise AssertionError("the stream has ended")


def test_the_page_is_live(host: Host, batch: list[object], loopback_openai: Serve, tmp_path: Path) -> None:
    server = loopback_openai(script_lines() * 2)
    server.seconds = 0.2
    child = host.start(*batch, server.model, env=server.environment)
    until((tmp_path / "out" / "shared" / "live.json").exists)
    watching = host.start("watch", tmp_path / "out", "--serve")
    assert watching.stdout
    browser = Browser(watching.stdout.readline().decode().strip())
    stream = browser.ask("/events")
    assert stream.status == 200 and stream.headers["Content-Type"].startswith("text/event-stream")
    for path in ("/", "/events"):
        assert browser.ask(path, "wrong").status == browser.ask(path, "").status == 401
        assert browser.ask(path, Origin="http://evil.test").status == 403
        assert browser.ask(path, Host="evil.test").status == 403
    assert (browser.ask("/shared/live.json").status, browser.ask("/", method="POST").status) == (404, 405)
    first = browser.ask("/")
    page = first.read().decode()
    assert (first.status, first.headers.get_all("Cache-Control")) == (200, ["no-store"])
    assert first.headers["X-Frame-Options"] == "DENY"
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy and "connect-src 'self'" in policy[1] and "unsafe" not in policy[1]
    assert 'id="running"' in page and "EventSource" in page and not re.search(r"https?://(?!127)", page)
    states = [browser.event(stream)]
    while states[-1]["state"] == "running":
        states.append(browser.event(stream))
    assert schemas.faults("watch", states[0]) == []
    assert any(task["stage"] for state in states for task in state["running"]), "stages come"
    assert (states[-1]["state"], states[-1]["ended"], states[-1]["finished"]) == ("over", 3, True)
    last = browser.ask("/").read().decode()
    assert all(f"<td>{task}</td>" in last for task in ("bill-1", "bill-3"))
    stream.close()
    child.communicate(timeout=60)
    out, _ = watching.communicate(timeout=30 * SLOWNESS)
    assert watching.returncode == 0 and out.startswith(b"3 of 3 tasks")


def test_the_page_of_a_run_and_of_hostile_files(host: Host, sample_repo: Repo, tmp_path: Path) -> None:
    out = tmp_path / "run"
    host.run(*arguments(sample_repo.path, out)).check()
    (out / "issue.md").write_text("<script>owned()</script>", "utf-8")
    process = {"pid": os.getpid(), "start": 0, "boot": "", "host": "x", "begun_ms": 1}
    (out / "live.json").write_text(json.dumps({"process": process, "stage": "</script><b>", "spent": {}}), "utf-8")
    watching = host.start("watch", out, "--serve")
    assert watching.stdout
    browser = Browser(watching.stdout.readline().decode().strip())
    page = browser.ask("/").read().decode()
    assert "&lt;script&gt;owned()" in page and "<script>owned()" not in page
    stream = browser.ask("/events")
    assert browser.event(stream)["running"][0]["stage"] == "</script><b>"
    host.run("watch", out, "--serve", "--port", browser.port).check(3)
    host.run("watch", out, "--serve", "--once").check(2)
    with open("/dev/full", "wb") as full:
        untold = host.start("watch", out, "--serve", stdout=full)
    said = untold.communicate(timeout=30 * SLOWNESS)[1].decode()
    assert untold.returncode == 3 and len(said.splitlines()) == 1 and "standard output" in said
    os.kill(watching.pid, signal.SIGINT)
    watching.communicate(timeout=30 * SLOWNESS)
    assert watching.returncode == 130
    (out / "live.json").unlink()
    finished = host.start("watch", out, "--serve")
    assert finished.stdout
    assert Browser(finished.stdout.readline().decode().strip()).ask("/").status == 200
    os.kill(finished.pid, signal.SIGINT)
    finished.communicate(timeout=30 * SLOWNESS)
    assert finished.returncode == 0
