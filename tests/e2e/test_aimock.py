"""`ask` against @copilotkit/aimock, a mock server by others: all its dialects, and the faults that it plays.

It is looser than the strict server (no signatures are verified), and an opinion of its own on how
each provider answers. npm installs it by name into the tests' cache; where it cannot, the tests are skipped.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from host import Host, Result
from packages import npm_package
from peers import PEERS

PACKAGE, VERSION = "@copilotkit/aimock", "1.43.0"
KEY = "sk-aimock-0123456789"
TEXT = "Hi thére, frieñd 🌍!"
LONG = "one two three four five six seven eight nine ten eleven twelve thirteen"
LIMITED = {
    "message": "slow down",
    "type": "rate_limit_error",
    "code": "rate_limit_exceeded",
}
FIXTURES: list[dict[str, Any]] = [
    {"match": {"userMessage": "hello"}, "response": {"content": TEXT}},
    {
        "match": {"userMessage": "limited", "sequenceIndex": 0},
        "response": {"error": LIMITED, "status": 429},
    },
    {"match": {"userMessage": "limited"}, "response": {"content": "at last"}},
    {
        "match": {"userMessage": "cut short"},
        "response": {"content": LONG},
        "truncateAfterChunks": 2,
    },
    {
        "match": {"userMessage": "hang up"},
        "response": {"content": LONG},
        "latency": 40,
        "disconnectAfterMs": 100,
    },
    {
        "match": {"userMessage": "a tool"},
        "response": {"toolCalls": [{"name": "find", "arguments": '{"q": 1}'}]},
    },
]
# How the program finds it, and the model.
DIALECTS = {
    "openai": (PEERS["openai_chat"], "gpt-4o"),
    "openai-responses": (PEERS["openai_responses"], "gpt-4o"),
    "azure": (PEERS["azure"], "gpt-4o"),
    "anthropic": (PEERS["anthropic"], "claude-sonnet-4-5"),
    "gemini": (PEERS["gemini"], "gemini-2.5-flash"),
    "bedrock": (PEERS["bedrock"], "anthropic.claude-3-5-sonnet-20241022-v2:0"),
    "ollama": (PEERS["ollama"], "llama3.2"),
}


@pytest.fixture(scope="module")
def package() -> Path:
    """The installed package; one that cannot be installed skips."""
    return npm_package(PACKAGE, VERSION)


def serve(package: Path, folder: Path, keys: str | None) -> Iterator[str]:
    """The address of a server with FIXTURES; it ends when the generator is closed."""
    fixtures = folder / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}), encoding="utf-8")
    env = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    if keys:
        env["AIMOCK_API_KEYS"] = keys
    command = ["node", str(package / "dist" / "cli.js"), "-p", "0", "-c", "7"]
    server = subprocess.Popen(
        [*command, "-f", str(fixtures)],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert server.stdout
    try:
        said = ""
        for line in server.stdout:
            said += line
            match = re.search(r"http://127\.0\.0\.1:\d+", line)
            if match:
                yield match[0]
                return
        pytest.fail(f"aimock does not start: {said}")
    finally:
        server.kill()
        server.communicate()


@pytest.fixture
def open_server(package: Path, tmp_path: Path) -> Iterator[str]:
    """A server that looks at no keys, this test's own."""
    yield from serve(package, tmp_path, None)


@pytest.fixture
def locked_server(package: Path, tmp_path: Path) -> Iterator[str]:
    """A server that takes one key."""
    yield from serve(package, tmp_path, KEY)


def ask(host: Host, root: str, name: str, text: str, **changes: str | None) -> Result:
    """One question."""
    peer, model = DIALECTS[name]
    env = peer.environment(root, None if name == "ollama" else KEY)
    env |= {"ACR_RETRY_BASE_MS": "10"} | changes
    return host.run("ask", "--json", "--model", peer.prefix + model, text, env=env)


def answer(result: Result) -> dict[str, Any]:
    """The object of a run that had an answer."""
    made = json.loads(result.check().stdout)
    assert isinstance(made, dict)
    return made


def error(result: Result) -> dict[str, Any]:
    """The error of a run that had none."""
    made = json.loads(result.check(1).stdout)["error"]
    assert isinstance(made, dict)
    return made


@pytest.mark.parametrize("name", DIALECTS)
def test_answer_comes_whole(name: str, host: Host, open_server: str) -> None:
    made = answer(ask(host, open_server, name, "hello"))
    assert (made["content"], made["finish"], made["attempts"]) == (TEXT, "stop", 1)
    assert made["request_id"] or name == "gemini"


@pytest.mark.parametrize("name", DIALECTS)
def test_tool_calls_alone_are_no_text(name: str, host: Host, open_server: str) -> None:
    made = answer(ask(host, open_server, name, "a tool"))
    assert (made["content"], made["finish"]) == ("", "tool_calls")


@pytest.mark.parametrize("name", DIALECTS)
def test_limited_calls_are_made_again(name: str, host: Host, open_server: str) -> None:
    made = answer(ask(host, open_server, name, "limited"))
    assert (made["content"], made["attempts"]) == ("at last", 2)


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("text", ["cut short", "hang up"])
def test_cut_streams_are_no_answers(text: str, name: str, host: Host, open_server: str) -> None:
    made = error(ask(host, open_server, name, text))
    # Where no byte was sent before it hung up, there is no stream to be cut.
    assert made["class"] in ("truncated_stream", "network")
    assert made["attempts"] > 1


@pytest.mark.parametrize("name", [n for n in DIALECTS if n not in ("bedrock", "ollama")])
def test_wrong_key_is_told(name: str, host: Host, locked_server: str) -> None:
    assert answer(ask(host, locked_server, name, "hello"))["content"] == TEXT
    made = error(ask(host, locked_server, name, "hello", **{DIALECTS[name][0].key: "sk-wrong"}))
    assert (made["class"], made["attempts"]) == ("auth", 1)


def test_question_without_fixture_is_a_bad_request(host: Host, open_server: str) -> None:
    made = error(ask(host, open_server, "openai", "something else"))
    assert (made["class"], made["http_status"], made["attempts"]) == (
        "bad_request",
        404,
        1,
    )
