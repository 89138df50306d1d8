"""A model server on 127.0.0.1 that lies: no usage, absurd usage, endless failures, answers longer than allowed,
truncated answers.

It adds up what it could bill: for each request that it received, each byte of the prompt as a token, plus the requested
limit, at a price. It also checks that the ledger had the reservation before the request arrived.
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


def _usage(sent: Any, received: Any, **more: Any) -> bytes:
    usage = {"prompt_tokens": sent, "completion_tokens": received, **more}
    return _event({**_CHUNK, "choices": [], "usage": usage})


def _cost(written: str) -> bytes:
    """A cost without token counts."""
    return _event({**_CHUNK, "choices": [], "usage": {"cost": "COST"}}).replace(b'"COST"', written.encode())


def _said(*usages: bytes) -> Callable[[int], bytes]:
    return lambda limit: _delta("hi") + _finish("stop") + b"".join(usages) + DONE


DONE = b"data: [DONE]\n\n"

# What follows the head of a response with status 200: name -> body, given the requested limit.
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
# Impossible token counts and costs; each of these calls counts as its reservation.
USAGES: dict[str, bytes] = {
    "zero": _usage(0, 0),
    "zero for the prompt": _usage(0, 7),
    "zero for the answer": _usage(60, 0),
    "all of nothing cached": _usage(0, 7, prompt_tokens_details={"cached_tokens": 60}),
    "one token": _usage(1, 1),
    "more cached than sent": _usage(60, 7, prompt_tokens_details={"cached_tokens": 61}),
    "less than nothing cached": _usage(60, 7, prompt_tokens_details={"cached_tokens": -60}),
    "negative prompt": _usage(-60, 7),
    "negative answer": _usage(60, -7),
    "huge prompt": _usage(10**9, 7),
    "huge answer": _usage(60, 10**9),
    "huge total": _usage(60, 7, total_tokens=10**15),
    "beyond 64 bits": _usage(2**63, 2**64),
    "fractions": _usage(60.5, 7.25),
    "strings": _usage("60", "7"),
    "truths": _usage(True, True),
    "lists": _usage([60], {"n": 7}),
    "a number": _event({**_CHUNK, "choices": [], "usage": 67}),
    "half": _event({**_CHUNK, "choices": [], "usage": {"prompt_tokens": 60}}),
    "good, then nonsense": _usage(60, 7) + _usage(60, "7"),
    "nonsense, then good": _usage(60, "7") + _usage(60, 7),
    "before the answer": _usage(60, 7) + _delta("and more"),
    "cost of zero": _cost("0"),
    "cost of less than nothing": _cost("-0.5"),
    "cost of almost nothing": _cost("1e-12"),
    "cost of 1e400": _cost("1e400"),
    "cost of a fortune": _cost("1e5"),
    "cost in words": _cost('"0.01"'),
    "cost in parts": _cost('{"total_cost": 0.01}'),
    "no cost": _cost("null"),
    "true cost": _cost("true"),
}
BODIES |= {name: _said(usage) for name, usage in USAGES.items()}
# "close": no response at all; "hang": none before the server stops.


class LyingServer(Serving):
    """Use it as a context manager. `lies` are chosen at random; `price` is USD per million tokens, in and out."""

    def __init__(self, lies: list[str], ledger: Path, price: tuple[int, int], seed: int = 0) -> None:
        self.lies, self.ledger, self.price = lies, ledger, price
        self.received = 0
        self.billable = 0  # pico-USD
        self.unreserved: list[str] = []  # requests that arrived before their reservation
        self.arrived = threading.Semaphore(0)
        self.stopped = threading.Event()
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self

    @property
    def base_url(self) -> str:
        """The value of --base-url."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        super().__exit__()

    def take(self, size: int, limit: int | None) -> str:
        """Count a request of `size` bytes; return the lie that answers it."""
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
        """Ignore disconnected clients."""


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
        """Log nothing."""
