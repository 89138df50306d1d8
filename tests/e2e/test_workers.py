"""Index workers that are killed, stopped or short of memory: only the current file is lost, and no process is left."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Callable

import pytest
from fewer import usually
from host import SLOWNESS, Host
from hostile import outcome, sample_run, write_script
from indexing import (
    SANITIZED,
    all_gone,
    busy_worker,
    check_cache,
    eight_calls,
    history,
    index,
    limited,
    module,
    processor_seconds,
    reasons,
    run_command,
    search,
    slow_module,
    untouched,
    wait_until,
    workers,
)
from repos import Repo

Make = Callable[..., Repo]
DEADLINE_SECONDS = 15  # deadline of a worker that does not answer
A = "class C:\n    def f(self):\n        return 1\n"

# ---- Killed and hanging workers ----


@pytest.fixture
def slow_repo(make_repo: Make) -> Repo:
    """A repository with one file that takes a second or more to outline, and other files."""
    return make_repo({"slow.py": slow_module()} | {f"m{n}.py": module(n, 0) for n in range(10)})


SLOW = ["search_class('Slow')", "search_method('crawl')", "search_code('return 1')", "search_class('C3')"]


@pytest.mark.parametrize("sent", [pytest.param(signal.SIGKILL, marks=pytest.mark.full), signal.SIGSEGV])
def test_a_worker_that_dies_costs_its_file_this_time(host: Host, slow_repo: Repo, sent: signal.Signals) -> None:
    """The worker crashes or lacks memory: the file is text only, this is not cached, and the next run outlines it."""
    child = host.start("index", "--repo", slow_repo, "--json", "--verbose", "--jobs", "1")
    os.kill(busy_worker(host), sent)
    out, err = child.communicate(timeout=60 * SLOWNESS)
    row = json.loads(out)
    assert (child.returncode, err) == (0, b"")
    assert (row["files"], row["unparsable"], row["parsed"]) == (11, 1, 11)
    ended = f"crashed (signal {int(sent)})"
    if SANITIZED and sent != signal.SIGKILL:
        ended = "ended with exit code 1"
    assert reasons(row) == {"slow.py": f"the outline worker {ended}"}
    assert all_gone(host) and check_cache(host) == 10
    again = index(host, slow_repo)
    assert (again["cached"], again["parsed"], again["unparsable"]) == (10, 1, 0)
    assert [answer["ok"] for answer in search(host, slow_repo, SLOW).rows()] == [True] * 4


def test_workers_that_die_again_and_again(host: Host, make_repo: Make) -> None:
    """Workers end one after the other: only their current files are missing, and the run ends."""
    repo = make_repo({f"m{n}.py": module(n, 0, 400) for n in range(100)})
    child = host.start("index", "--repo", repo, "--json", "--verbose", "--jobs", "2")
    killed: set[int] = set()
    while child.poll() is None and len(killed) < 4:
        for pid in set(workers(host)) - killed:
            if processor_seconds(pid) >= 0.1:
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        time.sleep(0.01)
    out, err = child.communicate(timeout=60 * SLOWNESS)
    assert (child.returncode, err) == (0, b"")
    row = json.loads(out)
    assert 0 < row["unparsable"] <= len(killed) and set(reasons(row).values()) == {
        "the outline worker crashed (signal 9)"
    }
    assert all_gone(host)
    again = index(host, repo)
    assert (again["unparsable"], again["parsed"]) == (0, row["unparsable"])


@pytest.mark.full
def test_a_worker_that_hangs_is_ended_at_the_deadline(host: Host, slow_repo: Repo) -> None:
    """The worker is stopped; the deadline is 15 s plus 2 s per MiB, so a sanitizer gets a smaller module."""
    child = host.start("index", "--repo", slow_repo, "--json", "--verbose")
    os.kill(busy_worker(host), signal.SIGSTOP)
    out, _ = child.communicate(timeout=60 * SLOWNESS)
    assert reasons(json.loads(out)) == {"slow.py": f"outlining took longer than {15 if SANITIZED else 16} s"}
    assert all_gone(host)
    assert index(host, slow_repo)["unparsable"] == 0


@pytest.mark.full
def test_a_file_that_takes_the_parser_minutes(host: Host, make_repo: Make) -> None:
    """Fields of an f-string, each of which old parsers locate from the start of the string."""
    repo = make_repo({"a.py": A, "fields.py": b"x = f'" + b"{a}" * 400_000 + b"'\nclass Fields:\n    pass\n"})
    row = index(host, repo, "--verbose", timeout=120)
    told = reasons(row)
    assert not told or list(told) == ["fields.py"] and "longer than 17 s" in told["fields.py"], told
    assert all_gone(host)
    assert search(host, repo, eight_calls(), timeout=120).rows()[0]["ok"]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("verb", ["index", "search"])
def test_an_interrupt_while_outlining(host: Host, slow_repo: Repo, verb: str, sent: signal.Signals) -> None:
    """Exit code 130, at once, with one line besides the one of a long wait; no worker is left."""
    calls = eight_calls() if verb == "search" else []
    child = host.start(verb, "--repo", slow_repo, *calls)
    os.kill(busy_worker(host, 0.3 if SANITIZED else 0.15), signal.SIGSTOP)  # so that the file is not nearly finished
    begun = time.monotonic()
    child.send_signal(sent)
    out, err = child.communicate(timeout=60 * SLOWNESS)
    lines = [line for line in err.splitlines() if b" indexing " not in line]
    assert (child.returncode, out, len(lines)) == (130, b"", 1), err
    assert time.monotonic() - begun < DEADLINE_SECONDS
    assert all_gone(host)


def test_a_killed_index_leaves_no_workers(host: Host, slow_repo: Repo) -> None:
    """Only the process itself is killed, while its workers work or start."""
    for moment in (0, 0.02, 0.05, 0.3, 0.6):
        child = host.start("index", "--repo", slow_repo, "--no-cache", "--jobs", "2")
        wait_until(lambda: workers(host))
        time.sleep(moment)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        assert all_gone(host)


# ---- Scarce resources --------

CLOSED = ["2>&-", "0<&- 1>&- 2>&-"]  # the one that is closed most often, and all


@pytest.mark.parametrize(
    "closed", usually(CLOSED, ["0<&-", "1>&-", "2>&-", "0<&- 1>&-", "0<&- 2>&-", "0<&- 1>&- 2>&-"])
)
def test_streams_that_are_closed(host: Host, tmp_path: Path, closed: str) -> None:
    """No file gets a closed stream's number: answers go only to open streams."""
    repo, _ = history(tmp_path / "repo", 30, 1)
    calls = eight_calls("C7", "m3_0", "mod7.py")
    told = search(host, repo, calls, "--no-cache").stdout
    command = limited(f"exec {closed}")(host.program, "search", "--repo", repo, "--json", *calls)
    with untouched(repo):
        for _ in range(2):  # with a cold and a warm cache
            result = run_command(host, command)
            assert result.stdout == (b"" if "1>" in closed else told), result.told()
            assert result.exit == (3 if "1>" in closed else 0), result.told()
            assert len(result.err.splitlines()) <= 1, result.told()
    assert all_gone(host) and check_cache(host) == 30
    assert search(host, repo, calls).stdout == told


