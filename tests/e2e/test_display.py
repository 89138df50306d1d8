"""The display of a running run or batch: on a terminal, a block at the bottom that never mixes with other text;
elsewhere, a dated line for each stage."""

from __future__ import annotations

import fcntl
import json
import re
import shlex
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from fewer import usually
from host import Host
from loopback import Failure, LoopbackOpenAI
from repos import Repo, sample_repo
from runs import CALLS, CHANGED, ISSUE, SCRIPT, arguments, script_lines, write_script
from screens import Shown, on_screen

Serve = Callable[..., LoopbackOpenAI]

STAGE = r"(?:(?:round|try) \d+: )?(?:snapshot|index|select|extract|search|analyse|locate|patch)"
# The block, whose parts may be on any of its lines.
PART = (
    rf"{STAGE}|waiting for an answer|\d+ s|\d+ min \d+ s|\d+ calls?|\d+ tokens(?: \(\d+% of the ceiling\))?"
    r"|\d+\.\d{4} USD(?: charged)?(?: \(\d+% of the (?:ceiling\)|c.*))?|total (?:\d+ s|\d+ min \d+ s)(?: \(\d+% of the ceiling\))?"
    r"|\d+ of \d+ tasks|\d+ with a patch|about .* to go"
)
BLOCK = re.compile(rf"(?:{PART})(?: · (?:{PART}))*")


def check_untorn(shown: Shown, columns: int) -> None:
    """The block is always below all other text, fits the terminal, and is gone at the end."""
    assert shown.views
    for view in shown.views:
        block = [line for line in view if BLOCK.fullmatch(line)]
        assert block == view[len(view) - len(block) :], view
        assert 1 <= len(block) <= 4, view
        assert all(len(line) <= columns - 3 for line in block), view
    assert not any(BLOCK.fullmatch(line) or " · " in line for line in shown.lines), shown.lines
    permanent = [line for line in shown.views[-1] if not BLOCK.fullmatch(line)]
    assert shown.lines[: len(permanent)] == permanent


@pytest.mark.parametrize("columns", usually([40], [40, 80, 200]))
def test_the_block_is_wiped_before_the_patch_and_the_summary(
    host: Host, sample_repo: Repo, loopback_openai: Serve, tmp_path: Path, columns: int
) -> None:
    server = loopback_openai(script_lines())
    ceilings = ["--max-cost", "5", "--max-tokens-total", "1000000", "--max-time", "3600"]
    run = arguments(sample_repo.path, tmp_path / "out", *ceilings, model=server.model)
    shown = on_screen(host, *run, columns=columns, env=server.environment)
    assert shown.exit == 0
    check_untorn(shown, columns)
    for text in ("round 3: locate", "calls", "tokens (", " USD", "% of the ceiling)", "total "):
        assert any(text in line for view in shown.views for line in view), text
    out = "".join(shown.raw.decode().splitlines())
    patch = (tmp_path / "out" / "patch.diff").read_text("utf-8").splitlines()
    at = [number for number, line in enumerate(shown.lines) if line.startswith("diff --git ")]
    assert len(at) == 1 and out.count(patch[0]) == 1
    if columns == 200:
        assert shown.lines[at[0] : at[0] + len(patch)] == [line.rstrip() for line in patch]
        tail = shown.lines[at[0] + len(patch) :]
        assert tail[0] == f"changes: {CHANGED} (+2 -2)"
        assert tail[1] == f"patch: {tmp_path / 'out' / 'patch.diff'}"
        assert max(len([line for line in view if BLOCK.fullmatch(line)]) for view in shown.views) == 1


@pytest.mark.parametrize(
    ("env", "colours", "block"),
    [
        ({}, True, True),
        ({"NO_COLOR": "1"}, False, True),
        ({"CLICOLOR": "0"}, False, True),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, False, False),
        ({"TERM": None}, False, False),
    ],
)
def test_colours_and_the_block_are_as_the_terminal_has_them(
    host: Host, sample_repo: Repo, tmp_path: Path, env: dict[str, str | None], colours: bool, block: bool
) -> None:
    shown = on_screen(host, *arguments(sample_repo.path, tmp_path / "out"), env=env)
    assert shown.exit == 0
    assert bool(re.search(rb"\x1b\[\d*m", shown.raw)) == colours
    assert bool(shown.views) == block
    if not block:
        assert b"\x1b" not in shown.raw
        assert re.search(rb"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ round 1: select\r$", shown.raw, re.MULTILINE)


