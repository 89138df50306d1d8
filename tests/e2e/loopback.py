"""A strict model server on 127.0.0.1 that speaks OpenAI's chat format and answers from a script.

It serves the script's lines ({"agent", "content", "expect", "usage"}) in order, because requests do not name an agent.
`usage` replaces the counted tokens; `tier` is the service tier that the answer names. Each request is checked: errors
are answered with 400 and recorded in `violations`, which the fixture requires to be empty. A failure can be injected
before the answer at a given position.
"""

from __future__ import annotations

import http.server
import json
import socket
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import serving

KEY = "sk-loopback-0123456789abcdef"
MODEL = "scripted-1"
PATH = "/v1/chat/completions"
MAX_REQUEST_BYTES = 64 << 20

_ALLOWED = {
    *("model", "messages", "temperature", "max_tokens", "max_completion_tokens", "response_format"),
    *("stream", "stream_options", "seed", "user", "n", "reasoning_effort", "service_tier"),
}


@dataclass
class Failure:
    """A failure instead of an answer.

    `kind`: "status" (with `status`, `headers`, `body`), "cut" (half of the body), "cut stream" (the last events are
    missing, but the connection is closed normally), "close" (no answer at all), "hang" (nothing until the server
    stops), "stall" (671 tokens, then nothing), "garbage" (200, but no JSON).
    """

    kind: str
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] | None = None


