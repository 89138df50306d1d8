"""A model server on 127.0.0.1 that lies: no usage, absurd usage, endless failures, answers longer than allowed, cuts.

It adds up what it could bill: for each request that it received, each byte of the prompt as a token, and the limit
that was sent, at a price; and it looks whether the request's reservation stood in the ledger before it came.
"""

from __future__ import annotations

import http.server
import json
import random
import threading
from pathlib import Path
from typing import Any, Callable

from serving import Serving

PICO = 10**12

_CHUNK = {"id": "c", "object": "chat.completion.chunk", "model": "m"}


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _delta(content: str) -> bytes:
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": None}
    return _event({**_CHUNK, "choices": [choice]})


def _finish(reason: str) -> bytes:
    choice = {"index": 0, "delta": {}, "finish_reason": reason}
    return _event({**_CHUNK, "choices": [choice]})


def _usage(sent: Any, received: Any) -> bytes:
    usage = {"prompt_tokens": sent, "completion_tokens": received}
    return _event({**_CHUNK, "choices": [], "usage": usage})


DONE = b"data: [DONE]\n\n"

# What is sent after the head of a 200: name -> body by the limit that was asked for.
BODIES: dict[str, Callable[[int], bytes]] = {
    "no usage": lambda limit: _delta("hi") + _finish("stop") + DONE,
    "null usage": lambda limit: _delta("hi") + _finish("stop") + _usage(None, None) + DONE,
    "negative usage": lambda limit: _delta("hi") + _finish("stop") + _usage(-5, -5) + DONE,
    "huge usage": lambda limit: _delta("hi") + _finish("stop") + _usage(10**9, 10**9) + DONE,
    "too long": lambda limit: _delta("word " * limit * 3) + _finish("stop") + DONE,
    "cut": lambda limit: _delta("hi"),
    "garbage": lambda limit: b"<html>",
    "error in the stream": lambda limit: _delta("hi") + _event({"error": {"message": "gone", "type": "server_error"}}),
}
STATUSES = {"500": 500, "503": 503, "429": 429, "400": 400}
# "close": no response at all; "hang": none before the server stops.
LIES = [*BODIES, *STATUSES, "close"]


class LyingServer(Serving):
    """Use it as a context manager. `lies` are played at random; `price` is USD a million tokens, in and out."""

    def __init__(self, lies: list[str], ledger: Path, price: tuple[int, int], seed: int = 0) -> None:
        self.lies, self.ledger, self.price = lies, ledger, price
        self.received = 0
        self.billable = 0  # pico-USD
        self.share = 0.0  # of a ceiling, for who reports it
        self.unreserved: list[str] = []  # requests that came before their reservation
        self.arrived = threading.Semaphore(0)
        self.stopped = threading.Event()
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self

    @property
    def base_url(self) -> str:
        """What --base-url is to be."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        super().__exit__()

    def take(self, size: int, limit: int | None) -> str:
        """Count a request of `size` bytes; the lie that answers it."""
        with self._lock:
            self.received += 1
            text = self.ledger.read_text() if self.ledger.exists() else ""
            reserved = text.count('{"reserve":')
            if reserved < self.received:
                self.unreserved.append(f"{self.received} requests, {reserved} reserved")
            if limit is None:
                self.unreserved.append("no limit was sent")
            into, out = self.price
            self.billable += (size * into + (limit or 0) * out) * (PICO // 10**6)
            self.arrived.release()
            return self._random.choice(self.lies)


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    owner: LyingServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is gone is no news here."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Count the request, then lie."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        asked = json.loads(body)
        limit = asked.get("max_tokens", asked.get("max_completion_tokens"))
        lie = self.server.owner.take(len(body), limit)
        if lie == "hang":
            self.server.owner.stopped.wait()
        elif lie in STATUSES:
            self._refuse(STATUSES[lie])
        elif lie in BODIES:
            self._stream(BODIES[lie](limit or 0))
        self.close_connection = True

    def _refuse(self, status: int) -> None:
        text = json.dumps({"error": {"message": "no", "type": "server_error"}}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(text)

    def _stream(self, text: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