def test_ctrl_c_leaves_whole_lines(host: Host, sample_repo: Repo, loopback_openai: Serve, tmp_path: Path) -> None:
    server = loopback_openai(script_lines())
    server.fail(Failure("hang"), at=3)
    run = arguments(sample_repo.path, tmp_path / "out", model=server.model)

    def interrupt(press: Callable[[bytes], None]) -> None:
        server.wait_for(4)
        press(b"\x03")

    shown = on_screen(host, *run, env=server.environment, meanwhile=interrupt)
    assert shown.exit == 130
    assert not any(" · " in line for line in shown.lines), shown.lines
    assert shown.lines[-1] == "acr-host run: interrupted"


def test_a_wait_for_an_answer_is_shown(host: Host, sample_repo: Repo, loopback_openai: Serve, tmp_path: Path) -> None:
    server = loopback_openai(script_lines())
    server.fail(Failure("stall"), at=3)
    run = arguments(sample_repo.path, tmp_path / "out", model=server.model)

    def interrupt(press: Callable[[bytes], None]) -> None:
        server.wait_for(4)
        time.sleep(3.5)
        press(b"\x03")

    shown = on_screen(host, *run, env=server.environment, meanwhile=interrupt)
    waits = r"round 2: \w+ · waiting for an answer · 671 tokens · \d s( ·|$)"
    assert any(re.match(waits, line) for view in shown.views for line in view)


def test_one_answer_has_limits_of_time_and_tokens(
    host: Host, sample_repo: Repo, loopback_openai: Serve, tmp_path: Path
) -> None:
    server = loopback_openai(script_lines())
    server.fail(Failure("stall"), Failure("stall"), at=0)
    limits = ["--answer-time", "3", "--max-answer-tokens", "7000", "--retries", "1"]
    run = arguments(sample_repo.path, tmp_path / "out", *limits, model=server.model)
    result = host.run(*run, env=server.environment).check(3)
    assert "after 671 tokens of an unfinished answer; allow more time with --answer-time" in result.err, result.told()
    assert [body["max_tokens"] for body in server.requests] == [7000, 7000]
    server.violations.clear()


def test_a_chosen_folder_is_in_the_commands_to_go_on(
    host: Host, sample_repo: Repo, loopback_openai: Serve, tmp_path: Path
) -> None:
    """The printed commands work as printed, and resume without repeating a call."""
    server = loopback_openai(script_lines())
    refused = Failure("status", 401, {}, {"error": {"message": "Incorrect API key", "code": "invalid_api_key"}})
    server.fail(refused, refused, at=CALLS - 1)
    state = {"XDG_STATE_HOME": str(tmp_path / "state state")}
    run = [word for word in arguments(sample_repo.path, "", model=server.model) if word not in ("--out", "")]
    failed = host.run(*run, env=server.environment | state)
    assert failed.exit == 3, failed.told()
    [command] = [line.partition("to resume: acr-host ")[2] for line in failed.progress if "to resume: " in line]
    again = host.run(*shlex.split(command), env=server.environment | state).check(3)
    assert f"; {CALLS - 1} of the calls replayed" in again.err and "nothing was sent" not in again.err
    done = host.run(*shlex.split(command), env=server.environment | state).check()
    assert len(server.requests) == CALLS + 2
    ways = [line.removeprefix("or: ") for line in done.progress if line.startswith("or: ")]
    assert ways == ["the same command with --apply", f"acr-host replay {shlex.split(command)[-1]!r}"]
    server.violations.clear()


def test_mcp_on_a_terminal_says_how_to_connect_it(host: Host, sample_repo: Repo) -> None:
    shown = on_screen(host, "mcp", "--repo", sample_repo.path, meanwhile=lambda press: press(b"\x04"))
    assert shown.exit == 0
    text = "\n".join(shown.lines)
    assert "claude mcp add acr-host" in text and '"mcpServers"' in text


