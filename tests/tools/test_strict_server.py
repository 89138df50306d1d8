"""Tests of the strict model server: it accepts correct requests, refuses incorrect ones, and plays its rows."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1]))

from servers import sigv4  # noqa: E402
from servers.dialect import SIGNATURE, Request  # noqa: E402
from servers.play import Play  # noqa: E402
from servers.strict import KEY, StrictServer  # noqa: E402

CHAT = {
    "model": "ok",
    "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
    "stream": True,
    "max_tokens": 5,
}
MESSAGES = {"model": "ok", "max_tokens": 5, "system": "s", "stream": True}
MESSAGES |= {"messages": [{"role": "user", "content": [{"type": "text", "text": "u"}]}]}
# Dialect -> path, headers with the key, correct body.
RIGHT: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "openai_chat": ("/v1/chat/completions", {"Authorization": f"Bearer {KEY}"}, CHAT),
    "openai_responses": (
        "/v1/responses",
        {"Authorization": f"Bearer {KEY}"},
        {"model": "ok", "instructions": "s", "input": "u", "store": False} | {"stream": True, "max_output_tokens": 5},
    ),
    "azure": ("/openai/deployments/ok/chat/completions?api-version=2024-10-21", {"api-key": KEY}, CHAT),
    "anthropic": ("/v1/messages", {"x-api-key": KEY, "anthropic-version": "2023-06-01"}, MESSAGES),
    "bedrock": (
        "/model/ok/converse-stream",
        {"Authorization": f"Bearer {KEY}"},
        {"messages": [{"role": "user", "content": [{"text": "u"}]}]}
        | {"system": [{"text": "s"}], "inferenceConfig": {"maxTokens": 5}},
    ),
    "gemini": (
        "/v1beta/models/ok:streamGenerateContent?alt=sse",
        {"x-goog-api-key": KEY},
        {"contents": [{"role": "user", "parts": [{"text": "u"}]}]}
        | {"systemInstruction": {"parts": [{"text": "s"}]}}
        | {"generationConfig": {"maxOutputTokens": 5}},
    ),
}
NAMES = sorted(RIGHT)


@pytest.fixture
def serve() -> Iterator[Callable[..., StrictServer]]:
    """serve(plays) -> a running server."""
    servers: list[StrictServer] = []

    def start(plays: dict[str, tuple[Play, ...]] | None = None) -> StrictServer:
        servers.append(StrictServer(plays or {"ok": (Play(),)}).start())
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def ask(
    server: StrictServer,
    name: str,
    headers: dict[str, str | None] | None = None,
    body: Any = None,
    path: str | None = None,
) -> bytes:
    """The response to the dialect's correct request, with these changes."""
    right_path, keys, right = RIGHT[name]
    data = body if isinstance(body, bytes) else json.dumps(body or right).encode()
    sent: dict[str, str | None] = {"Host": f"127.0.0.1:{server.port}"}
    sent |= {"User-Agent": "acr-host/test", "Content-Type": "application/json"}
    sent |= {"Content-Length": str(len(data)), **keys, **(headers or {})}
    lines = [f"POST {path or right_path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in sent.items() if value is not None]
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as sock:
        sock.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
        got = b""
        while not (got.endswith(b"\r\n0\r\n\r\n") or is_whole(got)):
            more = sock.recv(65536)
            if not more:
                break
            got += more
    return got


def is_whole(got: bytes) -> bool:
    """Whether a response with Content-Length is complete."""
    head, _, body = got.partition(b"\r\n\r\n")
    for line in head.split(b"\r\n"):
        if line.startswith(b"Content-Length: "):
            return len(body) >= int(line[16:])
    return False


def status(got: bytes) -> int:
    """The status of a response."""
    return int(got.split(b" ")[1])


@pytest.mark.parametrize("name", NAMES)
def test_right_request_gets_the_text(name: str, serve: Callable[..., StrictServer]) -> None:
    server = serve()
    got = ask(server, name)
    assert status(got) == 200
    assert all(piece.strip().encode() in got for piece in ("Grüße", "🌍", "fertig"))
    assert server.violations == []
    request = server.requests[0]
    dialect = next(d for d in server.dialects if d.name == name)
    said = dialect.said(request.json)
    assert (said.system, said.texts, said.limit, said.json) == ("s", ("u",), 5, False)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "headers, wanted",
    [
        ({"User-Agent": "curl/8"}, 400),
        ({"Content-Type": "text/plain"}, 400),
        ({"Accept-Encoding": "gzip"}, 400),
        ({"Cookie": "a=b"}, 400),
        ({"host": "127.0.0.1"}, 400),  # a second Host header
        ({"Expect": "100-continue"}, 400),
    ],
)
def test_wrong_header_is_refused(
    name: str, headers: dict[str, str], wanted: int, serve: Callable[..., StrictServer]
) -> None:
    server = serve()
    assert status(ask(server, name, headers)) == wanted
    assert len(server.violations) >= 1