@pytest.mark.parametrize("closed", usually(CLOSED, ["0<&-", "1>&-", "2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"]))
def test_nothing_is_printed_into_a_journal(host: Host, sample_repo: Repo, tmp_path: Path, closed: str) -> None:
    """If streams are closed, no file of a run gets their numbers; the run can be replayed."""
    out, whole = tmp_path / "out", tmp_path / "whole"
    patch = host.run(*sample_run(sample_repo, whole)).check().stdout
    command = limited(f"exec {closed}")(host.program, *sample_run(sample_repo, out), "-v")
    result = run_command(host, command)
    assert result.exit == (3 if "1>" in closed else 0), result.told()
    assert result.stdout == (b"" if "1>" in closed else patch)
    assert outcome(out) == outcome(whole)
    assert host.run("replay", out).check().stdout == patch


@pytest.mark.parametrize(
    "limit",
    usually(
        ["ulimit -n 10", "ulimit -v 400000", "ulimit -f 8"],
        ["ulimit -n 104", "ulimit -n 10", "ulimit -v 400000", "ulimit -s 256", "ulimit -f 8", "ulimit -t 9"],
    ),
)
def test_limits_of_the_process(host: Host, tmp_path: Path, limit: str) -> None:
    """Few descriptors, little memory, small stacks, small files: the right answer or one clear line."""
    if SANITIZED and limit.startswith("ulimit -v"):
        pytest.skip("shadow memory takes more")
    repo, _ = history(tmp_path / "repo", 200, 1)
    calls = eight_calls("C7", "m3_0", "mod7.py")
    told = search(host, repo, calls, "--no-cache").stdout
    for jobs in ("2", "64") if limit == "ulimit -n 104" or limit.startswith("ulimit -v") else ("2",):
        command = limited(limit)(host.program, "search", "--jobs", jobs, "--repo", repo, "--json", *calls)
        result = run_command(host, command)
        assert len(result.err.splitlines()) <= 1, result.told()
        assert result.exit == 3 and "cannot" in result.err or (result.exit, result.stdout) == (0, told), result.told()
    assert all_gone(host)
    assert search(host, repo, calls).stdout == told


