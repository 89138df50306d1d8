"""A proxy on 127.0.0.1 that terminates the TLS of every host and records all requests.

So clients use their own addresses, paths and Host headers, but nothing leaves the machine. `Recorder.environment`
points a program to the proxy and makes it trust the proxy's certificates.
"""

from __future__ import annotations

import socket
import socketserver
import ssl
import threading
from dataclasses import dataclass, field
from typing import BinaryIO

from tls import Authority

from .answers import answer

HOSTS = (
    "api.openai.com",
    "api.anthropic.com",
    "generativelanguage.googleapis.com",
    "bedrock-runtime.us-east-1.amazonaws.com",
    "my-resource.openai.azure.com",
)
MAX_BODY = 1 << 24
IDLE_SECONDS = 60


@dataclass(frozen=True)
class Request:
    """A request as received; header names in lowercase, in order."""

    host: str
    method: str
    target: str
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """The value of a header; None if it was not sent."""
        return dict(self.headers).get(name)


def _read_head(stream: BinaryIO) -> tuple[str, list[tuple[str, str]]] | None:
    """The first line and the headers; None at the end of the connection."""
    first = stream.readline(65536).decode("latin-1").rstrip("\r\n")
    if not first:
        return None
    headers = []
    while line := stream.readline(65536).decode("latin-1").rstrip("\r\n"):
        name, _, value = line.partition(":")
        headers.append((name.strip().lower(), value.strip()))
    return first, headers


def _read_chunked(stream: BinaryIO) -> bytes:
    body = b""
    while size := int(stream.readline(64).split(b";")[0], 16):
        body += stream.read(size)
        stream.readline(4)
    stream.readline(4)
    return body


class _Handler(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        """One connection: CONNECT, then requests inside TLS until it ends."""
        self.request.settimeout(IDLE_SECONDS)
        head = _read_head(self.request.makefile("rb", buffering=0))
        if not head or not head[0].startswith("CONNECT "):
            return
        host = head[0].split()[1].removesuffix(":443")
        self.request.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            with self.server.tls.wrap_socket(self.request, server_side=True) as inner:
                self._serve(host, inner)
        except (OSError, ssl.SSLError):
            return  # the client has disconnected

    def _serve(self, host: str, inner: ssl.SSLSocket) -> None:
        stream = inner.makefile("rb")
        while head := _read_head(stream):
            method, target, _ = head[0].split(" ", 2)
            fields = dict(head[1])
            if fields.get("transfer-encoding") == "chunked":
                body = _read_chunked(stream)
            else:
                body = stream.read(min(int(fields.get("content-length", 0)), MAX_BODY))
            self.server.requests.append(Request(host, method, target, head[1], body))
            status, kind, text = answer(target)
            start = f"HTTP/1.1 {status} OK\r\ncontent-type: {kind}\r\n"
            inner.sendall(f"{start}content-length: {len(text)}\r\n\r\n".encode() + text)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, tls: ssl.SSLContext, requests: list[Request]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.tls, self.requests = tls, requests


class Recorder:
    """The running proxy: `url`, and `requests` in order of arrival."""

    def __init__(self, authority: Authority) -> None:
        self._ca = authority.ca
        tls = authority.server_context(*HOSTS)
        self.requests: list[Request] = []
        self._server = _Server(tls, self.requests)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def environment(self) -> dict[str, str]:
        """The variables that make a program use the proxy."""
        names = ("HTTPS_PROXY", "https_proxy", "ORACLE_PROXY")
        ca = {"SSL_CERT_FILE": str(self._ca), "NODE_EXTRA_CA_CERTS": str(self._ca)}
        return {name: self.url for name in names} | ca

    def stop(self) -> None:
        """Close the proxy."""
        self._server.shutdown()
        self._server.server_close()
