"""Ctrl-C and SIGTERM in each stage: the exit code is 130, and the run folder can be resumed."""

from __future__ import annotations

import re
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Callable

import pytest
from fewer import usually
from host import SLOWNESS, Host, wait_until_caught
from hostile import TINY, journal_of, sample_run, stop_in_call, strays
from loopback import Failure, LoopbackOpenAI
from repos import Repo
from runs import CALLS, SCRIPT

INTERRUPTED = 130
Make = Callable[..., Repo]
Serve = Callable[..., LoopbackOpenAI]


@pytest.mark.parametrize("number", usually([0, 1, 4, 9], range(CALLS)))
def test_a_signal_in_a_model_call_leaves_a_folder_to_go_on_with(
    host: Host, loopback_openai: Serve, sample_repo: Repo, tmp_path: Path, number: int
) -> None:
    """Ctrl-C and SIGTERM in turn; the same command ends with the patch and repeats no call."""
    server = loopback_openai(SCRIPT)
    out = tmp_path / "out"
    arguments = sample_run(sample_repo, out, server.model)
    sent = (signal.SIGINT, signal.SIGTERM)[number % 2]
    stopped = stop_in_call(host, server, number, arguments, sent)
    said, _, rest = stopped.err.partition("\n")
    assert "the interrupted call counts as its maximum, " in said
    assert replace(stopped, stderr=rest.encode()).cost_and_line(INTERRUPTED).endswith("interrupted")
    assert len(journal_of(out)) == number and strays(out) == []
    result = host.run(*arguments, env=server.environment).check()
    assert len(server.requests) == CALLS + 1
    assert result.stdout == (out / "patch.diff").read_bytes() != b"" and not (out / "error.txt").exists()
    assert host.run("replay", out).check().stdout == result.stdout


STAGES = ["snapshot", "index", "select", "extract", "search", "analyse", "locate", "patch"]


@pytest.mark.parametrize("stage", usually(["snapshot", "index", "search", "patch"], STAGES))
def test_a_signal_in_a_stage_leaves_a_folder_to_go_on_with(
    host: Host, loopback_openai: Serve, sample_repo: Repo, tmp_path: Path, stage: str
) -> None:
    """The signal is sent as soon as the stage is reported; the next model call would hang."""
    server = loopback_openai(SCRIPT)
    arguments = sample_run(sample_repo, tmp_path / "out", server.model)
    hangs_at = {"extract": 1, "search": 2, "analyse": 2, "locate": 9, "patch": 9}.get(stage, 0)
    server.fail(Failure("hang"), at=hangs_at)
    child = host.start(*arguments, "-v", env=server.environment)
    assert child.stderr is not None
    for line in child.stderr:
        if re.fullmatch(rf"\S+Z (?:\w+ \d+: )?{stage}(?: \(.*\))?\n", line.decode()):
            break
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (INTERRUPTED, b""), err
    assert b"interrupted" in err.splitlines()[-1]
    _begin_again(server, len(journal_of(tmp_path / "out")))
    result = host.run(*arguments, env=server.environment).check()
    host.run(*sample_run(sample_repo, tmp_path / "plain")).check()
    assert result.stdout == (tmp_path / "plain" / "patch.diff").read_bytes()


def _begin_again(server: LoopbackOpenAI, answers: int) -> None:
    """Make the server answer from the number of recorded answers on, because an answer may have been sent to a client
    that had ended.
    """
    server.stop()
    server._failures.clear()
    server.position = answers
    server.start()


def _large(make_repo: Make) -> Repo:
    """A repository whose cold index takes seconds."""
    body = "".join(f"    def m{n}(self, a=1):\n        return a + {n}\n" for n in range(400))
    files = {f"pkg/m{n}.py": f"class C{n}:\n{body}" for n in range(400)}
    return make_repo(files | TINY, name="large")


def test_a_signal_stops_the_index_and_long_searches(host: Host, make_repo: Make) -> None:
    """The program ends at once with exit code 130, and the rows so far are valid."""
    repo = _large(make_repo)
    calls = "\n".join(f'search_code("return a + {n % 150}")' for n in range(50_000)).encode()
    for verb, wait in (("index", 0.3), ("search", 0.3), ("search", 1)):
        child = host.start(verb, "--repo", repo, stdin=subprocess.PIPE)
        assert child.stdin is not None
        if verb == "search":
            child.stdin.write(calls)
        child.stdin.close()
        child.stdin = None
        wait_until_caught(child, signal.SIGTERM)
        try:
            child.communicate(timeout=wait)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGTERM)
        # A search call is never cut short, and takes seconds under a sanitizer.
        _, err = child.communicate(timeout=60 * SLOWNESS)
        assert child.returncode == INTERRUPTED, err
    host.run("search", "--repo", repo, 'search_method_in_class("m7", "C299")').check()


def test_a_second_signal_ends_at_once(host: Host, loopback_openai: Serve, sample_repo: Repo, tmp_path: Path) -> None:
    """The second signal may arrive while the first is being handled."""
    server = loopback_openai(SCRIPT)
    server.fail(Failure("hang"), at=3)
    arguments = sample_run(sample_repo, tmp_path / "out", server.model)
    child = host.start(*arguments, env=server.environment)
    server.wait_for(4)
    child.send_signal(signal.SIGINT)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    assert child.returncode == INTERRUPTED
    host.run(*arguments, env=server.environment).check()
