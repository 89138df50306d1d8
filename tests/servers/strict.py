"""A model server on 127.0.0.1 that rejects incorrect requests and injects faults by the model's name.

Use `StrictServer(...)` in tests, or `python3 -m servers.strict --port 0` in `tests/`, which prints its address and then
each request as a line of JSON. The model's name is that of a scenario (`openai/ok`, see scenarios.py). The server
answers an incorrect request as its provider would, and records the errors in `violations`.
"""

from __future__ import annotations

import argparse
import json
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable

from .anthropic import Anthropic
from .azure import Azure
from .bedrock import Bedrock
from .dialect import Dialect, Refusal, Request, ability, unique
from .gemini import Gemini
from .openai_chat import OpenAIChat
from .openai_responses import OpenAIResponses
from .play import Action, Hang, Play, Reset, Response

KEY = "sk-strict-0123456789abcdef+/="
DIALECTS: tuple[type[Dialect], ...] = (*(OpenAIChat, OpenAIResponses, Azure, Anthropic, Bedrock, Gemini),)
MAX_HEAD_BYTES = 1 << 20
MAX_BODY_BYTES = 256 << 20
SUFFIXES = (
    "-reasoning",
    "-old",
    "-nojson",
    "-nousage",
    "-nostream",
    "-nocache",
    "-notools",
    "-nomoretools",
    "-nosystem",
    "-64",
    "-small",
)


class Gone(Exception):
    """The client has disconnected, or the server stops."""


class Connection:
    """An accepted connection and its requests."""

    def __init__(self, server: StrictServer, sock: socket.socket, number: int) -> None:
        self.server, self.sock, self.number = server, sock, number
        self._left = b""
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def run(self) -> None:
        """Serve until either side closes."""
        try:
            while not self.server.stopped.is_set():
                request = self._read()
                if request is None or not self._answer(request):
                    return
        except (OSError, Gone):
            pass  # the client may disconnect
        finally:
            self.close()

    def close(self) -> None:
        """Close without waiting for unread data."""
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it was closed already
        self.sock.close()

    def _receive(self) -> bytes:
        data = self.sock.recv(1 << 16)
        if not data:
            raise Gone
        return data

    def _read(self) -> Request | None:
        """The next request; None if there is none."""
        data = self._left
        while b"\r\n\r\n" not in data:
            if len(data) > MAX_HEAD_BYTES:
                return None
            data += self._receive()
        arrived = time.monotonic()
        head, _, body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, version = (first.split(" ") + ["", ""])[:3]
        headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        request = Request(0, self.number, arrived, method, target, headers, head, b"")
        length = request.header("content-length") or "0"
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            request.wrong.append(f"Content-Length is {length!r}")
            length = "0"
        if version != "HTTP/1.1":
            request.wrong.append(f"the version is {version!r}")
        parts, got, wanted = [body], len(body), int(length)
        while got < wanted:
            parts.append(self._receive())
            got += len(parts[-1])
        body = b"".join(parts)
        request.body, self._left = body[:wanted], body[wanted:]
        if self._left:
            request.wrong.append("something stands behind the body")
        return request

    def _answer(self, request: Request) -> bool:
        """Return false at the end of the connection."""
        reply = self.server.reply(request)
        if isinstance(reply, Refusal):
            return self._refuse(request, reply)
        for action in reply.actions():
            if self._act(request, action):
                return False
        return True

    def _refuse(self, request: Request, refusal: Refusal) -> bool:
        data = refusal.data()
        lines = [f"HTTP/1.1 {refusal.status} Refused", "Content-Type: application/json"]
        lines += [f"Content-Length: {len(data)}"]
        lines += [f"{name}: {value}" for name, value in refusal.headers]
        self._send(request, "\r\n".join(lines).encode() + b"\r\n\r\n" + data)
        return True

    def _act(self, request: Request, action: Action) -> bool:
        """Perform an action; return true if it was the last."""
        if isinstance(action, Reset):
            linger = struct.pack("ii", 1, 0)
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.sock.close()
            return True
        if isinstance(action, Hang):
            self._wait(None)
            return True
        if isinstance(action, float):
            self._wait(action)
        elif action:
            self._send(request, action)
        return action == b""

    def _send(self, request: Request, data: bytes) -> None:
        view = memoryview(data)
        while view:
            if self.server.stopped.is_set():
                raise Gone
            _, ready, _ = select.select([], [self.sock], [], 0.2)
            if ready:
                count = self.sock.send(view[: 1 << 18], socket.MSG_DONTWAIT)
                request.sent_bytes += count
                view = view[count:]

    def _wait(self, seconds: float | None) -> None:
        """Wait for that time, or forever (None). Errors: Gone if the client disconnects."""
        end = time.monotonic() + (3600 if seconds is None else seconds)
        while time.monotonic() < end:
            left = min(0.1, max(0.0, end - time.monotonic()))
            ready, _, _ = select.select([self.sock], [], [], left)
            if ready and not self.sock.recv(1, socket.MSG_PEEK):
                raise Gone
            if ready:
                time.sleep(left)
            if self.server.stopped.is_set():
                raise Gone


