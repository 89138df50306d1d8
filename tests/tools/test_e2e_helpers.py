"""Tests of the helpers of end-to-end tests: the model server, the runner, repositories, digests, releases."""

from __future__ import annotations

import http.client
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import repos  # noqa: E402
import schemas  # noqa: E402
from host import Host  # noqa: E402
from loopback import KEY, MODEL, LoopbackOpenAI  # noqa: E402

SCRIPT = [
    {"agent": "search", "content": "Look at `f`."},
    {"agent": "extract", "content": "{}", "expect": ["`f`"]},
    {"agent": "patch", "content": "x" * 250},
]


@pytest.fixture
def server() -> Iterator[LoopbackOpenAI]:
    """A server that runs with SCRIPT."""
    with LoopbackOpenAI(SCRIPT) as running:
        yield running


def ask(server: LoopbackOpenAI, text: str = "hello", key: str = KEY, **members: Any) -> tuple[int, Any, Any]:
    """Send one request with one user message; return status, body (parsed if it is JSON) and headers."""
    body = {"model": MODEL, "messages": [{"role": "user", "content": text}]} | members
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
    reply = connection.getresponse()
    data = reply.read()
    connection.close()
    is_json = reply.headers["Content-Type"] == "application/json" and data.startswith(b"{")
    return reply.status, json.loads(data) if is_json else data, reply.headers


WRONG = [
    ({"key": "sk-other"}, "Authorization"),
    ({"model": "gpt-9"}, "model is 'gpt-9'"),
    ({"messages": []}, "messages is no list, or empty"),
    ({"messages": [{"role": "tool", "content": "x"}]}, "role is 'tool'"),
    ({"messages": [{"role": "user", "content": None}]}, "content is no text"),
    ({"messages": [{"role": "user", "content": "x", "name": "y"}]}, "not of role and content"),
    ({"messages": [{"role": "assistant", "content": "x"}]}, "the last message"),
    ({"messages": [{"role": "user", "content": "x"}, {"role": "system", "content": "y"}]}, "not the first"),
    ({"response_format": {"type": "json_object"}}, "response_format of a search call"),
    ({"surprise": 1}, "unknown member 'surprise'"),
]


@pytest.mark.parametrize(("members", "said"), WRONG)
def test_request_out_of_shape_is_refused_and_kept(server: LoopbackOpenAI, members: dict[str, Any], said: str) -> None:
    status, body, _ = ask(server, **members)
    assert status == 400 and said in body["error"]["message"]
    assert len(server.violations) == 1 and said in server.violations[0]
    assert server.position == 0


def test_expected_words_and_json_mode_are_asked_for(server: LoopbackOpenAI) -> None:
    server.position = 1
    assert ask(server, "JSON `f`")[0] == 400
    assert ask(server, "`f`", response_format={"type": "json_object"})[0] == 400
    assert ask(server, "JSON", response_format={"type": "json_object"})[0] == 400
    assert [text.split(": ", 1)[1] for text in server.violations] == [
        "response_format of an extract call is None",
        "JSON mode, and no message says JSON",
        "expected '`f`' in the newest messages",
    ]


def test_used_up_script_is_refused(server: LoopbackOpenAI) -> None:
    server.position = 3
    assert ask(server)[0] == 400
    assert server.violations == ["request 1: no line of the script is left"]


def test_other_paths_are_refused(server: LoopbackOpenAI) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", "/v1/models")
    assert connection.getresponse().status == 405
    connection.close()
    assert server.violations == ["GET /v1/models"]


def stand_in(folder: Path, script: str) -> Path:
    """A shell script that replaces the program."""
    path = folder / "stand-in"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(") ")[2][0] != "Z"


def test_host_gives_the_run_as_it_was_and_an_environment_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "the user's")
    host = Host(tmp_path, stand_in(tmp_path, 'cat; echo "$1 $HOME $OPENAI_API_KEY $EXTRA" >&2; exit 3'))
    result = host.run("run", env={"EXTRA": "more"}, input="text")
    assert (result.exit, result.out) == (3, "text")
    assert result.one_line(3, "run") == f"run {tmp_path}  more"
    with pytest.raises(AssertionError, match="expected exit 0"):
        result.check()


def test_host_kills_what_takes_too_long_with_its_children(tmp_path: Path) -> None:
    host = Host(tmp_path, stand_in(tmp_path, f"sleep 600 & echo $! > {tmp_path}/pid; wait"))
    for seconds in (0.3, 3, 30):
        with pytest.raises(AssertionError, match="no end after"):
            host.run(timeout=seconds)
        if (tmp_path / "pid").exists():  # on a busy machine, the script may not have started yet
            break
    pid = int((tmp_path / "pid").read_text())
    end = time.monotonic() + 60
    while is_alive(pid):
        assert time.monotonic() < end, "the child still runs"
        time.sleep(0.01)


def test_host_fails_on_a_sanitizer_report(tmp_path: Path) -> None:
    host = Host(tmp_path, stand_in(tmp_path, 'echo "a.c:1:2: runtime error: shift" >&2'))
    with pytest.raises(AssertionError, match="a sanitizer complains"):
        host.run()


def test_host_ends_what_was_started_when_it_closes(tmp_path: Path) -> None:
    host = Host(tmp_path, stand_in(tmp_path, "sleep 600"))
    child = host.start()
    host.close()
    assert child.returncode == -9


@pytest.mark.parametrize("change", ["content", "mode", "time", "new", "index", "link"])
def test_digest_sees_every_change(tmp_path: Path, change: str) -> None:
    repo = repos.make_repo(tmp_path / "r", {"a.py": "x = 1\n", "d/b": b"\xff"})
    (repo.path / "link").symlink_to("a.py")
    before = repos.digest(repo.path)
    assert repos.digest(repo.path) == before
    path = repo.path / "a.py"
    if change == "content":
        times = (path.stat().st_atime_ns, path.stat().st_mtime_ns)
        path.write_text("x = 2\n")
        os.utime(path, ns=times)
    elif change == "mode":
        path.chmod(0o755)
    elif change == "time":
        os.utime(path, ns=(1, 1))
    elif change == "new":
        (repo.path / "d" / "new").mkdir()
    elif change == "index":
        os.utime(repo.path / ".git" / "index", ns=(1, 1))
    else:
        (repo.path / "link").unlink()
        (repo.path / "link").symlink_to("d/b")
    assert repos.digest(repo.path) != before


def test_json_without_a_member_or_with_one_too_many_is_found() -> None:
    good = {"ok": True, "checks": [{"check": "a", "state": "ok", "found": "b", "remedy": None}]}
    words = ["doctor", "--json"]

    def wrong(value: Any, words: list[str] = words) -> list[str]:
        return list(schemas.of_run(words, json.dumps(value).encode(), True))

    assert wrong(good) == []
    assert len(wrong(good | {"more": 1})) == len(wrong({"ok": True})) == len(wrong(good | {"ok": 1})) == 1
    assert wrong({}, ["doctor"]) == wrong({}, ["exec", "--", "--json"]) == []
    assert list(schemas.of_run(words, b"{", True)) and not list(schemas.of_run(words, b"{", False))
