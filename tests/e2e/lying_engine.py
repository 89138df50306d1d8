"""A container engine on a unix socket, or a port, whose mode decides whether it answers correctly, too slowly, or
wrongly.

Modes that begin with "start-" change the stream of a command, "code-" its exit code, and "crowded-" the number of
processes when no more commands can run; all others change every answer. The command that tests the image's shell is
always answered correctly.
"""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path
from typing import Callable

TRIAL = "trial"  # the id of the command that tests the shell
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
STREAM = HEAD + b"\r\n"
FRAME = b"\x01\0\0\0\0\0\0\3hi\n"
CODES = {
    "code-wrapped": b'{"ExitCode":4294967296}',
    "code-negative": b'{"ExitCode":-5}',
    "code-text": b'{"ExitCode":"0"}',
    "code-none": b'{"Running":true,"ExitCode":null}',
}
ANSWERS = {"null": b"null", "list": b'[1,{"Id":7}]', "deep": b"[" * 8_000_000}
RAW = {
    "garbage": b"\xff\xfe\0" * 2000,
    "close": b"",
    "short": HEAD + b'Content-Length: 1000\r\n\r\n{"Id":"x"',
    "elsewhere": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
}
ENDLESS = {"endless": (STREAM, b"[" * 65536), "headers": (HEAD, b"X-A: " + b"a" * 1000 + b"\r\n")}
STREAMS = {"start-unknown": b"\x07\0\0\0\xff\xff\xff\xffhello", "start-cut": b"\x01\0\0\0\xff\xff\xff\xffhello"}
# How long a flood has full speed; afterwards it continues slowly, to spare the machine.
TORRENT_SECONDS = 4
FLOODS = {"start-flood": b"\x01\0\0\0\0\1\0\0" + b"x" * 65536, "start-empty": b"\x01\0\0\0\0\0\0\0" * 8192}


class LyingEngine:
    """The engine. It listens until `close`, on a socket, or without a path on `port` of 127.0.0.1. `asked` has the lines of the requests."""

    def __init__(self, path: Path | None, mode: str) -> None:
        self.mode = mode
        self.asked: list[str] = []
        self._closed = threading.Event()
        self._slow_at: float | None = None
        self._socket = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        self._socket.bind(str(path) if path else ("127.0.0.1", 0))
        self.port = 0 if path else self._socket.getsockname()[1]
        self._socket.listen(16)
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering."""
        self._closed.set()
        self._socket.shutdown(socket.SHUT_RDWR)  # otherwise, the thread could accept calls meant for the next engine
        self._thread.join()
        self._socket.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as lines:
                while line := lines.readline():
                    length = 0
                    while (header := lines.readline()) not in (b"\r\n", b""):
                        name, _, value = header.partition(b":")
                        length = int(value) if name.lower() == b"content-length" else length
                    body = lines.read(length)
                    self.asked.append(line.decode().strip())
                    if not self._answer(connection.sendall, *line.decode().split()[:2], body):
                        return
        except OSError:
            return

    def _flood(self, send: Callable[[bytes], None], first: bytes, more: bytes) -> bool:
        send(first)
        self._slow_at = self._slow_at or time.monotonic() + TORRENT_SECONDS
        while not self._closed.is_set():
            send(more)
            if time.monotonic() > self._slow_at:
                self._closed.wait(0.02)
        return False

    def _answer(self, send: Callable[[bytes], None], method: str, path: str, asked: bytes) -> bool:
        mode = "in order" if TRIAL in path and self.mode.startswith(("start-", "code-")) else self.mode
        if mode in RAW:
            send(RAW[mode])
            return False
        if mode in ENDLESS:
            return self._flood(send, *ENDLESS[mode])
        if mode == "silent":
            self._closed.wait()
            return False
        if path.endswith("/start") and "/exec/" in path:
            if mode in FLOODS:
                return self._flood(send, STREAM, FLOODS[mode])
            send(STREAM + STREAMS.get(mode, FRAME))
            if mode == "start-hang":
                self._closed.wait()
            return False
        body = ANSWERS.get(mode) or self._body(mode, method, path, asked)
        send(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        return True

    def _body(self, mode: str, method: str, path: str, asked: bytes) -> bytes:
        if "/containers/json" in path or path.endswith("/changes"):
            return b"[]"
        if "/exec/" in path:
            return CODES.get(mode, b'{"ExitCode":0}')
        if mode.startswith("crowded-") and b"/sys/fs/cgroup" in asked:
            return b"{}"
        if mode.startswith("crowded-") and "/stats" in path:
            return b'{"pids_stats":{"current":%d}}' % int(mode[len("crowded-") :])
        if b'"exit 0"' in asked:
            return b'{"Id":"%s"}' % TRIAL.encode()
        if mode == "names" and "/create" in path:
            return b'{"Id":"../../images/x?force=1\\r\\nX: y"}'
        return b'{"Id":"abc","ApiVersion":"1.41"}' if method != "DELETE" else b""