@pytest.mark.parametrize("name", NAMES)
def test_wrong_key_is_refused(name: str, serve: Callable[..., StrictServer]) -> None:
    server = serve()
    keys = RIGHT[name][1]
    (key,) = [n for n in keys if n != "anthropic-version"]
    for value in (keys[key] + "x", keys[key][:-1], None):
        assert status(ask(server, name, {key: value})) in (400, 401, 403)
    assert len({text.partition(":")[0] for text in server.violations}) == 3


def changed(body: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy in which the member at a path ("a.0.b") is set, or removed if the value is `...`."""
    copied = copy.deepcopy(body)
    *way, last = [int(p) if p.isdigit() else p for p in path.split(".")]
    at: Any = copied
    for part in way:
        at = at[part]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return copied


WRONG_MEMBERS = [
    ("openai_chat", "something", 1),
    ("openai_chat", "messages.1.role", "model"),
    ("openai_chat", "messages.1.content", None),
    ("openai_chat", "temperature", 3),
    ("openai_chat", "max_tokens", 0),
    ("openai_chat", "stream", ...),
    ("openai_chat", "response_format", {"type": "json_schema", "json_schema": {}}),
    ("openai_responses", "store", ...),
    ("openai_responses", "input", []),
    ("openai_responses", "text", {"format": {"type": "json_schema"}}),
    ("azure", "model", "another"),
    ("azure", "something", 1),
    ("anthropic", "max_tokens", ...),
    ("anthropic", "messages.0.role", "system"),
    ("anthropic", "output_config", {"format": {"type": "json"}}),
    ("bedrock", "messages.0.role", "system"),
    ("bedrock", "messages.0.content.0.text", ""),
    ("bedrock", "inferenceConfig.max_tokens", 5),
    ("gemini", "contents.0.role", "assistant"),
    ("gemini", "generationConfig.max_output_tokens", 5),
    ("gemini", "systemInstruction", {"text": "s"}),
]


@pytest.mark.parametrize("name, path, value", WRONG_MEMBERS)
def test_wrong_member_is_refused(name: str, path: str, value: Any, serve: Callable[..., StrictServer]) -> None:
    server = serve()
    got = ask(server, name, body=changed(RIGHT[name][2], path, value))
    assert status(got) == 400 and len(server.violations) >= 1


CALL = {"name": "f", "arguments": "{}"}
# Dialect -> the name of the list of messages, an answer that calls a tool, its result.
CALLED: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "openai_chat": (
        "messages",
        [
            {"role": "assistant", "content": None, "reasoning_content": SIGNATURE}
            | {"tool_calls": [{"id": "the-id", "type": "function", "function": CALL}]},
            {"role": "tool", "tool_call_id": "the-id", "content": "r"},
        ],
    ),
    "openai_responses": (
        "input",
        [
            {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": SIGNATURE},
            {"type": "function_call", "id": "fc", "call_id": "the-id"} | CALL,
            {"type": "function_call_output", "call_id": "the-id", "output": "r"},
        ],
    ),
    "anthropic": (
        "messages",
        [
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "t", "signature": SIGNATURE},
                    {"type": "tool_use", "id": "the-id", "name": "f", "input": {}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "the-id", "content": "r"}]},
        ],
    ),
    "bedrock": (
        "messages",
        [
            {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "t", "signature": SIGNATURE}}},
                    {"toolUse": {"toolUseId": "the-id", "name": "f", "input": {}}},
                ],
            },
            {"role": "user", "content": [{"toolResult": {"toolUseId": "the-id", "content": [{"text": "r"}]}}]},
        ],
    ),
    "gemini": (
        "contents",
        [
            {
                "role": "model",
                "parts": [{"functionCall": {"name": "the-id", "args": {}}, "thoughtSignature": SIGNATURE}],
            },
            {"role": "user", "parts": [{"functionResponse": {"name": "the-id", "response": {"output": "r"}}}]},
        ],
    ),
}


@pytest.mark.parametrize("name", CALLED)
def test_calls_want_their_results_and_their_thoughts(name: str, serve: Callable[..., StrictServer]) -> None:
    server, (key, turns) = serve(), CALLED[name]
    user = {"type": "message", "role": "user", "content": "u"}
    before = RIGHT[name][2][key] if isinstance(RIGHT[name][2][key], list) else [user]
    last = [user] if name == "openai_responses" else []

    def answered(changed: str) -> int:
        body = RIGHT[name][2] | {key: [*before, *json.loads(changed), *last]}
        if name == "openai_chat":  # in which the last message must be the user's
            body[key] = [*body[key], before[-1]]
        return status(ask(server, name, body=body))

    right = json.dumps(turns)
    assert answered(right) == 200 and server.violations == []
    assert answered(right.replace(SIGNATURE, "another")) == 400
    head, _, tail = right.rpartition("the-id")
    assert answered(f"{head}another{tail}") == 400
    assert answered(right.replace('"r"', '""')) == 400


def test_names_that_stand_twice_are_refused(serve: Callable[..., StrictServer]) -> None:
    server = serve()
    data = json.dumps(CHAT).encode().replace(b'"model": "ok"', b'"model":"x","model":"ok"')
    assert status(ask(server, "openai_chat", body=data)) == 400
    assert any("unique names" in text for text in server.violations)


def test_sampling_is_refused_by_the_new_version_of_messages(serve: Callable[..., StrictServer]) -> None:
    server = serve()
    new = {"anthropic-version": "2026-10-21", "x-api-key": None}
    new |= {"Authorization": f"Bearer {KEY}"}
    body = changed(MESSAGES, "temperature", 0.5)
    assert status(ask(server, "anthropic", body=body)) == 200
    assert status(ask(server, "anthropic", new)) == 200
    assert server.violations == []
    assert status(ask(server, "anthropic", new, body)) == 400
    assert status(ask(server, "anthropic", {"anthropic-version": "2026-10-21"})) == 401


def test_what_a_model_cannot_do_is_no_violation(serve: Callable[..., StrictServer]) -> None:
    server = serve()
    body = changed(CHAT, "model", "ok-reasoning")
    got = ask(server, "openai_chat", body=body)
    assert status(got) == 400 and b"unsupported_parameter" in got
    body = changed(changed(body, "max_tokens", ...), "max_completion_tokens", 5)
    assert status(ask(server, "openai_chat", body=body)) == 200
    assert server.violations == []


def test_signature_of_the_documentation() -> None:
    """The example in AWS's guide: GET of IAM's ListUsers in 2015."""
    credential = "AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request"
    signature = "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
    headers = [
        ("Host", "iam.amazonaws.com"),
        ("Content-Type", "application/x-www-form-urlencoded; charset=utf-8"),
        ("X-Amz-Date", "20150830T123600Z"),
        (
            "Authorization",
            f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=content-type;host;x-amz-date, Signature={signature}",
        ),
    ]
    target = "/?Version=2010-05-08&Action=ListUsers"
    request = Request(1, 1, 0, "GET", target, headers, b"", b"")
    secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
    when = datetime.datetime(2015, 8, 30, 12, 36)
    keys = "AKIDEXAMPLE", secret, None, "us-east-1", "iam", when
    assert sigv4.verify(request, *keys) is None
    assert sigv4.verify(request, keys[0], secret + "x", *keys[2:]) == "the signature is wrong"
    for changed in ({"body": b"{ }"}, {"target": "/?Action=ListUsers&Version=2010-05-08&X="}, {"method": "POST"}):
        other = dataclasses.replace(request, **changed)
        assert sigv4.verify(other, *keys) == "the signature is wrong", changed
    assert "X-Amz-Date is 2015" in (sigv4.verify(request, *keys[:-1]) or "")