class StrictServer:
    """The server. `plays` are the responses to a model's requests; the last one is repeated.

    `dialects` are the supported providers, which all have the same key unless they are given as objects. The lists
    `requests` and `violations` (lines) only grow. Use it as a context manager.
    """

    def __init__(
        self,
        plays: Mapping[str, Sequence[Play]],
        dialects: Iterable[Dialect] | None = None,
        on_request: Callable[[Request], None] | None = None,
        allow_whole: bool = False,
    ) -> None:
        self.plays = plays
        self.dialects = list(dialects or (made(KEY) for made in DIALECTS))
        self.on_request = on_request
        self.allow_whole = allow_whole
        self.tokens: dict[str, str] = {}  # inserted into headers for {name}
        self.requests: list[Request] = []
        self.violations: list[str] = []
        self.connections = 0
        self.stopped = threading.Event()
        self._counts: dict[tuple[str, str], int] = {}
        self._open: set[Connection] = set()
        self._lock = threading.Lock()
        self._socket = socket.socket()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._socket.getsockname()[1])

    @property
    def root(self) -> str:
        """The address, without a path."""
        return f"http://127.0.0.1:{self.port}"

    def start(self, port: int = 0) -> StrictServer:
        """Listen and serve."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", port))
        self._socket.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def stop(self) -> None:
        """Close all connections and accept no more."""
        self.stopped.set()
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it was not listening
        self._socket.close()
        with self._lock:
            for connection in self._open:
                try:
                    connection.sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # it was closed already

    def __enter__(self) -> StrictServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _accept(self) -> None:
        while not self.stopped.is_set():
            try:
                sock, _ = self._socket.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
                connection = Connection(self, sock, self.connections)
                self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        connection.run()
        with self._lock:
            self._open.discard(connection)

    def reply(self, request: Request) -> Refusal | Response:
        """Return the response to a request, and record the request."""
        dialect = self._read_body(request)
        with self._lock:
            self.requests.append(request)
            request.number = len(self.requests)
        problem = self._judge(request, dialect)
        if self.on_request:
            self.on_request(request)
        if problem is not None or dialect is None:
            return problem or Refusal(404, {"error": {"message": "no such path"}})
        return Response(self._next_play(request), dialect, request, self.tokens | {"root": self.root})

    def _read_body(self, request: Request) -> Dialect | None:
        try:
            request.json = json.loads(request.body, object_pairs_hook=unique)
        except ValueError:
            request.json = None
        if not isinstance(request.json, dict):
            request.json = None
        for dialect in self.dialects:
            model = dialect.model_of(request)
            if model is not None:
                request.model, request.dialect = model, dialect.name
                return dialect
        return None

    def _judge(self, request: Request, dialect: Dialect | None) -> Refusal | None:
        """Return the refusal that a request deserves, and record its errors."""
        if dialect is None:
            self._note(request, [f"{request.method} {request.path}: no such path"])
            return Refusal(404, {"error": {"message": "no such path"}})
        wrong = dialect.check(request)
        host = f"127.0.0.1:{self.port}"
        if (request.header("host") or "") not in (host, f"localhost:{self.port}"):
            request.wrong.append(f"Host is {request.header('host')!r}")
        if not dialect.streams(request) and not self.allow_whole:
            request.wrong.append("no stream was asked for")
        if self._scenario(request.model) is None:
            request.wrong.append(f"no scenario {request.model!r}")
        self._note(request, [w.text for w in wrong])
        if wrong:
            return dialect.wrong(wrong[0].status, wrong[0].text)
        if request.wrong:
            return dialect.wrong(400, request.wrong[0])
        word = ability(request.model, dialect.said(request.json))
        return dialect.wrong(400, word) if word else dialect.refuse(request)

    def _note(self, request: Request, texts: list[str]) -> None:
        request.wrong += texts
        with self._lock:
            self.violations += [f"request {request.number}: {t}" for t in request.wrong]

    def _scenario(self, model: str) -> str | None:
        for suffix in ("", *SUFFIXES):
            if model.endswith(suffix) and model.removesuffix(suffix) in self.plays:
                return model.removesuffix(suffix)
        return None

    def _next_play(self, request: Request) -> Play:
        """The play for a model's nth request; refused requests do not count."""
        scenario = self._scenario(request.model)
        assert scenario is not None
        with self._lock:
            at = request.dialect, request.model
            count = self._counts[at] = self._counts.get(at, 0) + 1
        plays = self.plays[scenario]
        return plays[min(count, len(plays)) - 1]


def describe(request: Request) -> dict[str, Any]:
    """A request without its body, as a line of JSON."""
    return {
        "number": request.number,
        "connection": request.connection,
        "arrived": round(request.arrived, 6),
        "dialect": request.dialect,
        "model": request.model,
        "target": request.target,
        "bytes": len(request.body),
        "wrong": request.wrong,
    }


def main() -> int:
    """Serve all scenarios until interrupted."""
    from .scenarios import all_plays

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--key", default=KEY)
    options = parser.parse_args()

    def show(request: Request) -> None:
        print(json.dumps(describe(request)), flush=True)

    dialects = [made(options.key) for made in DIALECTS]
    server = StrictServer(all_plays(), dialects, show, allow_whole=True)
    server.start(options.port)
    print(json.dumps({"root": server.root, "key": options.key}), flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