def test_help_on_a_narrow_terminal_has_its_texts_on_lines_of_their_own(host: Host) -> None:
    narrow, wide = (on_screen(host, "exec", "--help", columns=columns).lines for columns in (60, 80))
    at = narrow.index("      --memory MB")
    assert narrow[at + 1 : at + 3] == [
        "        Limit the total memory of the command's processes to",
        "        MB megabytes (default: 2048)",
    ]
    assert "      --memory MB               Limit the total memory of the command's" in wide


def test_elsewhere_each_stage_is_a_dated_line(host: Host, sample_repo: Repo, tmp_path: Path) -> None:
    run = arguments(sample_repo.path, tmp_path / "out")
    first = host.run(*run).check()
    stages = [line.split(" (")[0] for line in first.progress]
    assert stages[:4] == ["snapshot", "index", "round 1: select", "round 1: extract"]
    assert "try 2: patch" in stages
    made = tmp_path / "out" / "patch.diff"
    assert first.progress[-5:] == (
        f"changes: {CHANGED} (+2 -2)",
        f"patch: {made}",
        f"next: git -C {sample_repo.path} apply {made}",
        "or: the same command with --apply",
        f"or: acr-host replay {tmp_path / 'out'}",
    )
    again = host.run(*run).check()
    assert again.progress[0] == f"nothing was run: this is the saved result of '{tmp_path / 'out'}'"
    assert (again.out, again.err) == (first.out, "")
    applied = host.run(*run, "--apply").check()
    assert f"written: {CHANGED} (+2 -2)" in applied.progress
    assert not any(line.startswith("next: ") for line in applied.progress)
    quiet = host.run(*run, "-q").check()
    assert (quiet.out, quiet.err, quiet.progress) == (first.out, "", ())


def test_elsewhere_a_long_wait_has_its_line(host: Host, loopback_openai: Serve) -> None:
    server = loopback_openai([{"agent": "ask", "content": "hello"}])
    server.fail(Failure("stall"), at=0)
    words = ["ask", "hello", "--model", server.model, "--retries", "0"]
    result = host.run(*words, "--max-time", "3", env=server.environment).check(4)
    assert result.progress == (f"waiting for an answer from {server.model}",), result.told()
    server.violations.clear()


@pytest.fixture
def batch(tmp_path: Path) -> list[object]:
    """Six tasks of one repository, two of which fail because their commit is missing."""
    head = sample_repo(tmp_path / "repos" / "brook" / "bill").head
    common = {"repo": "brook/bill", "problem_statement": ISSUE.read_text("utf-8")}
    rows = [
        {"instance_id": f"bill-{n}", "base_commit": "0" * 40 if n in (2, 5) else head, **common} for n in range(1, 7)
    ]
    dataset = tmp_path / "tasks.json"
    dataset.write_text(json.dumps(rows), "utf-8")
    command = ["swe-bench", "--dataset", dataset, "--repos", tmp_path / "repos", "--verify=never"]
    return [*command, "--out", tmp_path / "out", "--model", f"script:{SCRIPT}"]


def summary(tmp_path: Path) -> dict[str, Any]:
    """OUT/summary.json."""
    return json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))


def started(tmp_path: Path) -> list[str]:
    """The tasks that have ended, in that order."""
    return [task["instance_id"] for task in summary(tmp_path)["tasks"]]


@pytest.mark.parametrize("columns", usually([80], [80, 200]))
def test_a_batch_of_six_with_two_that_fail(host: Host, batch: list[object], tmp_path: Path, columns: int) -> None:
    shown = on_screen(host, *batch, columns=columns, env={"NO_COLOR": "1"})
    assert shown.exit == 3
    check_untorn(shown, columns)
    assert any(" of 6 tasks · " in line for view in shown.views for line in view)
    text = "\n".join(shown.lines)
    assert re.search(r"^1/6 bill-1: patch(, about .* to go)?$", text, re.MULTILINE)
    assert re.search(r"^patch +4 +0\.000000 +0 ", text, re.MULTILINE)
    assert re.search(r"^failed +2 ", text, re.MULTILINE)
    assert re.search(r"^all +6 ", text, re.MULTILINE)
    assert "verdicts: 4 unverified, 2 none" in shown.lines
    assert "errors: 2 environment" in shown.lines
    totals = summary(tmp_path)["totals"]
    assert totals["by_status"] == {"patch": 4, "failed": 2}
    assert totals["tasks"] == 6