def rate_limited(retry_after: float = 0) -> Failure:
    """429 with Retry-After in seconds."""
    body = {"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}}
    return Failure("status", 429, {"Retry-After": f"{retry_after:g}"}, body)


def too_long(tokens: int = 128001, limit: int = 128000) -> Failure:
    """400: the prompt exceeds the context."""
    message = (
        f"This model's maximum context length is {limit} tokens. However, your messages resulted in {tokens} tokens."
    )
    body = {"message": message, "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}
    return Failure("status", 400, {}, {"error": body})


def read_script(path: Path) -> list[dict[str, Any]]:
    """The lines of a script file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def check_request(headers: Any, body: Any, line: dict[str, Any] | None) -> list[str]:
    """The errors in a request that `line` is to answer, one per line."""
    wrong = []
    if headers.get("Authorization") != f"Bearer {KEY}":
        wrong.append("Authorization is not the key's")
    if headers.get("Content-Type", "").split(";")[0].strip() != "application/json":
        wrong.append(f"Content-Type is {headers.get('Content-Type')!r}")
    if not isinstance(body, dict):
        return [*wrong, "the body is no JSON object"]
    if body.get("model") != MODEL:
        wrong.append(f"model is {body.get('model')!r}")
    wrong += [f"unknown member {name!r}" for name in body if name not in _ALLOWED]
    messages = body.get("messages")
    wrong += _check_messages(messages)
    if line is not None and not wrong:
        wrong += _check_line(body, messages, line)
    return wrong


def _check_messages(messages: Any) -> list[str]:
    if not isinstance(messages, list) or not messages:
        return ["messages is no list, or empty"]
    wrong = []
    for number, message in enumerate(messages):
        if not isinstance(message, dict) or set(message) != {"role", "content"}:
            wrong.append(f"message {number} is not of role and content")
        elif not isinstance(message["content"], str):
            wrong.append(f"message {number}: content is no text")
        elif message["role"] not in ("system", "user", "assistant"):
            wrong.append(f"message {number}: role is {message['role']!r}")
        elif message["role"] == "system" and number > 0:
            wrong.append(f"message {number}: a system message that is not the first")
    if not wrong and messages[-1]["role"] != "user":
        wrong.append(f"the last message is of {messages[-1]['role']!r}")
    return wrong


def _check_line(body: dict[str, Any], messages: list[dict[str, str]], line: dict[str, Any]) -> list[str]:
    """JSON mode requires a role that answers in JSON, and OpenAI also requires the word JSON; `expect` must be in the newest messages."""
    wrong = []
    mode = body.get("response_format")
    if line["agent"] == "ask":
        pass  # users may request any format
    elif line["agent"] in ("extract", "reproducible", "review"):
        if mode != {"type": "json_object"}:
            wrong.append(
                f"response_format of {'an' if line['agent'] == 'extract' else 'a'} {line['agent']} call is {mode!r}"
            )
        elif not any("json" in message["content"].lower() for message in messages):
            wrong.append("JSON mode, and no message says JSON")
    elif mode is not None:
        wrong.append(f"response_format of a {line['agent']} call is {mode!r}")
    said = [n for n, message in enumerate(messages) if message["role"] == "assistant"]
    newest = "\n".join(message["content"] for message in messages[said[-1] + 1 if said else 0 :])
    wrong += [f"expected {text!r} in the newest messages" for text in line.get("expect", []) if text not in newest]
    return wrong


class LoopbackOpenAI:
    """The server. Use it as a context manager, or `start` and `stop` it; it restarts on the same port."""

    def __init__(self, script: Path | Iterable[dict[str, Any]]) -> None:
        self.lines = read_script(script) if isinstance(script, Path) else list(script)
        self.position = 0  # number of answers given so far; set it back to repeat answers
        self.seconds = 0.0  # wait before each answer
        self.requests: list[dict[str, Any]] = []  # bodies of all requests, including failed ones
        self.headers: list[dict[str, str]] = []  # their headers, with names in lowercase
        self.violations: list[str] = []
        self.port = 0
        self._failures: dict[int, list[Failure]] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._sockets: set[socket.socket] = set()
        self._server: _Server | None = None
        self._held: socket.socket | None = None

    @property
    def base_url(self) -> str:
        """The value for OPENAI_BASE_URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that make the program use this server."""
        return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": self.base_url}

    @property
    def model(self) -> str:
        """The argument of --model."""
        return f"openai/{MODEL}"

    def fail(self, *failures: Failure, at: int | None = None) -> None:
        """Let calls fail, one after another, after `at` answers (default: from now on)."""
        with self._lock:
            self._failures.setdefault(self.position if at is None else at, []).extend(failures)

    def start(self) -> LoopbackOpenAI:
        """Serve, on the previous port if there was one."""
        assert self._server is None, "it is running"
        self._stopped.clear()
        if not self._held:
            # Keep the port bound for the next start, so that no other process can take it.
            self._held = socket.socket()
            self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._held.bind(("127.0.0.1", 0))
            self.port = self._held.getsockname()[1]
        self._server = _Server(("127.0.0.1", self.port), _Handler)
        self._server.owner = self
        serving.serve(self._server)
        return self

    def stop(self) -> None:
        """Stop: close open connections and refuse new ones. Does nothing if the server is stopped already."""
        if self._server is None:
            return
        self._stopped.set()
        serving.stop(self._server)
        with self._lock:
            for connection in self._sockets:
                _cut(connection)
        self._server = None

    def wait_for(self, requests: int, seconds: float = 60) -> None:
        """Wait until this many requests have come. Errors: AssertionError."""
        end = time.monotonic() + seconds
        while len(self.requests) < requests:
            assert time.monotonic() < end, f"{len(self.requests)} requests, expected {requests}"
            time.sleep(0.005)

    def __enter__(self) -> LoopbackOpenAI:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def next_reply(self, headers: Any, body: Any) -> Failure | dict[str, Any]:
        """The reply to a request: an injected failure, a refusal, or the answer of the next line."""
        self._stopped.wait(self.seconds)
        with self._lock:
            self.requests.append(body)
            self.headers.append({name.lower(): text for name, text in headers.items()})
            number = len(self.requests)
            line = self.lines[self.position] if self.position < len(self.lines) else None
            wrong = check_request(headers, body, line)
            if not wrong and line is None:
                wrong = ["no line of the script is left"]
            if wrong:
                self.violations += [f"request {number}: {text}" for text in wrong]
                error = {"message": "; ".join(wrong), "type": "invalid_request_error", "param": None, "code": None}
                return Failure("status", 400, {}, {"error": error})
            if self._failures.get(self.position):
                return self._failures[self.position].pop(0)
            assert line is not None
            self.position += 1
            reply = _completion(number, body["messages"], line["content"])
            given = {"usage": line["usage"]} if "usage" in line else {}
            return reply | given | ({"service_tier": line["tier"]} if "tier" in line else {})

    def opened(self, connection: socket.socket) -> None:
        """Called for each new connection."""
        with self._lock:
            self._sockets.add(connection)

    def closed(self, connection: socket.socket) -> None:
        """Called when a connection ends."""
        with self._lock:
            self._sockets.discard(connection)

    def hang(self) -> None:
        """Return when the server stops."""
        self._stopped.wait()


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it was closed already


def _tokens(text: str) -> int:
    """Estimates tokens: four bytes are one token."""
    return len(text.encode()) // 4 + 1


def _completion(number: int, messages: list[dict[str, str]], content: str) -> dict[str, Any]:
    prompt, completion = sum(_tokens(m["content"]) for m in messages), _tokens(content)
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    message = {"role": "assistant", "content": content, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1700000000, "model": MODEL}
    return head | {"choices": [choice], "usage": usage}


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """A piece of a streamed answer."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "choices": [choice]}


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    owner: LoopbackOpenAI

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore disconnected clients; `violations` reports errors of the requests."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # otherwise, a kept connection would wait 40 ms for each body
    server: _Server
    request_id = "req-0"

    def setup(self) -> None:
        super().setup()
        self.server.owner.opened(self.connection)

    def finish(self) -> None:
        self.server.owner.closed(self.connection)
        super().finish()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        self._refuse(405, f"GET {self.path}")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if self.path != PATH:
            self._refuse(404, f"POST {self.path}")
        elif not length.isdigit() or int(length) > MAX_REQUEST_BYTES:
            self._refuse(411, f"Content-Length is {length!r}")
        else:
            self._answer(self.rfile.read(int(length)))

    def _refuse(self, status: int, what: str) -> None:
        self.server.owner.violations.append(what)
        self.close_connection = True
        self._send(status, b'{"error": {"message": "refused"}}', {"Connection": "close"})

    def _answer(self, data: bytes) -> None:
        try:
            body = json.loads(data.decode("utf-8"))
        except ValueError:
            body = None
        reply = self.server.owner.next_reply(self.headers, body)
        self.request_id = f"req-{len(self.server.owner.requests)}"
        if isinstance(reply, Failure):
            self._fail(reply)
        elif isinstance(body, dict) and body.get("stream"):
            self._stream(reply, bool((body.get("stream_options") or {}).get("include_usage")))
        else:
            self._send(200, json.dumps(reply).encode(), {})

    def _fail(self, failure: Failure) -> None:
        if failure.kind == "status":
            body = failure.body or {"error": {"message": "injected failure", "type": "server_error"}}
            self._send(failure.status, json.dumps(body).encode(), failure.headers)
            return
        self.close_connection = True
        if failure.kind == "hang":
            self.server.owner.hang()
        elif failure.kind == "stall":
            piece = json.dumps(_chunk({"content": "x" * 4 * 670}))
            self._send_events([piece, json.dumps(_chunk({"content": "x" * 4}))], pause=0.7)
            self.server.owner.hang()
        elif failure.kind == "garbage":
            self._send(200, b"<html>not what you asked for</html>", {})
        elif failure.kind == "cut":
            self._send(200, b'{"id": "chatcmpl-0", "choices": [{"ind', {}, length=4096)
        elif failure.kind == "cut stream":
            self._send_events([json.dumps(_chunk({"content": "half of an"}))])
        _cut(self.connection)

    def _send(self, status: int, body: bytes, headers: dict[str, str], length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.send_header("x-request-id", self.request_id)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def _stream(self, reply: dict[str, Any], usage: bool) -> None:
        """Send the same answer as server-sent events, in pieces of a hundred characters."""
        content = reply["choices"][0]["message"]["content"]
        pieces = [content[n : n + 100] for n in range(0, len(content), 100)]
        deltas: list[tuple[dict[str, Any], str | None]] = [({"role": "assistant", "content": ""}, None)]
        deltas += [({"content": piece}, None) for piece in pieces] + [({}, "stop")]
        head = {name: reply[name] for name in ("id", "created", "model", "service_tier") if name in reply}
        chunks = [head | _chunk(delta, finish) for delta, finish in deltas]
        if usage:
            last = {"choices": [], "usage": reply["usage"]}
            chunks.append(head | {"object": "chat.completion.chunk"} | last)
        self._send_events([json.dumps(chunk) for chunk in chunks] + ["[DONE]"])

    def _send_events(self, events: list[str], pause: float = 0) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.send_header("x-request-id", self.request_id)
        self.end_headers()
        for event in events:
            self.wfile.write(f"data: {event}\n\n".encode())
            time.sleep(pause)
