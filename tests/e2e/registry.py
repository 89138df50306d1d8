"""A registry of container images on loopback, with the part of the protocol that pulling needs."""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


class Registry:
    """Serves images until `close`; `asked` are the paths of all requests."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[str, bytes] = {}  # by "name/tag" and by digest
        self.broken: set[str] = set()  # digests of blobs that are truncated
        self.asked: list[str] = []
        registry = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                registry._serve(self)

            do_HEAD = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add(self, name: str, root: Path, *, architecture: str = "amd64", broken: bool = False) -> str:
        """Add an image with this root archive; `name` is "graded:tag". Returns the name by which an engine pulls it."""
        layer = root.read_bytes()
        packed = gzip.compress(layer, 0, mtime=0)  # small enough uncompressed
        config = {
            "architecture": architecture,
            "os": "linux",
            "comment": name,  # gives each image a digest of its own, by which pulls are counted
            "config": {"Env": ["PATH=/usr/local/bin:/usr/bin:/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
        }
        raw = json.dumps(config).encode()
        described = [
            ("application/vnd.docker.container.image.v1+json", raw),
            ("application/vnd.docker.image.rootfs.diff.tar.gzip", packed),
        ]
        parts = [{"mediaType": kind, "size": len(data), "digest": _digest(data)} for kind, data in described]
        manifest: Mapping[str, Any] = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": parts[0],
            "layers": parts[1:],
        }
        text = json.dumps(manifest).encode()
        self.blobs |= {_digest(raw): raw, _digest(packed): packed}
        if broken:
            self.broken.add(_digest(packed))
        self.manifests[_digest(text)] = self.manifests[name.replace(":", "/")] = text
        return f"{self.address}/{name}"

    def pulls(self, name: str) -> int:
        """How often the manifest of "graded:tag" was fetched, by tag, as podman does, or by digest, as Docker does."""
        image, _, tag = name.partition(":")
        named = (tag, _digest(self.manifests[f"{image}/{tag}"]))
        return sum(self.asked.count(f"GET /v2/{image}/manifests/{which}") for which in named)

    def _serve(self, request: BaseHTTPRequestHandler) -> None:
        self.asked.append(f"{request.command} {request.path}")
        name, kind, which = request.path.removeprefix("/v2/").rpartition("/manifests/")
        if kind:
            data = self.manifests.get(f"{name}/{which}") or self.manifests.get(which)
            self._answer(request, data, MANIFEST)
        elif request.path in ("/v2/", "/v2"):
            self._answer(request, b"{}", "application/json")
        else:
            self._answer(request, self.blobs.get(request.path.rpartition("/blobs/")[2]), "application/octet-stream")

    def _answer(self, request: BaseHTTPRequestHandler, data: bytes | None, kind: str) -> None:
        digest = _digest(data) if data is not None else ""
        if data is None:
            data, kind = b'{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}', "application/json"
        request.send_response(200 if digest else 404)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(data)))
        if digest:
            request.send_header("Docker-Content-Digest", digest)
        request.end_headers()
        if request.command == "HEAD":
            return
        if digest in self.broken:
            request.wfile.write(data[: len(data) // 2])
            request.close_connection = True
            request.connection.close()
        else:
            request.wfile.write(data)