def test_which_tasks_a_batch_takes(host: Host, batch: list[object], tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("# mine\nbill-6\n\n bill-3 \n", "utf-8")
    host.run(*batch, "--instances", "-[14]$").check(0)
    assert started(tmp_path) == ["bill-1", "bill-4"]
    host.run(*batch, "--instances", names).check(0)
    assert started(tmp_path) == ["bill-1", "bill-3", "bill-4", "bill-6"]  # in the order of the data set
    host.run(*batch, "--instances", "nothing").one_line(2, "no task matches 'nothing'")
    host.run(*batch, "--instances", "(").one_line(2, "neither a file nor a valid pattern")
    host.run(*batch, "--slice", "6:").one_line(2, "there are 6 tasks")
    host.run(*batch, "--slice", "x").one_line(2, "--slice must be A:B")
    host.run(*batch, "--retry-failed").one_line(2, "no task in", "has failed")
    with (tmp_path / "out" / "shared" / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        host.run(*batch).one_line(2, "another batch is using", "give another --out")
    host.run(*batch, "--slice", "1:2").check(3)
    assert started(tmp_path)[:2] == ["bill-1", "bill-2"]
    again = host.run(*batch, "--retry-failed").check(3)
    assert "1 task: 0 with a patch, 0 without, 1 failed" in again.err


def test_the_same_seed_gives_the_same_order(host: Host, batch: list[object], tmp_path: Path) -> None:
    orders = []
    for number, seed in enumerate((7, 7, 8)):
        out = tmp_path / f"out-{number}"
        result = host.run(*batch, "--out", out, "--shuffle", seed, "--fail-fast", 6, "--jobs", 1).check(3)
        ended = set(re.findall(r"(\d)/6 (bill-\d)", "\n".join([*result.progress, result.err])))
        orders.append([name for _, name in sorted(ended)])
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2]) == [f"bill-{n}" for n in range(1, 7)]


def test_after_so_many_failures_no_task_is_begun(host: Host, batch: list[object], tmp_path: Path) -> None:
    result = host.run(*batch, "--fail-fast", 1).check(3)
    assert started(tmp_path) == ["bill-1", "bill-2"]
    assert "paused; 4 tasks not begun" in result.err and "1 failed (--fail-fast)" in result.err


def test_an_interrupted_task_has_not_failed(
    host: Host, batch: list[object], loopback_openai: Serve, tmp_path: Path
) -> None:
    server = loopback_openai(script_lines())
    server.fail(Failure("hang"), at=3)

    def interrupt(press: Callable[[bytes], None]) -> None:
        server.wait_for(4)
        press(b"\x03")

    shown = on_screen(host, *batch[:-1], server.model, columns=200, env=server.environment, meanwhile=interrupt)
    assert shown.exit == 130
    assert "1/6 bill-1: interrupted" in shown.lines
    assert "failed" not in "\n".join(line for line in shown.lines if " 0 failed" not in line)
    assert shown.lines[-1] == "interrupted; 5 tasks not begun; rerun the same command to resume"
    assert summary(tmp_path)["totals"]["by_status"] == {"interrupted": 1}


def test_a_script_is_one_model_and_a_list_is_none(host: Host, sample_repo: Repo, tmp_path: Path) -> None:
    script = write_script(tmp_path / "a,b.jsonl", script_lines())
    host.run(*arguments(sample_repo.path, tmp_path / "out", model=script)).check()
    listed = arguments(sample_repo.path, tmp_path / "other", model="openai/a,openai/b")
    host.run(*listed).one_line(2, "--model takes one model", "repeat it: --model openai/a --model openai/b")
    host.run("ask", "--model", "openai/a,openai/b", "hi").one_line(
        2, "--model takes one model, not 'openai/a,openai/b'"
    )