@pytest.mark.full
def test_a_few_descriptors_are_enough(host: Host, tmp_path: Path) -> None:
    """With the fewest descriptors with which the program starts, 64 workers start, too."""
    repo, _ = history(tmp_path / "repo", 600, 1)
    command = limited("ulimit -n 104")(host.program, "index", "--jobs", "64", "--repo", repo, "--json")
    row = json.loads(run_command(host, command).check().stdout)
    assert (row["parsed"], row["unparsable"]) == (600, 0)


# ---- Runs ----


def test_a_run_repeats_without_the_file_that_failed(host: Host, slow_repo: Repo, tmp_path: Path) -> None:
    """A worker is killed while a run indexes: its file is recorded, and stays text in a replay."""
    asked = {"API_calls": ["search_class('Slow')", "search_class('C3')"], "bug_locations": []}
    found = {"API_calls": [], "bug_locations": [{"file": "m3.py", "method": "m1_0", "intended_behavior": "x"}]}
    edit = "<file>m3.py</file>\n<original>def shared(x):</original>\n<patched>def shared(x=1):</patched>"
    lines = [
        {"agent": "search", "content": "Slow and C3"},
        {"agent": "extract", "content": json.dumps(asked)},
        {"agent": "search", "content": "seen"},
        {"agent": "search", "content": "m3.py"},
        {"agent": "extract", "content": json.dumps(found)},
        {"agent": "patch", "content": f"```\n{edit}\n```"},
    ]
    script, out = write_script(tmp_path / "script.jsonl", lines), tmp_path / "out"
    given = ["--repo", slow_repo, "--issue-text", "x", "--model", f"script:{script}", "--verify=never"]
    child = host.start("run", *given, "--out", out, "--jobs", "1")
    os.kill(busy_worker(host), signal.SIGKILL)
    patch, err = child.communicate(timeout=60 * SLOWNESS)
    assert child.returncode == 0 and b"shared(x=1)" in patch, err
    noted = json.loads((out / "meta.json").read_bytes())["not_outlined"]
    assert [row["file"] for row in noted] == ["slow.py"] and "signal 9" in noted[0]["why"]
    asked_for = (out / "journal.jsonl").read_bytes()
    assert index(host, slow_repo)["unparsable"] == 0
    for _ in range(2):
        assert host.run("replay", out).check().stdout == patch
        assert host.run("run", *given, "--out", out).check().stdout == patch
    assert (out / "journal.jsonl").read_bytes() == asked_for
    other = tmp_path / "other"
    host.run("run", *given, "--out", other).check()
    assert json.loads((other / "meta.json").read_bytes()).get("not_outlined", []) == []
    assert (other / "journal.jsonl").read_bytes() != asked_for
