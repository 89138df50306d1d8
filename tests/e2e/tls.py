"""Servers between the program and a model server: TLS with a private authority, and a proxy.

The `openssl` command makes the certificates when a test needs them; without it, the test is skipped. Everything listens
only on 127.0.0.1, in threads.
"""

from __future__ import annotations

import http.server
import json
import shutil
import socket
import socketserver
import ssl
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from serving import Serving

MAX_HEAD_BYTES = 64 << 10
MAX_REQUEST_BYTES = 16 << 20
_SECONDS = 30


def _openssl(*args: object) -> None:
    command = ["openssl", *map(str, args)]
    done = subprocess.run(command, capture_output=True, timeout=60)
    assert done.returncode == 0, f"{command}: {done.stderr.decode(errors='replace')}"


@dataclass(frozen=True)
class Authority:
    """A certificate authority for this test; clients must trust the file `ca`."""

    folder: Path

    @property
    def ca(self) -> Path:
        """The authority's own certificate."""
        return self.folder / "ca.pem"

    def server_context(self, *names: str) -> ssl.SSLContext:
        """TLS for a server with these host names or addresses, signed by the authority."""
        key, request, cert = (self.folder / f"server.{n}" for n in ("key", "csr", "pem"))
        kinds = [f"{'IP' if n[0].isdigit() else 'DNS'}:{n}" for n in names]
        extensions = self.folder / "server.ext"
        extensions.write_text(f"subjectAltName={','.join(kinds)}\nextendedKeyUsage=serverAuth\n")
        _openssl(
            "req",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-keyout",
            key,
            "-out",
            request,
            "-subj",
            "/CN=server",
        )
        _openssl(
            *("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self.folder / "ca.key"),
            *("-CAcreateserial", "-days", 2, "-extfile", extensions, "-out", cert),
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        return context


def make_authority(folder: Path) -> Authority:
    """Create an authority in an empty folder. Skips the test if there is no `openssl`."""
    if not shutil.which("openssl"):
        pytest.skip("no openssl command: certificates cannot be made")
    folder.mkdir(parents=True)
    _openssl(
        *(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            2,
            "-subj",
            "/CN=test authority",
        ),
        *("-keyout", folder / "ca.key", "-out", folder / "ca.pem"),
        *("-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign"),
    )
    return Authority(folder)


@dataclass(frozen=True)
class Seen:
    """A request as received by a model server."""

    path: str
    headers: dict[str, str]
    body: Any


class ModelServer(Serving):
    """A model server with OpenAI's chat format that streams `content`, over TCP, TLS or a unix socket.

    `requests` are the received requests, `connections` is the number of connections.
    """

    content = "an answer over the wire"

    def __init__(self, context: ssl.SSLContext | None = None, path: Path | None = None) -> None:
        self.requests: list[Seen] = []
        self.connections = 0
        self.path = path
        self._server: _Tcp | _Unix = _Unix(str(path), _Answers) if path else _Tcp(("127.0.0.1", 0), _Answers)
        self._server.owner = self
        self._server.context = context
        self.port = 0 if path else int(self._server.server_address[1])

    def events(self, model: str) -> list[str]:
        """The data lines of the stream for a request for that model."""
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "model": model}
        deltas: list[tuple[dict[str, str], str | None]] = [
            ({"role": "assistant", "content": ""}, None),
            ({"content": self.content}, None),
            ({}, "stop"),
        ]
        chunks = [head | {"choices": [{"index": 0, "delta": d, "finish_reason": f}]} for d, f in deltas]
        usage = {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
        chunks.append(head | {"choices": [], "usage": usage})
        return [json.dumps(chunk) for chunk in chunks] + ["[DONE]"]


class _Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Tcp | _Unix

    def setup(self) -> None:
        self.disable_nagle_algorithm = self.server.owner.path is None
        self.server.owner.connections += 1
        if self.server.context:
            self.request = self.server.context.wrap_socket(self.request, server_side=True)
        super().setup()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        assert length <= MAX_REQUEST_BYTES, f"a request of {length} bytes"
        body = json.loads(self.rfile.read(length))
        self.server.owner.requests.append(Seen(self.path, dict(self.headers.items()), body))
        data = "".join(f"data: {event}\n\n" for event in self.server.owner.events(body["model"])).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class _Quiet:
    """Ignores clients that disconnect or do not trust the certificate."""

    daemon_threads = True
    context: ssl.SSLContext | None
    owner: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing."""


class _Tcp(_Quiet, socketserver.ThreadingTCPServer):
    allow_reuse_address = True


class _Unix(_Quiet, socketserver.ThreadingUnixStreamServer):
    pass


class ConnectProxy(Serving):
    """A proxy that supports only CONNECT and resolves names by `hosts` (name -> port on 127.0.0.1).

    `heads` are the heads of the received requests, `seen` all bytes from its clients, including those in tunnels. Any
    other request, and a CONNECT to an unknown name, is answered with `refusal`.
    """

    refusal = 502

    def __init__(self, hosts: dict[str, int]) -> None:
        self.hosts = hosts
        self.heads: list[str] = []
        self.seen = b""
        self._lock = threading.Lock()
        self._server = _ProxyServer(("127.0.0.1", 0), _Tunnel)
        self._server.proxy = self
        self.port = int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The value of HTTPS_PROXY."""
        return f"http://127.0.0.1:{self.port}"

    def saw(self, data: bytes) -> None:
        """Called for bytes from a client."""
        with self._lock:
            self.seen += data


class _ProxyServer(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    proxy: ConnectProxy

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore disconnected clients."""


class _Tunnel(socketserver.BaseRequestHandler):
    server: _ProxyServer

    def handle(self) -> None:
        proxy = self.server.proxy
        self.request.settimeout(_SECONDS)
        head = self._read_head()
        if not head:
            return
        proxy.heads.append(head)
        words = head.split()
        name = words[1].rsplit(":", 1)[0] if len(words) > 1 else ""
        if words[0] != "CONNECT" or name not in proxy.hosts:
            self.request.sendall(f"HTTP/1.1 {proxy.refusal} Refused\r\nContent-Length: 0\r\n\r\n".encode())
            return
        with socket.create_connection(("127.0.0.1", proxy.hosts[name]), _SECONDS) as peer:
            self.request.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=self._pump, args=(peer, self.request, False), daemon=True)
            back.start()
            self._pump(self.request, peer, True)
            back.join(_SECONDS)

    def _read_head(self) -> str:
        """Read byte by byte, because the bytes after the head belong to the tunnel."""
        data = b""
        while not data.endswith(b"\r\n\r\n") and len(data) < MAX_HEAD_BYTES:
            byte = self.request.recv(1)
            if not byte:
                break
            data += byte
        self.server.proxy.saw(data)
        return data.decode("latin-1")

    def _pump(self, source: socket.socket, target: socket.socket, is_client: bool) -> None:
        """Forward bytes until one side ends, and then close the other."""
        try:
            while data := source.recv(65536):
                if is_client:
                    self.server.proxy.saw(data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # one side has disconnected
